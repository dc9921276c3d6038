"""Each method as one expression over the stages."""
