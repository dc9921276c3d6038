"""What a method is, for lists and tests: its paper, what it does, how often it asks a model, where we deviate.

It stands on the recipe function itself (`@described(About(...))`); the numbers are those of the function's settings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Calls:
    """How often a model is asked: for a question with evidence, at the paper's settings, whose replies can be read.

    `usual` = where every step has something to do. A reply that must be asked for a second time is one call more;
    where there is no evidence the model is not asked to read any.
    """

    usual: int
    fewest: int
    most: int
    why: str  # step by step, and who says so: the paper, its code, or ours

    @classmethod
    def always(cls, count: int, why: str) -> "Calls":
        """The same number for every question."""
        return cls(count, count, count, why)

    def __str__(self) -> str:
        """The number, with its bounds where it varies.

        >>> str(Calls.always(2, "")), str(Calls(2, 2, 6, ""))
        ('2', '2 (2 to 6)')
        """
        return str(self.usual) if self.fewest == self.most else f"{self.usual} ({self.fewest} to {self.most})"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A method in a few lines."""

    paper: str = ""  # name; "" = our own
    by: str = ""
    year: int = 0
    where: str = ""  # arXiv id or venue
    does: str
    calls: Calls
    ours: tuple[str, ...] = field(default=())  # where we deviate from the paper, one line each
    needs_model: bool = True  # whether it cannot do without a language model

    def __str__(self) -> str:
        """The paper as one quotes it; "ours" without one."""
        return f"{self.paper} ({self.by} {self.year}, {self.where})" if self.paper else "ours"


def describe(about: About) -> Callable[[F], F]:
    """Put a description on a recipe function."""

    def put(function: F) -> F:
        function.about = about  # type: ignore[attr-defined]
        return function

    return put


def about_of(function: Callable[..., object]) -> About | None:
    """The description of a recipe function; None where it has none, as one of another package may.

    >>> @describe(About(does="nothing", calls=Calls.always(0, "no step")))
    ... def empty(kit): ...
    >>> about_of(empty).does, about_of(print)
    ('nothing', None)
    """
    found = getattr(function, "about", None)
    return found if isinstance(found, About) else None
