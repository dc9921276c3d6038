"""Stage: evidence as text with numbered markers."""
