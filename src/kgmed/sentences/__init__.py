"""The sentences of answers, one catalogue a language: a file `<language>.toml` beside this one.

A further language is a file with the same keys; a key that it lacks is said in English.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgmed.disk import packaged, packaged_toml
from kgmed.errors import BadInput

_ENGLISH = "en"


@dataclass(frozen=True)
class Catalogue:
    """The sentences of a language by their keys, `section.name`.

    >>> catalogue("en")("verdict.none", one="gout", other="fever")
    'The graph has no link between gout and fever.'
    >>> catalogue("zh").join(["发热", "咳嗽"]), catalogue("xx").code
    ('发热、咳嗽', 'en')
    """

    code: str
    said: dict[str, str]

    @property
    def han(self) -> bool:
        """Whether it is written in Han characters."""
        return self("marks.script") == "han"

    def __contains__(self, key: str) -> bool:
        """Whether there is a sentence of that key, here or in English."""
        return key in self.said or key in catalogue(_ENGLISH).said

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence of a key with its braces filled; raises `BadInput` for a key that no catalogue has."""
        form = self.said.get(key) or catalogue(_ENGLISH).said.get(key)
        if form is None:
            raise BadInput(f"no catalogue of sentences has {key}; see sentences/en.toml")
        return form.format(**values)

    def join(self, names: Sequence[str]) -> str:
        """Names between commas."""
        return self("marks.comma").join(names)

    def list(self, facts: Sequence[str]) -> str:
        """Clauses between semicolons, each once."""
        return self("marks.semicolon").join(dict.fromkeys(facts))


@lru_cache(maxsize=16)
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language (ISO 639-1), English where there is none."""
    file = packaged("kgmed.sentences", f"{language or _ENGLISH}.toml")
    if not language.isalpha() or not file.is_file():
        return catalogue(_ENGLISH)
    sections = packaged_toml(f"kgmed.sentences.{language}")
    return Catalogue(language, {f"{name}.{key}": said for name, rows in sections.items() for key, said in rows.items()})


def languages() -> list[str]:
    """The languages that have a catalogue."""
    return sorted(f.stem for f in packaged("kgmed.sentences").glob("*.toml"))
