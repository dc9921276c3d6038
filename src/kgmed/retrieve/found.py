"""What a retriever found, with what must be said about it."""

from collections.abc import Iterable

from kgmed.types import Evidence


class Found(list[Evidence]):
    """A list of evidence whose `notes` say, one line each, where the search was cut; they belong into the run's record.

    >>> Found([Evidence("A — r → B", "triple")], notes=("cut",)).notes
    ('cut',)
    """

    def __init__(self, evidence: Iterable[Evidence] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the evidence in its order."""
        super().__init__(evidence)
        self.notes = notes
