"""Scripts that fill a database with a graph: Cypher, Gremlin, and SQL's INSERT and COPY.

Nothing of a script is run: its text is cut into tokens, and what it writes down as literals is read. A value that would
have to be computed is left out. What is remembered is one statement, and the names of nodes that have an id as well.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from kgmed.errors import SourceError
from kgmed.graph.base import DroppedRow, Source
from kgmed.graph.formats.base import POLARITY, columns_of, lines, name_of, need_file, thing_of
from kgmed.graph.formats.tables import TIED, TableRecord, fields_of, flat, numbered, source_of
from kgmed.registry import formats

_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*+`)"""
    r"""|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d][\w$]*)|(?P<mark>\+=|.)""",
    re.DOTALL,
)
_BEGINS = re.compile(r"(?i)(?:OPTIONAL\s+MATCH|CREATE|MERGE|MATCH|UNWIND|SET|(?:\w+\s*=\s*)?g\.add)")
_SQL = re.compile(
    r"""(?i)(?:INSERT\s+INTO|COPY|CREATE\s+TABLE)\s+(?:IF\s+NOT\s+EXISTS\s+)?["`\w.]+\s*(?:\(|VALUES|FROM)"""
)
_BEFORE = re.compile(r"(?i)--|//|/\*|(?:PRAGMA|BEGIN|SET|USE|DROP|START|LOCK|CREATE|ALTER)\b.*;\s*$")
_GREMLIN = re.compile(r"(?:\w+\s*=\s*)?g\s*\.\s*add[VE]\s*\(")
_CYPHER = re.compile(r"(?i)(?:(?:CREATE|MERGE|MATCH|OPTIONAL\s+MATCH)\s*\(|UNWIND\s*\[)")
_LONGEST = 1 << 24  # characters of one statement
_TRIES = 64  # lines at which a statement seems to end, but for a quote that is open (ours)
_ESCAPES = {"n": "\n", "t": " ", "r": " ", "b": "", "f": ""}
# what the exports of APOC and Memgraph call the ids and the label of all nodes
_IDS, _ALL = ("UNIQUE IMPORT ID", "__mg_id__"), frozenset({"UNIQUE IMPORT LABEL", "__mg_vertex__"})
Record = TableRecord | DroppedRow


class Token(NamedTuple):
    """A word, a text, a number or a mark of a script."""

    kind: str
    text: str


def tokens_of(text: str) -> list[Token] | None:
    """The tokens of a script; None where a quote in it is open.

    >>> [token.text for token in tokens_of("CREATE (a {n: 'it''s'}) // remark") or ()]
    ['CREATE', '(', 'a', '{', 'n', ':', "it's", '}', ')']
    """
    found = []
    for one in _TOKEN.finditer(text):
        kind, said = one.lastgroup or "", one[0]
        if kind == "gap":
            continue
        if kind == "text":
            quote, said = said[0], said[1:-1]
            said = said.replace(quote * 2, quote)
            if "\\" in said and quote != "`":
                said = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), said, flags=re.DOTALL)
            kind = "word" if quote == "`" else kind
        elif said in "'\"`":
            return None
        found.append(Token(kind, said))
    return found


@dataclass
class Tokens:
    """A place in a statement."""

    all: list[Token]
    at: int = 0

    def peek(self, ahead: int = 0) -> str:
        """The mark or the word that is next; "" for a text and at the end."""
        token = self.all[self.at + ahead] if self.at + ahead < len(self.all) else None
        return token.text if token and token.kind in ("mark", "word") else ""

    def take(self, *wanted: str) -> str:
        """The next mark or word, if it is one of those, in any case; "" where it is not."""
        found = self.peek()
        if found and (not wanted or found.upper() in wanted):
            self.at += 1
            return found
        return ""

    def word(self) -> str:
        """The next word or text; "" where there is none."""
        if self.at < len(self.all) and self.all[self.at].kind in ("word", "text"):
            self.at += 1
            return self.all[self.at - 1].text
        return ""

    def value(self, known: Mapping[str, Any]) -> Any:
        """The next literal, or the part of what is known that is named; None for what would have to be computed."""
        if self.at >= len(self.all):
            return None
        token = self.all[self.at]
        self.at += 1
        if token.kind in ("text", "number"):
            return token.text
        if token.text == "-" and self.at < len(self.all) and self.all[self.at].kind == "number":
            return "-" + str(self.value(known))
        if token.text == "[":
            return [self.value(known) for _ in self._parts("]")]
        if token.text == "{":
            return self.fields(known)
        found: Any = known.get(token.text, token.text.lower() if token.text.lower() in ("true", "false") else None)
        while self.peek() in (".", "(") and token.kind == "word":
            if self.take("("):
                self.skip()
                found = None
            else:
                self.at += 1
                found = found.get(self.word()) if isinstance(found, dict) else None
        return found

    def fields(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a map whose opening brace is taken."""
        found = {}
        for _ in self._parts("}"):
            name = self.word()
            if not self.take(":"):
                break
            found[name] = self.value(known)
        return found

    def _parts(self, end: str) -> Iterator[None]:
        """Once for each part of a list, up to its end."""
        while self.at < len(self.all) and not self.take(end):
            before = self.at
            yield
            if not self.take(",") and self.peek() != end:
                self.at = max(self.at, before + 1)  # what is no literal is gone past

    def skip(self) -> list[Token]:
        """Go past the bracket that closes one that is taken; what stood within."""
        begun, depth = self.at, 1
        while self.at < len(self.all) and depth:
            mark = self.peek()
            depth += (mark == "(") - (mark == ")")
            self.at += 1
        return self.all[begun : self.at - 1]


@dataclass(eq=False, slots=True)
class Node:
    """A node as a script tells it."""

    labels: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    made: bool = True  # not only looked for


@dataclass(slots=True)
class Script:
    """What the statements of a script have said."""

    line: int = 0
    rows: list[dict[str, Any]] = field(default_factory=lambda: [{}])  # what is known by a name, a row of UNWIND each
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[Node, str, Node, dict[str, Any]]] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)  # name -> id
    columns: dict[str, list[str]] = field(default_factory=dict)  # of tables

    def ended(self) -> Iterator[Record]:
        """The records of a statement that has ended."""
        for node in self.nodes:
            said = self._told(node)
            if said.get("id") and said.get("name"):
                self.ids[said["name"]] = said["id"]
        yield from (TableRecord(self.line, self._told(node), is_edge=False) for node in self.nodes if node.made)
        for head, relation, tail, more in self.edges:
            said = fields_of(more, ("weight", "references", *POLARITY)) | {"relation": relation}
            for end, node in (("head", head), ("tail", tail)):
                of = self._told(node)
                name = of.get("name", "")
                said[end] = of.get("id") or self.ids.get(name, name)
                said |= {f"{end}_{what}": of[what] for what in ("name", "kind") if of.get(what)}
            yield TableRecord(self.line, said, is_edge=True)
        self.nodes, self.edges, self.rows = [], [], [{}]

    def _told(self, node: Node) -> dict[str, str]:
        said = fields_of(node.fields, ("id", "name", "description", "synonyms", "xrefs"))
        number = next((str(node.fields[name]) for name in _IDS if name in node.fields), said.get("id", ""))
        kind = next(iter(_ALL.intersection(node.labels)), "".join(node.labels[:1]))
        said |= {"id": numbered(number, kind)} if number else {}
        return said | {"kind": "|".join(label for label in node.labels if label not in _ALL)}

    # --- Cypher

    def cypher(self, tokens: Tokens) -> None:
        """Read the clauses of a statement."""
        while tokens.at < len(tokens.all):
            if tokens.take("UNWIND"):
                values, name = tokens.value({}), tokens.word() and tokens.word()
                self.rows = [{name: value} for value in values] if isinstance(values, list) else [{}]
            elif begun := tokens.take("CREATE", "MERGE", "MATCH"):
                at = tokens.at
                for known in self.rows if tokens.peek() == "(" else ():
                    tokens.at = at
                    self._paths(tokens, known, made=begun.upper() != "MATCH")
            elif tokens.take("SET", "WHERE"):
                at = tokens.at
                for known in self.rows:
                    tokens.at = at
                    self._set(tokens, known)
            else:
                tokens.at += 1

    def _paths(self, tokens: Tokens, known: dict[str, Any], *, made: bool) -> None:
        while tokens.take("("):
            left = self._node(tokens, known, made=made)
            while tokens.peek() in ("-", "<"):
                back, relation, more = bool(tokens.take("<")), "", dict[str, Any]()
                tokens.take("-")
                if tokens.take("["):
                    name = tokens.word() if tokens.peek() not in (":", "]", "{") else ""
                    relation = tokens.word() if tokens.take(":") else ""
                    more = tokens.fields(known) if tokens.take("{") else more
                    known |= {name: Node([], more)} if name else {}  # for SET
                    tokens.take("]")
                tokens.take("-")
                tokens.take(">")
                if not tokens.take("("):
                    return
                right = self._node(tokens, known, made=made)
                if made and relation:
                    self.edges.append((right, relation, left, more) if back else (left, relation, right, more))
                left = right
            if not tokens.take(","):
                return

    def _node(self, tokens: Tokens, known: dict[str, Any], *, made: bool) -> Node:
        """The node in the brackets that are open: one that is known, or a new one."""
        name = tokens.word() if tokens.peek() not in (":", ")", "{") else ""
        labels = []
        while tokens.take(":"):
            labels.append(tokens.word())
        fields = tokens.fields(known) if tokens.take("{") else {}
        tokens.take(")")
        node = known.get(name) if name else None
        if not isinstance(node, Node):
            node = Node(labels, fields, made)
            self.nodes.append(node)
            if name:
                known[name] = node
        return node

    def _set(self, tokens: Tokens, known: dict[str, Any]) -> None:
        """What SET says of nodes, labels, one field, or all of a map; and WHERE, that a field has a value."""
        while isinstance(node := known.get(tokens.peek()), Node):
            tokens.at += 1
            if tokens.take(":"):
                node.labels.append(tokens.word())
            elif tokens.take("."):
                part = tokens.word()
                if tokens.take("="):
                    node.fields[part] = tokens.value(known)
            elif tokens.take("+=", "="):
                more = tokens.value(known)
                node.fields |= more if isinstance(more, dict) else {}
            if not tokens.take(",", "AND"):
                return

    # --- Gremlin

    def gremlin(self, tokens: Tokens) -> None:
        """Read the traversals of a statement, one after the other."""
        while tokens.at < len(tokens.all):
            begun, name = tokens.at, tokens.peek() if tokens.peek(1) == "=" else ""
            tokens.at += 2 if name else 0
            node = self._traversal(tokens)
            if name and node:
                self.rows[0][name] = node
            tokens.at = max(tokens.at, begun + 1)

    def _traversal(self, tokens: Tokens) -> Node | None:
        """The last node of a traversal such as g.addV('Disease').property('name', 'gout')."""
        known, node = self.rows[0], None
        edge: dict[str, Any] | None = None
        tokens.word()
        while tokens.take("."):
            step = tokens.word()
            given = Tokens(tokens.skip()) if tokens.take("(") else Tokens([])
            words = [token.text for token in given.all if token.kind in ("text", "number")]
            if step == "addV":
                edge, node = None, Node(words[:1])
                self.nodes.append(node)
            elif step == "V":
                edge, node = None, Node([], {"id": words[0]} if words else {}, made=False)
            elif step == "addE":
                edge = {"relation": "".join(words[:1]), "from": node, "more": {}}
            elif step in ("from", "to") and edge is not None:
                place = given.peek()
                end = self._traversal(given) if len(given.all) > 1 else known.get(place or "".join(words[:1]))
                edge[step] = end
            elif step in ("property", "has") and words:
                name = "id" if given.peek() in ("id", "T") else words[-2] if len(words) > 1 else ""
                of = edge["more"] if edge is not None else node.fields if node else {}
                of[name] = words[-1]
            elif step == "as" and node and words:
                known[words[0]] = node
            if edge and isinstance(edge["from"], Node) and isinstance(edge.get("to"), Node) and "told" not in edge:
                edge["told"] = True
                self.edges.append((edge["from"], edge["relation"], edge["to"], edge["more"]))
        return node

    # --- SQL

    def sql(self, tokens: Tokens) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows that a statement inserts: table, and values by column."""
        if tokens.take("CREATE") and tokens.take("TABLE"):
            while tokens.take("IF", "NOT", "EXISTS"):
                pass
            table = self._table(tokens)
            if tokens.take("("):
                self.columns[table] = [of[0].text for of in _split(tokens.skip()) if of and _is_column(of[0])]
        elif tokens.take("INSERT") or tokens.take("COPY"):
            tokens.take("INTO")
            table = self._table(tokens)
            if tokens.take("("):
                self.columns[table] = [of[0].text for of in _split(tokens.skip()) if of]
            if not tokens.take("VALUES"):
                return
            while tokens.take("("):
                row = [Tokens(part).value({}) for part in _split(tokens.skip())]
                yield (
                    table,
                    {c: flat(v) for c, v in zip(self.columns.get(table, ()), row, strict=False) if v is not None},
                )
                tokens.take(",")

    @staticmethod
    def _table(tokens: Tokens) -> str:
        """The name of a table, without that of its schema."""
        name = tokens.word()
        while tokens.take("."):
            name = tokens.word()
        return name


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between the commas that are in no bracket."""
    parts, depth = [list[Token]()], 0
    for token in tokens:
        is_mark = token.kind == "mark"
        depth += is_mark and (token.text in "([{") - (token.text in ")]}")
        if is_mark and token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _is_column(token: Token) -> bool:
    """Whether a part of CREATE TABLE is a column, by its first word."""
    return token.text.upper() not in ("PRIMARY", "FOREIGN", "UNIQUE", "KEY", "CONSTRAINT", "CHECK", "INDEX", "FULLTEXT")


# --- Files


class Held:
    """The lines of a statement that has not ended."""

    def __init__(self, path: Path) -> None:
        """Begin with none."""
        self.path, self.begun = path, 1
        self.clear()

    def clear(self) -> None:
        """Let the lines go."""
        self.lines: list[str] = []
        self._size = self._tries = 0

    def add(self, number: int, line: str) -> None:
        """Take a line in; raises `SourceError` for too many."""
        self.begun = self.begun if self.lines else number
        self.lines.append(line)
        self._size += len(line)
        if self._size > _LONGEST:
            raise SourceError(self.path, self.begun, "is a statement of more than 16 MB", "end statements by ;")

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def tokens(self) -> list[Token] | None:
        """The tokens, or None where a quote is open; raises `SourceError` where it stays so."""
        found = tokens_of(self.text)
        self._tries += found is None
        if self._tries > _TRIES:
            raise SourceError(self.path, self.begun, "opens a quote and does not close it", "close it")
        return found


def statements(path: Path) -> Iterator[tuple[int, str, list[Token], bool]]:
    """The parts of a script that can be read alone: line, text, tokens, and whether a statement ends there."""
    held = Held(path)
    for number, line in lines(path):
        plain = line.strip()
        if not held.lines and (not plain or plain.startswith(("--", "#", "//"))):
            continue
        if held.lines and _BEGINS.match(plain) and (tokens := held.tokens()) is not None:
            yield held.begun, held.text, tokens, False
            held.clear()
        held.add(number, line)
        if plain.endswith(";") and (tokens := held.tokens()) is not None:
            yield held.begun, held.text, tokens, True
            held.clear()
    if held.lines:
        yield held.begun, held.text, held.tokens() or [], True


def dumped(path: Path, wanted: Sequence[str] = ()) -> Iterator[tuple[int, str, dict[str, str]]]:
    """The rows of the tables of an SQL dump: line, table, values by column without those that are NULL."""
    script, table, held = Script(), "", Held(path)
    for number, line in lines(path):
        if table:
            cells = line.split("\t")
            if line == "\\.":
                table = ""
            elif len(cells) != len(script.columns[table]):
                raise SourceError(
                    path, number, f"has {len(cells)} columns, not {len(script.columns[table])}", "fetch it again"
                )
            elif not wanted or table in wanted:
                pairs = zip(script.columns[table], cells, strict=True)
                yield number, table, {c: plain(v) for c, v in pairs if v != "\\N"}
            continue
        said = line.strip()
        if not held.lines and (not said or said.startswith(("--", "#", "/*", "\\"))):
            continue
        held.add(number, line)
        if not said.endswith(";") or (tokens := held.tokens()) is None:
            continue
        yield from ((number, of, row) for of, row in script.sql(Tokens(tokens)) if not wanted or of in wanted)
        if tokens and tokens[0].text.upper() == "COPY":
            named = Script._table(Tokens(tokens, 1))
            table = named if named in script.columns else ""
        held.clear()


def plain(cell: str) -> str:
    """A cell without PostgreSQL's escapes.

    >>> plain(chr(92).join(("a", "tb", "", "c")))
    'a b\\\\c'
    """
    return re.sub(r"\\(.)", lambda found: "\\" if found[1] == "\\" else " ", cell) if "\\" in cell else cell


def _claims(first: Sequence[str]) -> int:
    """How sure the first lines are of a script."""
    sure = any(pattern.match(first[0].strip()) is not None for pattern in (_SQL, _GREMLIN, _CYPHER))
    return 3 if sure else 2 * (_BEFORE.match(first[0]) is not None)


@formats.register("script", suffixes=(".cypher", ".cql", ".gremlin", ".groovy"), looks=_claims)
def read_script(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph that a script would make; raises `SourceError`. Nothing of the script is run."""
    file = need_file(path, "script")
    return source_of(lambda _: iter([(file, _records(file))]), (file,), name or name_of(file), release, None, None)


def _records(path: Path) -> Iterator[Record]:
    """The nodes and edges of a script; raises `SourceError`."""
    try:
        yield from _read(path)
    except RecursionError:
        raise SourceError(path, 0, "is nested too deeply", "mend it") from None


def _read(path: Path) -> Iterator[Record]:
    first = list(islice(found := statements(path), 20))
    if any(_SQL.match(text.strip()) for _, text, _, _ in first):
        for number, table, row in dumped(path):
            yield from _of_table(number, table, row)
        return
    script = Script()
    for script.line, text, told, ends in chain(first, found):
        tokens = Tokens(told)
        if _GREMLIN.match(text.strip()):
            script.gremlin(tokens)
            known = script.rows
            yield from script.ended()
            script.rows = known  # variables stay
        else:
            script.cypher(tokens)
            if ends:
                yield from script.ended()


def _of_table(number: int, table: str, row: Mapping[str, str]) -> Iterator[Record]:
    """The record of a row: an edge, or a node of a table that is called by a kind; other tables are no graph."""
    known, kind = columns_of(tuple(map(str.casefold, row))), thing_of(table)
    cells = list(row.values())
    said = {what: cells[place].strip() for what, place in known.places.items() if cells[place].strip()}
    said |= known.fixed
    if known.edges and {"head", "tail"} <= said.keys() and (known.fixed or "relation" in said):
        for end in ("head", "tail"):
            said[end] = numbered(said[end], said.get(f"{end}_kind", ""))
        yield TableRecord(number, {"relation": TIED} | said, is_edge=True)
    elif known.nodes and (kind or "kind" in said):
        said["id"] = numbered(said.get("id", said.get("name", "")), kind)
        yield TableRecord(number, {"kind": kind} | said, is_edge=False)
