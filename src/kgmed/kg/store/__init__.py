"""The embedded store: immutable memory-mapped files."""
