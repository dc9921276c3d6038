"""What was recognised, with what must be said about it."""

from collections.abc import Iterable

from kgmed.types import Mention


class Noted(list[Mention]):
    """A list of mentions whose `notes` say, one line each, what went wrong; they belong into the run's record.

    >>> Noted([], notes=("no terms",)).notes
    ('no terms',)
    """

    def __init__(self, mentions: Iterable[Mention] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the mentions in their order."""
        super().__init__(mentions)
        self.notes = notes
