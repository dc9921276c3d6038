"""Reads pickles of plain data: dicts, lists, tuples, strings and numbers, and nothing that would need a class."""

import pickle
from typing import Any, NoReturn

DAMAGE = (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError, OverflowError)


class Plain(pickle.Unpickler):  # noqa: S301 - it can name no class, so that nothing of the file is ever run
    """Builds plain data; a pickle that asks for a class or for an object outside itself is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError("it points outside itself")
