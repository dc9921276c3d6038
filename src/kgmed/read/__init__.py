"""Stage: the answer from the context."""
