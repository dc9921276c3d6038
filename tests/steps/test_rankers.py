"""The order of evidence, and what is never lost."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from frames import asked
from kgmed.facts.safety import Warned
from kgmed.frame import Intent
from kgmed.methods.kg_rank import PerEntity
from kgmed.models.fakes import TrigramEncoder
from kgmed.pipeline import notes
from kgmed.records import Entity, Evidence, Query, Question, Relation, Role, Triple
from kgmed.steps.phrase import Numbered
from kgmed.steps.rank import MMR, Similarity, mmr
from kgmed.steps.retrieve import First
from role_graph import RoleGraph, query

Q = Query(Question("Is aspirin safe?"))
ROLES = st.sampled_from([Role.TREATS, Role.CONTRAINDICATED, Role.EXCLUDES, Role.AVOID, Role.OTHER])


def piece(i: int, role: Role) -> Evidence:
    triple = Triple(Entity("drug", "drug"), Relation(role.value, role), Entity(f"e{i}", f"thing {i}"))
    return Evidence(f"drug {role} thing {i}", "triple", (triple,))


@pytest.mark.parametrize("penalty", ["mean", "max"])
def test_mmr_gives_the_orders_computed_by_hand(penalty: str) -> None:
    rows = np.array([(1, 0.2, 0), (1, 0.25, 0), (0.8, -0.6, 0), (0.6, 0, 0.8), (0.1, 0.9, 0.4)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    q = np.array([1.0, 0, 0])
    assert np.round(rows @ q, 4).tolist() == [0.9806, 0.9701, 0.8, 0.6, 0.101]
    assert mmr(q, rows, 5, penalty=penalty) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]
    assert mmr(q, rows, 5, base=0.5, step=0.1, penalty=penalty) == [0, 2, 1, 3, 4]  # type: ignore[arg-type]


class Given:
    """The vectors of the numeric oracle: the question's first, then one a piece."""

    name, dimensions = "given", 3

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        rows = np.array([(1, 0, 0), (1, 0.2, 0), (1, 0.25, 0), (0.8, -0.6, 0), (0.6, 0, 0.8), (0.1, 0.9, 0.4)])
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(unit[[0, *(int(t) + 1 for t in texts[1:])]], np.float32)


@pytest.mark.parametrize(
    ("rank", "order", "note"),
    [
        (MMR(Given(), 5), "01234", "changed 0 of the 5 picks of plain similarity, 0 of them to new pieces"),
        (MMR(Given(), 5, 0.5, 0.1), "02134", "changed 2 of the 5 picks of plain similarity, 0 of them to new pieces"),
        (MMR(Given(), 2, 0.5, 0.1), "02", "changed 1 of the 2 picks of plain similarity, 1 of them to new pieces"),
    ],
)
def test_how_much_mmr_departs_from_similarity_is_told(rank: MMR, order: str, note: str) -> None:
    with notes() as left:
        kept = rank(Q, [Evidence(str(i), "text") for i in range(5)])
    assert "".join(e.text for e in kept) == order
    assert left == [f"MMR {note}"]


def test_by_entity_each_note_names_its_entity() -> None:
    about = [Entity("a", "gout"), Entity("b", "flu")]
    evidence = [Evidence(str(i), "text", about=(about[i % 2],)) for i in range(4)]
    with notes() as left:
        PerEntity(First(2))(Q, evidence)
        assert left == []
        PerEntity(MMR(Given(), 2))(Q, evidence)
    assert [line.partition(": MMR changed")[0] for line in left] == ["gout", "flu"]


@given(st.integers(0, 6), st.integers(0, 8), st.sampled_from(["mean", "max"]))
def test_mmr_agrees_with_its_formula(n: int, keep: int, penalty: str) -> None:
    draw = np.random.default_rng(n)
    rows = draw.normal(size=(n, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    q = rows[0] if n else np.zeros(3)
    chosen: list[int] = []
    combine: Callable[[list[float]], float] = max if penalty == "max" else lambda c: sum(c) / len(c)
    while len(chosen) < min(keep, n):
        weight = 0.5 + 0.1 * len(chosen)
        score = {
            i: rows[i] @ q - (weight * combine([float(rows[i] @ rows[s]) for s in chosen]) if chosen else 0.0)
            for i in range(n)
            if i not in chosen
        }
        chosen.append(max(score, key=lambda i: (round(score[i], 9), -i)))
    assert mmr(q, rows, keep, base=0.5, step=0.1, penalty=penalty) == chosen  # type: ignore[arg-type]


@given(roles=st.lists(ROLES, max_size=12), keep=st.integers(0, 4))
def test_a_warning_is_never_ranked_away(roles: Sequence[Role], keep: int) -> None:
    evidence = [piece(i, role) for i, role in enumerate(roles)]
    warnings = {e.text for e in evidence if e.is_safety}
    encoder = TrigramEncoder(64)
    for rank in (First(keep), Similarity(encoder, keep), MMR(encoder, keep)):
        kept = [e.text for e in rank(Q, evidence)]
        assert warnings <= set(kept)
        assert len(kept) == len(set(kept)) <= keep + len(warnings)
        assert {e.text for e in Numbered(max(keep, 1))(Q, rank(Q, evidence)).cited} >= warnings


def test_the_most_similar_comes_first_with_its_cosine() -> None:
    evidence = [Evidence("gout of the toe", "text"), Evidence("Is aspirin safe", "text")]
    first, second = Similarity(TrigramEncoder())(Q, evidence)
    assert first.text == "Is aspirin safe"
    assert first.score > 0.8 > second.score


def test_the_guess_counts_where_it_is_asked_to() -> None:
    evidence = [Evidence("Is aspirin safe", "text"), Evidence("gout of the toe", "text")]
    guess = Query(Question("?"), "gout of the toe")
    assert Similarity(TrigramEncoder(), over_hypothesis=True)(guess, evidence)[0].text == "gout of the toe"


def test_equal_evidence_is_kept_once_and_in_its_order() -> None:
    a, b = Evidence("a", "text"), Evidence("b", "text")
    assert First(2)(Q, [a, b, a]) == [a, b]


DRUGS = [f"drug {i}" for i in range(15)]
G = RoleGraph(
    [
        *[(d, "treats", "gout") for d in DRUGS],
        *[(d, "must not", f"state {i}") for d in DRUGS for i in range(70)],
        ("mild", "treats", "gout"),
    ],
    (Relation("treats", Role.TREATS), Relation("must not", Role.CONTRAINDICATED), Relation("care", Role.PRECAUTION)),
    {"drug": DRUGS},
    texts=[
        ("drug 0", "must not", "in pregnancy"),
        ("mild", "care", "one"),
        ("mild", "care", "two"),
        ("mild", "care", "three"),
    ],
)


@given(st.sets(st.sampled_from(DRUGS), min_size=1))
def test_every_contraindication_of_every_proposed_drug_is_shown(names: set[str]) -> None:
    treats = {t.head.name: t for t in G.neighbours("gout")}
    proposed = [Evidence(n, "candidate", (treats[n],), (G.entity(n), G.entity("gout"))) for n in sorted(names)]
    shown = {t for e in First(1)(Q, Warned(G)(Q, proposed)) for t in e.triples}
    for name in names:
        assert {t for t in G.neighbours(name, limit=999) if t.relation.role is Role.CONTRAINDICATED} <= shown
        assert set(G.attributes(name)) <= shown


def test_a_drug_that_is_only_listed_and_one_without_contraindications() -> None:
    treats = next(t for t in G.neighbours("gout", limit=99) if t.head.name == "mild")
    listed = Evidence("gout", "neighbours", (treats,), (G.entity("gout"),))
    assert Warned(G)(query("She has gout."), [listed]) == [listed]
    assert len(Warned(G)(asked("What treats gout?", Intent.TREATMENT), [listed])) == 2
    proposed = Evidence("mild", "candidate", (treats,), (G.entity("mild"),))
    assert [e.text for e in Warned(G)(query("x"), [proposed])][1:] == ["mild — care → one; two"]


def test_a_treatment_that_is_only_a_text_has_no_warnings() -> None:
    text = Triple(Entity("gout", "gout"), Relation("treated by", Role.TREATS, reverse=True), Entity("", "rest"))
    said = Evidence("rest", "triple", (text,), (Entity("gout", "gout"),))
    assert Warned(G)(asked("What treats gout?", Intent.TREATMENT), [said]) == [said]
