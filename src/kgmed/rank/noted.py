"""What a ranker kept, with what is to be said about it."""

from collections.abc import Iterable

from kgmed.types import Evidence


class Ranked(list[Evidence]):
    """A list of evidence whose `notes`, one line each, belong into the run's record.

    >>> Ranked([Evidence("gout", "triple")], notes=("kept 1 of 2",)).notes
    ('kept 1 of 2',)
    """

    def __init__(self, evidence: Iterable[Evidence] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the evidence in its order."""
        super().__init__(evidence)
        self.notes = notes
