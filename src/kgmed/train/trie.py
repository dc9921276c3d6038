"""The tokens at which names of a closed list part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

END = -1  # stands for the end of a name, where a longer name goes on


@dataclass(frozen=True, slots=True)
class Fork:
    """A place where names part: the tokens before it, and for each token that may follow the names behind it."""

    before: tuple[int, ...]
    after: Mapping[int, tuple[int, ...]]  # token or END -> numbers of names


def forks(names: Sequence[Sequence[int]]) -> list[Fork]:
    """The forks of tokenised names, shortest first; a name's probability is the product of its turns there.

    >>> [(f.before, dict(f.after)) for f in forks([(5, 6), (5, 7), (8,)])]
    [((), {5: (0, 1), 8: (2,)}), ((5,), {6: (0,), 7: (1,)})]
    """
    prefixes = {tuple(name[:k]) for name in names for k in range(len(name) + 1)}
    found = [Fork(before, _after(names, before)) for before in sorted(prefixes, key=lambda p: (len(p), p))]
    return [fork for fork in found if len(fork.after) > 1]


def _after(names: Sequence[Sequence[int]], before: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """For each token that follows `before`, the names that go on with it."""
    k, after = len(before), dict[int, tuple[int, ...]]()
    for number, name in enumerate(names):
        if tuple(name[:k]) == before:
            token = name[k] if len(name) > k else END
            after[token] = (*after.get(token, ()), number)
    return after
