"""Links from the surest stage to the boldest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.graph.base import Alias, Match, NodeRow, Scope
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.store import Store
from kgmed.graph.vectors import compute
from kgmed.linking.cascade import (
    Cascade,
    Dense,
    Misspelled,
    Reworded,
    Spelled,
    agreements,
    differing,
    is_same_substance,
)
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Entity, Mention
from named_graph import small


def mention(text: str) -> Mention:
    return Mention(text, text, -1, -1)


def linked(stage: Misspelled | Dense, written: str) -> str:
    """The entity that what was written is linked to; "" where it is not."""
    return "".join(link.entity.id for link in stage([mention(written)]))


def whole(graph: Store, kinds: tuple[str, ...] = ()) -> Cascade:
    names = Fuzzy(graph)
    dense = Dense(graph, NgramEncoder(), names, at_least=0.5, agreement=0.6)
    return Cascade((Spelled(graph), Reworded(graph), Misspelled(graph, names), dense), kinds)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("graph"))


@pytest.mark.parametrize(
    ("text", "entity", "how"),
    [
        ("Fever", "HP:5", "exact"),
        ("Calf hypertrophy", "HP:3", "alias"),
        ("PULMONARY-EDEMA", "HP:9", "normalised"),
        ("oedema, pulmonary", "HP:9", "folded"),
        ("enlarged calves", "HP:3", "wording"),
        ("very high creatine kinase", "HP:4", "wording"),
        ("hypokalemai", "HP:6", "fuzzy"),
        ("edema pulmonary fluid", "HP:9", "dense"),
    ],
)
def test_every_link_says_how_it_was_made(graph: Store, text: str, entity: str, how: str) -> None:
    links = whole(graph)([mention(text)])
    assert [(x.entity.id, x.how) for x in links] == [(entity, how)]
    assert 0 < links[0].score <= 1


@pytest.mark.parametrize("text", ["tungsten", "boiling point", "hyperkalemia", "low creatine kinase", "", "?"])
def test_what_the_graph_does_not_know_gets_no_link(graph: Store, text: str) -> None:
    assert whole(graph)([mention(text)]) == []


def test_links_keep_the_order_of_the_mentions_and_skip_misses(graph: Store) -> None:
    links = whole(graph)([mention("cough"), mention("tungsten"), mention("fever")])
    assert [x.mention.name for x in links] == ["cough", "fever"]


def test_a_word_that_other_names_know_is_no_slip(tmp_path: Path) -> None:
    rows = (NodeRow("1", "Increased urinary glycine"), NodeRow("2", "Plasma lycine"), NodeRow("3", "Glucine"))
    graph = small(tmp_path, rows)
    linker = Misspelled(graph, Fuzzy(graph), at_least=0.8)
    assert linker([mention("Increased urinary lycine")]) == []
    assert [x.entity.id for x in linker([mention("Increased urinary glycne")])] == ["1"]


def test_equal_matches_are_ties(tmp_path: Path) -> None:
    rows = (NodeRow("1", "Cold"), NodeRow("2", "cold"), NodeRow("3", "Chill", aliases=(Alias("Cold"),)))
    link = whole(small(tmp_path, rows))([mention("COLD")])[0]
    assert {link.entity.id, *(e.id for e in link.ties)} <= {"1", "2", "3"}
    assert len(link.ties) == 1


def test_a_short_form_is_what_everybody_means_by_it(tmp_path: Path) -> None:
    rows = (
        NodeRow("1", "CVA", kind="gene"),
        NodeRow("2", "Cough variant asthma", aliases=(Alias("CVA"),)),
        NodeRow("3", "Stroke", aliases=(Alias("CVA", Scope.ABBREVIATION),)),
    )
    assert [x.entity.name for x in whole(small(tmp_path, rows))([mention("CVA")])] == ["Stroke"]


def test_a_gene_is_not_meant_by_a_name_of_the_same_letters(tmp_path: Path) -> None:
    linker = whole(small(tmp_path, (NodeRow("1", "EGFR", kind="gene"), NodeRow("2", "Fever"))))
    assert [[x.entity.id for x in linker([mention(n)])] for n in ("eGFR", "EGFR", "egfr")] == [[], ["1"], ["1"]]


def test_only_the_kinds_asked_for_are_linked(graph: Store) -> None:
    assert whole(graph, ("gene",))([mention("Fever")]) == []
    assert [x.entity.id for x in whole(graph, ("gene",))([mention("SET")])] == ["NCBIGene:1"]


def test_the_best_k_come_from_surer_stages_first(graph: Store) -> None:
    found = whole(graph).topk([mention("Progressive muscle weakness")], 3)[0]
    assert found[0].entity.id == "HP:2"
    assert len({m.entity.id for m in found}) == len(found) <= 3


class Fixed:
    """Finds what it is told."""

    def __init__(self, *matches: Match) -> None:
        self.matches = list(matches)

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        return [self.matches[:k] for _ in mentions]


def test_a_later_stage_is_asked_only_for_what_is_left() -> None:
    a, b = Match(Entity("a", "A"), "A", "exact"), Match(Entity("b", "B"), "B", "dense", 0.5)
    assert Cascade((Fixed(a), Fixed(b)))([mention("x")])[0].entity.id == "a"
    assert Cascade((Fixed(), Fixed(b)))([mention("x")])[0].how == "dense"


def test_what_lies_nearest_is_suggested_and_never_linked() -> None:
    a, b = Match(Entity("a", "A"), "A", "exact"), Match(Entity("b", "B"), "B", "dense", 0.1)
    cascade = Cascade((Fixed(),), nearest=Fixed(b))
    assert cascade([mention("x")]) == []
    assert cascade.suggestions([mention("x")], 5) == [[b]]
    assert Cascade((Fixed(a),), nearest=Fixed(b, a)).suggestions([mention("x")], 5) == [[a, b]]
    assert Cascade((Fixed(a),)).suggestions([mention("x")], 5) == [[a]]


def test_the_dense_stage_uses_the_whole_index_where_there_is_one(tmp_path: Path) -> None:
    graph = small(tmp_path)
    before = Dense(graph, NgramEncoder(), Fuzzy(graph), at_least=0.3, agreement=0.4).topk(
        [mention("muscular weakness now")], 2
    )
    compute(graph, NgramEncoder())
    after = Dense(graph, NgramEncoder(), Fuzzy(graph), at_least=0.3, agreement=0.4).topk(
        [mention("muscular weakness now")], 2
    )
    assert [m.entity.id for m in after[0]][:1] == [m.entity.id for m in before[0]][:1] == ["HP:1"]


@pytest.mark.parametrize(
    ("a", "b", "rest"),
    [
        ("red eye", "eye pain", ("red", "pain")),
        ("肺炎", "肺病", ("炎", "病")),
        ("x", "肺", None),
        ("Calf hypertrophy", "enlarged calves", ("", "")),
        ("hypertension", "hypotension", ("hypertension", "hypotension")),
    ],
)
def test_the_words_that_differ_are_compared_by_themselves(a: str, b: str, rest: tuple[str, str] | None) -> None:
    assert differing(a, b) == rest


def test_agreement_is_full_without_a_difference_and_low_between_others() -> None:
    same, more, other, script = agreements("red eye", ["eye, red", "eye", "blue eye", "眼"], NgramEncoder())
    assert (same, more, script) == (1.0, 0.7, 0.6)
    assert other < 0.5


def test_without_agreement_the_cosine_alone_counts(graph: Store) -> None:
    plain = Dense(graph, NgramEncoder(), Fuzzy(graph), at_least=0.3, agreement=0)
    assert plain([mention("hyperkalemia")])[0].entity.name == "Hypokalemia"
    assert not Dense(graph, NgramEncoder(), Fuzzy(graph), at_least=0.3)([mention("hyperkalemia")])


def test_a_name_asked_for_again_is_not_embedded_again_and_gets_the_same(graph: Store) -> None:
    class Counting(NgramEncoder):
        texts = 0

        def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
            type(self).texts += len(texts)
            return super().__call__(texts)

    dense = Dense(graph, Counting(), Fuzzy(graph), at_least=0.3, agreement=0)
    first = dense.topk([mention("edema pulmonary fluid"), mention("fever")], 3)
    read = Counting.texts
    assert dense.topk([mention("fever"), mention("edema pulmonary fluid")], 3) == first[::-1]
    assert Counting.texts == read > 0
    dense.topk([mention("fever")], 2)
    assert Counting.texts > read  # another number of candidates is another question


DRUGS = (
    NodeRow("D:1", "aspirin", "drug"),
    NodeRow("D:2", "ethanol", "drug"),
    NodeRow("D:3", "clotiazepam", "drug"),
    NodeRow("D:4", "头孢克洛", "drug"),
    NodeRow("D:5", "头孢克洛过敏", "disease"),
    NodeRow("D:6", "hypertension", "disease"),
    NodeRow("D:7", "N-methyl-N-nitrosourea", "drug"),
    NodeRow("D:8", "hypocalcemia", "disease"),
    NodeRow("D:9", "rhabdomyosarcomatosis", "disease"),
)


@pytest.mark.parametrize(
    ("written", "entity"),
    [
        ("asprin", "D:1"),
        ("apsirin", "D:1"),
        ("methanol", ""),  # another drug
        ("clonazepam", ""),  # two slips
        ("头孢克肟", ""),  # another drug
        ("头孢克肟过敏", "D:5"),  # of other kinds a slip is a slip
        ("hypertenssion", "D:6"),
        ("hypokalemia", ""),  # two slips make another name
        ("rabdomyosarcomatossis", "D:9"),  # of a long one they do not
    ],
)
def test_a_name_is_no_misspelling_of_another(tmp_path: Path, written: str, entity: str) -> None:
    store = small(tmp_path, DRUGS)
    assert linked(Misspelled(store, Fuzzy(store)), written) == entity


class _Alike:
    """An encoder for which everything means the same."""

    name, dimensions = "alike", 2

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return np.tile(np.asarray([1, 0], np.float32), (len(texts), 1))


@pytest.mark.parametrize(("written", "entity"), [("quetiapine aspirin", ""), ("N-nitrosourea N-methyl", "D:7")])
def test_a_drug_is_never_linked_by_what_lies_near_it(tmp_path: Path, written: str, entity: str) -> None:
    store = small(tmp_path, DRUGS)
    assert linked(Dense(store, _Alike(), Fuzzy(store)), written) == entity
    free = Dense(store, _Alike(), Fuzzy(store), agreement=0)([mention(written)])
    assert free  # by cosine alone, as a suggestion


@pytest.mark.parametrize(("written", "entity"), [("痛风急性", "Z:1"), ("溴风急性", ""), ("痛风", "")])
def test_chinese_names_are_near_only_where_no_character_differs(tmp_path: Path, written: str, entity: str) -> None:
    store = small(tmp_path, (NodeRow("Z:1", "急性痛风", "disease"),), language="zh")
    assert linked(Dense(store, _Alike(), Fuzzy(store)), written) == entity


NEAR = (
    NodeRow("N:1", "hyponatremia", "disease"),
    NodeRow("N:2", "cough", "symptom"),
    NodeRow("N:3", "loss of hair", "symptom"),
    NodeRow("N:4", "prolactinoma", "disease"),
)


@pytest.mark.parametrize(
    ("written", "entity"),
    [
        ("hypokalemia", ""),  # one word is never another
        ("coughing", "N:2"),  # but its own form
        ("prolactin", ""),
        ("falling out of hairs", "N:3"),  # several words may be others
        ("HLB", ""),  # what an abbreviation means no vector tells
        ("yes", ""),
    ],
)
def test_one_word_is_never_linked_to_another_by_what_lies_near(tmp_path: Path, written: str, entity: str) -> None:
    store = small(tmp_path, tuple(n for n in NEAR if not entity or n.key == entity))
    assert linked(Dense(store, _Alike(), Fuzzy(store)), written) == entity


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("sodium warfarin", "warfarin", True),
        ("angiotensin-converting enzyme inhibitors", "angiotensin converting enzyme (ACE) inhibitors", True),
        ("N-methyl-D-aspartic acid", "N-methyl-D-aspartate", True),
        ("tobramicyn", "tobramycin", True),
        ("potassium chloride", "sodium chloride", False),
        ("alpha-benzene hexachloride", "gamma benzene hexachloride", False),
        ("doxorubicinol", "doxorubicin", False),
        ("penicillin V", "penicillin G", False),
    ],
)
def test_a_substance_is_the_same_in_another_salt_and_spelling_and_no_other_one(
    one: str, other: str, *, same: bool
) -> None:
    assert is_same_substance(one, other) is same
    assert is_same_substance(other, one) is same


def test_an_english_word_is_no_misspelling_of_a_finding(tmp_path: Path) -> None:
    told = ("Sugar is stored.", "Fat is stored.")
    rows = (NodeRow("Snoring", kind="symptom"), *(NodeRow(f"D{i}", description=d) for i, d in enumerate(told)))
    store = small(tmp_path, rows)
    assert [linked(Misspelled(store, Fuzzy(store)), word) for word in ("storing", "snorring")] == ["", "Snoring"]
