"""The embedded store: immutable memory-mapped files, built in one pass, replaced whole or not at all."""
