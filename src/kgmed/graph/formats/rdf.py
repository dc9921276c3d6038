"""RDF in N-Triples, Turtle and RDF/XML (so OWL), through the library pyoxigraph (the extra `rdf`).

Labels become names, SKOS and OBO synonyms other names, definitions descriptions, types kinds, links between IRIs
edges, and other literals texts. A property with a label is called by it. What OWL says of a class by a restriction
("some has_symptom pain") is an edge; its other axioms are left out. The line of a `DroppedRow` is the number of the
triple, from 1; errors of syntax name the line of the file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from kgmed.disk import read_toml
from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import MENDED, Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.formats.base import DENIED, declared, first_lines, label_of, name_of, need_file, open_bytes, reading
from kgmed.language.text import visible
from kgmed.records import Relation
from kgmed.registry import formats

_KNOWN = read_toml(Path(__file__).with_suffix(".toml"))


def _iri(short: str) -> str:
    """What a name with the prefix of a namespace stands for."""
    space, _, name = short.partition(":")
    return f"{_KNOWN['namespaces'][space]}{name}"


_IRIS = {what: frozenset(map(_iri, names)) for what, names in _KNOWN["iris"].items()}
_RDFS, _OWL, _RDF = (_iri(f"{space}:") for space in ("rdfs", "owl", "rdf"))
_TYPE = _RDF + "type"
_LABELS, _DESCRIPTIONS, _PROPERTIES = _IRIS["labels"], _IRIS["descriptions"], _IRIS["properties"]
_NO_ENTITIES, _REPLACED, _BOOKKEEPING = _PROPERTIES | _IRIS["no_entities"], _IRIS["replaced"], _IRIS["bookkeeping"]
_ALIASES: Mapping[str, Scope] = {_iri(name): Scope[scope] for name, scope in _KNOWN["aliases"].items()}
RELATIONS: Mapping[str, Relation] = declared(_KNOWN["relations"])["relations"]
_OBO = re.compile(r"https?://(?:purl\.obolibrary\.org/obo|www\.ebi\.ac\.uk/efo)/([A-Za-z]+)_(\w+)$")
_IDENTIFIERS = re.compile(r"https?://identifiers\.org/(\w+)[/:](.+)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ANONYMOUS = re.compile(r"[0-9a-f]{16,32}$")  # what pyoxigraph, at random, calls a blank node without a label
_SAID = 300  # characters of what the parser says, which may quote a whole file
_SOME, _ON = frozenset({_OWL + "someValuesFrom", _OWL + "hasValue"}), _OWL + "onProperty"
_NEGATIVE = (_OWL + "targetIndividual", _OWL + "targetValue")  # of an assertion that says what is not so
_ALL_SAID = {"on", "some", "of"}
_DEPRECATED = _OWL + "deprecated"
_AXIOMS = (_OWL, _RDF)
_ABOUT = frozenset({_RDFS + "subClassOf", _OWL + "equivalentClass"})
_NO_KINDS = ("http://www.w3.org/",)
_IRI_CHARACTERS = frozenset(' <>"{}|^`\\')  # that no IRI may have
_MOST_KINDS = 200  # the store numbers kinds in one byte


_SYNTAX = {  # suffix -> what pyoxigraph calls it; "" = what begins it tells
    ".nt": "N_TRIPLES",
    ".ttl": "TURTLE",
    ".nq": "N_QUADS",  # graphs within a file become one
    ".trig": "TRIG",
    ".jsonld": "JSON_LD",
    **dict.fromkeys((".owl", ".rdf", ".ofn"), ""),
}
_OWL_XML = re.compile(r"<(?:owl:)?Ontology\b|(?:Prefix|Ontology)\(")


@formats.register("rdf", suffixes=tuple(_SYNTAX), starts=("@prefix ", "@base ", "PREFIX ", "<http", "<rdf:RDF"))
def read_rdf(path: Path | None, *, name: str = "", release: str = "", language: str = "") -> Source:
    """The graph of an RDF file; where labels come in several languages, that of `language` is the name.

    Raises `Unavailable` without pyoxigraph, and `SourceError`, for a damaged triple when its turn comes.
    """
    file = need_file(path, "rdf")
    _library()
    return Source(
        name=name or name_of(file),
        rows=lambda: _rows(file, language),
        release=release,
        language=language,
        relations=RELATIONS,
        inputs=(file,),
    )


def _library() -> ModuleType:
    try:
        import pyoxigraph
    except ImportError as error:
        raise Unavailable('RDF files need pyoxigraph; pip install "kgmed[rdf]"') from error
    return pyoxigraph


def _rows(path: Path, language: str) -> Iterator[Row]:
    library, lenient = _library(), False
    try:
        properties, obsolete, replaced = _declared(library, path, lenient=lenient)
    except SourceError as error:
        if "code point" not in error.problem:
            raise
        lenient = True  # takes IRIs with a blank and the like as they are
        properties, obsolete, replaced = _declared(library, path, lenient=lenient)
    reader = _Reader(library, language, properties, apart=obsolete)
    for triple in _triples(library, path, lenient=lenient):
        if lenient and _odd(triple):
            yield DroppedRow(f"{MENDED}an IRI with a character that none may have", reader.count + 1, path)
        yield from reader.row(triple)
    if not reader.count:
        raise SourceError(path, 0, "holds no triple", "give a file with at least one")
    yield from reader.restricted()
    yield from reader.unnamed()
    yield from (row for key, row in replaced if key in reader.names)


def _odd(triple: Any) -> bool:
    """Whether an IRI of a triple has a character that no IRI may have."""
    ends = (triple.subject, triple.predicate, triple.object)
    return any(not _IRI_CHARACTERS.isdisjoint(end.value) for end in ends if type(end).__name__ == "NamedNode")


Replaced = list[tuple[str, NodeRow]]  # the key of what took the place of something, with the id and name of that


def _declared(library: ModuleType, path: Path, *, lenient: bool) -> tuple[dict[str, str], set[str], Replaced]:
    """The labels of the properties that the file declares, by IRI; the IRIs of what is obsolete; what replaces it."""
    declared: set[str] = set()
    replaced: dict[str, str] = {}
    obsolete: set[str] = set()
    labels: dict[str, str] = {}
    for triple in _triples(library, path, lenient=lenient):
        predicate, value = triple.predicate.value, triple.object
        if isinstance(value, library.Triple) or isinstance(triple.subject, library.Triple):
            continue
        if predicate == _TYPE and value.value in _PROPERTIES:
            declared.add(triple.subject.value)
        elif predicate == _DEPRECATED and value.value in ("true", "1"):
            obsolete.add(triple.subject.value)
        elif predicate in _REPLACED:
            replaced[triple.subject.value] = curie(value.value) if "/" in value.value else value.value
        elif predicate in _LABELS and isinstance(value, library.Literal):
            iri = triple.subject.value if isinstance(triple.subject, library.NamedNode) else ""
            if (value.language or "en").startswith("en") or iri not in labels:
                labels[iri] = " ".join(value.value.replace("\0", " ").split())
    rows = []
    for iri, key in replaced.items():
        old = labels.get(iri, "").removeprefix("obsolete ").strip()
        aliases = (Alias(curie(iri), Scope.XREF), *([Alias(old, Scope.RELATED)] if old else []))
        rows.append((key, NodeRow(key, aliases=aliases)))
    return {iri: labels.get(iri, "") for iri in declared}, obsolete, rows


def _triples(library: ModuleType, path: Path, *, lenient: bool) -> Iterator[Any]:
    """The triples of a file; raises `SourceError`."""
    with reading(path), open_bytes(path) as file:
        try:
            yield from library.parse(file, _format(library, path), lenient=lenient)
        except SyntaxError as error:
            said = visible(" ".join(error.msg.split()))
            raise SourceError(
                path, error.lineno or 0, f"is no RDF: {said[:_SAID]}{'…' * (len(said) > _SAID)}", "mend that line"
            ) from error


def _format(library: ModuleType, path: Path) -> Any:
    """The syntax of a file, by its suffix, or by how it begins; raises `SourceError` for OWL's other syntaxes."""
    known = library.RdfFormat
    named = next((_SYNTAX[suffix] for suffix in path.suffixes if suffix in _SYNTAX), "")
    if named:
        return getattr(known, named)
    first = [line.lstrip() for line in first_lines(path, 20) if line.strip()]
    if not any("<rdf:RDF" in line for line in first) and any(_OWL_XML.match(line) for line in first):
        mend = "save it as RDF/XML, as by: robot convert --input FILE --output x.owl --format owl"
        raise SourceError(path, 0, "is OWL in a syntax that is not read", mend)
    begins = first[0] if first else ""
    return known.RDF_XML if begins.startswith("<") and not begins.startswith("<http") else known.TURTLE


@dataclass
class _Reader:
    """Turns triples into rows; remembers which entities have a name."""

    library: ModuleType
    language: str
    properties: dict[str, str] = field(default_factory=dict)  # IRI of a declared property -> its label
    count: int = 0
    names: dict[str, str | None] = field(default_factory=dict)  # key -> language of its name; None = no name yet
    keys: dict[str, str] = field(default_factory=dict)  # of predicates and blank nodes without a label
    kinds: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)  # subjects that are no entities: an ontology, axioms, restrictions
    # blank node that describes classes -> "on", "some", and "of", the keys of those classes; until all are known
    restrictions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def row(self, triple: Any) -> Iterator[Row]:
        """The row that a triple is."""
        self.count += 1
        if any(isinstance(end, self.library.Triple) for end in (triple.subject, triple.object)):
            yield DroppedRow("a statement about a statement", self.count)
            return
        if triple.predicate.value in _NEGATIVE:
            yield DroppedRow(DENIED, self.count)
        if self._is_axiom(triple):
            yield from self._settled(triple)
            return
        if triple.predicate.value in _BOOKKEEPING:
            return
        key, predicate, value = self._key(triple.subject), triple.predicate.value, triple.object
        if isinstance(value, self.library.Literal):
            yield self._literal(key, predicate, " ".join(value.value.replace("\0", " ").split()), value.language or "")
        elif predicate == _TYPE:
            yield NodeRow(key, kind=self._kind(value.value))
        elif predicate in _ALIASES:
            yield NodeRow(key, aliases=(Alias(curie(value.value), _ALIASES[predicate]),))
        else:
            yield EdgeRow(key, self._relation(predicate), self._key(value))

    def _is_axiom(self, triple: Any) -> bool:
        """Whether a triple is OWL's grammar, or about no entity; restrictions are kept for the end."""
        subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object
        blank = isinstance(triple.subject, self.library.BlankNode)
        if predicate == _TYPE and value.value in _NO_ENTITIES:
            self.apart.add(subject)
        if predicate == _ON or predicate in _SOME:
            self.restrictions.setdefault(subject, {})["on" if predicate == _ON else "some"] = value
            self.apart.add(subject)
        if predicate in _ABOUT and isinstance(value, self.library.BlankNode) and not blank:
            self.restrictions.setdefault(value.value, {}).setdefault("of", []).append(self._key(triple.subject))
            return True
        grammar = blank and predicate != _TYPE and predicate.startswith(_AXIOMS)
        return grammar or subject in self.apart or subject in self.properties

    def _settled(self, triple: Any) -> Iterator[EdgeRow]:
        """The edge of a restriction of which all is known now; it is forgotten where nothing can name it again."""
        node = triple.object if triple.predicate.value in _ABOUT else triple.subject
        said = self.restrictions.get(node.value, {})
        if said.keys() >= _ALL_SAID and _ANONYMOUS.match(node.value):
            del self.restrictions[node.value]
            self.apart.discard(node.value)
            yield from self._edges(said)

    def _edges(self, said: dict[str, Any]) -> Iterator[EdgeRow]:
        """The edges that a restriction says of its classes."""
        if said.keys() >= _ALL_SAID and isinstance(said["some"], self.library.NamedNode):
            yield from (EdgeRow(key, self._relation(said["on"].value), self._key(said["some"])) for key in said["of"])

    def restricted(self) -> Iterator[EdgeRow]:
        """The edges of the restrictions that are left at the end."""
        for said in self.restrictions.values():
            yield from self._edges(said)

    def unnamed(self) -> Iterator[NodeRow]:
        """Those that no label names, under the end of their IRI."""
        for key, named in self.names.items():
            if named is None and not key.startswith("_:"):
                local = unquote(key.partition(":")[2], errors="replace").replace("\0", " ").replace("_", " ").strip()
                if local and not local.isdigit():
                    yield NodeRow(key, local)

    def _literal(self, key: str, predicate: str, text: str, language: str) -> Row:
        """A name, another name, a description or a text."""
        if not text:
            return DroppedRow("empty literal", self.count)
        if predicate in _LABELS:
            return self._label(key, text, language)
        if predicate in _DESCRIPTIONS:
            return NodeRow(key, description=text)
        if predicate in _ALIASES:
            return NodeRow(key, aliases=(Alias(text, _ALIASES[predicate]),))
        return TextRow(key, self._relation(predicate), text)

    def _label(self, key: str, text: str, language: str) -> NodeRow:
        """The name, if there is none yet and its language is the one wanted; otherwise another name."""
        named = self.names.get(key)
        if named is None and (not self.language or language.partition("-")[0] in ("", self.language)):
            self.names[key] = language
            return NodeRow(key, text)
        foreign = language != (self.language or named or "")
        return NodeRow(key, aliases=(Alias(text, Scope.TRANSLATION if foreign else Scope.EXACT),))

    def _key(self, node: Any) -> str:
        """The key of a subject or object."""
        if isinstance(node, self.library.NamedNode):
            key = curie(node.value)
        elif _ANONYMOUS.match(node.value):
            key = self.keys.setdefault(f"_:{node.value}", f"_:anonymous{self.count}")
        else:
            key = f"_:{node.value}"
        self.names.setdefault(key, None)
        return key

    def _relation(self, predicate: str) -> str:
        """What a property is called, by its label or its IRI."""
        if predicate not in self.keys:
            self.keys[predicate] = label_of(curie(predicate), self.properties.get(predicate, ""))
        return self.keys[predicate]

    def _kind(self, iri: str) -> str:
        """The last part of a type's IRI in words; "" for the types of RDF, OWL and SKOS themselves."""
        if iri.startswith(_NO_KINDS):
            return ""
        kind = _CAMEL.sub(" ", curie(iri).rpartition(":")[2].replace("_", " ")).casefold()
        if kind not in self.kinds and len(self.kinds) >= _MOST_KINDS:
            return "other"
        self.kinds.add(kind)
        return kind


def curie(iri: str) -> str:
    """A short key for an IRI: a CURIE where the namespace is known, else host and path before the last part.

    >>> curie("http://purl.obolibrary.org/obo/HP_0001945"), curie("http://ex.org/drug/Aspirin")
    ('HP:0001945', 'ex.org.drug:Aspirin')
    """
    iri = iri.replace("\0", " ")
    if known := _OBO.match(iri) or _IDENTIFIERS.match(iri):
        return f"{known[1].upper()}:{known[2]}"
    for start, prefix in _KNOWN["prefixes"].items():
        if iri.startswith(start) and len(iri) > len(start):
            return f"{prefix}:{iri[len(start) :]}"
    cut = max(iri.rfind("/"), iri.rfind("#"))
    space, local = re.sub(r"^\w+:/*(?:www\.)?", "", iri[:cut]), iri[cut + 1 :]
    return f"{re.sub(r'[/#:]+', '.', space).strip('.')}:{local}" if space and local else iri
