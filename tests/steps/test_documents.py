"""A document for each disease, made from the graph alone."""

from pathlib import Path

import numpy as np
import pytest

from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store, open_store
from kgmed.methods.baselines_retrieval import ByVector, ByWords, Documents, Postings, documents
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.scorers import BM25Index, words
from kgmed.records import Query, Question
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease", description="Too much uric acid."),
    NodeRow("measles", kind="disease"),
    NodeRow("red toe", kind="symptom"),
    NodeRow("rash", kind="symptom"),
    EdgeRow("gout", "has_symptom", "red toe"),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("measles", "has_symptom", "rash"),
)
ASKED = Query(Question("My toe is red."))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("documents"), ROWS)


def test_a_document_says_what_the_graph_says_of_a_disease(graph: Store) -> None:
    every = Documents(graph)
    assert [every.text(i) for i in range(len(every.nodes))] == [
        "gout; Too much uric acid.; has_symptom: red toe; treats: colchicine",
        "measles; has_symptom: rash",
    ]
    found = every.evidence(0, 1.0)
    assert [t.tail.name for t in found.triples] == ["red toe", "gout"]
    assert (found.kind, [e.name for e in found.about]) == ("document", ["gout"])


def test_a_long_list_is_cut(graph: Store, tmp_path: Path) -> None:
    signs = [EdgeRow("flu", "has_symptom", f"sign {i:02}") for i in range(30)]
    rows: tuple[Row, ...] = (NodeRow("flu", kind="disease"), *signs)
    text = Documents(small(tmp_path, rows), listed=12).text(0)
    assert text.count("sign") == 12


def test_without_diseases_every_head_of_an_edge_has_a_document(tmp_path: Path) -> None:
    every = Documents(small(tmp_path, (EdgeRow("a", "r", "b"), EdgeRow("c", "r", "b"))))
    assert [every.graph.at(int(n)).name for n in every.nodes] == ["a", "c"]


def test_words_find_the_document_that_shares_them_and_no_other(graph: Store) -> None:
    assert [e.about[0].name for e in ByWords(graph, keep=5)(ASKED, [])] == ["gout"]
    assert ByWords(graph)(Query(Question("tungsten")), []) == []


def test_options_are_searched_with_too(graph: Store) -> None:
    asked = Query(Question("Which?", (("A", "rash"),)))
    assert [e.about[0].name for e in ByWords(graph)(asked, [])] == ["measles"]


def test_the_index_scores_as_bm25_over_the_texts_does() -> None:
    texts = ["no fever at all", "cough", "fever fever and a cough", "发热 咳嗽", "发热"]
    query = "fever with cough 发热"
    index = Postings.of([words(t) for t in texts])
    np.testing.assert_allclose(index.scores(query, k1=1.5, b=0.75), BM25Index().scores(query, texts))


def test_the_index_of_words_is_kept_beside_the_graph_and_opened_again(tmp_path: Path) -> None:
    made = Documents(small(tmp_path, ROWS)).postings
    (kept,) = Path(tmp_path).glob("**/derived/document-words-*")
    times = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    again = Documents(open_store(kept.parents[1])).postings
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == times
    assert again.number == made.number
    assert again.scores("red rash", k1=1.5, b=0.75).tolist() == made.scores("red rash", k1=1.5, b=0.75).tolist()


def test_an_index_of_no_documents_finds_nothing() -> None:
    index = Postings.from_arrays(Postings.of([]).arrays())
    assert index.scores("fever", k1=1.5, b=0.75).tolist() == []


def test_vectors_find_the_nearest_document_and_are_kept_beside_the_graph(tmp_path: Path) -> None:
    graph, encoder = small(tmp_path, ROWS), TrigramEncoder()
    assert [e.about[0].name for e in ByVector(graph, encoder)(ASKED, [])] == ["gout"]
    (kept,) = Path(graph.folder).glob("derived/documents-*/rows.npy")
    assert np.load(kept).shape == (2, encoder.dimensions)


def test_the_documents_of_a_graph_are_made_once(graph: Store) -> None:
    assert documents(graph) is documents(graph)
