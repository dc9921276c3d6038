"""Stage: evidence around the linked entities."""
