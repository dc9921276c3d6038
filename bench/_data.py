"""Where the data sets are that a benchmark reads."""

import os
import sys
from pathlib import Path


def data() -> Path:
    """The folder that KGMED_DATA names; ends the benchmark with a line where it names none."""
    named = os.environ.get("KGMED_DATA", "")
    if not Path(named).is_dir() or not named:
        sys.exit("set KGMED_DATA to the folder of data sets; kgmed eval datasets says what it holds and from where")
    return Path(named)
