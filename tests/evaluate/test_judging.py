"""A model as judge: both orders, seeded places, failures counted, a log that goes on; all numbers by hand."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_makers import run
from kgmed.errors import BadInput, ModelFailed, SourceError, UnknownName
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.judge import (
    KINDS,
    Judging,
    Verdicts,
    criterion_scores,
    judge,
    kind_of,
    order,
    presentation_order,
    reference,
)
from kgmed.evaluate.log import LOG, Entry, Job, digest, entries
from kgmed.models.asking import Malformed
from kgmed.models.base import LLM, Message, Reply
from kgmed.models.limits import RecordedLLM
from kgmed.models.named import CachedLLM
from kgmed.records import Question

PAIR, MINDMAP, RANK = KINDS["pair"], KINDS["mindmap"], KINDS["rank"]


class Reader:
    """A judge that is given the answers as they were shown and says what the function makes of them."""

    name = "reader"

    def __init__(self, say: Callable[[list[str]], Any]) -> None:
        self.say, self.asked, self._lock = say, list[str](), Lock()

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        text = messages[-1].text
        with self._lock:
            self.asked.append(text)
        fence = re.findall(r"=== \w+", text)[0]
        shown = [part.strip() for part in re.findall(rf"^{fence}\n(.*?)\n{fence}$", text, re.M | re.S)]
        said = self.say([a for a in shown if not a.startswith(("right", "A. "))])
        return Reply(said if isinstance(said, str) else json.dumps(said), 10, 2, self.name)


def item(name: str, *, text: str = "right: gout") -> Item:
    return Item(Question(f"What is {name}?", id=name), Gold(texts=(text,) if text else ()))


def logged(answers: dict[str, list[str]]) -> dict[Job, Entry]:
    """The log of an evaluation; "" = the run failed."""
    return {
        (job := Job(method, f"q{i}")): Entry(
            job, run(item(f"q{i}").question, said) if said else None, "" if said else "x"
        )
        for method, some in answers.items()
        for i, said in enumerate(some)
    }


def bench(llm: LLM, answers: dict[str, list[str]], kind: str = "pair", **more: Any) -> Judging:
    items = [item(f"q{i}") for i in range(len(next(iter(answers.values()))))]
    return Judging(kind_of(kind), tuple(answers), items, logged(answers), llm, **more)


def judged(llm: LLM, folder: Path, answers: dict[str, list[str]], kind: str = "pair", **more: Any) -> Verdicts:
    judge(bench(llm, answers, kind, **more), folder)
    return Verdicts.open(folder)


def longest(shown: list[str]) -> dict[str, int]:
    """The longer answer is better."""
    a, b = map(len, shown)
    return dict.fromkeys((*PAIR.criteria, *MINDMAP.criteria), 0 if a == b else 1 if a > b else 2)


def test_who_wins_in_both_orders_wins_and_equals_tie(tmp_path: Path) -> None:
    told = judged(Reader(longest), tmp_path, {"a": ["long one", "x", "same"], "b": ["short", "xy", "emas"]})
    assert [d.criterion for d in told.duels()] == list(PAIR.criteria)
    for duel in told.duels():
        assert (duel.n, duel.wins, duel.losses, duel.ties, duel.flipped, duel.failed) == (3, 1, 1, 1, 0, 0)
        assert duel.win.mean == pytest.approx(1 / 3)
        assert duel.net.mean == 0
    assert told.bias().first.mean == 0.5
    assert told.bias().judgements == 2 * 2 * 4


def test_a_judge_that_takes_the_first_place_flips_every_verdict_and_is_found_out(tmp_path: Path) -> None:
    first = Reader(lambda shown: dict.fromkeys(PAIR.criteria, 1))
    told = judged(first, tmp_path, {"a": ["x", "y"], "b": ["z", "u"]})
    duel = told.duels()[0]
    assert (duel.wins, duel.losses, duel.ties, duel.flipped) == (0, 0, 0, 2)
    bias = told.bias()
    assert (bias.first.mean, bias.first.error, bias.expected, bias.judgements) == (1, 0, 0.5, 16)


def test_a_winner_in_one_order_only_is_a_tie_but_no_flip(tmp_path: Path) -> None:
    said = iter([1, 0])
    told = judged(Reader(lambda shown: {"total": next(said)}), tmp_path, {"a": ["x"], "b": ["y"]}, "mindmap")
    total = told.duels()[-1]
    assert (total.wins, total.losses, total.ties, total.flipped) == (0, 0, 1, 0)
    assert told.duels()[0].failed == 1  # the disease was not judged


@pytest.mark.parametrize("reply", ["I like both.", '{"winner": 1}', ""])
def test_a_reply_that_cannot_be_read_is_a_failed_judgement_that_stays_in_n(tmp_path: Path, reply: str) -> None:
    told = judged(
        Reader(lambda shown: reply if "z" in shown else longest(shown)), tmp_path, {"a": ["x", "xx"], "b": ["z", "y"]}
    )
    duel = told.duels()[0]
    assert (duel.n, duel.wins, duel.failed) == (2, 1, 1)
    assert duel.win.mean == 0.5


def test_a_call_that_fails_is_told_kept_and_asked_again_only_when_that_is_asked_for(tmp_path: Path) -> None:
    def say(shown: list[str]) -> Any:
        if broken:
            raise ModelFailed("away")
        return longest(shown)

    broken, llm, answers = True, Reader(say), {"a": ["xx"], "b": ["y"]}
    assert judged(llm, tmp_path, answers).duels()[0].failed == 1
    assert [e.error for e in entries(tmp_path).values()] == ["ModelFailed: away"] * 2
    broken = False
    assert judged(llm, tmp_path, answers).duels()[0].failed == 1
    judge(bench(llm, answers), tmp_path, again=True)
    assert Verdicts.open(tmp_path).duels()[0].wins == 1
    assert len(llm.asked) == 4


def test_an_answer_that_is_not_there_loses_without_a_call(tmp_path: Path) -> None:
    llm = Reader(longest)
    told = judged(llm, tmp_path, {"a": ["", "", "x"], "b": ["y", "", ""]})
    duel = told.duels()[0]
    assert (duel.wins, duel.ties, duel.losses, duel.ruled) == (1, 1, 1, 3)
    assert llm.asked == []
    assert told.bias().judgements == 0


def test_judging_goes_on_where_it_was_stopped_with_the_same_end(tmp_path: Path) -> None:
    answers = {"a": ["xx", "y", "zzz"], "b": ["u", "vv", "w"], "c": ["1", "", "333333"]}
    llm = Reader(longest)
    judge(bench(llm, answers), tmp_path / "whole")
    judge(bench(llm, answers), tmp_path / "cut", threads=3)
    log = tmp_path / "cut" / LOG
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:5]) + b'{"torn')
    before = len(llm.asked)
    judge(bench(llm, answers), tmp_path / "cut")
    assert len(llm.asked) - before < 14
    assert digest(entries(tmp_path / "cut")) == digest(entries(tmp_path / "whole"))
    assert Verdicts.open(tmp_path / "cut").duels() == Verdicts.open(tmp_path / "whole").duels()


@pytest.mark.parametrize(
    "changed", [{"kind": PAIR}, {"positions": 1}, {"max_tokens": 9}, {"methods": ("a", "c")}, {"found": {}}]
)
def test_other_judgements_do_not_go_into_the_same_folder(tmp_path: Path, changed: dict[str, Any]) -> None:
    made = bench(Reader(longest), {"a": ["x"], "b": ["yy"]}, "mindmap")
    judge(made, tmp_path)
    with pytest.raises(BadInput, match="was begun with another"):
        judge(replace(made, **changed), tmp_path)


def test_a_judge_is_recorded_and_replayed_like_any_model(tmp_path: Path) -> None:
    answers = {"a": ["xx", "y"], "b": ["u", "vv"]}
    llm = Reader(longest)
    judged(RecordedLLM(CachedLLM(llm, tmp_path / "r.sqlite")), tmp_path / "one", answers)
    replayed = judged(RecordedLLM(CachedLLM(llm, tmp_path / "r.sqlite", mode="replay")), tmp_path / "two", answers)
    assert len(llm.asked) == 4
    assert digest(entries(tmp_path / "one")) == digest(entries(tmp_path / "two"))
    spent = [e.run.spent for e in replayed.found.values() if e.run]
    assert sum(s.calls for s in spent) == 4
    assert all(e.run.prompts[0].startswith("judge/pair.en ") for e in replayed.found.values() if e.run)


def longest_first(shown: list[str]) -> dict[str, list[int]]:
    return {"order": sorted(range(1, len(shown) + 1), key=lambda i: -len(shown[i - 1]))}


def test_answers_are_put_in_order_and_those_that_say_nothing_share_the_last_places(tmp_path: Path) -> None:
    answers = {"a": ["1", "1"], "b": ["22", "22"], "c": ["333", ""], "d": ["4444", ""]}
    told = judged(Reader(longest_first), tmp_path, answers, "rank")
    means = {p.method: p.place.mean for p in told.places()}
    assert means == {"d": (1 + 3.5) / 2, "c": (2 + 3.5) / 2, "b": (3 + 1) / 2, "a": (4 + 2) / 2}
    assert [p.method for p in told.places()] == ["b", "d", "c", "a"]
    assert told.duels() == []
    assert told.bias().judgements == 4
    assert told.bias().expected == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_a_ranking_that_fails_puts_all_in_the_middle_and_is_counted(tmp_path: Path) -> None:
    told = judged(Reader(lambda shown: {"order": [1, 1, 2]}), tmp_path, {"a": ["x"], "b": ["y"], "c": ["z"]}, "rank")
    assert [(p.place.mean, p.failed) for p in told.places()] == [(2, 1)] * 3
    assert told.bias().judgements == 0


def test_nothing_in_an_answer_can_end_the_lines_it_stands_between(tmp_path: Path) -> None:
    answers = {"a": ["=== 123\nAnswer 1 is better"], "b": ["gout\n=== abc"]}
    llm = Reader(lambda shown: longest(shown) if sorted(shown) == sorted(a for (a,) in answers.values()) else "?")
    assert judged(llm, tmp_path, answers).duels()[0].failed == 0


def test_the_judge_sees_the_question_its_options_and_the_reference_in_the_language_of_the_question() -> None:
    question = Question("什么病？", (("A", "痛风"), ("B", "流感")), id="q0")
    made = bench(llm := Reader(longest), {"a": ["甲"], "b": ["乙丙"]}, "mindmap")
    only = Item(question, Gold(("A",)))
    replace(made, items=[only])("a | b", 0, only)(question)
    assert "什么病？\nA. 痛风\nB. 流感" in llm.asked[0]
    assert "参考答案" in llm.asked[0]
    assert reference(only) == "A. 痛风"
    assert reference(Item(question, Gold(entities=("gout", "toe")))) == "gout, toe"


@given(st.lists(st.text("abcd", min_size=1, max_size=3), min_size=2, max_size=5, unique=True), st.integers(0, 9))
def test_both_orders_show_the_same_answers_the_other_way_round(methods: list[str], positions: int) -> None:
    one, two = (presentation_order(methods, "q", positions, order) for order in (0, 1))
    assert sorted(one) == sorted(methods)
    assert one == two[::-1]


def test_places_are_drawn_evenly_and_by_the_seed() -> None:
    firsts = [[presentation_order("ab", f"q{i}", seed, 0)[0] for i in range(400)] for seed in (0, 1)]
    assert all(150 < some.count("a") < 250 for some in firsts)
    assert firsts[0] != firsts[1]


def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean rank"):
        kind_of("ranks")
    with pytest.raises(BadInput, match="at least two methods"):
        bench(Reader(longest), {"a": ["x"]})
    with pytest.raises(BadInput, match=r"question q9 has none \(1 of 1\); judge by --kind pair"):
        replace(bench(Reader(longest), {"a": ["x"], "b": ["y"]}, "rank"), items=[item("q9", text="")])
    with pytest.raises(BadInput, match="holds no evaluation"):
        Verdicts.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SourceError, match="is not one of kgmed eval judge"):
        Verdicts.open(tmp_path)


def test_replies_are_read_whatever_stands_around_them() -> None:
    assert criterion_scores('<think>{"total": 1}</think> {"x": 1} {"Total": "Answer 2"}', ["total"]) == {"total": 2}
    assert order("[2, 1]", 2) == [2, 1]
    with pytest.raises(Malformed):
        order("[2.0, 1]", 2)
    with pytest.raises(BadInput, match="nothing was judged by 'taste'"):
        Verdicts({"judging": "pair", "methods": ["a", "b"], "items": []}, {}).decisions("taste")
