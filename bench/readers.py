"""The facts reader beside the embedded language model, on questions made from HPO's own triples.

    python bench/readers.py [--n 14] [--seed 0] [--show]

Asked are the gene and the inheritance of a disease that has one of them, and which disease has three of its findings.
An answer is right where it names what the graph says and nothing else of that kind (for a diagnosis: the disease
stands first), wrong where it names another or none, abstained where it says that it does not know. The facts reader
sees the same evidence. Builds HPO in a temporary folder; the model is used where `kgmed models get smollm2` put it.
"""

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from _figures import keep

from kgmed.disk import data_folder
from kgmed.graph import formats
from kgmed.graph.base import ByRole
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.language.text import normalise
from kgmed.models.files import installed_models
from kgmed.models.gguf import Gguf
from kgmed.records import Role, Run
from kgmed.registry import methods
from kgmed.toolkit import Toolkit

MODEL = "smollm2"


@dataclass(frozen=True)
class Asked:
    """A question, the names that answer it, and those of its kind that must not be named."""

    kind: str
    text: str
    gold: frozenset[str]
    others: frozenset[str] = frozenset()


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=14, help="questions of each kind")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--show", action="store_true", help="print each answer")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        build(formats.read("hpo", None, name="hpo"), Path(place) / "hpo")
        graph = open_store(Path(place) / "hpo")
        questions = [q for make in (genes, inheritance, diagnoses) for q in _some(make(graph, chosen.seed), chosen.n)]
        model = installed_models(data_folder()).get(MODEL)
        kits = {"facts": Toolkit(graph)} | ({f"llm {MODEL}": Toolkit(graph, Gguf(model))} if model else {})
        print(f"{graph.label}: {len(questions)} questions, {chosen.n} of each kind, seed {chosen.seed}")
        if not model:
            print(f"{MODEL} is not here (kgmed models get {MODEL}); only the facts are measured")
        print(
            f"{'reader':14} {'kind':12} {'right':>6} {'abstained':>9} {'wrong':>6} {'fell back':>9} {'s/question':>10}"
        )
        for name, toolkit in kits.items():
            _measure(name, toolkit, questions, show=chosen.show)


def _measure(name: str, toolkit: Toolkit, questions: list[Asked], *, show: bool) -> None:
    """One row a kind of question, and one for all."""
    ask = methods.get(name.partition(" ")[0]).build(toolkit)
    rows = []
    for q in questions:
        begin = perf_counter()
        run = ask(q.text)
        rows.append((q.kind, _verdict(q, run), perf_counter() - begin, bool(run.failures)))
        if show:
            print(
                f"  {rows[-1][1]:10} {q.text}\n             {run.answer.text[:200]!r} {'; '.join(run.failures)[:100]}"
            )
    for kind in (*dict.fromkeys(q.kind for q in questions), "all"):
        mine = [r for r in rows if kind in (r[0], "all")]
        shares = [sum(r[1] == v for r in mine) / len(mine) for v in ("right", "abstained", "wrong")]
        back, seconds = sum(r[3] for r in mine) / len(mine), sum(r[2] for r in mine) / len(mine)
        keep("readers", {f"{name} {kind} {v}": n for v, n in zip(("right", "abstained", "wrong"), shares, strict=True)})
        keep("readers", {f"{name} {kind} fell back": back, f"{name} {kind} s": seconds})
        print(
            f"{name:14} {kind:12} {shares[0]:6.2f} {shares[1]:9.2f} {shares[2]:6.2f} {back:9.2f} {seconds:10.2f}",
            flush=True,
        )


def _verdict(q: Asked, run: Run) -> str:
    if run.answer.abstained:
        return "abstained"
    text = run.answer.text if q.kind != "diagnosis" else _first(run.answer.text)
    named = [name for name in q.gold if _names(text, name)]
    return "right" if named and not any(_names(text, name) for name in q.others - q.gold) else "wrong"


def _first(text: str) -> str:
    """The first line that proposes something: after a heading, up to its findings."""
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    return lines[0].partition(": ")[0] if lines else ""


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(normalise(name))}\b", normalise(text)) is not None


def _some(questions: Iterator[Asked], n: int) -> list[Asked]:
    return [q for q, _ in zip(questions, range(n), strict=False)]


def _diseases(graph: Store, seed: int) -> list[int]:
    nodes: list[int] = graph.of_kind("disease").tolist()
    random.Random(seed).shuffle(nodes)
    return nodes


def _of(graph: Store, role: Role) -> Callable[[int], list[str]]:
    """What the diseases of a node's name have in a role."""
    steps = ByRole(graph, role)

    def found(node: int) -> list[str]:
        alike = [graph.number(m.entity.id) for m in graph.lookup(graph.at(node).name)]
        return list({graph.at(n).name for n in steps.objects(alike).node.tolist()})

    return found


def genes(graph: Store, seed: int) -> Iterator[Asked]:
    """Diseases with one gene."""
    found = _of(graph, Role.GENE)
    for node in _diseases(graph, seed):
        if len(names := found(node)) == 1:
            yield Asked("gene", f"Which gene is associated with {graph.at(node).name}?", frozenset(names))


def inheritance(graph: Store, seed: int) -> Iterator[Asked]:
    """Diseases with one mode of inheritance."""
    found = _of(graph, Role.INHERITANCE)
    every = frozenset(graph.at(n).name for n in graph.of_kind("inheritance").tolist())
    for node in _diseases(graph, seed + 1):
        if len(names := found(node)) == 1:
            narrower = {name for name in every if names[0] in name or name in names[0]}
            yield Asked("inheritance", f"How is {graph.at(node).name} inherited?", frozenset(names), every - narrower)


def diagnoses(graph: Store, seed: int) -> Iterator[Asked]:
    """Three findings that most patients of a disease have; any disease with all three, or kinds of them, is right."""
    steps, kinds, weight = ByRole(graph, Role.FINDING), ByRole(graph, Role.IS_A), graph.weight
    draw = random.Random(seed)
    for node in _diseases(graph, seed + 2):
        hops = steps.objects([node])
        often = [
            n for n, e in zip(hops.node.tolist(), hops.edge.tolist(), strict=True) if weight is None or weight[e] > 0.5
        ]
        if len(often) < 6:
            continue
        drawn = draw.sample(often, 3)
        sets = [set(steps.subjects(list(kinds.closure(n, up=False))).node.tolist()) for n in drawn]
        gold = frozenset(graph.at(n).name for n in set.intersection(*sets))
        told = ", ".join(graph.at(n).name for n in drawn[:2]) + f" and {graph.at(drawn[2]).name}"
        yield Asked("diagnosis", f"A patient has {told}. What could it be?", gold)


if __name__ == "__main__":
    main()
