"""Claims are held against triples: borne out, contradicted or not in the evidence, each with the triple."""

import pytest

from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.records import (
    Answer,
    Context,
    Entity,
    Evidence,
    Query,
    Question,
    Relation,
    Role,
    Run,
    Support,
    Triple,
    Verdict,
)
from kgmed.steps.check import ByTriples
from kgmed.steps.citations import Citations
from kgmed.steps.phrase import Numbered, NumberedChains, chain
from kgmed.steps.retrieve import Overview
from kgmed.toolkit import Toolkit

ASPIRIN, IBUPROFEN, FEVER, GOUT, RASH = (Entity(n, n) for n in ("Aspirin", "Ibuprofen", "Fever", "Gout", "Rash"))
TREATS, CAUSES, HAS = (
    Relation(n, r) for n, r in (("treats", Role.TREATS), ("adverse", Role.ADVERSE), ("has", Role.FINDING))
)
DOSE = Relation("用法用量", Role.DOSAGE)
TRIPLES = (
    Triple(ASPIRIN, TREATS, FEVER),
    Triple(ASPIRIN, CAUSES, RASH),
    Triple(IBUPROFEN, TREATS, GOUT),
    Triple(GOUT, HAS, FEVER, 0.25, support=(Support("PMID:1", (("frequency", "3/12"),)),)),
    Triple(Entity("甲片", "甲片"), DOSE, Entity("", "口服，一次2片，一日3次")),
    Triple(Entity("甲片", "甲片"), Relation("不良反应", Role.ADVERSE), Entity("皮疹", "皮疹")),
    Triple(Entity("甲片", "甲片"), Relation("不良反应", Role.ADVERSE), Entity("恶心", "恶心")),
)
EVIDENCE = tuple(Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "triple", (t,), (t.head,)) for t in TRIPLES)


def check(text: str, evidence: tuple[Evidence, ...] = EVIDENCE) -> Verdict:
    answer = ByTriples(Citations())(Query(Question("What?")), Context("", evidence), Answer(text))
    return answer.verdicts[0]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Aspirin treats fever.", "supported"),
        ("Fever is treated with aspirin.", "supported"),
        ("Aspirin treats fever and can cause rash.", "supported"),
        ("Aspirin treats fever, and ibuprofen treats gout.", "supported"),
        ("Aspirin treats gout.", "unsupported"),
        ("Ibuprofen treats fever, and aspirin treats gout.", "unsupported"),
        ("Aspirin treats fever and gout.", "unsupported"),
        ("Aspirin treats rash.", "unsupported"),
        ("Fever treats aspirin.", "unsupported"),
        ("Aspirin treats fever and moon sickness.", "unsupported"),
        ("Aspirin does not treat fever.", "contradicted"),
        ("Aspirin treats fever but does not cause rash.", "contradicted"),
        ("甲片的不良反应包括皮疹、恶心。", "supported"),
        ("甲片的不良反应包括皮疹、水肿。", "unsupported"),
        ("甲片不会引起皮疹。", "contradicted"),
        ("Gout has fever in 25% of patients.", "supported"),
        ("Gout has fever in 3/12 of patients.", "supported"),
        ("Gout has fever in 60% of patients.", "contradicted"),
    ],
)
def test_a_sentence_is_what_its_claims_are(text: str, label: str) -> None:
    found = check(text)
    assert found.label == label, found.reason
    assert found.supported == (label == "supported")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("甲片口服，一次2片，一日3次。", "supported"),
        ("甲片的用法用量为：每次2片，每日3次。", "supported"),
        ("甲片口服，一次3片，一日3次。", "contradicted"),
        ("甲片口服，一次2粒，一日3次。", "contradicted"),
        ("甲片口服，一次2片，一日4次。", "contradicted"),
        ("甲片口服，一次2g，一日3次。", "contradicted"),
        ("甲片每次服用20片。", "contradicted"),
    ],
)
def test_a_dose_is_that_of_the_text_with_its_unit(text: str, label: str) -> None:
    assert check(text).label == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("What are the side effects of aspirin? Rash.", ["supported", "supported"]),
        ("What are the side effects of aspirin? Gout.", ["unsupported", "unsupported"]),
        ("Does aspirin treat fever? No.", ["unsupported", "contradicted"]),
        ("Does aspirin treat fever? Yes.", ["supported", "supported"]),
        ("Drugs for gout:\n- Ibuprofen\n- Aspirin", ["unsupported", "supported", "unsupported"]),
        ("What treats gout? Aspirin treats fever.", ["supported", "supported"]),
        ("甲片有什么副作用？皮疹、恶心。", ["supported", "supported"]),
        ("甲片会引起皮疹吗？不会。", ["unsupported", "contradicted"]),
        ("甲片会引起皮疹吗？不管怎样都会。", ["supported", "supported"]),
    ],
)
def test_an_answer_is_read_with_its_question_and_a_line_with_its_heading(text: str, labels: list[str]) -> None:
    answer = ByTriples(Citations())(Query(Question("What?")), Context("", EVIDENCE), Answer(text))
    assert [v.label for v in answer.verdicts] == labels


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Fever is observed in many of those diagnosed with gout.", "supported"),
        ("It is thought that fever might be encountered in gout, although this varies.", "supported"),
        ("Gout has been traced back to changes in fever.", "unsupported"),
        ("Gout is one of the fever group.", "unsupported"),
        ("In 25 out of 100 people with gout, fever is seen.", "supported"),
        ("In 60 out of 100 people with gout, fever is seen.", "contradicted"),
        ("Gout zorbs fever.", "unsupported"),
        ("Nobody with gout has fever.", "contradicted"),
        ("甲片在用药期间有出现皮疹的报道。", "supported"),
        ("皮疹由甲片负责诊治。", "unsupported"),
    ],
)
def test_ordinary_words_around_a_claim_say_nothing_of_their_own(text: str, label: str) -> None:
    found = check(text)
    assert found.label == label, found.reason


def test_each_claim_has_its_label_and_its_triple() -> None:
    first, second = check("Aspirin treats fever and gout.").claims
    assert (first.label, first.triple, first.where) == ("supported", TRIPLES[0], "evidence")
    assert (second.label, second.triple, second.where) == ("unsupported", None, "")
    assert str(second) == "Aspirin — treats → Gout"


def test_what_is_borne_out_cites_the_pieces_that_say_it() -> None:
    assert check("Aspirin treats fever and can cause rash.").citations == (1, 2)
    answer = ByTriples(Citations())(Query(Question("?")), Context("", EVIDENCE), Answer("Aspirin can cause rash."))
    assert answer.citations == (2,)


def test_what_only_the_graph_says_is_not_in_the_evidence_and_told_to_be_in_the_graph(hpo_like: Store) -> None:
    toolkit = Toolkit(hpo_like, encoder=NgramEncoder())
    query = Query(Question("What of gout?"))
    [found] = toolkit.check(query, Context("", ()), Answer("Gout presents with toe pain.")).verdicts
    assert (found.supported, found.label) == (False, "unsupported")
    assert found.reason == "the graph says so, but not the evidence: Gout — has_phenotype → Toe pain"
    assert found.claims[0].where == "graph"


@pytest.fixture
def hpo_like(tmp_path_factory: pytest.TempPathFactory) -> Store:
    from kgmed.graph.base import EdgeRow, NodeRow, Source
    from kgmed.graph.store.build import build
    from kgmed.graph.store.store import open_store

    folder = tmp_path_factory.mktemp("graphs") / "small"
    rows = (NodeRow("D:1", "Gout", "disease"), NodeRow("P:1", "Toe pain", "phenotype"))
    edge = EdgeRow("D:1", "has_phenotype", "P:1")
    relations = {"has_phenotype": Relation("has_phenotype", Role.FINDING)}
    build(Source("small", lambda: iter((*rows, edge)), language="en", relations=relations), folder)
    return open_store(folder)


def test_old_verdicts_without_claims_are_read() -> None:
    run = Run(Query(Question("?")), (), (), (), (), Context(""), Answer("x", verdicts=(Verdict("x", True, "y"),)))
    plain = run.to_json()
    del plain["answer"]["verdicts"][0]["claims"]
    assert Run.from_json(plain) == run


@pytest.mark.starter
@pytest.mark.parametrize(
    ("graph", "name"), [("hpo", "Marfan syndrome"), ("hpo", "Wilson disease"), ("cmekg", "糖尿病")]
)
def test_the_evidence_as_it_is_written_is_borne_out(graph: str, name: str, request: pytest.FixtureRequest) -> None:
    store: Store = request.getfixturevalue(graph)
    pieces = tuple(Overview(store).of(store.lookup(name)[0].entity))
    lines = [e.text for e in pieces] + [chain(e) for e in pieces]
    query = Query(Question(name))
    for phrase in (Numbered(), NumberedChains()):
        lines += phrase(query, pieces).text.splitlines()
    toolkit = Toolkit(store, encoder=NgramEncoder())
    for line in lines:
        verdicts = toolkit.check(query, Context("", pieces), Answer(line)).verdicts
        assert all(v.supported for v in verdicts), [v.reason for v in verdicts if not v.supported][:2]
