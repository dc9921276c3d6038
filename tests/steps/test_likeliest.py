"""Options chosen by likelihood under every method."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kgmed.config import Config
from kgmed.errors import BadInput
from kgmed.graph.store.store import Store
from kgmed.methods.baselines_closed import ChainOfThought, ZeroShot
from kgmed.methods.baselines_reasoning import NotesReader
from kgmed.models.asking import LogProbs
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted, Wordwise
from kgmed.records import Context, Evidence, Query, Question
from kgmed.session import Session
from kgmed.steps.likelihood import Likeliest, LikelihoodReader, chooses
from kgmed.steps.read import LLMReader
from named_graph import small

OPTIONS = (("A", "gout"), ("B", "flu"), ("C", "measles"))
QUESTION = Question("A red toe. Which disease", OPTIONS)
FLU = Evidence("Flu | finding | red eyes", "triple")
FOUND = Context("[1] flu", (FLU,))


class Likely(Scripted):
    """Says its replies, and finds likely what stands before the options."""

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        return Wordwise().logprobs(prompt, continuations)


def by_text(llm: Likely) -> LikelihoodReader:
    return LikelihoodReader(llm, pmi=False)


def test_a_reader_that_only_writes_the_answer_is_not_asked() -> None:
    llm = Likely(())
    answer = Likeliest(LLMReader(llm), by_text(llm))(Query(QUESTION), FOUND)
    assert (answer.choices, llm.asked) == (("B",), [])


def test_where_nothing_was_found_a_reader_of_evidence_abstains_and_zero_shot_chooses() -> None:
    llm = Likely(())
    assert Likeliest(LLMReader(llm), by_text(llm))(Query(QUESTION), Context("")).abstained
    asked = Question("A red toe. Is it gout", OPTIONS)
    assert Likeliest(ZeroShot(llm), by_text(llm))(Query(asked), Context("")).choices == ("A",)


def test_thoughts_stand_after_the_question_and_are_the_reasoning() -> None:
    llm = Likely(["It looks like measles to me.\nAnswer: measles"])
    answer = Likeliest(ChainOfThought(llm), by_text(llm))(Query(QUESTION), Context(""))
    assert answer.choices == ("C",)
    assert answer.reasoning == "It looks like measles to me.\nmeasles"
    assert answer.reader.startswith("chain of thought scripted; likelihood")
    assert "from the model's own memory" in answer.limits


def test_a_reader_that_thinks_and_abstains_has_chosen_nothing() -> None:
    llm = Likely(())
    assert Likeliest(NotesReader(llm), by_text(llm))(Query(QUESTION), Context("")).choices == ()


def test_where_the_thoughts_cannot_be_read_the_model_chooses_without_them() -> None:
    llm = Likely(["no line of an answer"] * 2)
    found = Likeliest(NotesReader(llm), by_text(llm))(Query(QUESTION), FOUND)
    assert (found.choices, found.reasoning) == (("B",), "")
    assert "chosen without thoughts: scripted gave no usable reply twice" in found.limits


def test_open_questions_are_left_to_the_reader() -> None:
    llm = Likely(["Flu [1]."])
    assert Likeliest(LLMReader(llm), by_text(llm))(Query(Question("What is it?")), FOUND).text == "Flu [1]."


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("llm", "from evidence"),
        ("kg-rank", "from evidence"),
        ("hykge", "from evidence"),
        ("mkg-rank", "without evidence"),
        ("zero-shot", "without evidence"),
        ("mindmap", "after thinking"),
        ("cot", "after thinking"),
        ("tot", "after thinking"),
        ("chain-of-note", "after thinking"),
        ("chain-of-knowledge", "after thinking"),
        ("kalmv", "after thinking"),
        ("sure", "after thinking"),
    ],
)
def test_every_method_can_choose_so(tmp_path: Path, name: str, how: str) -> None:
    graph = small(tmp_path)
    session = Session(
        ["small"], lambda _: graph, {}, Config(method=name, choose="likelihood"), Likely(()), NgramEncoder()
    )
    made = session.pipeline(session.toolkit("small"))
    assert isinstance(made.read, Likeliest)
    assert chooses(made.read) == how


def test_the_facts_ask_no_model_and_a_model_must_give_likelihoods(tmp_path: Path) -> None:
    graph: Store = small(tmp_path)

    def reader(method: str, llm: Scripted) -> object:
        session = Session(
            ["small"], lambda _: graph, {}, Config(method=method, choose="likelihood"), llm, NgramEncoder()
        )
        return session.pipeline(session.toolkit("small")).read

    assert not isinstance(reader("facts", Likely(())), Likeliest)
    with pytest.raises(BadInput, match="gives no likelihoods"):
        reader("llm", Scripted(()))
