"""The table of how often diseases are seen."""

from kgmed import vocabulary
from kgmed.diagnose.knowledge import seen_often
from kgmed.vocabulary import Predicate


def test_every_name_stands_once() -> None:
    names = [name for name, _ in vocabulary.pairs("prevalence", Predicate.PREVALENCE)]
    assert len(names) == len(set(names))


def test_powers_are_those_of_cases_among_100_000_people() -> None:
    assert all(-3 <= power <= 5 for power in seen_often()[0].values())
