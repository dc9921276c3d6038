"""A graph as a file that others read: TSV, CSV, JSON Lines, N-Triples or GraphML; written whole or not at all.

JSON Lines holds everything about a triple (weight, references) and can be built into a graph again, as can TSV and
CSV; the texts about an entity, and the aliases and descriptions of entities, are in JSON Lines, N-Triples and GraphML
only as far as each can say them.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from kgmed.disk import whole
from kgmed.errors import BadInput
from kgmed.graph.store.shards import Shards
from kgmed.graph.store.store import Store
from kgmed.records import Entity, Triple

_BLOCK = 1 << 14
_BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
_NOTE = "http://www.w3.org/2000/01/rdf-schema#comment"


Progress = Callable[[int], None]
Written = Store | Shards


def export(store: Written, path: Path, *, overwrite: bool = False, progress: Progress | None = None) -> int:
    """The number of triples written to `path`, in the format that its suffix names.

    Of a graph in shards only triples are written, shard after shard.

    Raises `BadInput` for a suffix without a writer, a file that is there already, and a folder that cannot be written.
    """
    writers: dict[str, Callable[[Any, TextIO, Progress], None]] = {**_OF_TRIPLES}
    if isinstance(store, Store):
        writers |= _OF_ALL
    if (write := writers.get(path.suffix.lower())) is None:
        what = path.suffix or "a file without suffix"
        of = "" if isinstance(store, Store) else " of a graph in shards"
        raise BadInput(f"{path}: no export to {what}{of}; use {', '.join(writers)}")
    if path.is_dir() or (path.exists() and not overwrite):
        raise BadInput(f"{path} is there already; name another file or use --force")
    try:
        with whole(path) as work, work.open("w", encoding="utf-8", newline="") as f:
            write(store, f, progress or _silent)
    except OSError as e:
        raise BadInput(f"{path}: cannot be written ({e.strerror or e})") from e
    return store.adjacency.edges if isinstance(store, Store) else store.manifest.counts["triples"]


def _silent(_: int) -> None:
    """Shows no progress."""


def triples(store: Written, progress: Progress = _silent) -> Iterator[Triple]:
    """All triples in the order of their numbers."""
    if isinstance(store, Shards):
        for count, triple in enumerate(store.triples(), 1):
            yield triple
            if count % _BLOCK == 0:
                progress(count)
        return
    for first in range(0, store.adjacency.edges, _BLOCK):
        last = min(first + _BLOCK, store.adjacency.edges)
        yield from store.triples(np.arange(first, last))
        progress(last)


def _rows(store: Written, progress: Progress) -> Iterator[tuple[str, ...]]:
    """A header, then head, relation, tail by id (without the graph's prefix), weight and references."""
    yield ("head", "relation", "tail", "weight", "references")
    for t in triples(store, progress):
        cells = store.key(t.head.id), t.relation.name, store.key(t.tail.id)
        yield (*cells, f"{t.weight:g}", ";".join(t.references))


def _tsv(store: Written, f: TextIO, progress: Progress) -> None:
    """Tabs and line breaks in a name become spaces; there are no quotes."""
    for cells in _rows(store, progress):
        f.write("\t".join(_BREAKS.sub(" ", cell) for cell in cells) + "\n")


def _csv(store: Written, f: TextIO, progress: Progress) -> None:
    """Quoted where need be."""
    csv.writer(f, lineterminator="\n").writerows(_rows(store, progress))


def _json_lines(store: Written, f: TextIO, progress: Progress) -> None:
    """One object a triple: head, relation, tail by id, their names, weight, support and graph."""
    for t in triples(store, progress):
        row = {"head": store.key(t.head.id), "relation": t.relation.name, "tail": store.key(t.tail.id)}
        row |= {"head_label": t.head.name, "tail_label": t.tail.name}
        more = {"weight": t.weight, "references": list(t.references)}
        more["support"] = [[s.reference, dict(s.qualifiers)] for s in t.support]
        kept = {k: v for k, v in more.items() if v not in (1.0, [])}
        f.write(json.dumps(row | kept | {"graph": t.source}, ensure_ascii=False) + "\n")


def _iri(store: Store, entity_id: str) -> str:
    """An IRI for an id; that of OBO where it is a term of HPO.

    The rest stand under urn:kgmed:, in the graph's name.
    """
    if entity_id.startswith("HP:") and entity_id[3:].isdigit():
        return f"<http://purl.obolibrary.org/obo/{entity_id.replace(':', '_')}>"
    return f"<urn:kgmed:{store.name}:{quote(store.key(entity_id), safe='')}>"


def _literal(text: str) -> str:
    """A literal of N-Triples."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _n_triples(store: Store, f: TextIO, progress: Progress) -> None:
    """The triples, then names, aliases, descriptions and texts."""
    for t in triples(store, progress):
        relation = f"<urn:kgmed:relation:{quote(t.relation.name, safe='')}>"
        f.write(f"{_iri(store, t.head.id)} {relation} {_iri(store, t.tail.id)} .\n")
    for node in range(len(store)):
        subject = _iri(store, store.at(node).id)
        said = [(_LABEL, store.at(node).name), *((_ALIAS, name) for name, _ in store.aliases(node))]
        said += [(_NOTE, text)] if (text := store.description(node)) else []
        f.writelines(f"{subject} <{what}> {_literal(text)} .\n" for what, text in said)
    for i in range(len(store.tables.text_node)):
        t = store.text(i)
        relation = f"<urn:kgmed:relation:{quote(t.relation.name, safe='')}>"
        f.write(f"{_iri(store, t.head.id)} {relation} {_literal(t.tail.name)} .\n")


def _graphml(store: Store, f: TextIO, progress: Progress) -> None:
    """Nodes with name and kind, edges with relation and weight, as networkx, igraph and Gephi read them."""
    f.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for key, place, kind in (
        ("name", "node", "string"),
        ("kind", "node", "string"),
        ("relation", "edge", "string"),
        ("weight", "edge", "double"),
    ):
        f.write(f'<key id="{key}" for="{place}" attr.name="{key}" attr.type="{kind}"/>\n')
    f.write('<graph edgedefault="directed">\n')
    for node in range(len(store)):
        f.write(_node_of_xml(store.at(node)))
    for t in triples(store, progress):
        ends = f"source={quoteattr(_xml(t.head.id))} target={quoteattr(_xml(t.tail.id))}"
        data = f'<data key="relation">{escape(_xml(t.relation.name))}</data><data key="weight">{t.weight:g}</data>'
        f.write(f"<edge {ends}>{data}</edge>\n")
    f.write("</graph>\n</graphml>\n")


def _node_of_xml(entity: Entity) -> str:
    data = "".join(
        f'<data key="{k}">{escape(_xml(v))}</data>' for k, v in (("name", entity.name), ("kind", entity.kind))
    )
    return f"<node id={quoteattr(_xml(entity.id))}>{data}</node>\n"


def _xml(text: str) -> str:
    """The text without what XML cannot hold."""
    return "".join(c if (c >= " " and c not in "\ufffe\uffff") or c in "\t\n\r" else "\ufffd" for c in text)


_OF_TRIPLES = {".tsv": _tsv, ".csv": _csv, ".jsonl": _json_lines}
_OF_ALL = {".nt": _n_triples, ".graphml": _graphml}
