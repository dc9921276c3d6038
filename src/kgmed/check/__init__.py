"""Stage: the answer held against its evidence."""
