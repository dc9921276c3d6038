"""Prompts, kept in files `<recipe>/<step>.<language>.txt`; those in a user's folder of the same shape come first.

A file holds sections headed by `# system`, `# user` or `# assistant`, with `$holes` (string.Template).

A prompt for an answer has the hole `$task`; what fills it depends on the question (options or none), on whether the
prompt shows evidence, and on the `AnswerTask` in force: `GROUNDED`, `ASSISTED` or `OWN_KNOWLEDGE`.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from string import Template

from kgmed.errors import BadInput, UnknownName
from kgmed.language.text import prompt_language
from kgmed.models.base import FilledPrompt, Message
from kgmed.records import Question

# Prompts, kept in files `<recipe>/<step>.<language>.txt`; those in a user's folder of the same shape come first.

_HEADING = re.compile(r"^# (system|user|assistant)[ \t]*$\n?", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)+")
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation with holes."""

    name: str  # recipe/step
    language: str  # ISO 639-1
    template: str

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of the template's content, for the run's record."""
        return blake2b(self.template.encode(), digest_size=8).hexdigest()

    @property
    def holes(self) -> tuple[str, ...]:
        """The names to be filled, in the order of the template.

        >>> Prompt("a/b", "en", "$question for $$5 from $evidence").holes
        ('question', 'evidence')
        """
        return tuple(Template(self.template).get_identifiers())

    @property
    def example(self) -> str:
        """The replies that it shows, for a model to see how one looks.

        >>> Prompt("a/b", "en", "# user\\nq\\n# assistant\\na\\n# user\\n$q").example
        'a'
        """
        return "\n".join(text for role, text in self._sections() if role == "assistant")

    def messages(self, **values: str) -> FilledPrompt:
        """The conversation with its holes filled; a value is never read as a template or a heading.

        >>> Prompt("a/b", "en", "# user\\nQ: $q\\n").messages(q="$5?")
        (Message(role='user', text='Q: $5?'),)
        """
        self._check(values.keys())
        filled = (Message(role, Template(text).substitute(values)) for role, text in self._sections())
        return FilledPrompt.of(filled, f"{self} {self.hash}")

    def _check(self, given: Iterable[str]) -> None:
        """Refuse a template whose holes are not those given, such as one changed by hand that lost the question."""
        holes, names = set(self.holes), set(given)
        if not Template(self.template).is_valid():
            raise BadInput(f"the prompt {self} has a lone $; write $$ for a dollar sign")
        if missing := sorted(holes - names):
            raise BadInput(f"the prompt {self} has a hole that nothing fills: ${missing[0]}; remove it")
        if unused := sorted(names - holes):
            raise BadInput(f"the prompt {self} lacks the hole ${unused[0]}; add it")

    def _sections(self) -> Iterator[tuple[str, str]]:
        """Role and text of each section that has text; what stands before the first heading is a comment."""
        parts = _HEADING.split(self.template)
        found = [(r, t.strip()) for r, t in zip(parts[1::2], parts[2::2], strict=True) if t.strip()]
        if not found:
            raise BadInput(f"the prompt {self} has no section; head its text with the line '# user'")
        yield from found

    def __str__(self) -> str:
        """Name and language, as in ask/reader.en."""
        return f"{self.name}.{self.language}"


def prompt(name: str, *, language: str = "en", folder: Path | None = None) -> Prompt:
    """The prompt of that name: the user's, if `folder` has it, else kgmed's.

    >>> prompt("ask/reader", language="zh").holes[:2]
    ('fence', 'evidence')
    """
    file = f"{name}.{language}.txt"
    if not _NAME.fullmatch(name) or not language.isalpha() or not (packaged := _FOLDER / file).is_file():
        raise UnknownName("prompt", f"{name}.{language}", [f.removesuffix(".txt") for f in prompt_files()])
    own = folder / file if folder else None
    if own is None or not own.is_file():
        return Prompt(name, language, packaged.read_text(encoding="utf-8"))
    try:
        return Prompt(name, language, own.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the prompt {own}: {error}; save it as UTF-8 text") from error


def prompt_files() -> list[str]:
    """The files of kgmed's own prompts, as recipe/step.language.txt, sorted.

    >>> prompt_files()[:2]
    ['agent/gather.en.txt', 'agent/gather.zh.txt']
    """
    return sorted(f.relative_to(_FOLDER).as_posix() for f in _FOLDER.glob("*/*.txt"))


# What every final prompt asks for in the same words, so that methods which are compared differ in nothing else.

ANSWER_TOKENS = 700  # ours: of every method's answer, with what it writes before or beside it


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """How an answer may be made.

    Attributes:
        own_knowledge: Whether the model may add what it knows; it is then asked without evidence too.
        cites: Whether an answer names the numbers of its evidence.
    """

    own_knowledge: bool = False
    cites: bool = True

    @property
    def published(self) -> bool:
        """Whether a method runs as its authors had it: nothing of kgmed's own stands in for what a model fails to say.

        One rule of acceptance and one retry then hold for the answers of all methods (`kgmed.steps.read.accepted`).
        """
        return not self.cites


GROUNDED = AnswerTask()
ASSISTED = AnswerTask(own_knowledge=True)
OWN_KNOWLEDGE = AnswerTask(own_knowledge=True, cites=False)


def of_preset(name: str, answer_from: str = "evidence") -> AnswerTask:
    """The task of a method's preset: as its authors have it, else as `answer_from` says, from the evidence alone or
    from that and what the model knows, citing.
    """
    if name in ("paper", "code"):
        return OWN_KNOWLEDGE
    return ASSISTED if answer_from == "assisted" else GROUNDED


_TASK: ContextVar[AnswerTask] = ContextVar("task", default=GROUNDED)


def task() -> AnswerTask:
    """The task in force here and now."""
    return _TASK.get()


@contextmanager
def tasked(how: AnswerTask) -> Iterator[None]:
    """A block in which answers are made that way, in this thread and those with a copy of its context.

    >>> with tasked(OWN_KNOWLEDGE):
    ...     task().cites
    False
    """
    token = _TASK.set(how)
    try:
        yield
    finally:
        _TASK.reset(token)


def task_wording(question: Question, *, evidence: bool, folder: Path | None = None) -> str:
    """The words for the hole `$task`, a line for each part."""
    parts = ["options" if question.options else "answer"]
    if evidence:
        parts.append("grounded" if not task().own_knowledge else "assisted" if task().cites else "own")
    language = prompt_language(question)
    return "\n".join(prompt(f"task/{part}", language=language, folder=folder).messages()[0].text for part in parts)


def stated_task(question: Question, preset: str, answer_from: str = "evidence") -> str:
    """What all methods of a comparison are asked for in the same words, in a line: length, wording, rule of language.

    >>> stated_task(Question("Why?"), "paper")[:39]
    'at most 700 tokens; "Answer fully and i'
    """
    with tasked(of_preset(preset, answer_from)):
        bare, shown = (task_wording(question, evidence=evidence) for evidence in (False, True))
    more = shown.removeprefix(bare).strip()
    rule = "a letter counts in any language" if question.options else "an answer in another language has failed"
    return f'at most {ANSWER_TOKENS} tokens; "{bare}"; with evidence: "{more}"; {rule}'


def filled(asked: Prompt, of: Question, folder: Path | None, /, **values: str) -> FilledPrompt:
    """The messages of a prompt, its hole `$task` filled where it has one; a prompt of a user's own may have none."""
    if "task" not in asked.holes:
        return asked.messages(**values)
    return asked.messages(**values, task=task_wording(of, evidence="evidence" in values, folder=folder))


def whole_question(question: Question) -> str:
    """The question after its history and before its options.

    >>> whole_question(Question("Why?", (("A", "x"),), history=("Hi",)))
    'Hi\\nWhy?\\nA. x'
    """
    options = [f"{letter}. {text}" for letter, text in question.options]
    return "\n".join([*question.history, question.text, *options])
