"""What the presets `safe` and `paper` change: what the model is asked, when it is asked, and what is said."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import TrigramEncoder
from kgmed.prompts import prompt
from kgmed.prompts.task import ANSWER_TOKENS
from kgmed.records import Question, Run
from kgmed.registry import methods
from kgmed.session import Session
from named_graph import small
from obliging import Obliging

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease"),
    NodeRow("痛风", kind="disease"),
    NodeRow("colchicine", kind="drug"),
    NodeRow("秋水仙碱", kind="drug"),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("秋水仙碱", "treats", "痛风"),
)
KNOWN = {"en": "What treats gout?", "zh": "痛风用什么药治疗？"}
STRANGE = {"en": "What treats glimmerstone?", "zh": "闪石怪病用什么药治疗？"}
CHOICE = Question("Which drug treats gout?", (("A", "colchicine"), ("B", "insulin")))
RIVALS = ("zero-shot", "cot", "kg-rank", "hykge", "bm25", "kg-retriever", "qe", "chain-of-note", "chain-of-knowledge")
OWN = re.compile(
    r"your own knowledge|what you (?:already )?know|你自己的知识|你已有的知识|may be incomplete|可能不完整"
)


class Bilingual(Obliging):
    """An obliging model that answers a Chinese question in Chinese, or, `letters`, any with an English letter."""

    def __init__(self, *, letters: bool = False) -> None:
        super().__init__()
        self.letters = letters
        self.lengths: list[int] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        self.lengths.append(max_tokens)
        return super().__call__(messages, max_tokens=max_tokens)

    def reply(self, step: str, messages: Sequence[Message]) -> str:
        text = messages[-1].text
        terms = re.findall("gout|痛风|glimmerstone|闪石怪病", text)[:2] or ["x"]
        if step == "mindmap/extract":
            return ", ".join(terms)
        if step in ("kg_rank/terms", "mkg_rank/question_terms", "mkg_rank/option_terms", "mkg_rank/translate"):
            key = "术语" if "术语" in text or "术语" in messages[0].text else "terms"
            key = "medical entities" if step.startswith("mkg_rank") else key
            listed = ", ".join(f'"{t}"' for t in terms)
            return f'{{"{key}": [{listed}]}}' if "translate" not in step and "option" not in step else '["a", "b"]'
        said = super().reply(step, messages)
        if self.letters and step != "mkg_rank/reader":
            said = said.replace("It is so", "Answer: A").replace("it is so", "A")
        elif any("\u4e00" <= c <= "\u9fff" for c in text):
            said = said.replace("It is so", "确实如此").replace("it is so", "确实如此").replace("A guess", "一个猜测")
            said = said.replace("Some background", "一些背景").replace("A corrected step", "改正的一步")
        return said


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("presets"), ROWS)


def asked(graph: Store, question: Question | str, **options: Any) -> tuple[Run, Bilingual]:
    """The run, and the model that was asked."""
    llm = Bilingual()
    session = Session(("g",), lambda _: graph, config=Config(**options), llm=llm, encoder=TrigramEncoder())
    return session.ask(question), llm


def last_prompt(llm: Obliging) -> str:
    return "\n".join(m.text for m in llm.asked[-1][1])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["kg-rank", "mindmap", "hykge"])
def test_under_paper_the_model_may_add_what_it_knows_and_writes_no_marks(
    graph: Store, name: str, language: str
) -> None:
    _, paper = asked(graph, KNOWN[language], method=name, preset="paper")
    _, safe = asked(graph, KNOWN[language], method=name)
    assert OWN.search(last_prompt(paper))
    assert not OWN.search(last_prompt(safe))
    marked = re.compile(r"such as \[2\]|such as \(P1\)|例如 \[2\]|例如（P1）")
    assert marked.search(last_prompt(safe))
    assert not marked.search(last_prompt(paper))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["kg-rank", "hykge", "chain-of-note", "kg-retriever"])
def test_without_evidence_the_model_is_asked_under_paper_and_not_under_safe(
    graph: Store, name: str, language: str
) -> None:
    paper, model = asked(graph, STRANGE[language], method=name, preset="paper")
    safe, _ = asked(graph, STRANGE[language], method=name)
    assert not paper.answer.abstained
    assert STRANGE[language] in last_prompt(model)
    assert safe.answer.abstained


def test_what_is_compared_is_asked_in_the_same_words_and_at_the_same_length(graph: Store) -> None:
    for preset in ("safe", "paper"):
        for question in (KNOWN["en"], KNOWN["zh"], CHOICE):
            tasks = {}
            for name in RIVALS:
                _, llm = asked(graph, question, method=name, preset=preset)
                if not llm.asked:  # it found nothing, and its task is to abstain then
                    assert preset == "safe"
                    continue
                tasks[name] = (_task_lines(last_prompt(llm)) - _OF_EVIDENCE, llm.lengths[-1])
            assert len({(frozenset(lines), length) for lines, length in tasks.values()}) == 1, tasks
            assert {length for _, length in tasks.values()} == {ANSWER_TOKENS}


def _lines_of(*parts: str) -> set[str]:
    """The lines of parts of the shared task."""
    texts = (
        prompt(f"task/{part}", language=language).messages()[0].text for part in parts for language in ("en", "zh")
    )
    return {line.strip() for text in texts for line in text.splitlines()}


_OF_EVIDENCE = _lines_of("grounded", "own")
_LINES = _OF_EVIDENCE | _lines_of("answer", "options")


def _task_lines(text: str) -> set[str]:
    """The lines of the shared task in a prompt."""
    return {line for line in _LINES if line in text}


def test_a_letter_in_another_language_counts_for_every_method(graph: Store) -> None:
    question = Question("哪种药治疗痛风？", (("A", "秋水仙碱"), ("B", "胰岛素")))
    for name in ("zero-shot", "kg-rank", "bm25", "mkg-rank"):
        llm = Bilingual(letters=True)
        session = Session(
            ("g",), lambda _: graph, config=Config(method=name, preset="paper"), llm=llm, encoder=TrigramEncoder()
        )
        run = session.ask(question)
        assert run.answer.choices == ("A",), name


def test_every_method_with_a_model_has_both_presets() -> None:
    own = {"facts", "llm", "rlkgf-prompt"}
    lacking = [m.name for m in methods.all() if m.name not in own and not {"safe", "paper"} <= set(m.presets)]
    assert lacking == []
    assert {next(iter(m.presets)) for m in methods.all() if "safe" in m.presets} == {"safe"}
