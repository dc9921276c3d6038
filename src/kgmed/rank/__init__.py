"""Stage: evidence in order of use."""
