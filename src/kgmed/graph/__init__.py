"""The knowledge graph: its protocol, the graphs by name, its names and vectors."""
