"""The heavy packages of the extra `train`, imported when first needed."""

from importlib import import_module
from typing import Any

from kgmed.errors import Unavailable


def need(package: str) -> Any:
    """The package; raises `Unavailable` with the command that installs it.

    >>> need("json").dumps([1])
    '[1]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise Unavailable(
            f'training needs the package {package.partition(".")[0]}: pip install "kgmed[train]"'
        ) from error
