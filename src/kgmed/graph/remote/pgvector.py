"""The vectors of a graph's names in PostgreSQL, where they outgrow memory: beside the graph, by the extension pgvector.

They are searched exactly up to `EXACT` names, above that by the extension's HNSW index, whose candidates are ordered by
their cosines. kgmed installs no extension.
"""

import struct
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import Unavailable, UnknownName
from kgmed.graph.names import Near
from kgmed.graph.remote.postgres import Address, Postgres, said_plainly
from kgmed.graph.vectors import EXACT, Vectors
from kgmed.models.base import Encoder

_QUERIES = 64  # texts compared in one call
_MORE = 4  # candidates for each name wanted
_NEAR = """
WITH q AS MATERIALIZED (SELECT said::vector AS said, at FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS u(said, at))
SELECT q.at, n.row, n.name, n.score FROM q CROSS JOIN LATERAL
  (SELECT row, name, -(vector <#> q.said) AS score FROM name_vector
   ORDER BY vector <#> q.said LIMIT %(limit)s) n"""  # a text is read once, not beside every name


class NamesInPostgres:
    """All names of a graph as vectors in its schema; implements `Names`."""

    def __init__(self, server: Postgres, encoder: Encoder, count: int) -> None:
        """The names of the graph of a server, `count` of them, by the encoder that `write` had."""
        self.server, self.encoder, self._count = server, encoder, count

    def __len__(self) -> int:
        """The number of names n."""
        return self._count

    def search(self, texts: list[str], *, limit: int = 10) -> list[list[Near]]:
        """For each text the `limit` names of highest cosine, best first, ties by row."""
        parts = [texts[i : i + _QUERIES] for i in range(0, len(texts), _QUERIES)]
        return [near for part in parts for near in self.nearest(self.encoder(part), limit=limit)]

    def nearest(self, queries: NDArray[np.float32], *, limit: int = 10) -> list[list[Near]]:
        """The nearest names of a few texts at once, by their unit rows."""
        said = [f"[{','.join(map(repr, row))}]" for row in np.asarray(queries, np.float32).astype(float).tolist()]
        found: list[list[Near]] = [[] for _ in said]
        for at, row, name, score in self.server.run(_NEAR, {"texts": said, "limit": _MORE * limit}):
            found[at - 1].append(Near(name, float(score), row))
        return [sorted(near, key=lambda n: (-n.score, n.row))[:limit] for near in found]


def open_names(server: Postgres, encoder: Encoder) -> NamesInPostgres | None:
    """The names of a graph in PostgreSQL by this encoder; None where none of it as it stands were written there."""
    query = """
    SELECT v.count FROM name_vectors v JOIN graph g ON g.label = v.label
    WHERE v.encoder = %(encoder)s AND v.dimensions = %(dimensions)s"""
    try:
        rows = server.run(query, {"encoder": encoder.name, "dimensions": encoder.dimensions})
    except UnknownName:  # no such table
        return None
    return NamesInPostgres(server, encoder, rows[0][0]) if rows else None


def write(
    vectors: Vectors, label: str, address: Address, progress: Callable[[int, int], None] = lambda done, of: None,
    *, exact: int = EXACT,
) -> int:  # fmt: skip
    """How many names now stand beside the graph of an address, in place of those that did; more than `exact` by index.

    One transaction. Raises `Unavailable` without the extension, or where the graph there is not that of the label.
    """
    count, dimensions = len(vectors), vectors.encoder.dimensions
    with address.connect(write=True) as connection, said_plainly(address), connection.transaction():
        cursor = connection.cursor()
        row = cursor.execute("SELECT label FROM graph").fetchone()
        if row is None or row[0] != label:
            raise Unavailable(f"{address.where} holds another graph than {label}; load it first: kgmed graph load")
        if cursor.execute("SELECT to_regtype('vector')").fetchone() == (None,):
            raise Unavailable(
                f"{address.where}: the database has no pgvector; let its owner run CREATE EXTENSION vector"
            )
        cursor.execute("DROP TABLE IF EXISTS name_vector, name_vectors")
        cursor.execute("CREATE TABLE name_vectors (encoder text, dimensions int, count int, label text)")
        cursor.execute(f"CREATE TABLE name_vector (row int, name text, vector vector({dimensions:d}))".encode())
        with cursor.copy("COPY name_vector FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "bytea"])
            for number, (name, packed) in enumerate(_packed(vectors), start=1):
                copy.write_row((number - 1, name.replace("\0", "\ufffd"), packed))
                if number % 10_000 == 0 or number == count:
                    progress(number, count)
        cursor.execute("ALTER TABLE name_vector ADD PRIMARY KEY (row)")
        if count > exact:
            cursor.execute("CREATE INDEX ON name_vector USING hnsw (vector vector_ip_ops)")
        about = vectors.encoder.name, dimensions, count, label
        cursor.execute("INSERT INTO name_vectors VALUES (%s, %s, %s, %s)", about)
        cursor.execute("ANALYZE name_vector")
    return count


def _packed(vectors: Vectors) -> Iterator[tuple[str, bytes]]:
    """Each name with its row as pgvector receives it: dimensions, a zero, numbers of 4 bytes."""
    head = struct.pack(">HH", vectors.encoder.dimensions, 0)
    for number in range(len(vectors)):
        yield vectors.names.name(number), head + np.asarray(vectors.matrix[number]).astype(">f4").tobytes()
