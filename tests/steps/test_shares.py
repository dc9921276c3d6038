"""How often a disease shows a finding is told from the tie between them."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.graph.base import NodeRow
from kgmed.graph.store.store import Store
from kgmed.records import Link, Mention
from kgmed.steps.shares import Share
from pheno_graph import annotated
from role_graph import query

FINDINGS = ("tall stature", "ectopia lentis", "scoliosis")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("shares") / "g"
    rows = [
        ("MARFAN", "ectopia lentis", "119/251", "PMID:1"),
        ("MARFAN", "tall stature", "", "PMID:1"),
        ("MARFAN", "scoliosis", "NOT", "PMID:1"),
        ("OTHER", "ectopia lentis", "1/4", "PMID:2"),
    ]
    return annotated(folder, [], rows, [NodeRow(f, f, "phenotype") for f in FINDINGS])


def said(graph: Store, text: str, *names: str) -> list[str]:
    links = []
    for name in names:
        entity = graph.lookup(name)[0].entity
        at = text.index(name)
        links.append(Link(Mention(name, name, at, at + len(name)), replace(entity), 1.0, "exact"))
    return [e.text for e in Share(graph)(query(text), links)]


@pytest.mark.parametrize(
    "text",
    [
        "How common is ectopia lentis in marfan?",
        "what percentage of marfan patients have ectopia lentis",
        "How often does ectopia lentis occur in marfan?",
        "how many people with marfan have ectopia lentis",
        "frequency of ectopia lentis in marfan",
    ],
)
def test_the_share_is_that_of_the_tie(graph: Store, text: str) -> None:
    assert said(graph, text, "marfan", "ectopia lentis") == [
        "As the graph has it: marfan can show ectopia lentis (119/251)."
    ]


def test_a_tie_without_a_share_is_told_with_the_word_that_there_is_none(graph: Store) -> None:
    (text,) = said(graph, "how common is tall stature in marfan", "tall stature", "marfan")
    assert text.endswith("How often the graph does not say.")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("how common is scoliosis in marfan", ("scoliosis", "marfan")),
        ("how common is marfan", ("marfan",)),
        ("does marfan show ectopia lentis", ("marfan", "ectopia lentis")),
    ],
)
def test_without_a_tie_or_a_question_for_it_nothing_is_said(graph: Store, text: str, names: tuple[str, ...]) -> None:
    assert said(graph, text, *names) == []
