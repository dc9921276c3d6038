"""Texts and what they say: names, words, negation, and what a question asks for."""
