"""A phrase that closes a story is read by what the story tells: findings, an illness, a medicine."""

from collections.abc import Sequence

import pytest

from kgmed.records import Evidence, Link, Query, Relation, Role
from kgmed.steps.closed import OfWhatIsTold
from role_graph import RoleGraph, query

G = RoleGraph(
    [
        ("gout", "shows", "swelling"),
        ("gout", "shows", "fever"),
        ("flu", "shows", "fever"),
        ("colchicine", "treats", "gout"),
        ("colchicine", "treats", "flu"),
    ],
    (Relation("treats", Role.TREATS), Relation("shows", Role.FINDING)),
    {"disease": ["gout", "flu"], "drug": ["colchicine"], "phenotype": ["swelling", "fever"]},
)


def asked(text: str, *names: str) -> tuple[str, list[str]]:
    """The question that the retriever behind it was asked, and the names that were linked in it."""
    seen: list[tuple[str, list[str]]] = []

    def retrieve(q: Query, links: Sequence[Link]) -> list[Evidence]:
        seen.append((q.text.strip(), [x.mention.surface for x in links]))
        assert all(q.text[x.mention.start : x.mention.end] == x.mention.surface for x in links)
        return []

    links = [G.link(name) for name in names]
    for link in links:
        object.__setattr__(link.mention, "start", text.index(link.mention.surface))
        object.__setattr__(link.mention, "end", link.mention.start + len(link.mention.surface))
    OfWhatIsTold(G, retrieve)(query(text), links)
    return seen[0]


@pytest.mark.parametrize("said", ["What should I do?", "Is that dangerous?", "What should we expect?", "Any advice?"])
def test_of_findings_that_are_told_the_story_is_asked(said: str) -> None:
    assert asked(f"I have swelling and fever. {said}", "swelling", "fever") == (
        "I have swelling and fever.",
        ["swelling", "fever"],
    )


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("What can I do?", "How is gout treated?"),
        ("Is that dangerous?", "What are the complications of gout?"),
        ("What should we expect?", "What are the symptoms of gout?"),
    ],
)
def test_of_an_illness_that_is_named_it_is_asked_what_the_phrase_means(said: str, plain: str) -> None:
    assert asked(f"My dad was told that he has gout. {said}", "gout") == (plain, ["gout"])


def test_of_a_medicine_that_was_begun_its_side_effects_are_what_to_expect() -> None:
    assert asked("I was put on colchicine. What should I expect?", "colchicine")[0] == (
        "What are the side effects of colchicine?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "I took colchicine. What should I do?",
        "I have gout. Which tests are done?",
        "My gout level is 9, is that bad?",
    ],
)
def test_what_asks_more_is_left_as_it_stands(text: str) -> None:
    name = "colchicine" if "colchicine" in text else "gout"
    assert asked(text, name)[0] == text


def test_what_is_asked_before_the_phrase_is_still_asked() -> None:
    assert asked("What helps against gout? Is it serious?", "gout")[0] == "What helps against gout?"
