"""The graph: its protocol, its embedded store, its readers and its search."""
