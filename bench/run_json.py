"""Runs as JSON and back: pydantic over the frozen records beside a walk by hand, as kgmed did it before.

    python bench/run_json.py [--graph hpo] [--repeats 200]

The runs are of three questions of a packaged graph (built in KGMED_HOME where it is not there yet) and of one long
answer, that with the most evidence. Printed are the medians in milliseconds and the ratio by hand / pydantic; that
both make the same data is checked first. The last lines are seconds of a first use: `import kgmed`, which loads no
pydantic, and the first run written, which does. Peer: the standard library's `dataclasses.fields`, no compiled code.
"""

import argparse
import json
import statistics
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from time import perf_counter
from typing import Any, get_args, get_origin, get_type_hints

from _figures import keep

import kgmed
from kgmed.records import Run

ASKED = (
    ("facts", "What are the signs of Marfan syndrome?"),
    ("hykge", "What are the signs of Marfan syndrome and arachnodactyly?"),
    ("kg-rank", "Which gene causes Marfan syndrome?"),
)
FIRST = {
    "import kgmed": "import kgmed",
    "the first run written": "made.to_json()",
    "the first run read": "Run.from_json(data)",
}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph", default="hpo")
    options.add_argument("--repeats", type=int, default=200)
    chosen = options.parse_args()
    runs = {m: kgmed.load(graph=chosen.graph, method=m).ask(q) for m, q in ASKED}
    longest = max(runs.values(), key=lambda run: len(run.evidence))
    runs["long"] = replace(longest, evidence=longest.evidence * 12)
    print("run\tKB\tby hand\tpydantic\tratio\tread by hand\tread by pydantic\tratio")
    for name, run in runs.items():
        data = by_hand(run)
        text = json.dumps(data)
        if text != json.dumps(run.to_json()) or read_by_hand(Run, data) != run.from_json(data):
            raise SystemExit(f"{name}: the two differ")
        tasks: list[Callable[[], object]] = [
            lambda run=run: by_hand(run), run.to_json,  # type: ignore[misc]
            lambda data=data: read_by_hand(Run, data), lambda data=data: Run.from_json(data),  # type: ignore[misc]
        ]  # fmt: skip
        a, b, c, d = (median(task, chosen.repeats) for task in tasks)
        print(f"{name}\t{len(text) / 1024:.1f}\t{a:.3f}\t{b:.3f}\t{a / b:.1f}\t{c:.3f}\t{d:.3f}\t{c / d:.1f}")
        keep("run_json", {f"{name} KB": len(text) / 1024, f"{name} written": b, f"{name} read": d})
    for what, code in FIRST.items():
        took = first(code)
        print(f"{what}: {took:.3f} s")
        keep("run_json", {what: took})


def median(task: Callable[[], object], repeats: int) -> float:
    """Milliseconds of a call."""
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        task()
        times.append(perf_counter() - begin)
    return 1000 * statistics.median(times)


def first(code: str) -> float:
    """The seconds of a line in a new process, the best of three; a run and its data are there where it needs them."""
    made = (
        "from kgmed.records import Answer, Context, Query, Question, Run, to_json\n"
        "made = Run(Query(Question('?')), (), (), (), (), Context(''), Answer(''))\n"
        "data = dict(query={'question': {'text': '?'}}, mentions=[], links=[], missed=[], evidence=[], "
        "context={'text': ''}, answer={'text': ''})\n"
    )
    before = "" if code.startswith("import") else made
    script = f"from time import perf_counter\n{before}begin = perf_counter()\n{code}\nprint(perf_counter() - begin)"
    return min(float(subprocess.check_output([sys.executable, "-c", script], text=True)) for _ in range(3))


# --- By hand.


def by_hand(value: object) -> Any:
    """Plain data of a record."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: by_hand(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): by_hand(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [by_hand(v) for v in value]
    return value


def read_by_hand(kind: Any, data: Any) -> Any:
    """The value of a type from plain data."""
    if data is None or kind is Any:
        return data
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return read_by_hand(next(p for p in parts if p is not type(None)), data)
    if origin is tuple:
        kinds = [parts[0]] * len(data) if parts[1:] == (...,) else parts
        return tuple(read_by_hand(k, v) for k, v in zip(kinds, data, strict=True))
    if is_dataclass(kind) and isinstance(kind, type):
        types_of = hints(kind)
        return kind(**{f.name: read_by_hand(types_of[f.name], data[f.name]) for f in fields(kind) if f.name in data})
    return kind(data) if isinstance(kind, type) and issubclass(kind, Enum) else data


@cache
def hints(kind: type) -> dict[str, Any]:
    """The types of the fields."""
    return get_type_hints(kind)


if __name__ == "__main__":
    main()
