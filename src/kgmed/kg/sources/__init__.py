"""One reader a graph format; each is a function that returns a `Source`."""
