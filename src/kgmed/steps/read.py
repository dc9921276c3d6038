"""Readers that several methods share: one that asks a language model once, and one that asks it in steps."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar, cast

from kgmed.errors import ModelFailed, PromptTooLong
from kgmed.language.text import LETTER, has_cjk, language_of, normalise, prompt_language
from kgmed.models.asking import Malformed, Structured, Tally, spoken, streamed_reply, without_thinking
from kgmed.models.base import LLM, Message, Reply
from kgmed.models.replies import marks, split_final, without_example, without_marks
from kgmed.pipeline import note
from kgmed.prompts import ASSISTED, Prompt, filled, prompt, task, task_wording, whole_question
from kgmed.records import Answer, Context, Query, Question
from kgmed.steps.citations import claimed, is_silent, sentences
from kgmed.steps.options import chosen_letters

# --- What a reader says that has no evidence to read.


_NONE = {"en": "No evidence was found for this question.", "zh": "没有找到与这个问题有关的证据。"}
_LEFT_OUT = {
    "en": "Evidence was found for this question, but all of it was left out.",
    "zh": "找到了与这个问题有关的证据，但全部没有采用。",
}


def nothing(question: Question, context: Context, reader: str) -> Answer:
    """An abstention without evidence; where there was some that did not get here, `limits` say what became of it.

    >>> nothing(Question("What is gout?"), Context(""), "llm").text
    'No evidence was found for this question.'
    """
    told = _LEFT_OUT if context.notes else _NONE
    return Answer(told[prompt_language(question)], abstained=True, reader=reader, limits="; ".join(context.notes))


# --- The ways in which a reply is of no use, each said in a few words.


_SENTENCE_END = re.compile(r"[.!?。！？；\n]+")
LOOPS_FROM = 12  # runs of words (or characters) before a reply can be said to loop
# least share of distinct runs; chosen by eye between lists of evidence (0.7 and more) and loops (below 0.3)
DISTINCT = 0.5


def fault(reply: str, *, language: str, instructions: Sequence[str] = (), fence: str = "") -> str:
    """What is wrong with the reply, to follow the model's name; "" = nothing.

    `language` = the one to answer in; `instructions` = lines of the prompt, without the evidence, and `fence` = the
    line around the evidence, neither of which an answer repeats.
    """
    text = reply.strip()
    if not (any(map(str.isalnum, text)) if task().published else LETTER.search(text)):
        return "said nothing"
    if "\ufffd" in text:
        return "wrote broken characters"
    if (fence and fence in text) or echoes(text, instructions):
        return "repeated its instructions"
    if loops(without_marks(text)):
        return "repeated itself"
    return f"did not answer in the language of the question ({language})" if foreign(text, language) else ""


def echoes(reply: str, instructions: Sequence[str]) -> bool:
    """Whether the reply holds a line of the prompt's instructions (20 characters or more, 10 of Chinese)."""
    said = normalise(reply)
    return any(line in said for line in map(normalise, instructions) if len(line) >= (10 if has_cjk(line) else 20))


_A_SENTENCE, _A_SENTENCE_CJK = 8, 3  # ours: characters of a sentence that is not said again and again for good reason


def loops(text: str) -> bool:
    """Whether the text says the same thing over and over: a sentence three times, or few distinct runs of words.

    >>> loops("The sky is blue. " * 3), loops("Asthma is treated with salbutamol. Asthma is treated with budesonide.")
    (True, False)
    >>> loops("B. Correct. C. Correct. D. Correct. The vitreous is clear, the lens is not.")  # options of an exam
    False
    """
    least = _A_SENTENCE_CJK if has_cjk(text) else _A_SENTENCE
    sentences = [s for s in map(normalise, _SENTENCE_END.split(text)) if len(s) >= least]
    if sentences and max(Counter(sentences).values()) >= 3:
        return True
    units, size = (list(normalise(text).replace(" ", "")), 6) if has_cjk(text) else (normalise(text).split(), 3)
    runs = [tuple(units[i : i + size]) for i in range(len(units) - size + 1)]
    return len(runs) >= LOOPS_FROM and len(set(runs)) < DISTINCT * len(runs)


def before_loop(text: str) -> str:
    """The text up to where it begins to say again what it said: the longest beginning that does not loop.

    >>> before_loop("Rest helps. Drink. " * 4), before_loop("缺铁性贫血性贫血性贫血性贫血性贫血")
    ('Rest helps. Drink.', '缺铁性贫血')
    """
    found = text
    for times in (4, 2, 1):
        found = _before_again(text, times)
        if not loops(found):
            break
    return found


def _before_again(text: str, times: int) -> str:
    """The text up to the first run of so many words (or characters) that it has said before, `times` those of a run."""
    pattern, size = (r"\S", 6) if has_cjk(text) else (r"\S+", 3)
    units = list(re.finditer(pattern, text))
    words = [normalise(unit.group()) for unit in units]
    said: set[tuple[str, ...]] = set()
    for i in range(len(units) - size * times + 1):
        run = tuple(words[i : i + size * times])
        if run in said:
            return text[: units[i].start()].strip()
        said.add(run)
    return text


def foreign(reply: str, language: str) -> bool:
    """Whether a Chinese answer holds almost no Chinese, or an English one mostly Chinese (names may be foreign).

    A reply of fewer than 4 letters, such as the letter of an option, is of no language.

    >>> foreign("Take omeprazole.", "zh"), foreign("可用 omeprazole 治疗", "zh"), foreign("B", "zh")
    (True, False, False)
    """
    letters = LETTER.findall(reply)
    if len(letters) < 4 or language not in ("en", "zh"):
        return False
    share = sum(map(has_cjk, letters)) / len(letters)
    return share < 0.1 if language == "zh" else share > 0.5


# --- A reader that asks a language model.


FENCE = "=== "
NO_EVIDENCE = "-"
OTHER_LANGUAGE = "the model answered in another language than that of the question"
NO_MARKS = "the model was let add what it knows, so the answer does not say what stands on evidence"


@dataclass(frozen=True, slots=True)
class LLMReader:
    """A language model that answers from numbered evidence, in the question's language where there is a prompt for it.

    A reply that is of no use (empty, looping, an echo of the prompt, in another language) raises `ModelFailed`, for
    the caller to fall back from; as published it is asked for once more (`accepted`), and where the task is `ASSISTED`
    any language will do. Without evidence it abstains and the model is not asked, unless the task lets the model add
    what it knows (`kgmed.prompts.task`).
    """

    llm: LLM
    name: str = "ask/reader"
    max_tokens: int = 160
    prompts: Path | None = None  # the user's own, in place of kgmed's

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The model's answer; what is doubtful about its citations stands in `limits`."""
        language = prompt_language(query.question)
        if not context.cited and not task().own_knowledge:
            return nothing(query.question, context, f"llm {self.llm.name}")
        asked = prompt(self.name, language=language, folder=self.prompts)
        fence = fence_for(f"{context.text}\n{query.question.with_history}")
        shown, reply = self._ask(asked, query.question, context, fence)
        said = without_thinking(reply.text, "\n", trim=True).strip()
        told = [*instructions(asked), *task_sentences(query.question, self.prompts)]
        useful(said, query.question, model=self.llm.name, instructions=told, fence=fence)
        answer = self._answer(query.question, reply, shown, len(context.cited))
        return replace(answer, reader=f"llm {self.llm.name}, prompt {asked} {asked.hash}")

    def _ask(self, asked: Prompt, question: Question, context: Context, fence: str) -> tuple[int, Reply]:
        """How many pieces of evidence the model saw, and its reply; drops the last ones until the rest fits."""
        shown = len(context.cited)
        while True:
            evidence = text_before(context, shown)
            values = {"fence": FENCE + fence, "evidence": evidence or NO_EVIDENCE, "question": question.with_history}
            messages = filled(asked, question, self.prompts, **values)
            try:
                return shown, accepted(self.llm, messages, question, max_tokens=self.max_tokens)
            except PromptTooLong as error:
                if shown <= 1:
                    raise
                shown = fewer(shown, error)

    def _answer(self, question: Question, reply: Reply, shown: int, there: int) -> Answer:
        """The answer with what was cited, chosen, and left open."""
        said = without_thinking(reply.text, "\n", trim=True).strip()
        numbers = marks(said)
        real = tuple(n for n in numbers if 1 <= n <= shown)
        chosen = chosen_letters(without_marks(said), question.options)
        abstained = abstains(said, chosen)
        limits = [
            *([f"the model read the first {shown} of {there} pieces of evidence"] if shown < there else []),
            *(f"cites evidence {n} that does not exist" for n in numbers if not 1 <= n <= there),
            *(f"cites evidence {n} that it was not shown" for n in numbers if shown < n <= there),
            *(["the model cited no evidence"] if task().cites and not real and not abstained else []),
            *([OTHER_LANGUAGE] if foreign(said, expected_language(question, said)) else []),
            *([NO_MARKS] if not task().cites else []),
            *([f"cut off after {self.max_tokens} tokens"] if _cut_off(reply, self.max_tokens) else []),
        ]
        return of_model(said, real, chosen, limits, reply.thoughts or spoken(reply).thoughts, abstained=abstained)


def accepted(
    llm: LLM,
    messages: Sequence[Message],
    question: Question,
    *,
    max_tokens: int,
    part: Callable[[str], str] = str.strip,
) -> Reply:
    """The reply to a prompt for an answer; of a method as published, one that is of no use is asked for once more.

    So that all methods of a table have one rule (`usable_answer` of the reply, or of the `part` of it that answers) and
    one retry, with the reason, as `Steps` have it; twice of no use raises `Malformed`.
    """
    reply = streamed_reply(llm, messages, max_tokens=max_tokens)
    if not task().published:
        return reply

    def problem(reply: Reply) -> str:
        try:
            usable_answer(part(without_thinking(reply.text, "\n", trim=True).strip()), question)
        except Malformed as error:
            return str(error)
        return ""

    if reason := problem(reply):
        again = AGAIN[prompt_language(question)].replace("$reason", reason)
        more = (*messages, Message("assistant", reply.text), Message("user", again))
        reply = streamed_reply(llm, more, max_tokens=max_tokens)
        if reason := problem(reply):
            raise Malformed(f"{llm.name} gave no usable reply twice: {reason}; it ends {reply.text[-60:]!r}")
    return reply


def useful(said: str, question: Question, *, model: str, instructions: Sequence[str], fence: str) -> None:
    """Raise `ModelFailed` for a reply that is of no use; as published it was asked for as one that is."""
    language = "" if task() == ASSISTED else expected_language(question, said)
    problem = "" if task().published else fault(said, language=language, instructions=instructions, fence=fence)
    if problem:
        raise ModelFailed(f"{model} {problem}; its reply begins {said[:60]!r}")


def as_asked(said: str) -> str:
    """A model's answer, without the marks that it wrote although the task wants none: they would be scored as words.

    >>> from kgmed.prompts import OWN_KNOWLEDGE, tasked
    >>> with tasked(OWN_KNOWLEDGE):
    ...     as_asked("Mount Lucania [1]")
    'Mount Lucania'
    """
    return said if task().cites else without_marks(said).strip()


def fence_for(text: str) -> str:
    """Digits that occur nowhere in the text, so that nothing in it can close the fence; the same for the same text.

    >>> fence_for("a") == fence_for("a") != fence_for("b")
    True
    """
    tried = 0
    while (fence := blake2b(f"{tried}\n{text}".encode(), digest_size=6).hexdigest()) in text:
        tried += 1
    return fence


def text_before(context: Context, count: int) -> str:
    """The context's text up to the mark of the evidence after the first `count`.

    >>> text_before(Context("[1] a\\n[2] b\\n[3] c"), 2)
    '[1] a\\n[2] b'
    """
    return re.split(rf"^\[{count + 1}\]", context.text, maxsplit=1, flags=re.MULTILINE)[0].rstrip()


def fewer(shown: int, error: PromptTooLong) -> int:
    """How many pieces of evidence to try next: in proportion to the model's limit, where it is known, else half.

    >>> fewer(40, PromptTooLong("", tokens=4000, limit=1000)), fewer(40, PromptTooLong("")), fewer(2, PromptTooLong(""))
    (10, 20, 1)
    """
    return max(1, min(shown * error.limit // error.tokens if error.tokens else shown // 2, shown - 1))


def instructions(asked: Prompt) -> list[str]:
    """The sentences of the prompt that say what to do, as an echo would repeat them."""
    text = "\n".join(m.text for m in asked.messages(**dict.fromkeys(asked.holes, "\n")))
    return [s.strip() for s in re.split(r"(?<=[.。])\s*|\n", text) if s.strip()]


def task_sentences(question: Question, folder: Path | None) -> list[str]:
    """The sentences of the task, with and without evidence, as an echo would repeat them."""
    text = task_wording(question, evidence=True, folder=folder)
    return [s.strip() for s in re.split(r"(?<=[.。])\s*|\n", text) if s.strip()]


def expected_language(question: Question, said: str) -> str:
    """The language that a reply must be in; "" = any, where a letter of an option is all that counts.

    >>> which = Question("哪个？", (("A", "甲"), ("B", "乙")))
    >>> expected_language(which, "Answer: A"), expected_language(Question("谁？"), "A")
    ('', 'zh')
    """
    return "" if question.options and chosen_letters(without_marks(said), question.options) else language_of(question)


def abstains(said: str, choices: Sequence[str] = ()) -> bool:
    """Whether all that a reply says is that it does not know; one that chooses an option, or claims anything, knows.

    >>> abstains("I do not know."), abstains("I do not know the dose, but it is given for pain [1]."), abstains("Gout.")
    (True, False, False)
    """
    bare = without_marks(said)
    return not choices and is_silent(bare) and not any(map(claimed, sentences(bare)))


def _cut_off(reply: Reply, max_tokens: int) -> bool:
    """Whether the reply used all its tokens and ends in mid-sentence."""
    used = reply.tokens_out >= max_tokens if reply.cut is None else reply.cut
    return used and not reply.text.rstrip().endswith(tuple(".!?。！？]】］"))


# --- Asking a model with as much of the evidence as it can read.


@dataclass(frozen=True, slots=True)
class FittedReply:
    """A reply without what the model thought aloud, and what it was asked with."""

    text: str
    shown: int  # pieces of evidence that the model saw
    prompt: str  # name, language and hash
    fence: str
    cut_off: bool  # whether the reply used all its tokens
    instructions: tuple[str, ...] = ()  # the sentences of the prompt, which an answer does not repeat


def ask(
    llm: LLM,
    name: str,
    question: Question,
    context: Context,
    *,
    max_tokens: int,
    prompts: Path | None,
    part: Callable[[str], str] | None = None,
    **values: str,
) -> FittedReply:
    """The reply to a prompt with the holes fence, evidence, question and those of `values`.

    The last evidence is dropped until the rest fits. With `part`, which takes the answer out of a reply, it is one that
    was `accepted`.
    """
    asked = prompt(name, language=prompt_language(question), folder=prompts)
    whole = whole_question(question)
    fence = FENCE + fence_for(f"{context.text}\n{whole}")
    shown = len(context.cited)
    while True:
        evidence = text_before(context, shown) if context.cited else context.text
        try:
            holes = {"fence": fence, "evidence": evidence or NO_EVIDENCE, "question": whole, **values}
            messages = filled(asked, question, prompts, **holes)
            reply = (
                streamed_reply(llm, messages, max_tokens=max_tokens)
                if part is None
                else accepted(llm, messages, question, max_tokens=max_tokens, part=part)
            )
        except PromptTooLong as error:
            if shown <= 1:
                raise
            shown = fewer(shown, error)
        else:
            text = without_thinking(reply.text, "\n").strip()
            cut = reply.tokens_out >= max_tokens if reply.cut is None else reply.cut
            return FittedReply(text, shown, f"{asked} {asked.hash}", fence, cut, tuple(instructions(asked)))


# --- Asking a model in several steps: each is a prompt, a parser and one more try; none goes on without a reply.


T = TypeVar("T")
Shape = Mapping[str, object] | None
AGAIN = {
    "en": "That reply cannot be used: $reason. Reply once more, in the form that was asked for and nothing else.",
    "zh": "这个回答无法使用：$reason。请再答一次，只按要求的格式作答。",
}
LEFT_OUT = "[…]"  # stands for what a reply said over and over


@dataclass(frozen=True, slots=True)
class Steps:
    """Asks the prompts `folder`/STEP in the question's language; a reply that twice cannot be read raises `Malformed`.

    `tally` counts such replies.
    """

    llm: LLM
    folder: str
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def ask(self, step: str, question: Question, parse: Callable[[str], T], shape: Shape = None, /, **values: str) -> T:
        """What the reply to a prompt with the holes question and those given holds; `shape` = its JSON schema."""
        return self._asked(step, question, parse, shape, {"question": whole_question(question), **values})

    def read(
        self,
        step: str,
        question: Question,
        context: Context,
        parse: Callable[[str], T],
        shape: Shape = None,
        /,
        **values: str,
    ) -> tuple[int, T]:
        """How many pieces of evidence the model saw, and what its reply holds; drops the last until the rest fits."""
        shown = len(context.cited)
        whole = whole_question(question)
        fence = FENCE + fence_for("\n".join([context.text, whole, *values.values()]))
        while True:
            evidence = text_before(context, shown) if context.cited else context.text
            filled = {"question": whole, "fence": fence, "evidence": evidence, **values}
            try:
                return shown, self._asked(step, question, parse, shape, filled)
            except PromptTooLong as error:
                if shown <= 1:
                    raise
                shown = fewer(shown, error)

    def _asked(
        self, step: str, question: Question, parse: Callable[[str], T], shape: Shape, values: dict[str, str]
    ) -> T:
        language = prompt_language(question)
        asked = prompt(f"{self.folder}/{step}", language=language, folder=self.prompts)

        def parsed(said: str) -> T:
            found = parse(without_thinking(said, "\n").strip())
            if isinstance(found, list) and all(isinstance(one, str) for one in found):
                return cast(T, without_example(found, example=asked.example, given="\n".join(values.values())))
            return found

        ask = Structured(self.llm, parsed, self.max_tokens, AGAIN[language], self.tally, shape)
        return ask(filled(asked, question, self.prompts, **values))


def read_or(ask: Callable[[], T], otherwise: T) -> T:
    """What the reply to a step before the answer holds; as published `otherwise`, with a note, where none can be read.

    So that of methods with many steps and of those with few the same replies fail: those to the question itself.
    """
    try:
        return ask()
    except Malformed as problem:
        if not task().published:
            raise
        note(str(problem))
        return otherwise


def usable_answer(said: str, question: Question) -> str:
    """The text of an answer; raises `Malformed` for one that is empty or in another language, or only loops.

    One that ends in a loop, as those of small models do, is cut where it begins, and ends in `LEFT_OUT`; as published
    it is of no use, whichever method asked.

    >>> usable_answer("Gout.", Question("What is it?")), usable_answer("It is gout. " * 3, Question("What is it?"))
    ('Gout.', 'It is gout. […]')
    """
    language, text = expected_language(question, said), said.strip()
    if not task().published and loops(without_marks(text)):
        text = f"{before_loop(text)} {LEFT_OUT}"
    if problem := fault(text, language=language):
        raise Malformed(f"the model {problem}")
    return text


def split_conclusion(reply: str, question: Question) -> tuple[str, str]:
    """What comes before the last line "Answer: ...", and that answer, which must be usable.

    >>> split_conclusion("It hurts.\\nAnswer: gout", Question("What is it?"))
    ('It hurts.', 'gout')
    """
    before, said = split_final(reply)
    return before, usable_answer(said, question)


def cited_answer(
    said: str,
    question: Question,
    context: Context,
    *,
    shown: int,
    begin: int = 0,
    reader: str,
    reasoning: str = "",
    limits: Sequence[str] = (),
) -> Answer:
    """The answer in a text with marks such as [1], held against the pieces of evidence after `begin` up to `shown`."""
    numbers = marks(said)
    real = tuple(dict.fromkeys(n for n in numbers if begin < n <= shown))
    chosen = chosen_letters(without_marks(said), question.options)
    abstained = abstains(said, chosen)
    there = len(context.cited)
    notes = [
        *limits,
        *(["the model repeated itself, which is left out"] if said.endswith(LEFT_OUT) else []),
        *([f"the model read {shown - begin} of {there} pieces of evidence"] if shown - begin < there else []),
        *(f"cites evidence {n} that does not exist" for n in numbers if not 1 <= n <= there),
        *(["the model cited no evidence"] if task().cites and context.cited and not (real or abstained) else []),
    ]
    return of_model(said, real, chosen, notes, reasoning, abstained=abstained, reader=reader)


def of_model(
    text: str, cited: tuple[int, ...], chosen: tuple[str, ...], limits: Sequence[str], reasoning: str, *,
    abstained: bool, reader: str = "",
) -> Answer:  # fmt: skip
    """What a model wrote as an answer; one that abstains cites nothing."""
    said = Answer(as_asked(text), () if abstained else cited, choices=chosen, abstained=abstained)
    return replace(said, limits="; ".join(limits), reasoning=reasoning, reader=reader)


def context_lines(context: Context, begin: int, end: int) -> str:
    """The lines of a context that stand for the pieces of evidence after `begin` up to `end`.

    >>> context_lines(Context("[1] a\\n[2] b\\n[3] c"), 1, 2)
    '[2] b'
    """
    return text_before(context, end)[len(text_before(context, begin)) :].strip() if begin else text_before(context, end)
