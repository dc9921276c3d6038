"""The newer peers on small graphs: against independent computations, and step by step."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from kgmed.evaluate.datasets import load, patients
from kgmed.evaluate.datasets.diagnosis import counted_graph
from kgmed.graph import library
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.methods.hippo_rag import HippoRAGSettings, PageRanked, hippo_rag
from kgmed.methods.kgarevion import KGARevionSettings, Review, Said, kgarevion
from kgmed.methods.medrag import MedRAGSettings, medrag
from kgmed.methods.think_on_graph import ThinkOnGraphSettings, think_on_graph
from kgmed.models.base import FilledPrompt, Message, Reply
from kgmed.models.fakes import TrigramEncoder
from kgmed.prompts import OWN_KNOWLEDGE, tasked
from kgmed.records import Query, Question, Run
from kgmed.steps.rank import Helpful
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS = (
    NodeRow("gout", kind="disease"),
    NodeRow("sepsis", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    NodeRow("fever", kind="symptom"),
    NodeRow("colchicine", kind="drug"),
    NodeRow("diarrhoea", kind="symptom"),
    NodeRow("pregnancy", kind="other"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("gout", "has_symptom", "fever"),
    EdgeRow("sepsis", "has_symptom", "fever"),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("colchicine", "has_side_effect", "diarrhoea"),
    EdgeRow("gout", "contraindicated_in", "pregnancy"),
    EdgeRow("gout", "found_in", "joints"),
)
ASKED = "What may one get from what is taken for gout with toe pain?"


class Model:
    """Says of each prompt what it is told to; keeps what it was asked."""

    name = "scripted"

    def __init__(self, **says: str | Iterator[str]) -> None:
        self.says, self.asked = says, list[tuple[str, str]]()

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        assert isinstance(messages, FilledPrompt), messages[-1].text
        step = messages.prompt.split(".")[0].rpartition("/")[2]
        self.asked.append((step, messages[-1].text))
        said = self.says[step]
        return Reply(said if isinstance(said, str) else next(said), 10, 5, self.name)

    @property
    def steps(self) -> list[str]:
        return [step for step, _ in self.asked]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("peers"), ROWS)


def tools(graph: Store, llm: Model) -> Toolkit:
    return Toolkit(graph, llm, TrigramEncoder())


def names(run: Run) -> list[tuple[str, ...]]:
    """The names of the evidence's triples, one tuple a piece."""
    return [tuple(n for t in e.triples for n in (t.head.name, str(t.relation), t.tail.name)) for e in run.evidence]


# --- HippoRAG 2.


def passed(edges: Sequence[tuple[str, str]], restart: dict[str, float], c: float) -> dict[tuple[str, str], float]:
    """How often a step of the walk goes along each edge, by a dense solve of (I - c A) w = (1 - c) e."""
    nodes = sorted({n for edge in edges for n in edge})
    place = {n: i for i, n in enumerate(nodes)}
    adjacent = np.zeros((len(nodes), len(nodes)))
    for a, b in edges:
        adjacent[place[a], place[b]] += 1
        adjacent[place[b], place[a]] += 1
    degree = adjacent.sum(axis=0)
    begin = np.array([restart.get(n, 0.0) for n in nodes])
    w = np.linalg.solve(np.eye(len(nodes)) - c * adjacent / degree, (1 - c) * begin / begin.sum())
    return {(a, b): float(w[place[a]] / degree[place[a]] + w[place[b]] / degree[place[b]]) for a, b in edges}


def test_hippo_rag_ranks_triples_by_the_walk_from_what_a_model_recognised(graph: Store) -> None:
    llm = Model(facts='{"facts": [1]}', reader="It is so.")
    toolkit = tools(graph, llm)
    run = hippo_rag(toolkit)(ASKED)
    assert llm.steps == ["facts", "reader"]
    around = [(r.head, r.relation, r.tail) for r in ROWS if isinstance(r, EdgeRow)]
    near = [(a, r, b) for a, r, b in around if "gout" in (a, b) or "toe pain" in (a, b)]
    written = llm.asked[0][1].split("\n1. ")[1].splitlines()[0]
    listed = " ".join(written.replace("—", " ").replace("→", " ").replace("_", " ").split())
    words = {f"{a} {r.replace('_', ' ')} {b}": (a, r, b) for a, r, b in near}
    vectors = toolkit.encoder([ASKED, *words])
    alike = dict(zip(words, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    assert listed == max(alike, key=lambda text: alike[text])
    first = words[listed]
    restart = dict.fromkeys((first[0], first[2]), alike[listed])
    for text, (a, _, b) in words.items():
        for n in (a, b):
            restart[n] = restart.get(n, 0.0) + 0.05 * max(alike[text], 0) / 2
    wanted = passed([(a, b) for a, _, b in around], restart, 0.5)
    assert {(e.triples[0].head.name, e.triples[0].tail.name): e.score for e in run.evidence} == pytest.approx(wanted)
    assert [e.score for e in run.evidence] == sorted((e.score for e in run.evidence), reverse=True)
    assert ("colchicine", "has_side_effect", "diarrhoea") in names(run)  # two steps away


def test_hippo_rag_reads_the_most_similar_triples_where_none_is_recognised_and_keeps_warnings(graph: Store) -> None:
    llm = Model(facts='{"facts": []}', reader="It is so.")
    run = hippo_rag(tools(graph, llm), settings=HippoRAGSettings(keep=1))(ASKED)
    assert any("no triple was recognised" in line for line in run.failures)
    assert len([e for e in run.evidence if not e.is_safety]) <= 1
    assert any(e.is_safety for e in run.evidence)
    walked = hippo_rag(tools(graph, Model(facts='{"facts": [1]}', reader="So.")), settings=HippoRAGSettings(keep=1))
    assert any(e.is_safety for e in walked(ASKED).evidence)


def test_the_numbers_of_hippo_rag_are_those_of_its_paper(graph: Store) -> None:
    (ranked,) = hippo_rag(tools(graph, Model())).retrieve
    assert isinstance(ranked, PageRanked)
    assert (ranked.triples, ranked.damping, ranked.passage) == (5, 0.5, 0.05)
    assert Helpful(Model(facts="{}"), 5).keep == 5
    assert ranked(Query(Question("What is measles?")), []) == []


# --- Think-on-Graph.


def test_think_on_graph_goes_step_by_step_until_the_model_says_that_it_is_enough(graph: Store) -> None:
    llm = Model(
        relations=iter(['{"relations": ["treats"]}'] * 2), facts='{"facts": [1]}', enough=iter(["no", "yes"]),
        reader="Diarrhoea [1].",
    )  # fmt: skip
    run = think_on_graph(tools(graph, llm), settings=ThinkOnGraphSettings(width=1))("What is wrong with gout?")
    assert llm.steps == ["relations", "enough", "enough", "reader"]
    paths = [e for e in run.evidence if e.kind == "path"]
    assert [e.text for e in paths] == ["gout <-[treats]- colchicine -[has_side_effect]-> diarrhoea"]
    assert "has symptom" in llm.asked[0][1].replace("_", " ")
    assert "colchicine" in llm.asked[2][1]
    assert "diarrhoea" in llm.asked[-1][1]
    assert any(e.is_safety for e in run.evidence)  # whatever was chosen, outside of the papers' experiments


def test_a_beam_is_never_wider_nor_deeper_than_it_may_be_and_never_goes_back(graph: Store) -> None:
    llm = Model(
        relations='{"relations": ["has_symptom", "treats", "found_in"]}', facts=json.dumps({"facts": [1, 2, 3]}),
        enough="no", reader="It is so.",
    )  # fmt: skip
    run = think_on_graph(tools(graph, llm))(ASKED)
    paths = [e for e in run.evidence if e.kind == "path"]
    assert 0 < len(paths) <= 3
    for e in paths:
        ends = [n for t in e.triples for n in (t.head.name, t.tail.name)]
        assert len(set(ends)) == len(e.triples) + 1
    assert llm.steps.count("enough") <= 3
    assert any("never said that the paths are enough" in line for line in run.failures)


def test_as_published_a_model_that_never_finds_enough_answers_from_memory(graph: Store) -> None:
    llm = Model(relations='{"relations": ["treats"]}', facts='{"facts": [1]}', enough="no", answer="Diarrhoea.")
    made = think_on_graph(tools(graph, llm))
    with tasked(OWN_KNOWLEDGE):
        assert OWN_KNOWLEDGE.published
        (beam,) = made.retrieve
        links = made.link(made.recognize(Query(Question(ASKED))))
        assert beam(Query(Question(ASKED)), links) == []


def test_a_choice_that_cannot_be_read_keeps_the_first_and_says_so(graph: Store, tmp_path: Path) -> None:
    class Mumbling(Model):
        def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
            if not isinstance(messages, FilledPrompt):
                return Reply("###", 1, 1, self.name)
            return super().__call__(messages, max_tokens=max_tokens)

    llm = Mumbling(relations="###", facts="###", enough="###", reader="It is so.")
    run = think_on_graph(tools(graph, llm))(ASKED)
    assert len([e for e in run.evidence if e.kind == "path"]) == 3
    told = " ".join(run.failures)
    assert "relations of gout kept" in told
    assert "paths kept" in told
    assert "could not be read" in told


# --- KGARevion.

WHICH = Question("What treats gout?", (("A", "colchicine"), ("B", "glimmerwort")))


def test_kgarevion_writes_triples_for_each_option_reviews_them_by_the_graph_and_revises_what_it_refuses(
    graph: Store,
) -> None:
    of_options = [
        [["gout", "treats", "colchicine"], ["colchicine", "has_symptom", "gout"]],  # borne out backwards; refused
        [["glimmerwort", "treats", "gout"]],  # of an entity that the graph does not know
    ]
    llm = Model(
        entities='{"terms": ["gout"]}', triples=iter(json.dumps({"triples": some}) for some in of_options),
        revise='{"triples": [["Gout", "Has symptom", "fever"], ["sepsis", "has_symptom", "toe pain"]]}',
        reader="Colchicine.",
    )  # fmt: skip
    made = kgarevion(tools(graph, llm))
    with tasked(OWN_KNOWLEDGE):
        found = made.retrieve[0](Query(WHICH), [])
    assert llm.steps == ["entities", "triples", "triples", "revise"]
    assert [(e.kind, e.text) for e in found] == [
        ("triple", "colchicine — treats → gout"),  # the graph's own, whatever the model's direction
        ("model", "glimmerwort — treats → gout"),
        ("triple", "gout — has_symptom → fever"),
    ]
    texts = [text for _, text in llm.asked]
    assert "glimmerwort" not in texts[0]  # the terms are those of the question without its options
    assert ["Option: colchicine" in texts[1], "Option: glimmerwort" in texts[2], "Terms: gout" in texts[1]] == [
        True
    ] * 3
    assert texts[1].split("one a line:\n")[-1].splitlines()[0] == "has_symptom"  # the graph's most frequent relation
    assert '["colchicine", "has_symptom", "gout"]' in texts[3]
    assert "glimmerwort" not in texts[3].split("Triples, one a line:")[-1]


def test_kgarevion_shows_a_person_only_what_the_graph_bears_out_and_its_warnings(graph: Store) -> None:
    says = {"entities": '{"terms": []}', "revise": '{"triples": []}', "reader": "So."}
    strange = Model(triples='{"triples": [["glimmerwort", "treats", "gout"]]}', **says)
    run = kgarevion(tools(graph, strange), settings=KGARevionSettings(similar=2))(WHICH)
    assert all(e.triples for e in run.evidence)  # the most similar ones of the graph
    assert any("no triple of the model is in the graph" in line for line in run.failures)
    known = Model(triples='{"triples": [["gout", "treats", "colchicine"], ["gout", "treats", "fever"]]}', **says)
    run = kgarevion(tools(graph, known))(WHICH)
    assert [(e.text, e.is_safety) for e in run.evidence] == [
        ("colchicine — treats → gout", False),
        ("gout — contraindicated_in → pregnancy", True),
    ]
    assert any("1 triples of the model refused" in line for line in run.failures + run.notes)


def test_a_relation_of_a_model_is_the_graphs_by_name_else_by_vector(graph: Store) -> None:
    toolkit = tools(graph, Model())
    review = Review(graph, toolkit.link, toolkit.encoder)
    assert review.relations[0] == "has_symptom"
    by_name = review(Said("colchicine", "Has side effect", "diarrhoea"))
    nearest = review(Said("colchicine", "side effects", "diarrhoea"))
    assert by_name == nearest
    assert by_name is not None
    assert review(Said("colchicine", "treats", "diarrhoea")) is None
    assert review(Said("gout", "has_symptom", "sepsis")) is None
    edges = {(r.head, r.relation, r.tail) for r in ROWS if isinstance(r, EdgeRow)}
    names_of = [r.key for r in ROWS if isinstance(r, NodeRow)]
    for head in names_of:
        for tail in names_of:
            fits = review(Said(head, "has_symptom", tail)) is not None
            assert fits == bool({(head, "has_symptom", tail), (tail, "has_symptom", head)} & edges)


def test_more_options_than_may_be_asked_one_by_one_are_asked_about_at_once(graph: Store) -> None:
    llm = Model(entities='{"terms": []}', triples='{"triples": []}', reader="So.")
    kgarevion(tools(graph, llm), settings=KGARevionSettings(options=1))(WHICH)
    assert llm.steps.count("triples") == 1
    assert "A. colchicine" in llm.asked[1][1]


# --- MedRAG.

TIERS = {  # category -> disease -> findings
    "lung diseases": {"croup": "stridor, cough, fever", "bronchitis": "cough, fever, sputum", "asthma": "cough, fever"},
    "skin diseases": {"measles": "rash, fever, cough", "scabies": "itch, rash"},
}
OF_TIERS: tuple[Row, ...] = (
    *(NodeRow(d, kind="disease") for of in TIERS.values() for d in of),
    *(EdgeRow(d, "is_a", category) for category, of in TIERS.items() for d in of),
    *(EdgeRow(d, "has_symptom", f) for of in TIERS.values() for d, fs in of.items() for f in fs.split(", ")),
    EdgeRow("croup", "contraindicated_in", "sedatives"),
)
PATIENT = "The patient has stridor, cough and fever. Which disease is it?"


def test_medrag_tells_the_diseases_of_the_category_apart_that_most_findings_vote_for(tmp_path: Path) -> None:
    graph = small(tmp_path, OF_TIERS)
    llm = Model(reader="Croup.")
    run = medrag(tools(graph, llm))(PATIENT)
    assert llm.steps == ["reader"]
    had = {"stridor", "cough", "fever"}
    votes = {d: len(had & set(fs.split(", "))) for of in TIERS.values() for d, fs in of.items()}
    best = max(TIERS, key=lambda category: sum(votes[d] for d in TIERS[category]))
    shared = set.intersection(*(set(fs.split(", ")) for fs in TIERS[best].values()))
    wanted = {d: set(fs.split(", ")) - shared for d, fs in TIERS[best].items()}
    told = {e.about[0].name: (e.score, {t.tail.name for t in e.triples}) for e in run.evidence}
    assert told == {d: (votes[d], apart) for d, apart in wanted.items() if apart}
    assert [e.about[0].name for e in run.evidence] == ["croup", "bronchitis"]
    assert "lung diseases (7 votes)" in " ".join(run.notes + run.failures)
    assert "croup — has_symptom → stridor" in llm.asked[0][1]


def test_without_categories_the_diseases_with_most_votes_are_told_apart_rarest_findings_first(tmp_path: Path) -> None:
    rows = (row for row in OF_TIERS if not (isinstance(row, EdgeRow) and row.relation == "is_a"))
    graph = small(tmp_path, (*rows, EdgeRow("croup", "has_symptom", "hoarseness")))
    settings = MedRAGSettings(diseases=2, features=2)
    run = medrag(tools(graph, Model(reader="Croup.")), settings=settings)("What is it, with stridor and cough?")
    [croup, *_] = run.evidence
    assert [t.tail.name for t in croup.triples] == ["stridor", "hoarseness"]  # the patient's first, then the rarest
    assert croup.score == 2
    with tasked(OWN_KNOWLEDGE):
        made = medrag(tools(graph, Model()))
        assert (
            made.retrieve[0](Query(Question("Measles?")), made.link(made.recognize(Query(Question("Measles?"))))) == []
        )


def test_a_disease_with_no_finding_in_the_question_still_shows_what_the_graph_says_to_a_person(tmp_path: Path) -> None:
    run = medrag(tools(small(tmp_path, OF_TIERS), Model(reader="So.")))("Is croup bad?")
    assert any(e.is_safety for e in run.evidence)
    assert any("no finding of the question" in line for line in run.failures)


@pytest.mark.data
def test_medrags_differences_on_ddxplus_begin_with_the_right_disease(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    graph = library.load(counted_graph(patients("ddxplus", data)))
    asked = [item for item in load("ddxplus-questions", data) if item.part == "test"][::138][:50]
    made = medrag(tools(graph, Model()))
    assert len(asked) == 50
    for item in asked:
        query = Query(item.question)
        found = [e for e in made.retrieve[0](query, made.link(made.recognize(query))) if e.kind == "neighbours"]
        assert found[0].about[0].name == item.gold.entities[0]
        assert len({frozenset(t.tail for t in e.triples) for e in found}) == len(found) == 10
