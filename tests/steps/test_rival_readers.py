"""Readers that ask a model in several steps."""

from collections.abc import Sequence

import pytest

from kgmed.errors import ModelFailed, PromptTooLong
from kgmed.methods.baselines_closed import ChainOfThought, TreeOfThought, ZeroShot
from kgmed.methods.baselines_reasoning import CorrectedReader, NotesReader, SummarisedReader, VerifiedReader
from kgmed.models.asking import Malformed, Tally
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import Scripted
from kgmed.records import Context, Entity, Evidence, Query, Question
from kgmed.steps.read import Steps, usable_answer

Q = Query(Question("What helps a red toe?"))
CHOICE = Query(Question("What helps?", (("A", "rest"), ("B", "colchicine"))))


def context(count: int) -> Context:
    cited = tuple(Evidence(f"fact {i}", "triple", about=(Entity(str(i), str(i)),)) for i in range(1, count + 1))
    return Context("\n".join(f"[{i}] {e.text}" for i, e in enumerate(cited, start=1)), cited)


def last(llm: Scripted, call: int = -1) -> str:
    return llm.asked[call][-1].text


@pytest.mark.parametrize(
    ("replies", "said", "told", "counted"),
    [
        (["...", "Toes hurt.\nAnswer: gout"], ("gout", "Toes hurt."), "it has no line that begins with", (1, 1, 0)),
        (["The toe is red at night.", "Gout."], ("Gout.", "The toe is red at night."), "The toe is red", (2, 0, 0)),
    ],
    ids=["a reply that cannot be read", "thoughts that come to no answer"],
)
def test_the_answer_is_asked_for_once_more_with_the_reason_or_the_thoughts(
    replies: list[str], said: tuple[str, str], told: str, counted: tuple[int, int, int]
) -> None:
    llm, tally = Scripted(replies), Tally()
    answer = ChainOfThought(llm, tally=tally)(Q, Context(""))
    assert (answer.text, answer.reasoning) == said
    assert told in last(llm)
    assert (tally.asked, tally.again, tally.failed) == counted


def test_a_second_unusable_reply_is_a_typed_failure_that_is_counted() -> None:
    tally = Tally()
    with pytest.raises(Malformed, match="no usable reply twice"):
        ChainOfThought(Scripted(["", ""]), tally=tally)(Q, Context(""))
    assert tally.failed == 1


def test_an_answer_without_evidence_cites_none_and_says_where_it_is_from() -> None:
    answer = ZeroShot(Scripted(["Colchicine [1]. Answer: B"]))(CHOICE, context(2))
    assert answer.citations == ()
    assert answer.choices == ("B",)
    assert "no evidence was looked up" in answer.limits
    assert "does not exist" in answer.limits


def test_a_tree_of_thought_goes_on_from_the_thought_that_is_voted_for() -> None:
    llm = Scripted(['["heat", "ice"]', "2", '["cool it"]', "Ice helps."])
    answer = TreeOfThought(llm, width=2)(Q, Context(""))
    assert answer.reasoning == "ice\ncool it"
    assert "1. ice" in last(llm, 2)
    assert "heat" not in last(llm, 2)
    assert len(llm.asked) == 4  # a level with one proposal needs no vote


def test_a_tree_of_thought_takes_no_thought_from_the_example() -> None:
    shown = '["Wheezing at night points to asthma.", "%s"]'
    llm = Scripted([shown % "Wheezing at night points to asthma.", shown % "ice", "Ice helps."])
    assert TreeOfThought(llm, depth=1)(Q, Context("")).reasoning == "ice"


def test_a_tree_of_thought_says_where_thoughts_or_a_vote_could_not_be_read() -> None:
    tally = Tally()
    llm = Scripted(['["heat", "ice"]', "the best", "the other", "heat, ice", "heat", "Ice helps."])
    answer = TreeOfThought(llm, width=2, tally=tally)(Q, Context(""))
    assert (answer.text, answer.reasoning) == ("Ice helps.", "heat")
    assert "vote at level 1 could not be read: its first thought was taken" in answer.limits
    assert "no thought that could be read at level 2 of 2" in answer.limits
    assert tally.failed == 2


def test_more_thoughts_than_asked_for_are_not_voted_on() -> None:
    llm = Scripted(['["a", "b", "c", "d"]', "2", "Ice helps."])
    TreeOfThought(llm, depth=1, width=2)(Q, Context(""))
    assert "c" not in last(llm, 1).split("Possible next thoughts:")[1].split("Which")[0]


def test_notes_are_the_reasoning_and_the_answer_cites() -> None:
    answer = NotesReader(Scripted(["1: helps\n2: off\nAnswer: ice [1]"]))(Q, context(2))
    assert (answer.text, answer.citations, answer.reasoning) == ("ice [1]", (1,), "1: helps\n2: off")


@pytest.mark.parametrize("make", [NotesReader, CorrectedReader, VerifiedReader, SummarisedReader])
def test_without_evidence_no_model_is_asked(make: type[NotesReader]) -> None:
    llm = Scripted([])
    answer = make(llm)(Q, Context(""))
    assert answer.abstained
    assert llm.asked == []


def test_each_sentence_is_corrected_with_those_before_it_and_the_answer_sees_all() -> None:
    llm = Scripted(["Toes are red.", "Ice cools.", "Ice helps [2]."])
    answer = CorrectedReader(llm)(Query(Q.question, "Toes are blue.\nIce burns."), context(2))
    assert "Already corrected:\n-" in last(llm, 0)
    assert "Already corrected:\nToes are red." in last(llm, 1)
    assert "Statement: Ice burns." in last(llm, 1)
    assert "Toes are red.\nIce cools." in last(llm)
    assert "blue" not in last(llm)
    assert (answer.citations, answer.reasoning) == ((2,), "Toes are red.\nIce cools.")


def test_a_rationale_that_failed_leaves_the_evidence_alone_to_be_read() -> None:
    llm = Scripted(["Ice helps [1]."])
    assert CorrectedReader(llm)(Q, context(1)).citations == (1,)
    assert len(llm.asked) == 1


def test_evidence_off_the_question_gives_way_to_the_next_batch() -> None:
    llm = Scripted(["Rest [1].", "1", "Ice [3].", "3"])
    answer = VerifiedReader(llm, batch=2)(Q, context(4))
    assert "[1] fact 1\n[2] fact 2" in last(llm, 0)
    assert "[3] fact 3\n[4] fact 4" in last(llm, 2)
    assert "fact 1" not in last(llm, 2)
    assert (answer.text, answer.citations) == ("Ice [3].", (3,))
    assert "after 1 refused: evidence off the question" in answer.limits


def test_an_answer_that_does_not_follow_is_asked_for_anew_and_told_of() -> None:
    llm = Scripted(["Rest [1].", "2", "Ice [2].", "3"])
    answer = VerifiedReader(llm, batch=2)(Q, context(4))
    assert "Rest [1]." in last(llm, 2)
    assert "fact 1" in last(llm, 2)
    assert answer.citations == (2,)


@pytest.mark.parametrize(("verdicts", "calls"), [("222", 6), ("11", 4), ("12111", 6)])
def test_where_no_answer_passes_it_abstains_and_says_why(verdicts: str, calls: int) -> None:
    llm = Scripted([text for v in verdicts for text in ("Rest [1].", v)])
    answer = VerifiedReader(llm, rounds=3, batch=2)(Q, context(4))
    assert answer.abstained
    assert answer.citations == ()
    assert answer.limits.startswith("refused: ")
    assert len(llm.asked) == calls


def test_a_citation_of_a_batch_that_was_not_shown_does_not_count() -> None:
    answer = VerifiedReader(Scripted(["Rest.", "1", "Ice [1] [3].", "3"]), batch=2)(Q, context(4))
    assert answer.citations == (3,)


def test_the_candidate_with_the_best_summary_is_the_answer() -> None:
    replies = ['["rest", "ice"]', "Rest is said to help [1].", "Ice cools [2].", "no", "yes", "2", "1"]
    answer = SummarisedReader(Scripted(replies))(Q, context(2))
    assert answer.text == "Ice cools [2]."
    assert answer.citations == (2,)
    assert [(c.name, c.score) for c in answer.candidates] == [("ice", 3.0), ("rest", 0.0)]


def test_summaries_that_are_compared_both_ways_and_contradict_leave_the_first_in_front() -> None:
    replies = ['["rest", "ice"]', "Rest helps [1].", "Ice helps [2].", "yes", "yes", "1", "1"]
    assert SummarisedReader(Scripted(replies))(Q, context(2)).text == "Rest helps [1]."


def test_one_candidate_is_summarised_and_judged_alone() -> None:
    llm = Scripted(['["B. colchicine"]', "It treats gout [1].", "yes"])
    answer = SummarisedReader(llm)(CHOICE, context(1))
    assert (answer.text, answer.choices) == ("B. colchicine. It treats gout [1].", ("B",))
    assert len(llm.asked) == 3


class Narrow:
    """A model that reads so many lines of evidence at once."""

    name = "narrow"

    def __init__(self, lines: int) -> None:
        self.lines = lines

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        if messages[-1].text.count("fact ") > self.lines:
            raise PromptTooLong("too long")
        return Reply("1: helps\nAnswer: ice [1] [4]")


def test_evidence_that_does_not_fit_is_left_out_from_the_end_and_told_of() -> None:
    answer = NotesReader(Narrow(2))(Q, context(4))
    assert "the model read 2 of 4 pieces of evidence" in answer.limits
    assert answer.citations == (1,)
    with pytest.raises(PromptTooLong):
        NotesReader(Narrow(0))(Q, context(4))


def test_a_batch_that_does_not_fit_is_halved() -> None:
    class Brief(Narrow):
        def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
            super().__call__(messages, max_tokens=max_tokens)
            return Reply("3" if "Write 1 if" in messages[-1].text else "Ice [1] [2].")

    answer = VerifiedReader(Brief(1), batch=4)(Q, context(4))
    assert answer.citations == (1,)
    assert "the model read 1 of 4 pieces of evidence" in answer.limits
    with pytest.raises(PromptTooLong):
        VerifiedReader(Brief(0), batch=4)(Q, context(4))


def test_a_model_that_is_down_is_not_asked_again_by_a_step() -> None:
    llm = Scripted([ModelFailed("down"), "Answer: ice"])
    with pytest.raises(ModelFailed, match="down"):
        Steps(llm, "zero_shot").ask("answer", Q.question, lambda said: usable_answer(said, Q.question))
    assert len(llm.asked) == 1
