"""Where graphs and model files are kept: one data folder, the platform's own unless KGMED_HOME names another."""

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder of everything that kgmed keeps; it need not exist yet."""
    chosen = os.environ.get("KGMED_HOME")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("kgmed", appauthor=False))


def graphs_folder() -> Path:
    """The folder with one folder a graph."""
    return data_folder() / "graphs"
