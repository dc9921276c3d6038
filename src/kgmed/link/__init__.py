"""Stage: the entity that a mention stands for."""
