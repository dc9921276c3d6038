"""How a question is understood: from its words and the linked names to a frame."""
