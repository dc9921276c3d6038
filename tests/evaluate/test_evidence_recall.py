"""Recall of an answer's entities in the evidence."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.questions import Consultation, consultations
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Entity, Evidence, Relation, Triple
from kgmed.toolkit import Toolkit
from named_graph import small

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _recall import EvidenceRecall, compare, gold_ids

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    NodeRow("colchicine", kind="drug"),
    NodeRow("other drug", kind="drug"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("colchicine", "treats", "gout"),
)


def consultation(question: str, *names: str) -> Consultation:
    return Consultation(1, question, "", names)


def test_gold_is_what_the_graph_has_of_the_right_kind(tmp_path: Path) -> None:
    graph = small(tmp_path, ROWS)
    assert gold_ids(graph, consultation("", "Gout", "toe pain", "Colchicine", "unknown")) == {"gout", "colchicine"}


def test_retrieval_is_compared_on_the_same_questions(tmp_path: Path) -> None:
    toolkit = Toolkit(small(tmp_path, ROWS), encoder=NgramEncoder())
    rows = [
        consultation("I have toe pain. What could it be?", "gout", "colchicine"),
        consultation("What is zog?", "other drug"),
        consultation("What is gout?", "nothing known"),
    ]
    scores, empty = compare(toolkit, rows)
    facts = scores["kgmed facts"]
    assert empty == 1
    assert (facts.questions, facts.wanted, facts.unlinked) == (2, 3, 1)
    assert facts.micro(5) == pytest.approx(2 / 3)
    assert scores["one-hop, unranked"].micro(5) == pytest.approx(1 / 3)
    assert scores["constant"].micro(5) == pytest.approx(2 / 3)  # the one disease of the graph, whatever is asked


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=6))
def test_recall_counts_entities_and_grows_with_k(rows: list[tuple[int, int]]) -> None:
    recall = counted(rows)
    assert recall.micro(5) == pytest.approx(sum(min(f, w) for f, w in rows) / sum(w for _, w in rows))
    assert recall.micro(5) <= recall.micro(10) <= recall.micro(20)
    shares = [min(f, w) / w for f, w in rows]
    mean = sum(shares) / len(shares)
    spread = sum((s - mean) ** 2 for s in shares) / (len(shares) - 1)
    assert recall.macro(5) == pytest.approx(mean)
    assert recall.macro_error(5) == pytest.approx((spread / len(shares)) ** 0.5)


def counted(rows: list[tuple[int, int]]) -> EvidenceRecall:
    recall = EvidenceRecall()
    for found, wanted in rows:
        ends = [Entity(f"e{i}", "") for i in range(found)]
        evidence = [Evidence("", "triple", (Triple(e, Relation("r"), e),)) for e in ends]
        recall.add(evidence, frozenset(f"e{i}" for i in range(wanted)), linked=True)
    return recall


def test_the_error_of_micro_recall_is_that_of_drawing_other_questions() -> None:
    one_each = counted([(i % 2, 1) for i in range(200)])  # micro and macro are the same, and so are their errors
    assert one_each.micro_error(5) == pytest.approx(one_each.macro_error(5), rel=0.06)
    together = counted([((i % 2) * 4, 4) for i in range(50)])  # the 200 entities of 50 questions say half as much
    assert together.micro(5) == one_each.micro(5) == 0.5
    assert together.micro_error(5) == pytest.approx(2 * one_each.micro_error(5), rel=0.12)
    assert counted([(1, 1)]).micro_error(5) == 0


def test_consultations_are_read_and_rows_without_their_parts_left_out(tmp_path: Path) -> None:
    whole = {
        "qustion_output": "<CLS>My toe hurts.<SEP>The extracted entities are toe pain<EOS>",
        "answer_output": "<CLS>It is gout.<SEP>The extracted entities are gout, colchicine.<EOS>",
    }
    lines = [json.dumps(whole), json.dumps({**whole, "answer_output": "cut off"})]
    (tmp_path / "rows.json").write_text("\n".join(lines), encoding="utf-8")
    [row] = consultations(tmp_path / "rows.json")
    assert (row.line, row.question, row.answer_entities) == (1, "My toe hurts.", ("gout", "colchicine"))


@pytest.mark.parametrize("line", ["{", "[]", '{"qustion_output": "x"}', "3"])
def test_a_damaged_row_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "rows.json").write_text(line, encoding="utf-8")
    with pytest.raises(SourceError, match=r"rows\.json:1: is not a row"):
        list(consultations(tmp_path / "rows.json"))


@pytest.mark.data
def test_the_published_file_has_its_rows(data: Path) -> None:
    rows = list(consultations(data / "genmedgpt5k" / "NER_chatgpt_first4000.json"))
    assert 3900 < len(rows) < 4000
    assert all(r.question for r in rows)


def test_evidence_is_also_cut_after_a_number_of_tokens_and_holds_the_names_that_are_left() -> None:
    pieces = [
        Evidence(
            f"one thing{n} and other{n}",
            "triple",
            (Triple(Entity(f"t{n}", f"thing{n}"), Relation("r"), Entity(f"o{n}", f"other{n}")),),
        )
        for n in (1, 2)
    ]  # 6 tokens each
    recall = EvidenceRecall(ks=(1, 2), tokens=(5, 6, 11, 12))
    recall.add(pieces, frozenset({"o1", "o2"}), linked=True)
    assert [recall.micro(cut) for cut in (1, 2, 5, 6, 11, 12)] == [0.5, 1, 0, 0.5, 0.5, 1]


def test_two_methods_are_compared_on_the_same_questions_so_that_what_they_share_is_no_error() -> None:
    rows = [(i % 2, 1) for i in range(100)]
    one, other = counted(rows), counted([(0, wanted) for _, wanted in rows])
    assert one.lead(one, 5) == (0, 0)
    ahead, error = one.lead(other, 5)
    assert ahead == 0.5
    assert error == pytest.approx(one.micro_error(5))
