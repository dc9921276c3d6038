"""Stage: the stretches of text that name entities."""
