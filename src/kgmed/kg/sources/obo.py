"""OBO files in general (the format of HPO, DO, MONDO, GO): terms, names, definitions, is_a and other relationships."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.kg.rows import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.kg.sources.lines import lines, name_of, need_file
from kgmed.types import Relation, Role

IS_A = Relation("is_a", Role.IS_A)
_STANZA = re.compile(r"\[(\w+)\]\s*$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(.*)')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "W": " ", "t": "\t"}
_SCOPES = {"EXACT": Scope.EXACT, "NARROW": Scope.NARROW, "RELATED": Scope.RELATED, "BROAD": Scope.BROAD}
_TYPES = {  # what the type of an exact synonym makes of it; other types change nothing
    "layperson": Scope.LAYPERSON,
    "abbreviation": Scope.ABBREVIATION,
    "acronym": Scope.ABBREVIATION,
    "obsolete_synonym": Scope.RELATED,
    "hp:0034334": Scope.RELATED,  # HPO's allelic requirement, as in "monoallelic_autosomal"
}


@dataclass(frozen=True, slots=True)
class Stanza:
    """A block of an OBO file: its type ("" = the header), the line it starts in, and (tag, value, line) in order."""

    type: str
    line: int
    tags: list[tuple[str, str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an ontology; what is obsolete has `obsolete` set and is no part of the graph."""

    id: str
    name: str
    line: int
    namespace: str = ""
    description: str = ""
    obsolete: bool = False
    parents: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    relationships: tuple[tuple[str, str], ...] = ()  # (relation, id of the other term)
    aliases: tuple[Alias, ...] = ()

    def node(self, kind: str) -> NodeRow:
        """The term as an entity of a kind."""
        return NodeRow(self.id, self.name, kind, self.description, self.aliases)


def read(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of an OBO file: keys are the ids of its terms, kinds their namespaces. Raises `SourceError`."""
    file = need_file(path, "obo")
    about = header(file)
    return Source(
        name=name or about.get("ontology", "").removesuffix(".obo") or name_of(file),
        rows=lambda: _rows(file, about.get("default-namespace", "")),
        release=release or about.get("data-version", "").rpartition("/")[2],
        language="en",
        relations={IS_A.name: IS_A},
        inputs=(file,),
    )


def _rows(path: Path, namespace: str) -> Iterator[Row]:
    for term in terms(path):
        if term.obsolete:
            yield DroppedRow("obsolete", term.line)
            continue
        yield term.node(term.namespace or namespace)
        yield from (EdgeRow(term.id, IS_A.name, parent) for parent in term.parents)
        yield from (EdgeRow(term.id, relation, other) for relation, other in term.relationships)


def header(path: Path) -> Mapping[str, str]:
    """The tags before the first stanza; of a tag that comes twice, the first value."""
    first = next(stanzas(path))
    return {tag: value for tag, value, _ in reversed(first.tags)}


def terms(path: Path) -> Iterator[Term]:
    """Every [Term] of the file, obsolete ones too, in its order; raises `SourceError`, also if there is none."""
    found = False
    for stanza in islice(stanzas(path), 1, None):
        if stanza.type == "Term":
            found = True
            yield _term(path, stanza)
    if not found:
        raise SourceError(path, 0, "holds no [Term]", "check that this is an OBO file")


def stanzas(path: Path) -> Iterator[Stanza]:
    """The header, then every stanza of the file; raises `SourceError`."""
    stanza = Stanza("", 1)
    for number, line in lines(path):
        line = line.strip()
        if not line or line[0] == "!":
            continue
        if line[0] == "[" and (start := _STANZA.match(line)):
            yield stanza
            stanza = Stanza(start.group(1), number)
            continue
        tag, colon, value = line.partition(":")
        if not colon or not tag:
            raise SourceError(path, number, f"{line[:40]!r} is neither a stanza nor tag: value", "mend that line")
        stanza.tags.append((tag, value.strip(), number))
    yield stanza


def _term(path: Path, stanza: Stanza) -> Term:
    """The term of a stanza."""
    single = {tag: value for tag, value, _ in reversed(stanza.tags)}
    identifier, name = _bare(single.get("id", "")), single.get("name", "")
    if not identifier:
        raise SourceError(path, stanza.line, "is a [Term] without an id", "give it the line id: ...")
    many: dict[str, list[str]] = {"is_a": [], "alt_id": [], "relationship": []}
    aliases: dict[Alias, None] = {}
    for tag, value, line in stanza.tags:
        if tag in many:
            many[tag].append(_bare(value))
        elif tag in _ALIASES:
            aliases[_alias(path, tag, value, line)] = None
    return Term(
        id=identifier,
        name=name,
        line=stanza.line,
        namespace=single.get("namespace", ""),
        description=_quoted(path, single["def"], stanza.line)[0] if "def" in single else "",
        obsolete=single.get("is_obsolete", "").startswith("true"),
        parents=tuple(dict.fromkeys(p for p in many["is_a"] if p)),
        alternatives=tuple(many["alt_id"]),
        relationships=tuple(_relationship(path, value, stanza.line) for value in many["relationship"]),
        aliases=(
            *(a for a in aliases if a.text and a.text != name),
            *(Alias(other, Scope.XREF) for other in many["alt_id"]),
        ),
    )


_ALIASES = frozenset({"synonym", "xref"})


def _alias(path: Path, tag: str, value: str, line: int) -> Alias:
    """A synonym or a cross-reference as another name."""
    if tag == "xref":
        return Alias(value.split(" ", 1)[0], Scope.XREF)
    text, rest = _quoted(path, value, line)
    words = rest.partition("[")[0].split() or ["RELATED"]  # the scope that OBO 1.4 assumes where none is given
    scope = _SCOPES.get(words[0])
    if scope is None:
        raise SourceError(path, line, f"has the unknown scope {words[0][:20]!r}", f"write one of {', '.join(_SCOPES)}")
    if scope is Scope.EXACT and len(words) > 1:
        scope = _TYPES.get(words[1].casefold(), scope)
    return Alias(text, scope)


def _quoted(path: Path, value: str, line: int) -> tuple[str, str]:
    """The text in quotes at the start of a value, and the rest."""
    found = _QUOTED.match(value)
    if not found:
        raise SourceError(path, line, "has no text in quotes", 'write it as "text" SCOPE [references]')
    text, rest = found.groups()
    if "\\" in text:
        text = _ESCAPE.sub(lambda m: _ESCAPES.get(m.group(1), m.group(1)), text)
    return " ".join(text.split()), rest


def _relationship(path: Path, value: str, line: int) -> tuple[str, str]:
    """Relation and other end of a relationship."""
    words = value.split()
    if len(words) < 2:
        raise SourceError(path, line, "has a relationship without a target", "write relationship: relation id")
    return words[0], words[1]


def _bare(value: str) -> str:
    """A value without its comment and its modifiers.

    >>> _bare('HP:0001507 {source="x"} ! Growth abnormality')
    'HP:0001507'
    """
    return value.partition(" !")[0].partition(" {")[0].strip()
