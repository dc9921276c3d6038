"""The figures that pages tell: where KGMED_FIGURES names a file, a benchmark keeps there what it measured.

    KGMED_FIGURES=bench/figures.json KGMED_DATA=DIR python bench/intent.py
    python tests/generated_pages.py

A page marks a figure by the script and the name behind it, as in .957<!--intent.strangers_dev-->; the second command
writes each of them as the file has it, and a test fails where a page says another one.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path


def keep(script: str, figures: Mapping[str, float]) -> None:
    """Lay figures over those of a script that were kept before, to six digits; nothing where no file is named."""
    if named := os.environ.get("KGMED_FIGURES"):
        place = Path(named)
        kept = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
        told = {re.sub(r"\W+", "_", name).strip("_"): _short(figure) for name, figure in figures.items()}
        kept[script] = kept.get(script, {}) | told
        place.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _short(figure: float) -> float:
    return figure if isinstance(figure, int) else float(f"{figure:.6g}")
