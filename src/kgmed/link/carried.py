"""Linker: what the question before was about, where a question names nothing of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgmed.stages import Linker
from kgmed.types import Link, Mention


@dataclass(frozen=True, slots=True)
class Carried:
    """The links of another linker; where it finds none, those given, marked as carried over (`how` "before, ...")."""

    link: Linker
    before: tuple[Link, ...] = ()

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """The links; their own mentions stand in the earlier question, so that they have no place in this one."""
        return self.link(mentions) or [_carried(link) for link in self.before]


def _carried(link: Link) -> Link:
    """A link of an earlier question."""
    how = link.how if link.how.startswith("before, ") else f"before, {link.how}"
    return replace(link, mention=replace(link.mention, start=-1, end=-1), how=how)
