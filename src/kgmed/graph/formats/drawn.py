"""Graphs as programs that draw them write them: GML, DOT (Graphviz), SIF (Cytoscape), GraphML, GEXF (Gephi), XGMML.

All are nodes and edges with attributes, and are read a statement, or an element, at a time."""

import html
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path
from xml.etree.ElementTree import Element

from kgmed.errors import SourceError
from kgmed.graph.base import DroppedRow, Source
from kgmed.graph.formats.base import POLARITY, columns_of, elements, first_lines, lines, name_of, need_file, told_by
from kgmed.graph.formats.tables import TIED, TableRecord, read_tables, source_of
from kgmed.language.text import one_line
from kgmed.registry import formats

Records = Iterator[TableRecord | DroppedRow]
Inside = Generator[TableRecord | DroppedRow, None, list[str]]  # with the nodes of what was read

_LONGEST = 1 << 16  # characters of a quoted text that spans lines; a longer one is a quote that was forgotten (ours)
_DEEPEST = 60  # lists or subgraphs in one another (ours)
_MEND = "mend that line, or export it again"


def _source(path: Path | None, what: str, name: str, release: str, read: Callable[[Path], Records]) -> Source:
    """The graph of the records of a file."""
    file = need_file(path, what)
    return source_of(lambda _: iter([(file, read(file))]), (file,), name or name_of(file), release, None, None)


@formats.register(
    "gml", suffixes=(".gml",), starts=("graph [", 'Creator "'),
    looks=lambda first: 4 * bool(re.match(r"graph\s*\[", " ".join(first))),
)  # fmt: skip
def read_gml(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a GML file; raises `SourceError`, for damage when its turn comes."""
    return _source(path, "gml", name, release, _gml)


@formats.register("dot", suffixes=(".dot", ".gv"), starts=("digraph", "strict ", "graph {"))
def read_dot(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a DOT file; raises `SourceError`, for damage when its turn comes."""
    return _source(path, "dot", name, release, lambda file: _Dot(file).records())


@formats.register("sif", suffixes=(".sif",))
def read_sif(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a SIF file: node, relation and one node or several; raises `SourceError`.

    One whose first line names its columns, as Hetionet's does, is a table.
    """
    first = next(iter(first_lines(need_file(path, "sif"), 1)), "")
    if columns_of(tuple(first.split("\t"))).edges:
        return read_tables(path, name=name, release=release)
    return _source(path, "sif", name, release, _sif)


def _sif(path: Path) -> Records:
    """The ties; cells are apart by tabs, in a file without any by blanks."""
    tabs = any("\t" in line for line in first_lines(path, 20))
    for number, line in lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if tabs else line.split())]
        if len(cells) == 2:
            yield DroppedRow("a line of SIF with two cells", number, path)
        for end in cells[2:]:
            yield TableRecord(number, {"head": cells[0], "relation": cells[1] or TIED, "tail": end}, is_edge=True)


# --- Tokens: what the grammar of each holds, over lines.

_GML = re.compile(r'\s*+(?:(?P<sign>[\[\]])|"(?P<text>[^"]*)"|(?P<open>")|(?P<space>\#[^\n]*)|(?P<word>[^\s\[\]"]+))')
_GIVEN = r'"((?:[^"\\]|\\.)*+)"|([^\s{}\[\];=,:+"<>-]++)'  # a name or a text of DOT
_ATTRIBUTE = re.compile(rf"\s*+(?:{_GIVEN})\s*+=\s*+(?:{_GIVEN})\s*+[,;]?+", re.DOTALL)
_DOT = re.compile(
    rf"\s*+(?:(?P<list>\[(?:{_ATTRIBUTE.pattern})*+\s*+\])|"
    r'(?P<sign>->|--|[{}\[\];=,:+])|"(?P<text>(?:[^"\\]|\\.)*+)"|(?P<space>//[^\n]*|^\#[^\n]*|/\*.*?\*/)'
    r'|<(?P<html>(?:[^<>]|<[^<>]*>)*+)>|(?P<open>"|/\*|<)|(?P<word>(?:(?!->|--)[^\s{}\[\];=,:+"<>])+)|(?P<bad>\S))',
    re.DOTALL,
)


def _tokens(path: Path, grammar: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """The line, the sort (sign, word, text, html) and the text of each token; raises `SourceError`."""
    held, number = "", 0
    for number, line in lines(path):
        text, held = f"{held}{line}\n", ""
        for found in grammar.finditer(text):
            sort = str(found.lastgroup)
            if sort == "bad":
                raise SourceError(path, number, f"holds {found[sort]!r} where nothing of the kind may stand", _MEND)
            if sort == "open":  # it goes on in the next line
                held = text[found.start(sort) :]
                break
            if sort != "space":
                yield number, sort, found[sort]
        if len(held) > _LONGEST:
            raise SourceError(path, number, "holds a quoted text that does not end", _MEND)
    if held:
        raise SourceError(path, number, "ends inside a quoted text", _MEND)


def _gml(path: Path) -> Records:
    """The nodes and edges of the lists of those names."""
    lists: list[str] = []
    key, given, begun, line = "", dict[str, str](), 0, 0
    for line, sort, said in _tokens(path, _GML):
        if sort == "sign" and said == "[" and key and len(lists) < _DEEPEST:
            lists.append(key)
            key = ""
            if lists[-2:] in (["graph", "node"], ["graph", "edge"]):
                given, begun = {}, line
        elif sort == "sign" and said == "]" and lists and not key:
            what, inside = lists.pop(), lists[-1:] == ["graph"]
            if inside and what in ("node", "edge"):
                yield _record(path, begun, given, is_edge=what == "edge")
        elif not key and sort == "word" and said[0].isalpha():
            key = said.casefold()
        elif key and sort != "sign":
            if lists[-2:-1] == ["graph"]:
                given[key] = one_line(html.unescape(said))
            key = ""
        else:
            raise SourceError(path, line, f"is no GML: {said[:40]!r} may not stand there", _MEND)
    if lists or key:
        raise SourceError(path, line, f"ends inside {(lists or [key])[-1]!r}", _MEND)


def _record(path: Path, line: int, given: dict[str, str], *, is_edge: bool) -> TableRecord | DroppedRow:
    """A node or an edge by its attributes; one without its ends or its id is left out."""
    if missing := next((end for end in (("source", "target") if is_edge else ("id",)) if not given.get(end)), ""):
        return DroppedRow(f"{'an edge' if is_edge else 'a node'} without its {missing}", line, path)
    return record_of(line, given, is_edge=is_edge)


_END = (0, "end", "")


class _Dot:
    """The statements of a DOT file."""

    def __init__(self, path: Path) -> None:
        self._path, self._tokens = path, _tokens(path, _DOT)
        self._line = 0
        self._next = next(self._tokens, _END)

    def _is(self, *signs: str) -> bool:
        """Whether one of some signs is next."""
        return self._next[2] in signs and self._next[1] == "sign"

    def _take(self) -> tuple[str, str]:
        """The sort and the text of the next token."""
        line, sort, said = self._next
        self._line = line or self._line
        self._next = next(self._tokens, _END)
        return sort, said

    def _fault(self, problem: str) -> SourceError:
        return SourceError(self._path, self._line, problem, _MEND)

    def _name(self) -> str:
        """The next token, which must be a name; quoted ones may be joined by +."""
        sort, name = self._take()
        if sort in ("sign", "end"):
            raise self._fault(f"is no DOT: {name!r} may not stand there" if name else "ends too early")
        if sort == "html":
            return one_line(html.unescape(re.sub("<[^<>]*>", " ", name)))
        if sort == "text":
            name = _unescaped(name)
            while self._is("+"):
                self._take()
                name += self._name()
        return name

    def records(self) -> Records:
        """The nodes and edges of every graph of the file; raises `SourceError`."""
        while self._next[1] != "end":
            while not self._is("{"):
                self._name()
            self._take()
            yield from self._block({}, {}, 0)

    def _block(self, node: dict[str, str], edge: dict[str, str], depth: int) -> "Inside":
        """The statements up to the end of a block, whose nodes it gives; with what holds for all nodes and edges."""
        node, edge, met = dict(node), dict(edge), dict[str, None]()
        if depth > _DEEPEST:
            raise self._fault("is nested too deeply")
        while not self._is("}"):
            if self._is(";", ","):
                self._take()
                continue
            names = yield from self._statement(node, edge, depth)
            met |= dict.fromkeys(names if depth else ())
        self._take()
        return list(met)

    def _statement(self, node: dict[str, str], edge: dict[str, str], depth: int) -> "Inside":
        """One statement, whose nodes it gives."""
        line, sort, begun = self._next
        ends = [(yield from self._end(node, edge, depth))]
        if self._is("="):
            self._take()
            self._name()
            return []
        while self._is("->", "--"):
            self._take()
            ends.append((yield from self._end(node, edge, depth)))
        said, word = self._attributes(), begun.casefold() if sort == "word" else ""
        if len(ends) == 1 and word in ("node", "edge", "graph"):
            {"node": node, "edge": edge}.get(word, {}).update(said)
            return []
        if len(ends) == 1 and sort != "sign" and word != "subgraph":
            yield _record(self._path, line, node | said | {"id": ends[0][0]}, is_edge=False)
        for one, other in pairwise(ends):
            for head, tail in product(one, other):
                yield _record(self._path, line, edge | said | {"source": head, "target": tail}, is_edge=True)
        return [name for end in ends for name in end]

    def _end(self, node: dict[str, str], edge: dict[str, str], depth: int) -> "Inside":
        """The nodes at an end: one, or all of a block."""
        if not self._is("{"):
            name = self._name()
            if name.casefold() != "subgraph":
                while self._is(":"):  # where a line meets its box
                    self._take()
                    self._name()
                return [name]
            if not self._is("{"):
                self._name()
        if not self._is("{"):
            raise self._fault("is no DOT: a subgraph without a block")
        self._take()
        return (yield from self._block(node, edge, depth + 1))

    def _attributes(self) -> dict[str, str]:
        said: dict[str, str] = {}
        while self._is("[") or self._next[1] == "list":
            sort, whole = self._take()
            if sort == "list":
                for quoted, key, text, word in _ATTRIBUTE.findall(whole, 1):
                    said[(quoted or key).casefold()] = word or _unescaped(text)
                continue
            while not self._is("]"):
                key = self._name().casefold()
                if self._is("="):
                    self._take()
                    said[key] = self._name()
                if self._is(",", ";"):
                    self._take()
            self._take()
        return {key: text for key, text in said.items() if text not in ("", "\\N")}


def _unescaped(text: str) -> str:
    """A quoted text of DOT, on one line."""
    if "\\" in text:
        text = re.sub(r"\\[nlr]", " ", text.replace("\\\n", "")).replace('\\"', '"')
    return one_line(text)


# --- GraphML, as kgmed, networkx, igraph, Gephi and Neo4j's APOC write it, Gephi's GEXF and Cytoscape's XGMML.
#
# All three are nodes and edges with attributes; they differ in how an attribute is named and where its value stands.


@formats.register("graphml", suffixes=(".graphml", ".gexf", ".xgmml"), starts=("<graphml", "<gexf", "<graph "))
def read_graphml(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a GraphML, GEXF or XGMML file; raises `SourceError`, for damage when its turn comes."""
    return _source(path, "graphml", name, release, _xml)


def _xml(path: Path) -> Records:
    """The nodes and edges, one at a time; those in a group of nodes too."""
    called: dict[str, str] = {}  # id of a key -> the attribute's name
    for line, whole in elements(path, ("key", "attributes", "node", "edge"), mend="export it again"):
        if whole.tag == "key":
            drawn = whole.get("yfiles.type", "") in ("nodegraphics", "edgegraphics")
            title = whole.get("attr.name", "label" if drawn else whole.get("id", ""))
            called[whole.get("id", "")] = title.casefold()
        for one in whole.iter("attribute"):  # GEXF: one list of the nodes', one of the edges' with numbers of its own
            called[f"{whole.get('class', '')} {one.get('id', '')}"] = one.get("title", "").casefold()
        for one in whole.iter():
            if one.tag in ("node", "edge"):
                yield record_of(line, _given(one, called), is_edge=one.tag == "edge")


def _given(one: Element, called: Mapping[str, str]) -> dict[str, str]:
    """What is said of a node or an edge by its attributes, GraphML's data, GEXF's attvalues and XGMML's att."""
    wanted = ("source", "target") if one.tag == "edge" else ("id", "labels", "label")
    more = (key for key in ("label", "weight") if one.tag == "edge" and key in one.attrib)
    given = {key: one.get(key, "") for key in (*wanted, *more)}
    for part in (*one, *one.iterfind("*/attvalue"), *one.iterfind("att/att")):
        if part.tag == "data" and (text := " ".join("".join(part.itertext()).split())):
            given[called.get(part.get("key", ""), part.get("key", ""))] = text
        elif part.tag == "attvalue":
            number = part.get("for", part.get("id", ""))
            given[called.get(f"{one.tag} {number}", number)] = one_line(part.get("value", ""))
        elif part.tag == "att" and "value" in part.attrib:
            given[part.get("name", "").casefold()] = one_line(part.get("value", ""))
    return given


_OF_EDGE = ("relation", "weight", "references", *POLARITY)
_OF_NODE = ("name", "kind", "description", "synonyms", "xrefs")


def record_of(line: int, given: dict[str, str], *, is_edge: bool) -> TableRecord:
    """A node or an edge by what its attributes say."""
    said = {"relation": TIED, "head": given.pop("source"), "tail": given.pop("target")} if is_edge else {
        "id": given.pop("id")
    }  # fmt: skip
    told = told_by(given, _OF_EDGE if is_edge else _OF_NODE)
    return TableRecord(line, said | {what: text.strip(":") for what, text in told.items()}, is_edge)
