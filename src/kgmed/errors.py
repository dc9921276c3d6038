"""What can go wrong, as a tree.

KgmedError
├── BadInput          the user's file, name or option cannot be used (exit code 2)
│   ├── SourceError   a graph file is damaged: names the file, the line and the mend
│   ├── Ambiguous     several entities have that name: holds them
│   └── UnknownName   no graph, method, model or entity has that name
├── Stopped           whoever asked ended the run, or its time was over
├── StoreError        a stored graph is missing, damaged or of another version
└── Unavailable       something needed is not there: an extra, a model file, a server
    ├── NeedsAll      all of a graph is needed, of which a part is here
    ├── Busy          a server did not serve this time: asking again later may succeed
    └── ModelFailed   a model was reached and its reply cannot be used
        └── PromptTooLong   it was asked more than it can read at once
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

_LONGEST = 1000  # characters of a message
_COMPARED = 200  # characters of what was typed that are compared with names
_SHOWN = 80  # characters of a name in a message
_TELLS = 3  # letters: fewer stand in too many names


class KgmedError(Exception):
    r"""The base of all errors that kgmed raises on purpose; the message is one line that can be shown.

    >>> print(KgmedError("it says\nred \x1b[31m")), len(str(KgmedError("a" * 100_000)))
    it says red \x1b[31m
    (None, 1001)
    """

    exit_code = 1  # of a command that ends so

    def __init__(self, message: str = "") -> None:
        """Say what is wrong; a text of a file that is repeated in it is neither long nor moves a cursor."""
        super().__init__(_shown(message))


class BadInput(KgmedError):
    """What the user gave cannot be used."""

    exit_code = 2


class SourceError(BadInput):
    """A graph file is damaged."""

    def __init__(self, path: Path | str, line: int, problem: str, mend: str) -> None:
        """Name the file, the line (0 = the whole file), what is wrong there and how to mend it."""
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {problem}; {mend}")
        self.path, self.line, self.problem, self.mend = Path(path), line, problem, mend


class UnknownName(BadInput):
    """No such name among those known."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        """Say which kind of thing was asked for, and offer the nearest known names."""
        near = nearest(name, names := sorted(known))
        offer = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}" if names else ""
        said = filter(None, (f"no {what} is called {_short(name)!r}", offer, hint))
        super().__init__("; ".join(said).replace("?; ", "? "))
        self.name = name


class Ambiguous(BadInput):
    """Several entities have the name; `candidates` are they."""

    def __init__(self, message: str, candidates: Sequence[object]) -> None:
        """Say so, and keep them."""
        super().__init__(message)
        self.candidates = tuple(candidates)


_SECRET = re.compile(r"(?<=:).*(?=@)|(?:(?<=key=)|(?<=password=)|(?<=passwd=)|(?<=token=)|(?<=secret=))[^&#\s]+", re.I)


def _short(name: str) -> str:
    """A name as a message shows it: an address that was taken for one without its password.

    >>> _short("gout"), len(_short("a" * 5000)), _short("https://me:secret@host/?key=secret")
    ('gout', 80, 'https:…@host/?key=…')
    """
    name = _SECRET.sub("…", name)
    return name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"


def _shown(message: str) -> str:
    """A message on one line, its middle left out where it is long, what cannot be seen by its number."""
    if len(message) > _LONGEST:
        message = f"{message[: 2 * _LONGEST // 3]}…{message[-(_LONGEST - 2 * _LONGEST // 3) :]}"
    if message.isprintable():
        return message
    unseen = {c for c in message if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    return message.translate({ord(c): " " if c in "\r\n\t" else ascii(c)[1:-1] for c in unseen})


def nearest(name: str, names: Sequence[str]) -> list[str]:
    """At most three names that hold what was typed or are spelled much like it.

    >>> nearest("mcmu", ["mmcu", "cmb"]), nearest("marfan", ["Marfan syndrome"]), nearest("nope", ["phenopackets"])
    (['mmcu'], ['Marfan syndrome'], [])
    """
    from rapidfuzz import fuzz, process  # where a name was mistyped

    typed = name[:_COMPARED].casefold()
    held = [n for n in names if len(typed) >= _TELLS and typed in n.casefold()]
    alike = process.extract(typed, names, scorer=fuzz.ratio, processor=str.casefold, limit=3, score_cutoff=60)
    return (held or [found for found, _, _ in alike])[:3]


class Stopped(KgmedError):
    """The run was ended by a stop token."""


class StoreError(KgmedError):
    """A stored graph is missing, damaged or of another version."""


class Unavailable(KgmedError):
    """Something needed is not there; the message says how to get it."""


class NeedsAll(Unavailable):
    """What is asked needs all of a graph, of which a part is here."""


class Busy(Unavailable):
    """A server did not serve this time (too many requests, failing, late, cut off); asking again may succeed."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        """Say so, with the seconds that the server asks to wait (0 = it does not say)."""
        super().__init__(message)
        self.after = after


class ModelFailed(Unavailable):
    """A model was reached, and its reply cannot be used."""


class PromptTooLong(ModelFailed):
    """A model was asked more than it can read at once; asking with less evidence may succeed."""

    def __init__(self, message: str, *, tokens: int = 0, limit: int = 0) -> None:
        """Say so, with the tokens of the prompt and the model's limit (0 = not known)."""
        super().__init__(message)
        self.tokens, self.limit = tokens, limit
