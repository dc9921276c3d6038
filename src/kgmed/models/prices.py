"""What models cost: a table that is shipped, and the user's own before it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TypeGuard

from kgmed.errors import SourceError
from kgmed.folders import data_folder

FILE = "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and the day on which they were so."""

    input: Decimal
    output: Decimal
    as_of: date

    def of(self, tokens_in: int, tokens_out: int) -> Decimal:
        """What that many tokens cost, exactly.

        >>> Price(Decimal("2.50"), Decimal("10"), date(2025, 8, 1)).of(1000, 100)
        Decimal('0.0035')
        """
        return (self.input * tokens_in + self.output * tokens_out).scaleb(-6).normalize()


def prices(own: Path | None = None) -> dict[str, Price]:
    """The prices by the models' names: those shipped, and before them those of a file of one's own.

    Without `own`, that is `prices.toml` in the data folder, where there is one. Raises `SourceError`.
    """
    shipped = files("kgmed.models").joinpath(FILE).read_text(encoding="utf-8")
    path = own or data_folder() / FILE
    return parsed(shipped, Path(FILE)) | (read(path) if own or path.exists() else {})


def read(path: Path) -> dict[str, Price]:
    """The prices in a file."""
    try:
        return parsed(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(path, 0, f"cannot be read ({error})", "give a table of prices in UTF-8") from error


def parsed(text: str, path: Path) -> dict[str, Price]:
    """The prices in a text; `path` is what errors name.

    >>> parsed('["gguf/mine"]\\ninput = 0\\noutput = 0\\nas_of = 2026-01-31', Path("p"))["gguf/mine"].of(9, 9)
    Decimal('0')
    """
    try:
        table = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ArithmeticError) as error:
        raise SourceError(path, 0, f"is not TOML ({error})", "mend that place") from error
    return {name: _price(name, entry, path) for name, entry in table.items()}


def _price(name: str, entry: object, path: Path) -> Price:
    """One entry of the table."""
    values: Mapping[str, object] = entry if isinstance(entry, dict) else {}
    known = set(values) == {"input", "output", "as_of"}
    money = [Decimal(v) for v in (values.get("input"), values.get("output")) if _is_money(v)]
    as_of = values.get("as_of")
    if not known or len(money) != 2 or type(as_of) is not date:
        mend = "give it input and output (US dollars per million tokens, not below 0) and as_of = YYYY-MM-DD"
        raise SourceError(path, 0, f"the price of {name!r} is not complete", mend)
    return Price(money[0], money[1], as_of)


def _is_money(value: object) -> TypeGuard[int | Decimal]:
    """Whether that can be a price."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return Decimal(value).is_finite() and Decimal(value) >= 0
