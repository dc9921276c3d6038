"""Searches over the edges of a graph: pure functions on `Adjacency`, with integer node and edge numbers."""
