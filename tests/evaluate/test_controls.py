"""Controls replace the evidence and nothing else."""

from pathlib import Path

import pytest

from kgmed.evaluate.controls import Oracle, RandomTriples, ShuffledTriples, known_names, under
from kgmed.evaluate.items import Gold, Item
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.methods.facts import facts
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Query, Question
from kgmed.registry import controls
from kgmed.toolkit import Toolkit

DRUGS = [f"drug{i}" for i in range(30)]
ROWS: list[Row] = [
    NodeRow("gout", "Gout", "disease"),
    NodeRow("flu", "Flu", "disease"),
    *(NodeRow(d, d.capitalize(), "drug") for d in DRUGS),
    *(EdgeRow(d, "treats", "gout" if i % 2 else "flu", 0.5) for i, d in enumerate(DRUGS)),
]
ITEM = Item(Question("Which drug treats gout?", id="q"), Gold(entities=("Drug7", "Nothing")))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("controls")
    build(Source("toy", lambda: iter(ROWS)), folder / "toy")
    return open_store(folder / "toy")


@pytest.fixture(scope="module")
def toolkit(graph: Store) -> Toolkit:
    return Toolkit(graph, None, NgramEncoder())


def test_random_triples_are_as_many_real_ones_and_the_same_each_time(toolkit: Toolkit) -> None:
    plain = facts(toolkit)(ITEM.question)
    drawn = under(facts(toolkit), "random", toolkit.graph, ITEM, seed=3)(ITEM.question)
    assert len(drawn.evidence) == len(plain.evidence) > 0
    assert drawn.evidence == under(facts(toolkit), "random", toolkit.graph, ITEM, seed=3)(ITEM.question).evidence
    assert drawn.links == plain.links
    assert drawn.method.endswith("+random")
    many = RandomTriples(toolkit.graph, 3)(Query(ITEM.question), list(plain.evidence) * 20)
    assert len({e.text for e in many}) > 5


def test_shuffled_triples_have_the_same_names_and_other_facts(toolkit: Toolkit) -> None:
    triples = [*toolkit.graph.neighbours("gout"), *toolkit.graph.neighbours("flu")]
    pieces = RandomTriples(toolkit.graph, 1)(Query(ITEM.question), list(facts(toolkit)(ITEM.question).evidence) * 20)
    mixed = ShuffledTriples(1)(Query(ITEM.question), pieces)
    assert sorted(e.triples[0].tail.name for e in mixed) == sorted(t.tail.name for e in pieces for t in e.triples)
    assert {e.triples[0] for e in mixed} - set(triples)


def test_oracle_evidence_joins_the_gold_to_the_question(toolkit: Toolkit) -> None:
    told = under(facts(toolkit), "oracle", toolkit.graph, ITEM)(ITEM.question)
    assert told.evidence[0].text == "Drug7 — treats → Gout"


def test_without_a_name_of_the_gold_the_oracle_has_nothing(toolkit: Toolkit) -> None:
    assert Oracle(toolkit.graph, ("Nothing",), lambda _: ())(Query(ITEM.question), []) == []


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (Item(Question("?"), Gold(entities=("Drug7", "Nothing"))), ("Drug7",)),
        (
            Item(Question("?"), Gold(texts=("Take drug7 or drug9 for gout. There is no flu.",))),
            ("drug7", "drug9", "gout"),
        ),
        (Item(Question("?", (("A", "drug7 and rest"), ("B", "drug9"))), Gold(("A",))), ("drug7",)),
    ],
)
def test_the_oracle_knows_the_names_in_what_is_right(toolkit: Toolkit, item: Item, names: tuple[str, ...]) -> None:
    assert known_names(toolkit.graph, item) == names
    assert under(facts(toolkit), "oracle", toolkit.graph, item)(Question("Which drug treats gout?")).evidence


@pytest.mark.parametrize("control", controls.names())
def test_a_control_leaves_a_method_without_evidence_alone_but_for_the_oracle(toolkit: Toolkit, control: str) -> None:
    lost = Item(Question("What is the boiling point of tungsten?", id="t"), Gold())
    assert under(facts(toolkit), control, toolkit.graph, lost)(lost.question).evidence == ()
