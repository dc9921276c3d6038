"""Names of ontology terms in other languages: Babelon tables, as HPO publishes its translations.

One row a name: the term's id, its English name, the name in another language, and how far the translation is. Only
official names are taken; the others are counted (`graph doctor`). Beside a Babelon table may stand a ROBOT template of
synonyms (`hp-de.synonyms.tsv`), whose language is in its file's name. The graph has no edges: it lays names over the
graph whose ids it shares, and is a glossary by itself.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, DroppedRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import check_file, lines, name_of, reading
from kgmed.registry import formats

OFFICIAL = "OFFICIAL"  # of Babelon's NOT_TRANSLATED, CANDIDATE, UNDER_REVIEW, OFFICIAL
_NAMES = ("rdfs:label", "oboInOwl:hasExactSynonym", "")  # of the properties that are translated; others are no names
_LABEL = "rdfs:label"
_LANGUAGE = re.compile(r"-([a-z]{2,3})[.-]")
_ID = re.compile(r"[A-Za-z]\w*:\S+")
_MEND = "fetch it again from where the translations are published"


def _is_babelon(first: Sequence[str]) -> int:
    """How sure the first lines are of Babelon: its header is like no other."""
    cells = first[0].split("\t")
    return 3 if {"subject_id", "translation_value"} <= set(cells) else 0


@formats.register("babelon", holds=("*.babelon.tsv",), looks=_is_babelon)
def read_babelon(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The names in a Babelon file, or in all those of a folder with their synonyms; raises `SourceError`."""
    if path is None:
        raise BadInput("a graph of the format babelon needs a file or a folder; name one")
    with reading(path):
        found = sorted([*path.glob("*.babelon.tsv"), *path.glob("*.synonyms.tsv")]) if path.is_dir() else [path]
    if not found:
        raise SourceError(path, 0, "holds no .babelon.tsv file", "name the folder that does")
    for file in found:
        check_file(file)
    return Source(
        name=name or name_of(path),
        rows=lambda: (row for file in found for row in _rows(file)),
        release=release,
        licence="that of the ontology",
        language="en",
        inputs=tuple(found),
    )


def _rows(path: Path) -> Iterator[Row]:
    """The rows of one file."""
    numbered = ((number, line.split("\t")) for number, line in lines(path) if line)
    head = next(numbered, (0, [""]))[1]
    if not _is_babelon(["\t".join(head)]):
        raise SourceError(path, 1, "has no columns subject_id and translation_value", _MEND)
    for number, cells in numbered:
        if len(cells) < len(head):
            raise SourceError(path, number, f"has {len(cells)} columns, not the {len(head)} of the header", _MEND)
        yield from _row(path, number, dict(zip(head, map(str.strip, cells), strict=False)))


def _row(path: Path, number: int, row: dict[str, str]) -> Iterator[Row]:
    """The names of one row, or why they are left out."""
    subject, value = row["subject_id"], row["translation_value"]
    if not _ID.fullmatch(subject):  # the second header of a ROBOT template
        return
    status, what = row.get("translation_status", OFFICIAL), row.get("predicate_id", "")
    if status != OFFICIAL or what not in _NAMES or not value:
        yield DroppedRow(f"{what or 'name'}, {status.lower().replace('_', ' ')}", number)
        return
    language = row.get("translation_language") or _of_file(path)
    texts = [value] if what == _LABEL else value.split("|")
    aliases = tuple(Alias(t.strip(), Scope.TRANSLATION, language) for t in texts if t.strip())
    yield NodeRow(subject, row.get("source_value", "") if what == _LABEL else "", aliases=aliases)


def _of_file(path: Path) -> str:
    """The language in the name of a file.

    >>> _of_file(Path("hp-de.synonyms.tsv"))
    'de'
    """
    found = _LANGUAGE.search(path.name)
    if not found:
        raise SourceError(path, 0, "does not say of which language it is", "name it like hp-de.synonyms.tsv")
    return found[1]
