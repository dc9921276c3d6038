"""Four times the text takes about four times the time: of every function that reads what others wrote, for texts made
to hurt.

Two lengths that far apart are compared, by the least seconds of this thread with the collector of garbage at rest, so
that a busy machine does not decide: what grows with the square has 16, what grows with the length has 4.
"""

from collections.abc import Callable
from contextlib import suppress
from gc import disable, enable
from pathlib import Path
from time import thread_time

import pytest

import named_graph
from kgmed.config import Config
from kgmed.frame import Named
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, Source
from kgmed.graph.formats import tables
from kgmed.graph.library import build_source
from kgmed.language import affixes, lay, negation, particulars, text
from kgmed.linking import recognise
from kgmed.models import asking, replies
from kgmed.question import model
from kgmed.question.model import Span, asked_of_encoder, features, slot_features
from kgmed.question.patient import patient_of
from kgmed.question.understand import constraints, whole_names
from kgmed.records import Answer, Context, Evidence, Mention, Query, Question
from kgmed.session import open_session
from kgmed.steps import citations, options, read
from kgmed.steps.options import letter

LENGTH = 2500  # characters of the shorter text
TIMES = 4  # the longer one is so many times as long
SHORT = 0.12  # seconds; below it nothing is compared: what grows with the square takes far over it at the longer text
RATIO = 8.0  # of the longer text's seconds to the shorter one's; to take 2.5 times for twice the text would be 6.25
TRIES = 5

OPTIONS = (("A", "gout"), ("B", "flu"), ("C", "mumps"))
CONTEXT = Context("[1] a", (Evidence("gout is treated", "triple"),))
ASKED = Question("What is it?", OPTIONS)
UNITS = (
    *(
        "no ",
        "No fever and ",
        "饭",
        "答案",
        "无",
        "均",
        "阴性",
        "was ruled out ",
        "ruled out, ",
        "no increase ",
        "not ",
    ),
    *("<think>", "<think></think>", "</think>", " ", "\n", " \n", "\t", "a", "a ", "A, ", "B or ", "the answer is "),
    *("[", "{", "[1,", "[1] ", "[ ", "\\[", '\\"', '"', "'", "\\", "(P1 ", "P1(", "(", ", ", ",", ",not ", ".", ". "),
    *("!", "- ", "-", "->", "```", "Output 1: ", "Answer: ", "\n#", "因此", "gout. ", "entities ", "diagnos", "how "),
    *("is wrong ", "etc. ", "a. [1] ", "1", "1 ", "_", "，", "result ", "Marfan syndrome and ", "but ", "hand or "),
    *("her mother ", "history of ", "可能", "家族史", "12 ", "5 mg ", "high ", "三", "boil "),
)


def negated(said: str) -> object:
    words = text.tokens(said)
    return negation.negated(said, [(w.start, w.end) for w in words]), negation.negated(said, [])


def phrases(said: str) -> object:
    names = [Mention(w.text, w.text, w.start, w.end) for w in text.tokens(said)[::2]]
    return recognise.phrases(said, names), recognise.phrases(said, [])


def marked(said: str) -> object:
    names = [Mention(w.text, w.text, w.start, w.end) for w in text.tokens(said)]
    return negation.marked(said, names), recognise.meant(said, names, more=True)


def beyond(said: str) -> object:
    return [affixes.beyond(said, w.start, w.end, substance=True) for w in text.tokens(said)]


def spans(said: str) -> list[Span]:
    """Every second word as a name, of two kinds."""
    return [Span(w.start, w.end, ("disease", "drug")[i % 2]) for i, w in enumerate(text.tokens(said)[::2])]


def patient(said: str) -> object:
    return patient_of(said, [Named((said[n.start : n.end],), n.kind, ((n.start, n.end),)) for n in spans(said)])


def longer_names(said: str) -> object:
    return list(whole_names(said, [(n.start, n.end) for n in spans(said)], lambda word: len(word) % 2 == 0))


def llm_answer(said: str) -> object:
    return read.cited_answer(said, ASKED, CONTEXT, shown=1, reader="x")


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "negated": negated,
    "phrases": phrases,
    "marked": marked,
    "beyond": beyond,
    "particulars": particulars.particulars,
    "about": particulars.about,
    "in a patient's words": lay.said,
    "spelled": text.spelled.__wrapped__,
    "words that ask": model.asking_spans.__wrapped__,  # without what is kept of a text
    "features": lambda said: features(said, spans(said)),
    "slots of names": lambda said: slot_features(said, spans(said), "treatment"),
    "what an encoder reads": lambda said: asked_of_encoder(said, spans(said), 0),
    "constraints": lambda said: list(constraints(said, spans(said))),
    "patient": patient,
    "longer names": longer_names,
    "normalise": text.normalise,
    "normalise_all": lambda said: text.normalise_all([said]),
    "fold": text.fold,
    "one_line": text.one_line,
    "tokens": text.tokens,
    "language_of": lambda said: text.language_of(Question(said)),
    "marks": replies.marks,
    "without_marks": replies.without_marks,
    "slots": lambda said: replies.slots(said, 2),
    "names": replies.names,
    "split_final": replies.split_final,
    "number": lambda said: replies.number(said, 3),
    "says_yes": replies.says_yes,
    "short_text": replies.short_text,
    "without_example": lambda said: replies.without_example([said], example=said, given=said),
    "outputs": replies.outputs,
    "with_marks": lambda said: replies.with_marks(said, {"P1": 1}),
    "bracketed_labels": replies.bracketed_labels,
    "reasoning_graph": replies.reasoning_graph,
    "tree": replies.tree,
    "values": lambda said: list(asking.values(said)),
    "values in a list": lambda said: list(asking.values(f"[{said}]")),
    "repair_json": asking.repair_json,
    "thoughts": asking.thoughts,
    "without_thinking": lambda said: asking.without_thinking(said, "\n", trim=True),
    "fault": lambda said: read.fault(said, language="en"),
    "before_loop": read.before_loop,
    "abstains": lambda said: read.abstains(said, ()),
    "cited_answer": llm_answer,
    "parse_choice": lambda said: options.parse_choice(said, OPTIONS),
    "sentences": citations.sentences,
    "terms": citations.terms,
    "numbers_in": citations.numbers_in,
    "citations": lambda said: citations.Citations()(Query(ASKED), CONTEXT, Answer(said)),
}


def seconds(read_it: Callable[[str], object], said: str, times: int) -> float:
    """The least seconds of this thread, whatever the machine is busy with."""
    taken = []
    disable()
    try:
        for _ in range(times):
            begin = thread_time()
            with suppress(asking.Malformed):
                read_it(said)
            taken.append(thread_time() - begin)
    finally:
        enable()
    return min(taken)


def grows(read_it: Callable[[str], object], unit: str, shorter: int = LENGTH) -> float:
    """How many times the seconds of a text those of one `TIMES` as long are, at the best of some tries."""

    def made(length: int) -> str:
        return "x " + (unit * (length // len(unit) + 1))[:length] + " y"

    if seconds(read_it, made(TIMES * shorter), 1) < SHORT:
        return 0.0
    tries = (seconds(read_it, made(TIMES * shorter), 3) / seconds(read_it, made(shorter), 5) for _ in range(TRIES))
    return next((ratio for ratio in tries if ratio <= RATIO), 99.0)


def each_pair(said: str) -> object:
    return [(a, b) for a in said for b in said[::8]]


def each_once(said: str) -> object:
    return [sum(range(2000)) for _ in said]


def test_what_grows_with_the_square_is_told_from_what_does_not() -> None:
    assert grows(each_pair, "a") > RATIO
    assert 0 < grows(each_once, "a") <= RATIO


@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_text_takes_time_in_proportion(name: str) -> None:
    slow = [unit for unit in UNITS if grows(FUNCTIONS[name], unit) > RATIO]
    assert slow == []


@pytest.mark.parametrize("unit", ["½", "㈱"])
def test_signs_that_are_several_words_each_take_time_in_proportion(tmp_path: Path, unit: str) -> None:
    names = recognise.Lexicon(named_graph.small(tmp_path))
    assert grows(names.find, unit, shorter=12_000) <= RATIO


@pytest.mark.parametrize(
    "unit", ["<think>", "流惑，", "糖尿并", "感冒和", "阿莫西林", "饭", "mg/dl 7 ", "gout and fever, ", "no ", "is "]
)
def test_a_question_takes_time_in_proportion_to_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    said = (("流感", "has_symptom", "咳嗽"), ("阿莫西林", "treats", "感冒"), ("gout", "has_symptom", "fever"))
    rows = [EdgeRow(*one) for one in said]
    build_source("any", Source("any", lambda: rows))
    with open_session(Config(graph="any", method="facts")) as session:
        assert grows(lambda said: session.ask(f"痛风怎么{said}"), unit) <= RATIO


@pytest.mark.parametrize("unit", ["a", ",", "(", ":", ":ID(", ": ", '"', "\\t"])
def test_the_format_of_a_file_is_told_in_proportion_to_its_first_line(unit: str) -> None:
    assert grows(lambda said: formats._by_looks((said * 2, "a")), unit) <= RATIO


@pytest.mark.parametrize("unit", [" ", "answer ", "answer A ", "(", "maybe A "])
def test_the_letter_of_a_reply_is_found_in_proportion_to_it(unit: str) -> None:
    assert grows(lambda said: letter(f"The answer {said}x", (("A", "gout"), ("B", "flu"))), unit) <= RATIO


def test_a_cell_of_many_names_takes_time_in_proportion_to_its_blanks() -> None:
    assert grows(lambda said: tables._support(said * 2), " ") <= RATIO


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('\\[ [1] \\{"a": 2}', [[1], {"a": 2}]),
        ('say "[1" and [2]', [[2]]),
        ('[1} {"b": "]"} ]', [{"b": "]"}]),
    ],
)
def test_json_is_found_between_brackets_that_lead_nowhere(reply: str, found: list[object]) -> None:
    assert list(asking.values(reply)) == found
