"""Loaders of diagnosis cases, one module a format; each gives a `Split` or raises `SourceError`."""
