"""Training of a tagger on data in the format of CMeEE."""
