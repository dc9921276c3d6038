"""The hostile reviewer's script: what every row of a table asks a model, call by call, and what becomes of models that
are dead, empty, looping or refusing. Under `paper` nothing of kgmed's own may stand in for what a model says.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from kgmed.config import Config
from kgmed.errors import Unavailable
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.run import NamedMethods, answered_entry, decoding
from kgmed.graph.base import EdgeRow, NodeRow
from kgmed.graph.store.store import Store
from kgmed.models.base import FilledPrompt, Message, Reply, sampling
from kgmed.models.fakes import TrigramEncoder
from kgmed.prompts import ANSWER_TOKENS, prompt
from kgmed.records import Question
from kgmed.registry import methods
from kgmed.session import STANDS_IN, Session
from named_graph import small
from obliging import GOOD

ROWS = (
    NodeRow("gout", kind="disease", description="A disease of the joints."),
    NodeRow("influenza", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    NodeRow("fever", kind="symptom"),
    NodeRow("colchicine", kind="drug"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("gout", "has_symptom", "fever"),
    EdgeRow("influenza", "has_symptom", "fever"),
    EdgeRow("colchicine", "treats", "gout"),
)
OPEN = Question("What treats gout with toe pain in a man who has no fever?", id="open")
EXAM = Question("Which drug treats gout with toe pain?", (("A", "colchicine"), ("B", "insulin")), id="exam")
OURS = ("facts", "llm", "agent", "rlkgf-prompt")  # of no table of these papers, or for patients of data sets alone
OF_TABLES = tuple(m.name for m in methods.all() if m.name not in OURS)
SAID = {
    **GOOD,
    "mindmap/paths": "P1: Gout has the symptom toe pain.",
    "mindmap/neighbours": "N1: Colchicine is for gout.",
    "mindmap/extract": "gout, toe pain, fever",
    "kg_rank/terms": '{"terms": ["gout", "toe pain", "fever"]}',
    "mkg_rank/question_terms": '{"medical entities": ["gout", "toe pain", "fever"]}',
    "mkg_rank/option_terms": '{"list": ["colchicine", null]}',
    "mkg_rank/convert": "1: Colchicine is used against gout.",
    "hykge/hypothesis": "It may be gout, which colchicine treats.",
    "hykge/entities": '{"terms": ["gout", "toe pain"]}',
    "kgarevion/triples": '{"triples": [["gout", "treats", "colchicine"], ["fever", "treats", "gout"]]}',
    "kgarevion/revise": '{"triples": [["gout", "has_symptom", "fever"]]}',
    "kg_gpt/relations": '{"relations": ["has symptom"]}',
}
TASK = prompt("task/answer").messages()[0].text  # what every prompt for an answer asks
LOOP = "Rest helps a lot. " * 6
REFUSAL = "I am sorry, but I am not able to help with medical matters."


class Call(NamedTuple):
    """One call of the model: its prompt ("again" = a second request), and how the reply was to be drawn."""

    step: str
    temperature: float
    tokens: int
    text: str


class Model:
    """A scripted model that records every call; `mood` gives the reply to a prompt."""

    name = "scripted"

    def __init__(self, mood: Callable[[str], str]) -> None:
        self.mood = mood
        self.calls: list[Call] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        step = messages.prompt.split(".")[0] if isinstance(messages, FilledPrompt) else "again"
        text = "\n".join(m.text for m in messages)
        self.calls.append(Call(step, sampling().temperature, max_tokens, text))
        return Reply(self.mood(step), 10, 5, self.name)


def dead(step: str) -> str:
    raise Unavailable("no server there")


MOODS = {"dead": dead, "empty": lambda _: "", "looping": lambda _: LOOP, "refusing": lambda _: REFUSAL}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("hostile"), ROWS, language="en")


def table(graph: Store, names: Sequence[str], mood: Callable[[str], str], asked: Question = OPEN) -> dict[str, Entry]:
    """What each row of a table of these methods has, all asked as an evaluation under `paper` asks them."""
    config = Config(graph="g", preset="paper")
    found = {}
    for name in names:
        MODEL[name] = Model(mood)
        session = Session(("g",), lambda _: graph, config=config, llm=MODEL[name], encoder=TrigramEncoder())
        making = NamedMethods(config, alike=decoding(names, config))
        making.__dict__["_session"] = session  # in place of one opened by name
        found[name] = answered_entry(making, Job(name, asked.id, 0), Item(asked, Gold(("A",))))
    return found


MODEL: dict[str, Model] = {}


@pytest.mark.parametrize("asked", [OPEN, EXAM], ids=["open", "exam"])
@pytest.mark.parametrize("mood", MOODS)
def test_a_model_of_no_use_fails_as_often_in_every_row(graph: Store, mood: str, asked: Question) -> None:
    found = table(graph, OF_TABLES, MOODS[mood], asked)
    failed = {name for name, entry in found.items() if entry.run is None}
    assert failed == (set() if mood == "refusing" else set(OF_TABLES))
    refused = {e.run.answer.text.rstrip(" .") for e in found.values() if e.run is not None}
    assert refused <= {REFUSAL.rstrip(" .")}


def test_an_unusable_answer_is_asked_for_once_more_in_every_row(graph: Store) -> None:
    for name in OF_TABLES:
        table(graph, [name], MOODS["looping"])
        last = [call.step for call in MODEL[name].calls][-2:]
        assert last[1] == "again", (name, last)
        assert MODEL[name].calls[-1].text.count("That reply cannot be used") == 1, name
        good = table(graph, [name], lambda step: LOOP if step != "again" else "Colchicine is used.")
        assert good[name].run is not None or name in ("sure", "cot", "tot", "kalmv"), name


def test_no_answer_is_any_but_what_the_model_wrote(graph: Store) -> None:
    found = table(graph, OF_TABLES, lambda step: SAID[step])
    for name, entry in found.items():
        assert entry.run is not None, (name, entry.error)
        assert re.search("it is so|^one|known", entry.run.answer.text, re.IGNORECASE), (name, entry.run.answer.text)
        assert entry.run.answer.reader != "facts"


@pytest.mark.parametrize(
    ("own", "temperature", "tokens"),
    [("kg-rank", 0.0, ANSWER_TOKENS), ("mkg-rank", 0.0, ANSWER_TOKENS), ("mindmap", 0.7, ANSWER_TOKENS),
     ("hykge", 0.6, 500)],
)  # fmt: skip
def test_every_row_of_a_table_is_drawn_as_its_papers_own_method(
    graph: Store, own: str, temperature: float, tokens: int
) -> None:
    rivals = [m.name for m in methods.all() if m.about.baseline]
    table(graph, [own, *rivals], lambda step: SAID[step])
    for name in (own, *rivals):
        assert {call.temperature for call in MODEL[name].calls} == {temperature}, name
        answers = [call.tokens for call in MODEL[name].calls if TASK in call.text or call.step == "mindmap/infer"]
        assert answers, name
        assert set(answers) == {tokens}, name


STEPS = {
    "zero-shot": ["zero_shot/answer"],
    "kg-rank": ["kg_rank/terms", "kg_rank/reader"],
    "kg-rank[ranking=expansion]": ["kg_rank/draft", "kg_rank/terms", "kg_rank/reader"],
    "kg-rank[ranking=mmr]": ["kg_rank/terms", "kg_rank/reader"],
    "mkg-rank": ["mkg_rank/question_terms", "mkg_rank/option_terms", "mkg_rank/convert", "mkg_rank/reader"],
    "mindmap": ["mindmap/extract", "mindmap/paths", "mindmap/neighbours", "mindmap/infer"],
    "hykge": ["hykge/hypothesis", "hykge/reader"],
    "hykge[hypothesis=false]": ["hykge/reader"],
    "bm25": ["baselines/reader"],
    "embedding": ["baselines/reader"],
    "kg-retriever": ["mindmap/paths", "baselines/reader"],
    "kgrag": ["baselines/reader"],
    "qe": ["qe/background", "baselines/reader"],
    "chain-of-note": ["con/read"],
    "chain-of-knowledge": ["cok/prepare", "cok/correct", "cok/correct", "cok/answer"],
    "kalmv": ["kalmv/answer", "kalmv/verify"],
    "sure": ["sure/candidates", "sure/summarise", "sure/summarise", "sure/valid", "sure/valid", "sure/compare",
             "sure/compare"],
    "tot": ["tot/propose", "tot/vote", "tot/propose", "tot/vote", "tot/answer"],
    "cot": ["cot/answer"],
    "hippo-rag": ["baselines/facts", "baselines/reader"],
    "think-on-graph": ["baselines/facts", "think_on_graph/enough", "baselines/reader"],
    "kgarevion": ["hykge/entities", "kgarevion/triples", "kgarevion/triples", "kgarevion/revise", "baselines/reader"],
    "medrag": ["medrag/reader"],
    "think-on-graph[width=1]": ["think_on_graph/relations", "baselines/facts", "think_on_graph/enough",
                                "baselines/reader"],
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_the_calls_of_a_method_and_their_order(graph: Store, name: str) -> None:
    table(graph, [name], lambda step: SAID[step], EXAM)
    assert [call.step for call in MODEL[name].calls] == STEPS[name]


def test_what_a_question_denies_is_looked_up_and_the_evidence_is_the_papers_alone(graph: Store) -> None:
    for name in ("kg-rank", "hykge", "mindmap", "mkg-rank", "kgrag"):
        entry = table(graph, [name], lambda step: SAID[step])[name]
        assert entry.run is not None
        assert "fever" in {link.entity.name for link in entry.run.links}, name
        assert all(e.kind != "warning" for e in entry.run.evidence)


def test_every_stand_in_is_told_in_the_run(graph: Store) -> None:
    of = {"kg-rank": 2, "kg-rank[ranking=similarity]": 1, "kg-rank[ranking=random]": 0, "mkg-rank": 2, "mindmap": 1,
          "embedding": 1, "hykge": 3, "hykge[rerank=no]": 2, "hykge[recognizer=model]": 2, "zero-shot": 0}  # fmt: skip
    for name, parts in of.items():
        entry = table(graph, [name], lambda step: SAID[step])[name]
        assert entry.run is not None
        assert len([line for line in entry.run.notes if STANDS_IN in line]) == parts, name
    strange = Question("What treats glimmerstone disease?")
    hykge = table(graph, ["hykge"], lambda step: SAID[step], strange)["hykge"].run
    assert hykge is not None
    assert any("calibrated for" in line for line in hykge.notes)


def test_triples_are_put_into_sentences_without_the_question(graph: Store) -> None:
    table(graph, ["mkg-rank"], lambda step: SAID[step], EXAM)
    [convert] = [call for call in MODEL["mkg-rank"].calls if call.step == "mkg_rank/convert"]
    assert EXAM.text not in convert.text
    assert "colchicine" in convert.text
