"""Stage: what is added to a question before it is searched with."""
