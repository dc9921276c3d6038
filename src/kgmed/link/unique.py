"""Links in which no two mentions stand for one entity, as MindMap links (Wen et al. 2024, 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.link.cascade import Candidates
from kgmed.types import Link, Mention


@dataclass(frozen=True)
class Unique:
    """Each mention in turn gets the best of its `k` candidates that no mention before it has taken.

    Mentions of one name share its entity: they are one keyword, written twice.
    """

    candidates: Candidates
    k: int = 8

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention; a mention whose candidates are all taken has none."""
        taken: dict[str, str] = {}  # entity -> the name it was linked from
        found: list[Link] = []
        for mention, matches in zip(mentions, self.candidates.topk(mentions, self.k), strict=True):
            for match in matches:
                if taken.setdefault(match.entity.id, mention.name) == mention.name:
                    found.append(Link(mention, match.entity, match.score, match.how))
                    break
        return found
