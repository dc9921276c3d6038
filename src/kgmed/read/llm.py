"""A reader that asks a language model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from kgmed.errors import ModelFailed, PromptTooLong
from kgmed.kg.language import language_of, prompt_language
from kgmed.models.marks import marks, without_marks
from kgmed.models.streaming import aloud
from kgmed.prompts import Prompt, prompt
from kgmed.read.choice import chosen
from kgmed.read.faults import fault
from kgmed.read.nothing import nothing
from kgmed.stages import LLM, Reply
from kgmed.types import Answer, Context, Query, Question

_THINKING = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)
_UNSURE = re.compile(
    r"\b(?:I|we) (?:do not|don['’]t|cannot|can['’]t) (?:know|answer|say)\b"
    r"|\bevidence (?:does not|doesn['’]t) (?:answer|say|mention|contain)\b|\bnot enough (?:evidence|information)\b"
    r"|我?不知道|无法(?:回答|确定)|不能回答|(?:证据|资料|信息)(?:中)?(?:不足|未提及|没有)",
    re.IGNORECASE,
)
FENCE = "=== "


@dataclass(frozen=True, slots=True)
class LLMReader:
    """A language model that answers from numbered evidence, in the question's language where there is a prompt for it.

    A reply that is of no use (empty, looping, an echo of the prompt, in another language) raises `ModelFailed`, for
    the caller to fall back from. Without evidence it abstains and the model is not asked.
    """

    llm: LLM
    name: str = "ask/reader"
    max_tokens: int = 160
    prompts: Path | None = None  # the user's own, in place of kgmed's

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The model's answer; what is doubtful about its citations stands in `limits`."""
        language = prompt_language(query.question)
        if not context.cited:
            return nothing(query.question, context, f"llm {self.llm.name}")
        asked = prompt(self.name, language=language, folder=self.prompts)
        fence = fence_for(f"{context.text}\n{_whole(query.question)}")
        shown, reply = self._ask(asked, query.question, context, fence)
        said = _THINKING.sub("\n", reply.text).strip()
        if problem := fault(said, language=language_of(query.question), instructions=instructions(asked), fence=fence):
            raise ModelFailed(f"{self.llm.name} {problem}; its reply begins {said[:60]!r}")
        answer = self._answer(query.question, reply, shown, len(context.cited))
        return replace(answer, reader=f"llm {self.llm.name}, prompt {asked} {asked.hash}")

    def _ask(self, asked: Prompt, question: Question, context: Context, fence: str) -> tuple[int, Reply]:
        """How many pieces of evidence the model saw, and its reply; drops the last ones until the rest fits."""
        shown = len(context.cited)
        while True:
            evidence = first(context, shown)
            messages = asked.messages(fence=FENCE + fence, evidence=evidence, question=_whole(question))
            try:
                return shown, aloud(self.llm, messages, max_tokens=self.max_tokens)
            except PromptTooLong as error:
                if shown <= 1:
                    raise
                shown = fewer(shown, error)

    def _answer(self, question: Question, reply: Reply, shown: int, there: int) -> Answer:
        """The answer with what was cited, chosen, and left open."""
        said = _THINKING.sub("\n", reply.text).strip()
        numbers = marks(said)
        real = tuple(n for n in numbers if 1 <= n <= shown)
        abstained = abstains(said, real)
        limits = [
            *([f"the model read the first {shown} of {there} pieces of evidence"] if shown < there else []),
            *(f"cites evidence {n} that does not exist" for n in numbers if not 1 <= n <= there),
            *(f"cites evidence {n} that it was not shown" for n in numbers if shown < n <= there),
            *(["the model cited no evidence"] if not real and not abstained else []),
            *([f"cut off after {self.max_tokens} tokens"] if _cut_off(reply, self.max_tokens) else []),
        ]
        return Answer(
            said,
            citations=() if abstained else real,
            choices=chosen(without_marks(said), question.options),
            abstained=abstained,
            limits="; ".join(limits),
            reasoning=_reasoning(reply.text),
        )


def fence_for(text: str) -> str:
    """Digits that occur nowhere in the text, so that nothing in it can close the fence; the same for the same text.

    >>> fence_for("a") == fence_for("a") != fence_for("b")
    True
    """
    tried = 0
    while (fence := blake2b(f"{tried}\n{text}".encode(), digest_size=6).hexdigest()) in text:
        tried += 1
    return fence


def first(context: Context, count: int) -> str:
    """The context's text up to the mark of the evidence after the first `count`.

    >>> first(Context("[1] a\\n[2] b\\n[3] c"), 2)
    '[1] a\\n[2] b'
    """
    return re.split(rf"^\[{count + 1}\]", context.text, maxsplit=1, flags=re.MULTILINE)[0].rstrip()


def fewer(shown: int, error: PromptTooLong) -> int:
    """How many pieces of evidence to try next: in proportion to the model's limit, where it is known, else half.

    >>> fewer(40, PromptTooLong("", tokens=4000, limit=1000)), fewer(40, PromptTooLong("")), fewer(2, PromptTooLong(""))
    (10, 20, 1)
    """
    fits = shown * error.limit // error.tokens if error.tokens else shown // 2
    return max(1, min(fits, shown - 1))


def _whole(question: Question) -> str:
    """The question after its history and before its options."""
    options = [f"{letter}. {text}" for letter, text in question.options]
    return "\n".join([*question.history, question.text, *options])


def instructions(asked: Prompt) -> list[str]:
    """The sentences of the prompt that say what to do, as an echo would repeat them."""
    text = "\n".join(m.text for m in asked.messages(**dict.fromkeys(asked.holes, "\n")))
    return [s.strip() for s in re.split(r"(?<=[.。])\s*|\n", text) if s.strip()]


def _reasoning(reply: str) -> str:
    """What the model thought aloud before it answered."""
    return "\n".join(thought.strip() for thought in _THINKING.findall(reply))


def abstains(said: str, citations: Sequence[int]) -> bool:
    """Whether the reply begins by not knowing, or says so and cites nothing.

    >>> abstains("I do not know.", ()), abstains("Gout [1].", (1,))
    (True, False)
    """
    bare = without_marks(said).strip()
    return _UNSURE.match(bare) is not None or (not citations and _UNSURE.search(bare) is not None)


def _cut_off(reply: Reply, max_tokens: int) -> bool:
    """Whether the reply used all its tokens and ends in mid-sentence."""
    return reply.tokens_out >= max_tokens and not reply.text.rstrip().endswith(tuple(".!?。！？]】］"))
