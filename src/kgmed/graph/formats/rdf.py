"""RDF in N-Triples and Turtle, through the library pyoxigraph (the extra `rdf`).

Labels become names, SKOS and OBO synonyms other names, definitions descriptions, types kinds, links between IRIs
edges, and other literals texts. The line of a `DroppedRow` is the number of the triple, from 1; errors of syntax name
the line of the file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.formats.base import name_of, need_file, open_bytes, reading
from kgmed.language.text import visible
from kgmed.records import Relation, Role
from kgmed.registry import formats

_RDFS, _SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
_OWL, _OIO = "http://www.w3.org/2002/07/owl#", "http://www.geneontology.org/formats/oboInOwl#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABELS = frozenset({_RDFS + "label", _SKOS + "prefLabel"})
_DESCRIPTIONS = frozenset(
    {
        _RDFS + "comment",
        _SKOS + "definition",
        "http://purl.obolibrary.org/obo/IAO_0000115",
        "http://schema.org/description",
    }
)
_ALIASES: Mapping[str, Scope] = {
    _SKOS + "altLabel": Scope.EXACT,
    _SKOS + "hiddenLabel": Scope.RELATED,
    _SKOS + "notation": Scope.XREF,
    _OIO + "hasExactSynonym": Scope.EXACT,
    _OIO + "hasNarrowSynonym": Scope.NARROW,
    _OIO + "hasRelatedSynonym": Scope.RELATED,
    _OIO + "hasBroadSynonym": Scope.BROAD,
    _OIO + "hasDbXref": Scope.XREF,
}
RELATIONS: Mapping[str, Relation] = {
    name: Relation(name, role)
    for name, role in (
        ("subClassOf", Role.IS_A),
        ("broader", Role.IS_A),
        ("sameAs", Role.SAME_AS),
        ("exactMatch", Role.SAME_AS),
        ("equivalentClass", Role.SAME_AS),
    )
}
_PREFIXES = (  # namespace -> prefix of a CURIE
    ("http://www.orpha.net/ORDO/Orphanet_", "ORPHA"),
    ("http://id.nlm.nih.gov/mesh/", "MESH"),
    ("http://snomed.info/id/", "SNOMEDCT"),
    ("http://www.wikidata.org/entity/", "wikidata"),
    ("http://dbpedia.org/resource/", "dbpedia"),
    ("https://omim.org/entry/", "OMIM"),
    ("http://identifiers.org/hgnc/", "HGNC"),
    ("http://linkedlifedata.com/resource/umls/id/", "UMLS"),
)
_OBO = re.compile(r"https?://(?:purl\.obolibrary\.org/obo|www\.ebi\.ac\.uk/efo)/([A-Za-z]+)_(\w+)$")
_IDENTIFIERS = re.compile(r"https?://identifiers\.org/(\w+)[/:](.+)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ANONYMOUS = re.compile(r"[0-9a-f]{16,32}$")  # what pyoxigraph, at random, calls a blank node without a label
_SAID = 300  # characters of what the parser says, which may quote a whole file
_NO_KINDS = ("http://www.w3.org/",)
_MOST_KINDS = 200  # the store numbers kinds in one byte


@formats.register("rdf", suffixes=(".nt", ".ttl"), starts=("@prefix ", "@base ", "PREFIX ", "<http"))
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
    """The module pyoxigraph."""
    try:
        import pyoxigraph
    except ImportError as error:
        raise Unavailable('RDF files need pyoxigraph; pip install "kgmed[rdf]"') from error
    return pyoxigraph


def _rows(path: Path, language: str) -> Iterator[Row]:
    library = _library()
    plain = ".nt" in path.suffixes
    format_ = library.RdfFormat.N_TRIPLES if plain else library.RdfFormat.TURTLE
    reader = _Reader(library, language)
    with reading(path), open_bytes(path) as file:
        try:
            for triple in library.parse(file, format_):
                yield from reader.row(triple)
        except SyntaxError as error:
            said = visible(" ".join(error.msg.split()))
            raise SourceError(
                path, error.lineno or 0, f"is no RDF: {said[:_SAID]}{'…' * (len(said) > _SAID)}", "mend that line"
            ) from error
    if not reader.count:
        raise SourceError(path, 0, "holds no triple", "give a file with at least one")
    yield from reader.unnamed()


@dataclass
class _Reader:
    """Turns triples into rows; remembers which entities have a name."""

    library: ModuleType
    language: str
    count: int = 0
    names: dict[str, str | None] = field(default_factory=dict)  # key -> language of its name; None = no name yet
    keys: dict[str, str] = field(default_factory=dict)  # of predicates and blank nodes without a label
    kinds: set[str] = field(default_factory=set)

    def row(self, triple: Any) -> Iterator[Row]:
        """The row that a triple is."""
        self.count += 1
        if not isinstance(triple.subject, self.library.NamedNode | self.library.BlankNode):
            yield DroppedRow("a statement about a statement", self.count)
            return
        key, predicate, value = self._key(triple.subject), triple.predicate.value, triple.object
        if isinstance(value, self.library.Literal):
            yield self._literal(key, predicate, " ".join(value.value.replace("\0", " ").split()), value.language or "")
        elif not isinstance(value, self.library.NamedNode | self.library.BlankNode):
            yield DroppedRow("a statement about a statement", self.count)
        elif predicate == _TYPE:
            yield NodeRow(key, kind=self._kind(value.value))
        elif predicate in _ALIASES:
            yield NodeRow(key, aliases=(Alias(curie(value.value), _ALIASES[predicate]),))
        else:
            yield EdgeRow(key, self._relation(predicate), self._key(value))

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
        """The last part of the predicate's IRI."""
        if predicate not in self.keys:
            self.keys[predicate] = curie(predicate).rpartition(":")[2] or predicate
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
    if known := _OBO.match(iri) or _IDENTIFIERS.match(iri):
        return f"{known[1].upper()}:{known[2]}"
    for start, prefix in _PREFIXES:
        if iri.startswith(start) and len(iri) > len(start):
            return f"{prefix}:{iri[len(start) :]}"
    cut = max(iri.rfind("/"), iri.rfind("#"))
    space, local = re.sub(r"^\w+:/*(?:www\.)?", "", iri[:cut]), iri[cut + 1 :]
    return f"{re.sub(r'[/#:]+', '.', space).strip('.')}:{local}" if space and local else iri
