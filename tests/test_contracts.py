"""What every implementation of a protocol must do; the table names each class, and a test finds those it lacks.

The classes are found in the sources by the shape of their `__call__`, wherever they stand, so that a class may move.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgmed
from kgmed import registry
from kgmed.errors import UnknownName
from kgmed.facts.answer import answer
from kgmed.frame import Patient
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.build import build
from kgmed.graph.store.edits import edit
from kgmed.graph.store.store import Store, open_store
from kgmed.linking.cascade import Cascade, Spelled
from kgmed.linking.decide import LinkCandidate, open_scorer
from kgmed.linking.recognise import Lexicon
from kgmed.models.base import Message
from kgmed.models.fakes import OverlapScorer, Scripted, TrigramEncoder, Wordwise
from kgmed.models.w2ner import FoundEntity
from kgmed.question.understand import Trained
from kgmed.records import Context, Evidence, Link, Mention, Query, Question, Relation, Role, Triple
from kgmed.registry import Registry
from kgmed.reward.cases import CauseGraph, NamesIn, case_in
from kgmed.reward.criticality import Criticality
from kgmed.steps.facts import facts

SHAPES = {  # positional annotations of __call__, return -> protocol; "" = any
    ("Question",): "Expander",
    ("Query",): "Recognizer",
    ("Sequence[Mention]",): "Linker",
    ("Query", "Sequence[Mention]", "Sequence[Link]"): "Understander",
    ("Query", "Sequence[Link]"): "Retriever",
    ("Query", "Sequence[Evidence]"): "Ranker",
    ("Query", "Context"): "Reader",
    ("Query", "Context", "Answer"): "Checker",
    ("Sequence[Message]",): "LLM",
    ("Sequence[str]",): "Encoder",
    ("Sequence[tuple[str, str]]",): "PairScorer",
    ("Sequence[Question | str]", "Sequence[str]"): "Reward",
}
ELSEWHERE = {  # why its own tests hold it to the protocol
    **dict.fromkeys(("Gguf", "TransformersLM", "Absent", "CachedLLM"), "needs a file"),
    **dict.fromkeys(("SentenceEncoder", "TransformerCrossEncoder", "UseEncoder"), "needs a file"),
    "Bleurt": "needs a checkpoint",
    "Helpful": "a step within PageRanked and OnlyHelpful, which keep the warnings",
    "Reviewed": "shows what a model says and then reviews, not what is around the links",
    "StandIn": "answers with words of the question",
    **dict.fromkeys(("OpenAI", "Anthropic", "HttpEncoder", "HttpPairScorer"), "needs a server"),
    **dict.fromkeys(("RandomTriples", "ShuffledTriples", "Oracle"), "a control puts other evidence in its place"),
    "WithOptions": "finds names in the options too, whose places are after the question's end",
    "WhenIneffective": "puts the model's own words where there is no evidence",
    "DiseaseReader": "reads only what is about diseases",
    **dict.fromkeys(("OpenOnly", "as_is"), "gives no verdict on a choice"),
    "PreferenceReward": "needs two models that torch runs",
    "LanguageReward": "needs a trained model that torch runs",
    "ClosedListReader": "chooses among options, and cites what is about the one chosen",
}
REGISTRIES = [found for found in vars(registry).values() if isinstance(found, Registry)]
ROWS: list[Row] = [
    NodeRow("flu", "Flu", "disease", "A cold, but worse.", (Alias("influenza"),)),
    NodeRow("fever", "Fever", "symptom"),
    NodeRow("cough", "Cough", "symptom"),
    NodeRow("aspirin", "Aspirin", "drug"),
    EdgeRow("flu", "has_symptom", "fever"),
    EdgeRow("flu", "has_symptom", "cough"),
    EdgeRow("aspirin", "treats", "fever"),
    EdgeRow("aspirin", "contraindicated", "flu"),
    TextRow("aspirin", "dosage", "twice a day"),
]
QUERY = Query(Question("I have fever and cough. Is it flu? May I take aspirin?", (("A", "Flu"), ("B", "Aspirin"))))


@dataclass(frozen=True)
class NoCandidates:
    """Finds nothing near a mention: vectors of all names take a while to make."""

    graph: Store

    def __call__(self, mentions: Sequence[str]) -> list[list[LinkCandidate]]:
        return [[] for _ in mentions]


@dataclass(frozen=True)
class World:
    """What implementations are made from."""

    graph: Store

    def find(self, text: str) -> list[Mention]:
        return Lexicon(self.graph)(Query(Question(text)))

    def links(self, query: Query = QUERY) -> list[Link]:
        return Cascade((Spelled(self.graph),))(self.find(query.text))

    def link(self, text: str) -> list[Link]:
        return self.links(Query(Question(text)))


ROOT = Path(kgmed.__file__).parent


@cache
def places() -> dict[str, str]:
    """The module of every public class and function at the top of a module."""
    return {
        node.name: ".".join((ROOT.name, *path.relative_to(ROOT).with_suffix("").parts))
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }


def made(name: str) -> Callable[..., Any]:
    """The implementation of that name."""
    found: Callable[..., Any] = getattr(import_module(places()[name]), name)
    return found


ROWS_OF: dict[str, dict[str, Callable[[World, Any], Any]]] = {
    "Expander": {
        "Guess": lambda w, c: c(Scripted(["It is gout."])),
        "Lines": lambda w, c: c(Scripted(['{"sentences": ["Flu brings fever."]}']), "cok/prepare"),
    },
    "Recognizer": {
        "Lexicon": lambda w, c: c(w.graph),
        "ByModel": lambda w, c: c(Scripted(['{"terms": ["cough", "fever", "sepsis"]}'])),
        "Listed": lambda w, c: c(Scripted(["cough, fever, sepsis"])),
        "Translated": lambda w, c: c(Scripted(['{"medical entities": ["fever", "cough"]}', '["Flu", null]']), w.graph),
        "OrElse": lambda w, c: c(Lexicon(w.graph), Lexicon(w.graph)),
        "DrawnEntities": lambda w, c: c(Scripted(['{"terms": ["cough", "fever"]}', "-", '{"terms": ["sepsis"]}'])),
        "Once": lambda w, c: c(Lexicon(w.graph)),
        "SpellingCorrector": lambda w, c: c(Lexicon(w.graph), w.graph),
        "WithoutVerb": lambda w, c: c(Lexicon(w.graph), w.graph),
        "MentionMerger": lambda w, c: c(Lexicon(w.graph), w.graph),
        "WithoutAsking": lambda w, c: c(Lexicon(w.graph)),
        "WithPhrases": lambda w, c: c(w.find),
        "Tagger": lambda w, c: c(
            lambda texts: [[FoundEntity("sym", ((m.start, m.end),)) for m in w.find(t)] for t in texts]
        ),
    },
    "Linker": {
        "Spelled": lambda w, c: c(w.graph),
        "Reworded": lambda w, c: c(w.graph),
        "Misspelled": lambda w, c: c(w.graph, Fuzzy(w.graph)),
        "Chosen": lambda w, c: c(Spelled(w.graph), {}),
        "CarriedOver": lambda w, c: c(Spelled(w.graph)),
        "Cascade": lambda w, c: c((Spelled(w.graph),)),
        "Decided": lambda w, c: c(NoCandidates(w.graph), open_scorer()),
        "Unique": lambda w, c: c(Spelled(w.graph)),
        "Dense": lambda w, c: c(w.graph, TrigramEncoder(), Fuzzy(w.graph)),
    },
    "Understander": {
        "Trained": lambda w, c: Trained(),  # not the only one of that name
        "ReadByModel": lambda w, c: c(Scripted([]), Trained(), w.graph, w.link),
        "Remembering": lambda w, c: c(Trained(), Patient()),
        "unread": lambda w, c: c,
    },
    "Retriever": {
        **dict.fromkeys(
            ("ChainRetriever", "Consult", "Diagnosis", "Neighbours", "Overview", "PathRetriever"),
            lambda w, c: c(w.graph),
        ),
        "FromFrame": lambda w, c: c(w.graph, w.link),
        "WithSingles": lambda w, c: c(made("ChainRetriever")(w.graph), made("Neighbours")(w.graph)),
        "OptionPaths": lambda w, c: c(w.graph, w.link),
        "MindMapPaths": lambda w, c: c(w.graph),
        "Relevant": lambda w, c: c(w.graph),
        "ByWords": lambda w, c: c(w.graph),
        "ByVector": lambda w, c: c(w.graph, TrigramEncoder(), at_least=0.2),
        "PatientSubgraph": lambda w, c: c(w.graph, 5, made("Neighbours")(w.graph)),
        "ChosenRelations": lambda w, c: c(w.graph, Scripted(['["treats"]'] * 2), w.link, keep=1),
        "OwnKnowledge": lambda w, c: c(Scripted(["Flu causes fever."] * 2)),
        "AskedTriples": lambda w, c: c(w.graph, w.link, made("Neighbours")(w.graph)),
        "AskedRows": lambda w, c: c(made("AskedTriples")(w.graph, w.link, made("Neighbours")(w.graph))),
        "TiedThings": lambda w, c: c(w.graph),
        "AptPaths": lambda w, c: c(made("PathRetriever")(w.graph)),
        "Differences": lambda w, c: c(w.graph),
        "OptionFacts": lambda w, c: c(w.graph, w.link, [made("Neighbours")(w.graph)]),
        "Beam": lambda w, c: c(w.graph, Scripted(['{"facts": [1], "enough": true}'], every=True)),
        "PageRanked": lambda w, c: c(
            w.graph, TrigramEncoder(), made("Helpful")(Scripted(['{"facts": [1]}'], every=True), 9)
        ),
        "Gather": lambda w, c: c(Scripted(['{"tool": "done", "facts": [1]}'] * 4), made("Toolkit")(w.graph)),
    },
    "Ranker": {
        "Similarity": lambda w, c: c(TrigramEncoder(), keep=1),
        "MMR": lambda w, c: c(TrigramEncoder(), keep=1),
        "First": lambda w, c: c(keep=1),
        "OnlyHelpful": lambda w, c: c(w.graph, made("Helpful")(Scripted(['{"facts": [1]}'], every=True), 1)),
        **dict.fromkeys(("Warned", "OnlyRare", "NotForThisPatient", "PatientGate"), lambda w, c: c(w.graph)),
        "Rerank": lambda w, c: c(OverlapScorer(), keep=1),
        "Fragments": lambda w, c: c(OverlapScorer(), keep=1),
        "BM25": lambda w, c: c(keep=1),
        "Random": lambda w, c: c(keep=1),
        "AskedBy": lambda w, c: c(made("First")(keep=1)),
        "ByLine": lambda w, c: c(made("BM25")(keep=1)),
        "Percentile": lambda w, c: c(TrigramEncoder(), keep=1),
        "PerEntity": lambda w, c: c(made("Random")(keep=1)),
        "Cut": lambda w, c: c(made("First")(keep=9), 9),
        "TopChains": lambda w, c: c((made("First")(keep=9),), lambda text: []),
        "TiesFirst": lambda w, c: c(made("First")(keep=9), 9),
        "ForPatient": lambda w, c: c(w.graph),
        "ForReader": lambda w, c: c(w.graph),
        "InTurn": lambda w, c: c((made("First")(keep=9),)),
        "ChosenByModel": lambda w, c: c(Scripted(["2, 1, 3, 4, 5, 6, 7, 8, 9"] * 2), 9),
    },
    "Phraser": {
        "Numbered": lambda w, c: c(),
        "Within": lambda w, c: c(made("Numbered")(), 12),
        "NumberedChains": lambda w, c: c(),
        "Rewritten": lambda w, c: c(Scripted(["E1: Flu has symptom fever."])),
        "Arrows": lambda w, c: c(w.graph),
        "ByEntity": lambda w, c: c(w.graph),
        "SummedUp": lambda w, c: c(made("Numbered")(), Scripted(["Flu has fever [1] and more [2]."] * 2)),
    },
    "Reader": {
        "answer": lambda w, c: answer,
        "facts": lambda w, c: facts,  # a function, and not the only one of that name
        "LLMReader": lambda w, c: c(Scripted(["It is flu [1]."])),
        "MindMapReader": lambda w, c: c(Scripted(["Output 1: It is flu (E1)."])),
        "LikelihoodReader": lambda w, c: c(Wordwise()),
        "WithNotes": lambda w, c: c(facts),
        "OrFromMemory": lambda w, c: c(facts, facts),
        "ByForm": lambda w, c: c(facts, facts),
        "ByTask": lambda w, c: c(facts, facts),
        "Likeliest": lambda w, c: c(facts, made("LikelihoodReader")(Wordwise())),
        "DiseaseChoice": lambda w, c: c(facts, facts),
        "LetterReader": lambda w, c: c(Scripted(["[A]"])),
        "UnlessDeclined": lambda w, c: c(facts),
        "UnlessWeak": lambda w, c: c(facts, 0.0),
        "ZeroShot": lambda w, c: c(Scripted(["It is flu."])),
        "ChainOfThought": lambda w, c: c(Scripted(["Fever.\nAnswer: flu"])),
        "TreeOfThought": lambda w, c: c(Scripted(['["Fever means flu."]', "It is flu."]), depth=1),
        "NotesReader": lambda w, c: c(Scripted(["1: helps\nAnswer: flu [1]"])),
        "CorrectedReader": lambda w, c: c(Scripted(["It is flu [1]."])),
        "VerifiedReader": lambda w, c: c(Scripted(["It is flu [1].", "3"])),
        "SummarisedReader": lambda w, c: c(Scripted(['["flu"]', "Flu has fever [1].", "yes"])),
    },
    "Checker": {
        "Labelled": lambda w, c: c(made("Citations")()),
        "Citations": lambda w, c: c(),
        "ByTriples": lambda w, c: c(made("Citations")(), w.graph, w.link),
        "Reasoning": lambda w, c: c(w.graph),
    },
    "LLM": {
        "Scripted": lambda w, c: c(["a", "a"]),
        "Echo": lambda w, c: c(),
        "Metered": lambda w, c: c(Scripted(["a", "a"])),
        "Passing": lambda w, c: c(Scripted(["a", "a"])),
        "ThinkingRoom": lambda w, c: c(Scripted(["a", "a"])),
        "CallLimit": lambda w, c: c(Scripted(["a", "a"]), 9),
        "ReplyLimit": lambda w, c: c(Scripted(["a", "a"]), 64),
        "CountedLLM": lambda w, c: c(Scripted(["a", "a"])),
        "RecordedLLM": lambda w, c: c(Scripted(["a", "a"])),
    },
    "Encoder": {
        "TrigramEncoder": lambda w, c: c(),
        "NgramEncoder": lambda w, c: c(),
        "FactVectors": lambda w, c: c(w.graph, TrigramEncoder()),
        "Remembered": lambda w, c: c(TrigramEncoder()),
    },
    "PairScorer": {
        "LexicalPairs": lambda w, c: c(TrigramEncoder()),
        "TrainedPairs": lambda w, c: c((1.0,) * 12, -1.0, "g", TrigramEncoder()),
        "OverlapScorer": lambda w, c: c(),
    },
    "LocalGraph": {"Store": lambda w, c: w.graph},
    "Reward": {
        "KGReward": lambda w, c: c(
            Criticality(CauseGraph.of({"flu": {"fever": 2, "cough": 1}, "cold": {"cough": 2}})),
            NamesIn({"flu": [], "cold": []}),
            case_in(NamesIn({"fever": [], "cough": []})),
        )
    },
}
ADDS = {"Warned", "NotForThisPatient", "PatientGate"}  # a ranker that puts in warnings that were not retrieved


def shape(function: ast.FunctionDef) -> str:
    """The protocol that a function's positional parameters and return type are those of; "" if none."""
    arguments = [a for a in (*function.args.posonlyargs, *function.args.args) if a.arg != "self"]
    kinds = tuple(ast.unparse(a.annotation) if a.annotation else "" for a in arguments)
    found = SHAPES.get(kinds, "")
    returned = ast.unparse(function.returns) if function.returns else ""
    if found == "Ranker" and returned == "Context":
        return "Phraser"
    fits = {
        "Expander": "Query",
        "Reader": "Answer",
        "Encoder": "NDArray[np.float32]",
        "LLM": "Reply",
        "Recognizer": "list[Mention]",
    }
    return found if found not in fits or fits[found] == returned else ""


def implementations(package: Path) -> dict[str, str]:
    """The protocol of every class with a `__call__`, and of every public function, in the shape of a stage."""
    found: dict[str, str] = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not any("Protocol" in ast.unparse(base) for base in node.bases):
                calls = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__call__"]
            else:
                calls = [node] if isinstance(node, ast.FunctionDef) else []
            for call in calls:
                name = str(getattr(node, "name", "_"))
                if not name.startswith("_") and (fits := shape(call)):
                    found[name] = fits
    return found


def listed() -> dict[str, str]:
    """Protocol of every row, by name."""
    return {name: protocol for protocol, rows in ROWS_OF.items() for name in rows}


def test_every_implementation_has_a_row_and_every_row_one() -> None:
    found = implementations(ROOT)
    assert {n: p for n, p in found.items() if listed().get(n) != p and n not in ELSEWHERE} == {}
    assert {*ELSEWHERE} - {*found} == set()
    assert {*listed()} - {*places()} == set()


def test_an_implementation_without_a_row_is_found(tmp_path: Path) -> None:
    (tmp_path / "anywhere").mkdir()
    text = "class New:\n    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]: ...\n"
    (tmp_path / "anywhere" / "new.py").write_text(text, encoding="utf-8")
    assert implementations(tmp_path) == {"New": "Ranker"}


@pytest.mark.parametrize("found", REGISTRIES, ids=lambda r: r.group)
def test_what_a_registry_lists_it_has_under_that_name(found: Registry[Any]) -> None:
    names = found.names()
    assert len(names) == len(set(names)) > 0
    assert [thing.name for thing in found.all()] == names
    with pytest.raises(UnknownName, match=f"no {found.what} is called 'nothing like it'"):
        found.get("nothing like it")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("contracts") / "g"
    build(Source("g", lambda: iter(ROWS), language="en"), folder)
    return World(open_store(folder))


def of(protocol: str) -> Any:
    """Runs a class of tests for every implementation of a protocol."""
    return pytest.mark.parametrize("name", list(ROWS_OF[protocol]))


def stage(world: World, name: str) -> Any:
    return next(rows[name] for rows in ROWS_OF.values() if name in rows)(world, made(name))


def evidence() -> list[Evidence]:
    """Three pieces, of which the last warns."""
    at = {row.key: row for row in ROWS if isinstance(row, NodeRow)}

    def entity(key: str) -> Any:
        return kgmed.Entity(key, at[key].name, at[key].kind)

    rows = (("flu", "has_symptom", "fever", Role.FINDING), ("flu", "has_symptom", "cough", Role.FINDING))
    rows += (("aspirin", "contraindicated", "flu", Role.CONTRAINDICATED),)  # type: ignore[assignment]
    made = [Triple(entity(h), Relation(r, role), entity(t)) for h, r, t, role in rows]
    return [Evidence(f"{t.head.name} {t.relation} {t.tail.name}", "triple", (t,), (t.head,)) for t in made]


@of("Expander")
class TestExpander:
    def test_the_question_stays_and_something_is_added(self, world: World, name: str) -> None:
        query = stage(world, name)(QUERY.question)
        assert query.question == QUERY.question
        assert query.hypothesis


@of("Recognizer")
class TestRecognizer:
    def test_mentions_stand_in_the_text_in_its_order(self, world: World, name: str) -> None:
        found = stage(world, name)(QUERY)
        assert found == stage(world, name)(QUERY)
        assert [m.start for m in found] == sorted(m.start for m in found)
        assert all(QUERY.text[m.start : m.end] == m.surface for m in found if m.start >= 0)
        assert {"fever", "cough"} <= {m.name.lower() for m in found}

    def test_nothing_is_found_in_nothing(self, world: World, name: str) -> None:
        assert stage(world, name)(Query(Question(""))) == []


@of("Linker")
class TestLinker:
    def test_at_most_one_link_a_mention_in_their_order(self, world: World, name: str) -> None:
        mentions = [Mention(t, t, -1, -1) for t in ("flu", "zzzz", "Fever", "feverr", "flu")]
        links = stage(world, name)(mentions)
        places = [next(i for i, m in enumerate(mentions) if m is link.mention) for link in links]
        assert places == sorted(set(places))
        for link in links:
            assert world.graph.entity(link.entity.id) == link.entity
            assert 0 <= link.score <= 1 + 1e-6
            assert link.how

    def test_no_mentions_no_links(self, world: World, name: str) -> None:
        assert stage(world, name)([]) == []


@of("Understander")
class TestUnderstander:
    def test_the_frame_is_the_same_every_time_and_rests_on_names_of_the_question(self, world: World, name: str) -> None:
        mentions, links = world.find(QUERY.text), world.links()
        frame = stage(world, name)(QUERY, mentions, links)
        assert frame == stage(world, name)(QUERY, mentions, links)
        assert bool(frame.asks) == bool(frame.source)
        for thing in [*frame.findings, *(t for ask in frame.asks for t in ask.things)]:
            assert [QUERY.text[a:b] for a, b in thing.spans] == list(thing.names)
            assert {*thing.links} <= {*links}

    def test_a_question_without_names_has_none(self, world: World, name: str) -> None:
        frame = stage(world, name)(Query(Question("zzzz")), [], [])
        assert not any(ask.things for ask in frame.asks)
        assert frame.findings == ()


@of("Retriever")
class TestRetriever:
    def test_evidence_is_the_same_every_time_and_tells_what_it_is_about(self, world: World, name: str) -> None:
        retrieve, links = stage(world, name), world.links()
        assert links
        found = retrieve(QUERY, links)
        assert found == stage(world, name)(QUERY, links)
        for piece in found:
            assert piece.text
            assert piece.kind
            assert piece.about

    def test_no_links_no_failure(self, world: World, name: str) -> None:
        assert list(stage(world, name)(Query(Question("zzzz")), [])) == []


@of("Ranker")
class TestRanker:
    def test_what_is_kept_was_given_once_and_warnings_are_never_dropped(self, world: World, name: str) -> None:
        given = evidence()
        kept = stage(world, name)(QUERY, given)
        texts = [piece.text for piece in kept]
        assert len(texts) == len(set(texts))
        assert given[2].text in texts
        assert name in ADDS or set(texts) <= {piece.text for piece in given}

    def test_nothing_stays_nothing(self, world: World, name: str) -> None:
        assert stage(world, name)(QUERY, []) == []


@of("Phraser")
class TestPhraser:
    def test_every_marker_points_at_what_is_cited_and_warnings_are_shown(self, world: World, name: str) -> None:
        context = stage(world, name)(QUERY, evidence())
        assert all(f"[{i}]" in context.text for i in range(1, len(context.cited) + 1))
        assert f"[{len(context.cited) + 1}]" not in context.text
        assert evidence()[2] in context.cited
        assert stage(world, name)(QUERY, []).cited == ()


@of("Reader")
class TestReader:
    def test_citations_are_numbers_of_what_is_cited(self, world: World, name: str) -> None:
        cited = tuple(evidence())
        text = "\n".join(f"[{i}] {e.text}" for i, e in enumerate(cited, start=1))
        said = stage(world, name)(QUERY, Context(text, cited))
        assert said.text
        assert all(1 <= i <= len(cited) for i in said.citations)

    def test_without_evidence_nothing_is_cited(self, world: World, name: str) -> None:
        assert stage(world, name)(QUERY, Context("")).citations == ()


@of("Checker")
class TestChecker:
    def test_the_answer_stays_and_its_sentences_get_verdicts(self, world: World, name: str) -> None:
        cited = tuple(evidence())
        said = kgmed.Answer("Flu has_symptom Fever [1]. Aspirin cures death [2].", (1, 2))
        checked = stage(world, name)(QUERY, Context("", cited), said)
        assert checked.text == said.text
        assert [v.supported for v in checked.verdicts] == [True, False]


@of("LLM")
class TestLLM:
    def test_a_reply_has_a_text_and_the_models_name(self, world: World, name: str) -> None:
        llm = stage(world, name)
        reply = llm([Message("user", "a")], max_tokens=8)
        assert (reply.text, bool(llm.name), reply.tokens_in >= 0) == ("a", True, True)


@of("Encoder")
class TestEncoder:
    def test_rows_are_unit_vectors_and_the_same_every_time(self, world: World, name: str) -> None:
        encode = stage(world, name)
        rows = encode(["fever", "发热", ""])
        assert (rows.shape, rows.dtype) == ((3, encode.dimensions), np.float32)
        assert np.allclose(np.linalg.norm(rows[:2], axis=1), 1, atol=1e-5)
        assert np.allclose(rows[1], encode(["发热"])[0], atol=1e-6)
        assert encode([]).shape == (0, encode.dimensions)


@of("PairScorer")
class TestPairScorer:
    def test_one_score_a_pair(self, world: World, name: str) -> None:
        score = stage(world, name)
        assert score([("a b", "a b"), ("a", "z")]).shape == (2,)
        assert score([]).shape == (0,)


@of("Reward")
class TestReward:
    def test_every_answer_gets_one_number_in_their_order_or_none(self, world: World, name: str) -> None:
        reward = stage(world, name)
        questions, answers = [QUERY.question, "I have a cough.", "zzzz"], ["flu", "cold", "flu"]
        scores = reward(questions, answers)
        assert [s is None for s in scores] == [False, False, True]
        assert scores == [reward([q], [a])[0] for q, a in zip(questions, answers, strict=True)]
        assert reward([], []) == []

    def test_naming_no_disease_or_all_never_pays_more_than_naming_one(self, world: World, name: str) -> None:
        one, none, both = stage(world, name)(["I have a cough."] * 3, ["cold", "I do not know.", "flu, cold"])
        assert one > none
        assert one > both


@of("LocalGraph")
@pytest.mark.parametrize("edited", [False, True])
class TestLocalGraph:
    def test_ids_names_and_numbers_agree(self, world: World, name: str, *, edited: bool) -> None:
        graph = edit(world.graph, [EdgeRow("new", "r", "flu")]) if edited else world.graph
        assert graph.adjacency.nodes == len({graph.at(i).id for i in range(graph.adjacency.nodes)})
        for i in range(graph.adjacency.nodes):
            entity = graph.at(i)
            assert graph.number(entity.id) == i
            assert graph.entity(entity.id) == entity
            assert entity in [m.entity for m in graph.lookup(entity.name)]
        with pytest.raises(UnknownName):
            graph.entity("nowhere")

    def test_triples_neighbours_and_attributes_agree(self, world: World, name: str, *, edited: bool) -> None:
        graph = edit(world.graph, [EdgeRow("new", "r", "flu")]) if edited else world.graph
        every = [graph.triple(i) for i in range(graph.adjacency.edges)]
        assert len({(t.head, t.relation, t.tail) for t in every}) == len(every)
        around = [t for i in range(graph.adjacency.nodes) for t in graph.neighbours(graph.at(i).id)]
        assert len(around) == 2 * len(every)
        assert [t.tail.id for t in graph.attributes("aspirin")] == [""]
        assert all(t.relation.role is Role.TREATS for t in graph.neighbours("fever", roles=[Role.TREATS]))
        assert {n.node for n in graph.names()} == set(range(graph.adjacency.nodes))
