"""What the presets `safe` and `paper` change: what the model is asked, when it is asked, and what is said."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.methods.mkg_rank import written_in
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import TrigramEncoder
from kgmed.prompts import ANSWER_TOKENS, prompt, stated_task
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
CHOICE_ZH = Question("哪种药治疗痛风？", (("A", "秋水仙碱"), ("B", "胰岛素")))
OURS = ("facts", "llm", "agent", "rlkgf-prompt")  # not of a comparison of the papers, or with a form of their own
COMPARED = [m.name for m in methods.all() if m.name not in OURS]
OWN = re.compile(
    r"your own knowledge|what you (?:already )?know|你自己的知识|你已有的知识|may be incomplete|可能不完整"
)


class Bilingual(Obliging):
    """An obliging model that answers a Chinese question in Chinese, or, `letters`, any with an English letter."""

    def __init__(self, *, letters: bool = False, marks: bool = False) -> None:
        super().__init__()
        self.letters, self.marks = letters, marks
        self.lengths: list[int] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        before, reply = len(self.asked), super().__call__(messages, max_tokens=max_tokens)
        self.lengths += [max_tokens] * (len(self.asked) - before)
        return reply

    def reply(self, step: str, messages: Sequence[Message]) -> str:
        text = messages[-1].text
        terms = re.findall("gout|痛风|glimmerstone|闪石怪病", text)[:2] or ["x"]
        if step == "mindmap/extract":
            return ", ".join(terms)
        if step in ("kg_rank/terms", "mkg_rank/question_terms", "mkg_rank/option_terms", "mkg_rank/translate"):
            key = "术语" if "术语" in text or "术语" in messages[0].text else "terms"
            key = "medical entities" if step.startswith("mkg_rank") else key
            listed = ", ".join(f'"{t}"' for t in terms)
            if step == "mkg_rank/translate":  # each term as it is
                return json.dumps(text.split("\n\n", 1)[1].strip().splitlines(), ensure_ascii=False)
            return '["a", "b"]' if "option" in step else f'{{"{key}": [{listed}]}}'
        said = super().reply(step, messages)
        if self.letters and step != "mkg_rank/reader":
            said = said.replace("It is so", "Answer: A").replace("it is so", "A")
        elif any("\u4e00" <= c <= "\u9fff" for c in re.sub("痛风|秋水仙碱", "", text)):
            said = said.replace("so [1]", "确实如此 [1]") if step == "kg_rank/short_own" else said
            said = said.replace("It is so", "确实如此").replace("it is so", "确实如此").replace("A guess", "一个猜测")
            said = said.replace("Some background", "一些背景").replace("A corrected step", "改正的一步")
        return re.sub(r"(It is so|确实如此)(?! \[|，)", r"\1 [1]", said) if self.marks else said


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("presets"), ROWS)


def asked(graph: Store, question: Question | str, **options: Any) -> tuple[Run, Bilingual]:
    """The run, and the model that was asked, which answers from the evidence alone if nothing else is said."""
    llm = Bilingual()
    config = Config(**{"answer_from": "evidence"} | options)
    session = Session(("g",), lambda _: graph, config=config, llm=llm, encoder=TrigramEncoder())
    return session.ask(question), llm


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(m.text for m in messages)


def last_prompt(llm: Obliging) -> str:
    return _text(llm.asked[-1][1])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("preset", ["paper", "safe"])
@pytest.mark.parametrize(
    ("name", "calls", "between"),
    [
        ("kg-rank", ["kg_rank/terms", "kg_rank/reader"], " — "),
        (
            "mkg-rank",
            ["mkg_rank/question_terms", "mkg_rank/option_terms", "mkg_rank/translate", "mkg_rank/declarative",
             "mkg_rank/reader"],
            " — ",
        ),
        ("mindmap", ["mindmap/extract", "mindmap/neighbours", "mindmap/infer"], " — "),
        ("hykge", ["hykge/hypothesis", "hykge/reader"], ""),  # by preset safe a fact of an option, else a chain
    ],
)  # fmt: skip
def test_the_prompts_calls_and_evidence_of_a_method(
    graph: Store, name: str, calls: list[str], between: str, preset: str, language: str
) -> None:
    question, named = {"en": (CHOICE, ("colchicine", "gout")), "zh": (CHOICE_ZH, ("秋水仙碱", "痛风"))}[language]
    run, llm = asked(graph, question, method=name, preset=preset)
    own = {"mindmap/infer": "mindmap/reason", "hykge/reader": "ask/detailed"}  # under the preset safe
    wanted = [own.get(step, step) if preset == "safe" else step for step in calls]
    if preset == "paper":  # what is asked in the graph's language needs no translation, and triples no question
        own = {"mkg_rank/declarative": "mkg_rank/convert"}
        wanted = [own.get(s, s) for s in wanted if s != "mkg_rank/translate" or language == "zh"]
    assert [step for step, _ in llm.asked] == wanted
    [piece] = run.evidence
    assert between in piece.text
    assert all(word in piece.text for word in named)
    for step, messages in llm.asked:
        text = _text(messages)
        english = step == "mkg_rank/convert"  # whatever the question's language
        told = text.replace(question.text, "").replace(piece.text, "")
        for word in (*named, "闪石"):
            told = told.replace(word, "")
        assert english or (re.search("[\u4e00-\u9fff]{4}", told) is not None) == (language == "zh"), step
    final = last_prompt(llm)
    assert question.text in final
    assert all(letter_and_text in final for letter_and_text in (f"{a}. {b}" for a, b in question.options))
    assert all(word in final for word in named)
    assert run.answer.reader.startswith(("llm", "letter", "mindmap"))
    sampled = dict(run.settings).get("temperature", 0)
    assert sampled == ({"mindmap": 0.7, "hykge": 0.6}.get(name, 0) if preset == "paper" else 0)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_mintakas_short_answers_bear_marks_under_safe_alone(graph: Store, language: str) -> None:
    marked = re.compile(r"-> .+ \[\d\]")
    for preset, there in (("safe", True), ("paper", False)):
        _, llm = asked(graph, KNOWN[language], method="kg-rank", preset=preset, settings={"short": True})
        assert (marked.search(last_prompt(llm)) is not None) is there


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
    _, assisted = asked(graph, KNOWN[language], method=name, answer_from="assisted")
    assert OWN.search(last_prompt(assisted))
    assert marked.search(last_prompt(assisted))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", COMPARED)
def test_marks_that_a_model_writes_unasked_are_in_no_text_that_is_scored(
    graph: Store, name: str, language: str
) -> None:
    llm = Bilingual(marks=True)
    session = Session(("g",), lambda _: graph, config=Config(method=name), llm=llm, encoder=TrigramEncoder())
    found = {preset: session.under(preset=preset).ask(KNOWN[language]).answer for preset in ("paper", "safe")}
    assert re.search("it is so|确实如此", found["paper"].text, re.IGNORECASE)
    assert "[1]" not in found["paper"].text
    assert any("[1]" in v.sentence for v in found["safe"].verdicts) or name not in ("kg-rank", "hykge", "mindmap")


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
    assisted, _ = asked(graph, STRANGE[language], method=name, answer_from="assisted")
    assert not assisted.answer.abstained
    assert "[the model's own]" in assisted.answer.text or "[模型自述]" in assisted.answer.text


@pytest.mark.parametrize("preset", ["safe", "paper"])
def test_what_is_compared_is_asked_in_the_same_words_and_at_the_same_length(graph: Store, preset: str) -> None:
    for question in (Question(KNOWN["en"]), Question(KNOWN["zh"]), CHOICE, CHOICE_ZH):
        tasks = {}
        for name in COMPARED:
            _, llm = asked(graph, question, method=name, preset=preset)
            found = [(step, _task_lines(_text(messages)), length)
                     for (step, messages), length in zip(llm.asked, llm.lengths, strict=True)]  # fmt: skip
            last = [(lines, length) for step, lines, length in found if lines or step.startswith("mindmap/")]
            if not last:  # it found nothing, and its task is to abstain then
                assert preset == "safe", name
                continue
            tasks[name] = last[-1]
        lengths = {name: length for name, (_, length) in tasks.items() if length != ANSWER_TOKENS}
        assert lengths == ({"hykge": 500} if preset == "paper" else {})
        bare = {name: lines - _OF_EVIDENCE for name, (lines, _) in tasks.items() if name != "mindmap"}
        assert len({frozenset(lines) for lines in bare.values()}) == 1, bare
        shown = {name: lines & _OF_EVIDENCE for name, (lines, _) in tasks.items() if lines & _OF_EVIDENCE}
        assert len({frozenset(lines) for lines in shown.values()}) == 1, shown
        assert {"kg-rank", "mkg-rank", "hykge", "zero-shot"} <= set(tasks) or preset == "safe"


def test_mindmaps_three_parts_ask_for_as_full_an_answer_in_the_same_language() -> None:
    for step in ("infer", "reason"):
        for language, full, rule in (
            ("en", "the full answer", "language of the question"),
            ("zh", "完整", "提问的语言"),
        ):
            template = prompt(f"mindmap/{step}", language=language).template
            first = next(line for line in template.splitlines() if line.startswith(("Output 1", "输出1")))
            assert full in first
            assert rule in first


def test_the_shared_task_is_stated_for_a_report() -> None:
    said = {preset: stated_task(Question(KNOWN["en"]), preset) for preset in ("safe", "paper", "code")}
    assert said["paper"] == said["code"] != said["safe"]
    assert all(str(ANSWER_TOKENS) in text and "\n" not in text for text in said.values())
    assert "any language" in stated_task(CHOICE, "paper")


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
    lacking = [m.name for m in methods.all() if m.name not in OURS and not {"safe", "paper"} <= set(m.presets)]
    assert lacking == []
    assert {next(iter(m.presets)) for m in methods.all() if "safe" in m.presets} == {"safe"}


@pytest.mark.parametrize("preset", ["paper", "safe"])
@pytest.mark.parametrize("name", COMPARED)
def test_a_chinese_question_is_told_relations_in_chinese_where_the_graph_names_them_in_english(
    graph: Store, name: str, preset: str
) -> None:
    _, llm = asked(graph, "gout用什么药治疗？", method=name, preset=preset)
    english = "mkg_rank/convert" if preset == "paper" else ""  # sentences in English from an English graph
    own = "rash — treats → measles"  # a model's triple
    said = {step: _text(messages).replace(own, "") for step, messages in llm.asked}
    assert {step for step, text in said.items() if re.search(r"\btreats\b", text)} <= {english}
    if english in said:
        assert "(colchicine)-treats->(gout)" in said[english]


def test_terms_are_translated_into_the_script_of_a_graph_that_names_no_language(tmp_path: Path) -> None:
    english = small(tmp_path, ROWS[2:3], language="")
    assert written_in(english) == "en"
    assert written_in(small(tmp_path, ROWS[3:4], "other", language="")) == "zh"
    _, llm = asked(english, CHOICE_ZH, method="mkg-rank", preset="paper")
    said = "\n".join(_text(messages) for step, messages in llm.asked if step == "mkg_rank/translate")
    assert "英文" in said
