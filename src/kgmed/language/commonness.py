"""How often diseases are seen, as powers of ten, from the table common.txt."""

from functools import lru_cache
from importlib import resources
from zlib import crc32


@lru_cache(maxsize=1)
def seen_often() -> tuple[dict[str, float], int]:
    """New cases a year of 100,000 people by name, as powers of ten, and a number that changes with the table.

    >>> seen_often()[0]["influenza"] > seen_often()[0]["rabies"]
    True
    """
    text = resources.files("kgmed.language").joinpath("common.txt").read_text(encoding="utf-8")
    rows = (line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name.strip(): float(power) for power, names in rows for name in names.split(";")}, crc32(text.encode())
