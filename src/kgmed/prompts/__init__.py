"""Prompts, kept in files `<recipe>/<step>.<language>.txt`; those in a user's folder of the same shape come first.

A file holds sections headed by `# system`, `# user` or `# assistant`, with `$holes` (string.Template).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from string import Template

from kgmed.errors import BadInput, UnknownName
from kgmed.models.base import FilledPrompt, Message

_HEADING = re.compile(r"^# (system|user|assistant)[ \t]*$\n?", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)+")


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
    if not _NAME.fullmatch(name) or not language.isalpha() or file not in prompt_files():
        raise UnknownName("prompt", f"{name}.{language}", [f.removesuffix(".txt") for f in prompt_files()])
    own = folder / file if folder else None
    if own is None or not own.is_file():
        return Prompt(name, language, resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))
    try:
        return Prompt(name, language, own.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the prompt {own}: {error}; save it as UTF-8 text") from error


def prompt_files() -> list[str]:
    """The files of kgmed's own prompts, as recipe/step.language.txt, sorted.

    >>> prompt_files()[:2]
    ['ask/detailed.en.txt', 'ask/detailed.zh.txt']
    """
    recipes = [d for d in resources.files(__package__).iterdir() if d.is_dir()]
    return sorted(f"{d.name}/{f.name}" for d in recipes for f in d.iterdir() if f.name.endswith(".txt"))
