"""Every prompt has a contract and a parser, and what the parser makes of replies that break it.

Each row names a prompt, how its reply is read (the stage that asks it, with a model that says the reply), and at least
five malformed replies with what comes of each: the name of the error, or the value that is mended or made do with.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kgmed.errors import ModelFailed, Unavailable
from kgmed.evaluate.judge import KINDS, criterion_scores, order
from kgmed.linking.by_model import ByModel, DrawnEntities, ReadByModel
from kgmed.methods.agent import calls_in
from kgmed.methods.baselines_closed import ZeroShot
from kgmed.methods.hykge import ChosenByModel, SummedUp
from kgmed.methods.kgarevion import triples_in
from kgmed.methods.mindmap import MindMapReader
from kgmed.methods.mkg_rank import LetterReader, fragments
from kgmed.models.asking import Malformed, strings
from kgmed.models.fakes import Scripted
from kgmed.models.replies import (
    known_strings,
    names,
    nonempty_strings,
    number,
    numbers_under,
    says_yes,
    short_text,
    slots,
    split_final,
)
from kgmed.prompts import OWN_KNOWLEDGE, prompt, prompt_files, tasked
from kgmed.question.understand import Trained
from kgmed.records import Context, Entity, Evidence, Query, Question, Relation, Triple, Verdict
from kgmed.service.uses import json_object
from kgmed.steps.expand import Guess, Lines
from kgmed.steps.label import ModelJudge
from kgmed.steps.phrase import sentences_by_label
from kgmed.steps.rank import RelevanceByModel
from kgmed.steps.read import LLMReader, usable_answer
from memory_graph import MemoryGraph

Read = Callable[[str], Any]
GOUT = Triple(Entity("d", "gout"), Relation("has"), Entity("s", "toe pain"))
CONTEXT = Context("[1] gout has toe pain", (Evidence("gout has toe pain", "triple", (GOUT,), (GOUT.head,)),))
OPTIONS = (("A", "gout"), ("B", "flu"))
MALFORMED, FAILED = "Malformed", "ModelFailed"
LOOP = "It is gout. " * 4
EMPTY = [("", FAILED), ("###", FAILED), ("\ufffd\ufffd", FAILED), (LOOP, FAILED), ("可以使用药物治疗该病。", FAILED)]
UNAIDED = [
    *((text, MALFORMED) for text, _ in EMPTY if text != LOOP),
    (LOOP, "It is gout. […]"),
    ("1 2 " * 40, MALFORMED),
]
NO_JSON = [("gout, flu", MALFORMED), ("", MALFORMED), ('["gout", "fl', MALFORMED), ('{"a": 1}', MALFORMED)]


def reader(name: str) -> Read:
    """What the reader makes of a reply."""
    return lambda reply: LLMReader(Scripted([reply]), name)(Query(Question("What is it?")), CONTEXT).text


def letter(reply: str) -> Any:
    return LetterReader(Scripted([reply]))(Query(Question("Which?", OPTIONS)), CONTEXT).choices


def mindmap(reply: str) -> Any:
    answer = MindMapReader(Scripted([reply]))(Query(Question("What is it?")), CONTEXT)
    return answer.text, answer.limits


def inferred(reply: str) -> Any:
    """What MindMap makes of a reply where the model may add what it knows."""
    with tasked(OWN_KNOWLEDGE):
        return mindmap(reply)


def guess(name: str) -> Read:
    return lambda reply: Guess(Scripted([reply]), name)(Question("What is it?")).hypothesis


def lines(name: str) -> Read:
    return lambda reply: Lines(Scripted([reply] * 2), name)(Question("What is it?")).hypothesis.splitlines()


def terms(reply: str) -> Any:
    return [m.name for m in ByModel(Scripted([reply] * 2))(Query(Question("Is it gout or flu?")))]


def judged(reply: str) -> Any:
    return RelevanceByModel(Scripted([reply]))(Query(Question("What is it?")), [GOUT, GOUT]).tolist()


def zero_shot(reply: str) -> Any:
    return ZeroShot(Scripted([reply] * 2))(Query(Question("What is it?")), Context("")).text


def drawn(reply: str) -> Any:
    return [m.name for m in DrawnEntities(Scripted([reply] * 4))(Query(Question("Is it gout or flu?")))]


def ranked_by_model(reply: str) -> str:
    """The first letters of the chains that a reply chooses of four, three at most."""
    chains = [Evidence(text, "path") for text in "abcd"]
    return "".join(e.text for e in ChosenByModel(Scripted([reply]), 3)(Query(Question("Which?")), chains))


def summed_up(reply: str) -> str:
    """The summary; "" where the chains are shown as they are."""
    query = Query(Question("What is it?"))
    text = SummedUp(lambda *_: CONTEXT, Scripted([reply]))(query, CONTEXT.cited).text
    return "" if text == CONTEXT.text else text


def labelled(reply: str) -> Any:
    """The label of a sentence that the rules know nothing of, by what a model says of it."""
    cited = (Evidence("gout: pain", "triple"), Evidence("flu: fever", "triple"))
    judge = ModelJudge(Scripted([reply], every=True))
    found = judge(Question("What is it?"), cited, [Verdict("Gout brings pain [1].", supported=False, reason="")])
    return found.get(0, ("rules",))[0]


def offered(reply: str) -> Any:
    """What a sentence does with a medicine that is not for the patient; {} where the reply cannot be read."""
    judge = ModelJudge(Scripted([reply], every=True))
    return judge.offers(Question("What helps?"), {1: ("Take aloe.", "Not for this patient: aloe.")})


def read_by_model(reply: str) -> Any:
    """Who read a question: the model, or the classifier where it cannot be read."""
    read = ReadByModel(Scripted([reply], every=True), Trained(), MemoryGraph([("gout", "shows", "pain")]), lambda _: [])
    return read(Query(Question("What is gout?")), [], []).source


FRAMES = [
    ("", "trained"),
    ("It asks what gout is.", "trained"),
    ('{"asks": []}', "trained"),
    ('{"asks": [3, {"intent": "magic"}], "things": "x"}', "trained"),
    ('{"things": [{"words": "gout"', "trained"),
    ('Sure: {"things": [{"words": "gout",}], "asks": [{"intent": "overview", "subject": [1, 7]}]}', "model"),
]


def answer(reply: str) -> Any:
    return usable_answer(reply, Question("What is it?"))


def chosen_disease(reply: str) -> str:
    """The disease that a reply chooses of gout and flu; "" where it chooses none."""
    from kgmed.methods.rlkgf import DiseaseReader as Chosen

    cited = tuple(Evidence(f"{n}: pain", "candidate", about=(Entity(n, n, "disease"),)) for n in ("gout", "flu"))
    read = Chosen(LLMReader(Scripted([reply]), name="rlkgf/diagnose"))
    found = read(Query(Question("Toe pain?")), Context("[1] gout: pain\n[2] flu: pain", cited))
    return found.candidates[0].name if found.candidates else ""


def listed_disease(reply: str) -> str:
    """The letters that a reply chooses of a closed list, or the disease outside it that it names."""
    from kgmed.methods.rlkgf import ClosedListReader

    which = Question("Toe pain?", (("A", "gout"), ("B", "flu")))
    found = ClosedListReader(Scripted([reply] * 2))(Query(which), Context(""))
    return "".join(found.choices) or "".join(c.name for c in found.candidates)


LISTED = [
    ("", MALFORMED),
    ("###", MALFORMED),
    (LOOP, "A"),  # as published it is refused before it is read
    ("Diagnosis: gout", "A"),
    ("**Diagnosis:** Flu.", "B"),
    ("Not gout but flu", "B"),
    ("gout or flu", "AB"),
    ("UNKNOWN", ""),
    ("Diagnosis: UNKNOWN", ""),
    ("Diagnosis: swine flu", "swine flu"),
    ("It is measles.", "measles"),
    ("The toe hurts, so it could be many things; ask a doctor.", ""),
]


def judged_better(reply: str) -> Any:
    """Whether the first answer wins, where the judge says this of one order and 2 of the other."""
    from kgmed.train.preference import ModelJudge as Judge
    from kgmed.train.preference import Pair

    return Judge(Scripted([reply, "2"]))([Pair("What is it?", "gout", "flu")])[0]


SENTENCES = [
    ("", "rules"),
    ("It is supported.", "rules"),
    ('{"verdicts": [{"sentence": 1, "verdict": "supports", "facts": [1]}', "rules"),
    ('{"verdicts": [{"sentence": 1, "verdict": "true", "facts": [1]}]}', "rules"),
    ('{"verdicts": [{"sentence": 7, "verdict": "supports", "facts": [1]}]}', "rules"),
    ('{"verdicts": ["supports"]}', "rules"),
    ('Sure: ```json\n[{"sentence": 1, "verdict": "supports", "facts": [1],}]\n```', "supported"),
    ('{"verdicts": [{"sentence": 1, "verdict": "contradicts", "facts": "1"}]}', "contradicted"),
    ('<think>{"verdicts": []}</think>{"verdicts": [{"sentence": 1, "verdict": "says nothing"}]}', "unsupported"),
]
CASES: dict[str, tuple[Read, list[tuple[str, Any]]]] = {
    "serve/shape": (
        json_object,
        [
            ("gout", MALFORMED),
            ("", MALFORMED),
            ('["gout"]', MALFORMED),
            ('{"signs": ["go', MALFORMED),
            ('```json\n{"signs": ["gout",],}\n```', {"signs": ["gout"]}),
        ],
    ),
    "ask/reader": (reader("ask/reader"), EMPTY),
    "ask/detailed": (reader("ask/detailed"), EMPTY),
    "baselines/reader": (reader("baselines/reader"), EMPTY),
    "check/sentences": (labelled, SENTENCES),
    "check/offers": (
        offered,
        [
            ("", {}),
            ("It warns.", {}),
            ('{"sentences": [{"sentence": 1, "says": "sells"}]}', {}),
            ('{"sentences": [{"sentence": "1", "says": "warns"}, 7]}', {}),
            ('{"sentences": [{"sentence": 9, "says": "warns"}', {}),
            ('Sure: {"sentences": [{"sentence": 1, "says": "warns",}]}', {1: "warns"}),
        ],
    ),
    "question/frame": (read_by_model, FRAMES),
    "hykge/reader": (reader("hykge/reader"), EMPTY),
    "medrag/reader": (reader("medrag/reader"), EMPTY),
    "kg_rank/reader": (reader("kg_rank/reader"), EMPTY),
    "kg_rank/short": (
        reader("kg_rank/short"),
        [*EMPTY, ("<think>hm</think>", FAILED), ("1 [1] 1 [1]", FAILED)],
    ),
    "kg_rank/short_own": (
        reader("kg_rank/short_own"),
        [*EMPTY, ("<think>hm</think>", FAILED), ("1 [1] 1 [1]", FAILED)],
    ),
    "hykge/entities": (
        drawn,
        [
            ("gout, flu", []),
            ("", []),
            ('["gout", "fl', []),
            ('{"terms": []}', []),
            ('```json\n{"terms": ["gout", "Gout",]}\n```', ["gout"]),
            ('{"terms": ["night-time wheezing"]}', []),  # the example of the prompt
        ],
    ),
    "hykge/choose": (
        ranked_by_model,
        [
            ("", "abc"),
            ("the best", "abc"),
            ("9, 12", "abc"),
            ("2.5", "abc"),
            ("3, 1, 3", "ca"),
            ("<think>1</think>2 and 3", "bc"),
        ],
    ),
    "hykge/summary": (summed_up, [(text, "") for text, _ in EMPTY]),
    "hykge/hypothesis": (
        guess("hykge/hypothesis"),
        [
            ("", FAILED),
            ("...", FAILED),
            ("<think>gout", FAILED),
            ("\ufffd", FAILED),
            ("Be comprehensive rather than certain;", FAILED),
        ],
    ),
    "kg_rank/draft": (
        guess("kg_rank/draft"),
        [
            ("", FAILED),
            ("1.", FAILED),
            ("<think>a</think>", FAILED),
            ("gout\ufffd", FAILED),
            ("<think>hm</think>Gout.", "Gout."),
        ],
    ),
    "qe/background": (
        guess("qe/background"),
        [("", FAILED), ("-", FAILED), ("<think>", FAILED), ("\ufffd", FAILED), ("$$$ 12", FAILED)],
    ),
    "kg_rank/terms": (
        terms,
        [
            *NO_JSON,
            ('```json\n{"terms": ["gout",]}\n``` as asked', ["gout"]),
            ('{"terms": ["gout", "Gout", "flu", ...]}', ["gout", "flu"]),
            ('{"terms": []}', []),
            ('{"terms": [1]}', MALFORMED),
        ],
    ),
    "mindmap/extract": (
        names,
        [
            ("none", []),
            ("###", []),
            ("", []),
            ("1. gout\n2. flu", ["gout", "flu"]),
            ("The entities are gout, gout<EOS> and more", ["gout"]),
            ("\ufffd, gout", ["gout"]),
        ],
    ),
    "mindmap/paths": (
        lambda reply: sentences_by_label(reply, ["P1"]),
        [("", {}), ("gout", {}), ("P9: gout", {}), ("P1:", {}), ("**P1**: gout\nP1: flu", {"P1": "gout"})],
    ),
    "mindmap/neighbours": (
        lambda reply: sentences_by_label(reply, ["N1"]),
        [
            ("", {}),
            ("N1 gout", {}),
            ("P1: gout", {}),
            ("N1, N2: gout", {}),
            ("Neighbor-based Evidence 1: a", {"N1": "a"}),
        ],
    ),
    "mkg_rank/convert": (
        lambda reply: sentences_by_label(reply, ["E1"]),
        [("", {}), ("Gout hurts.", {}), ("E7: gout", {}), ("E1", {}), ("- E1：甲。", {"E1": "甲。"})],
    ),
    "agent/gather": (
        lambda reply: list(calls_in(reply)),
        [
            ("", []),
            ("gout", []),
            ('{"tool": "done"', []),
            ('{"tool": 7}', []),
            ('{"facts": [1]}', []),
            ('{"tool": "done", "arguments": {"facts": [1]}}', [("done", {"facts": [1]})]),
        ],
    ),
    "mkg_rank/declarative": (
        lambda reply: sentences_by_label(reply, ["E1"]),
        [("", {}), ("Gout hurts.", {}), ("E7: gout", {}), ("E1", {}), ("- E1：甲。", {"E1": "甲。"})],
    ),
    "mindmap/reason": (
        mindmap,
        [
            ("", FAILED),
            ("Output 2: P1('a'->'b'->'c')", FAILED),
            (f"Output 1: {LOOP}", FAILED),
            (
                "Output 1: Gout (P1).",
                (
                    "Gout (P1).",
                    "the model wrote no reasoning graph; the model wrote no decision tree; the model cited no evidence",
                ),
            ),
            ("Output 1: 可以使用药物治疗该病。", FAILED),
        ],
    ),
    "mindmap/infer": (
        inferred,
        [
            ("", FAILED),
            ("Output 2: P1('a'->'b'->'c')", FAILED),
            (f"Output 1: {LOOP}", FAILED),
            ("Output 1: Gout.", ("Gout.", "the model wrote no reasoning graph; the model wrote no decision tree")),
            ("Output 1: 可以使用药物治疗该病。", FAILED),
        ],
    ),
    "mindmap/relevant": (
        judged,
        [("none", [0.0, 0.0]), ("9", [0.0, 0.0]), ("2, 2", [0.0, 1.0]), ("1 and 2", [1.0, 1.0]), ("", FAILED)],
    ),
    "mkg_rank/question_terms": (lambda r: strings(r, "medical entities"), [*NO_JSON, ('["a", "A"]', ["a"])]),
    "mkg_rank/option_terms": (
        lambda r: slots(r, 2),
        [*NO_JSON, ('["a"]', MALFORMED), ('["a", "none"]', ["a", None]), ('["a", 2]', MALFORMED)],
    ),
    "mkg_rank/translate": (
        lambda r: slots(r, 2),
        [*NO_JSON, ('["a", "b", "c"]', MALFORMED), ("［“a”，“b”］", ["a", "b"]), ('["a", null]', ["a", None])],
    ),
    "mkg_rank/background": (
        fragments,
        [("", []), ("# Flu", []), ("- a", []), ("```", []), ("Flu is viral. Flu is viral.", ["Flu is viral."])],
    ),
    "mkg_rank/reader": (
        letter,
        [("", FAILED), ("A or B", ()), ("Maybe A.", ()), ("[E]", ()), ("The answer is A. The answer is B.", ())],
    ),
    "zero_shot/answer": (zero_shot, UNAIDED),
    "cot/answer": (
        split_final,
        [
            ("", MALFORMED),
            ("It is gout.", MALFORMED),
            ("Answer:", MALFORMED),
            ("Answer: ...", MALFORMED),
            ("<think>Answer: flu", MALFORMED),
            ("Answer: flu\nNo.\nAnswer: gout", ("Answer: flu\nNo.", "gout")),
        ],
    ),
    "cot/conclude": (zero_shot, UNAIDED),
    "con/read": (
        split_final,
        [
            ("1: helps", MALFORMED),
            ("答案：", MALFORMED),
            ("the answer is gout", MALFORMED),
            ("", MALFORMED),
            ("1：有关\n**答案**： 痛风[1]", ("1：有关", "痛风[1]")),
        ],
    ),
    "tot/propose": (
        lambda r: nonempty_strings(r, "thoughts"),
        [*NO_JSON, ('{"thoughts": []}', MALFORMED), ("[1]", MALFORMED)],
    ),
    "tot/vote": (
        lambda r: number(r, 3),
        [("", MALFORMED), ("the best", MALFORMED), ("4", MALFORMED), ("1 or 2", MALFORMED), ("1.\nSo: **2**", 2)],
    ),
    "tot/answer": (answer, UNAIDED),
    "cok/prepare": (lines("cok/prepare"), [*NO_JSON, ('{"sentences": ["", "a"]}', ["a"])]),
    "kg_gpt/segment": (lines("kg_gpt/segment"), [*NO_JSON, ('{"sentences": [["a"]]}', MALFORMED)]),
    "kg_gpt/relations": (
        lambda r: known_strings(r, "relations", ["has_symptom", "treats"]),
        [*NO_JSON, ('["cures"]', MALFORMED), ('["Has  symptom", "cures"]', ["has_symptom"])],
    ),
    "baselines/facts": (
        lambda r: numbers_under(r, "facts", 3),
        [*NO_JSON, ('{"facts": [7]}', MALFORMED), ('{"facts": ["2"]}', MALFORMED), ('{"facts": [3, 9, 3]}', [3])],
    ),
    **{
        f"kgarevion/{step}": (
            triples_in,
            [
                *NO_JSON,
                ('{"triples": [["gout", "treats"]]}', MALFORMED),
                ('{"triples": [("gout", "of", "toe")]}', MALFORMED),
                ('```{"triples": [["gout", "of", "toe",], ["gout", "of"]]}```', [("gout", "of", "toe")]),
                ('{"三元组": []}', []),
            ],
        )
        for step in ("triples", "revise")
    },
    "think_on_graph/relations": (
        lambda r: known_strings(r, "relations", ["has_symptom", "treats"]),
        [*NO_JSON, ('["cures"]', MALFORMED), ('["Has  symptom", "cures"]', ["has_symptom"])],
    ),
    "think_on_graph/enough": (
        says_yes,
        [
            ("", MALFORMED),
            ("perhaps", MALFORMED),
            ("...", MALFORMED),
            ("不足以", MALFORMED),
            ("No, they do not.", False),
        ],
    ),
    "cok/correct": (
        short_text,
        [
            ("", MALFORMED),
            ("...", MALFORMED),
            ("\ufffd", MALFORMED),
            ("a" * 3000, MALFORMED),
            ("句子：甲\n乙", "甲 乙"),
        ],
    ),
    "cok/answer": (answer, UNAIDED),
    "kalmv/answer": (answer, UNAIDED),
    "kalmv/verify": (
        lambda r: number(r, 3),
        [("", MALFORMED), ("right", MALFORMED), ("0", MALFORMED), ("2 and 3", MALFORMED), ("[1] says so: 3", 3)],
    ),
    "sure/candidates": (lambda r: nonempty_strings(r, "answers"), [*NO_JSON, ('{"answers": "gout"}', MALFORMED)]),
    "sure/summarise": (
        short_text,
        [
            ("", MALFORMED),
            ("[1]", MALFORMED),
            ("<think>a</think>", MALFORMED),
            ("?", MALFORMED),
            ("摘要：甲[1]", "甲[1]"),
        ],
    ),
    "sure/valid": (
        says_yes,
        [("", MALFORMED), ("perhaps", MALFORMED), ("不支持", MALFORMED), ("不是", False), ("It does not.", False)],
    ),
    "rlkgf/diagnose": (
        chosen_disease,
        [
            *((text, FAILED) for text, _ in EMPTY),
            ("gout or flu", FAILED),
            ("It is measles.", FAILED),
            ("[1] [2]", FAILED),
            ("UNKNOW", ""),
            ("未知", ""),
            ("Not gout but flu", "flu"),
            ("Disease: Gout.", "gout"),
            ("[2]", FAILED),
            ("The second one [2].", "flu"),
        ],
    ),
    "rlkgf/choose": (listed_disease, LISTED),
    "rlkgf/choose_kg": (listed_disease, LISTED),
    "rlkgf/trained": (listed_disease, LISTED),
    "rlkgf/judge": (
        judged_better,
        [("", None), ("both", None), ("1 or 2", None), ("3", None), ("The better one is 1.", True)],
    ),
    "judge/pair": (
        lambda r: criterion_scores(r, KINDS["pair"].criteria),
        [
            ("", MALFORMED),
            ("Answer 1 is better.", MALFORMED),
            ('{"factuality": 1, "comp', MALFORMED),
            ('{"winner": 1}', MALFORMED),
            ('{"factuality": 3, "relevance": true}', MALFORMED),
            ("```json\n{'factuality': 1, 'relevance': 'tie',}\n```", {"factuality": 1, "relevance": 0}),
        ],
    ),
    "judge/mindmap": (
        lambda r: criterion_scores(r, KINDS["mindmap"].criteria),
        [
            ("2", MALFORMED),
            ("[1, 2, 0]", MALFORMED),
            ('{"disease": null}', MALFORMED),
            ('{"disease": {"better": 1}}', MALFORMED),
            ('{"disease": "1 or 2", "drug": 2}', {"drug": 2}),
            ("｛“Disease”：“回答 2”，“total”：“平手”｝", {"disease": 2, "total": 0}),
        ],
    ),
    "judge/rank": (
        lambda r: order(r, 3),
        [
            ("2 > 1 > 3", MALFORMED),
            ('{"order": [1, 2]}', MALFORMED),
            ('{"order": [1, 1, 2]}', MALFORMED),
            ('{"order": [0, 1, 2]}', MALFORMED),
            ('{"order": [1, 2, 3, ...]}', [1, 2, 3]),
            ('Best first: ["2", "3", "1"]', [2, 3, 1]),
        ],
    ),
    "sure/compare": (
        lambda r: number(r, 2),
        [("", MALFORMED), ("both", MALFORMED), ("3", MALFORMED), ("1 and 2", MALFORMED), ("第 1 段", 1)],
    ),
}
UNREAD = {  # scored, or parts of another prompt: nobody replies to these
    *(f"likelihood/{step}" for step in ("background", "blank", "question")),
    *(f"task/{part}" for part in ("answer", "options", "grounded", "assisted", "own")),
    *(f"mindmap/{part}" for part in ("diagnosis", "options", "food", "open", "combine")),
}
FIXTURES = [(name, reply, comes) for name, (_, replies) in CASES.items() for reply, comes in replies]


def outcome(read: Read, reply: str) -> Any:
    """The value, or the name of the error."""
    try:
        return read(reply)
    except Malformed:
        return MALFORMED
    except ModelFailed:
        return FAILED


@pytest.mark.parametrize(("name", "reply", "comes"), FIXTURES)
def test_a_malformed_reply_is_mended_made_do_with_or_refused(name: str, reply: str, comes: Any) -> None:
    assert outcome(CASES[name][0], reply) == comes


def test_every_prompt_has_five_malformed_replies_or_more() -> None:
    there = {file.rsplit(".", 2)[0] for file in prompt_files()} - UNREAD
    few = {name: len(replies) for name, (_, replies) in CASES.items() if len({r for r, _ in replies}) < 5}
    assert there - set(CASES) == set()
    assert few == {}


@pytest.mark.parametrize("file", prompt_files())
def test_every_prompt_says_on_its_first_line_what_it_is_for_and_what_it_needs(file: str) -> None:
    name, language, _ = file.rsplit(".", 2)
    first = prompt(name, language=language).template.splitlines()[0]
    assert not first.startswith("#")
    missing = [hole for hole in prompt(name, language=language).holes if f"{hole}" not in first]
    assert missing == [] or ("Hole" not in first and "空位" not in first)


def test_a_failure_of_every_kind_is_one_that_a_reader_falls_back_from() -> None:
    assert issubclass(Malformed, ModelFailed)
    assert issubclass(ModelFailed, Unavailable)
