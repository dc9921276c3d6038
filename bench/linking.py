"""How often names are linked to the right entity, beside other linkers in the same run. Prints tables.

    KGMED_DATA=... python bench/linking.py [--only WORD] [--fit FILE] [--cases N] [--seed S] [--folder DIR]
    KGMED_DATA=... python bench/linking.py [--warm GRAPH] [--shared GRAPH]

Names are held out before graphs are built and maps trained. A linker's best guesses are ordered by its own score: told
is how many of all names are linked rightly while .95 (.90) of those linked are right, whatever score that takes; for
kgmed also at the score that the shipped scorer links from. --fit trains that scorer on the training halves and writes
it; nothing is chosen on the halves that are told. rapidfuzz is `token_sort_ratio` over all names; ssslm (with gilda) is
told where it is installed. --warm times what a graph that is built links in LiveQA's questions, each once, after ten
questions of MedicationQA. --shared counts the Chinese names that share no character with their entity's own.
"""

import argparse
import csv
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _figures import keep
from _split import hold_out, misspelled
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from kgmed.config import Config
from kgmed.evaluate.datasets import known_other, load
from kgmed.evaluate.datasets.described import BC5CDR
from kgmed.evaluate.linking import Concepts, LinkingCase, mention, names_of
from kgmed.graph.base import Alias, Match, NodeRow, Scope, Source
from kgmed.graph.formats import cmekg, obo
from kgmed.graph.formats.releases import documents, read_pubtator
from kgmed.graph.library import load as load_graph
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.language.text import has_cjk, normalise
from kgmed.linking.align import align
from kgmed.linking.cascade import SUBSTANCES, Cascade, Dense, Misspelled, Reworded, Spelled
from kgmed.linking.decide import Decided, Finder, may_link, open_scorer
from kgmed.linking.recognise import phrases
from kgmed.models.encoders import UseEncoder
from kgmed.session import open_session
from kgmed.toolkit import Toolkit
from kgmed.train.linker import fit, judge, save

SYNONYMS = (Scope.EXACT, Scope.LAYPERSON, Scope.NARROW, Scope.RELATED)
Cases = Sequence[LinkingCase]
Linker = Callable[[list[str]], list["Guess"]]


class Guess(NamedTuple):
    """What a linker says of a name: entities, the best first, and how sure it is of the first."""

    ids: list[str]
    score: float


class Task(NamedTuple):
    """A graph, graphs to learn from with it, names to train on, and names to tell by title."""

    graph: Store
    others: list[Store]
    train: Cases
    test: Mapping[str, Cases]
    kinds: tuple[str, ...] = ()


# --- The linkers.


def of_map(decided: Decided, kinds: tuple[str, ...], names: list[str]) -> list[Guess]:
    """By the map alone: the nearest name's entity."""
    near = decided.find.vectors.search(names, limit=64)
    graph, of = decided.find.graph, decided.find.vectors.names
    found = [[graph.at(n) for x in some for n in of.nodes(x.row)] for some in near]
    some = [list(dict.fromkeys(e.id for e in es if not kinds or e.kind in kinds)) for es in found]
    return [Guess(ids, n[0].score) for ids, n in zip(some, near, strict=True)]


def of_kgmed(decided: Decided, kinds: tuple[str, ...], names: list[str]) -> list[Guess]:
    """As `Toolkit.link` does it: names as they are written, then the scorer; what may not be linked comes last."""
    exact = Spelled(decided.find.graph).topk([mention(n) for n in names], 5)
    return [_of_two(name, e, r, kinds) for name, e, r in zip(names, exact, decided.ranked(names), strict=True)]


def _of_two(name: str, exact: list[Match], ranked: list[Match], kinds: tuple[str, ...]) -> Guess:
    """One name's guess."""
    exact = [m for m in exact if not kinds or m.entity.kind in kinds]
    found = [*exact, *(m for m in ranked if not kinds or m.entity.kind in kinds)]
    ids = list(dict.fromkeys(m.entity.id for m in found))
    if not found:
        return Guess([], 0)
    first = found[0]
    if first in exact and len(exact) == 1:
        return Guess(ids, 1 + first.score)
    chance = next((m.score for m in ranked if m.entity.id == first.entity.id), 0.0)  # of several of one name too
    return Guess(ids, chance if may_link(name, first) else chance / 1000)


def of_cascade(graph: Store, kinds: tuple[str, ...], names: list[str]) -> list[Guess]:
    """As `Toolkit.link` does it where no map is trained."""
    encoder, fuzzy = UseEncoder(), _fuzzy(graph)
    stages = (Spelled(graph), Reworded(graph), Misspelled(graph, fuzzy), Dense(graph, encoder, fuzzy))
    nearest = Dense(graph, encoder, fuzzy, at_least=-1, agreement=0, agreement_cjk=0)
    cascade = Cascade(stages, kinds, nearest)
    mentions = [mention(n) for n in names]
    made = {link.mention.name: link.score for link in cascade(mentions)}
    return [
        Guess([m.entity.id for m in found], made.get(name, -1))
        for name, found in zip(names, cascade.suggestions(mentions, 5), strict=True)
    ]


def _fuzzy(graph: Store):  # type: ignore[no-untyped-def]
    from kgmed.graph.names import Fuzzy

    return Fuzzy(graph)


def of_rapidfuzz(graph: Store, kinds: tuple[str, ...], names: list[str]) -> list[Guess]:
    """By the words of names in alphabetical order."""
    told = [(normalise(n.text), graph.at(n.node).id) for n in _named(graph, kinds)]
    choices = [key for key, _ in told]
    best = [process.extract(normalise(n), choices, scorer=fuzz.token_sort_ratio, limit=12) for n in names]
    return [Guess(list(dict.fromkeys(told[i][1] for *_, i in found)), found[0][1]) for found in best]


def of_ssslm(graph: Store, kinds: tuple[str, ...], names: list[str]) -> list[Guess]:
    """By gilda's rules for spelling, case and dashes."""
    from curies import NamableReference
    from ssslm import LiteralMapping, make_grounder

    def reference(i: int) -> NamableReference:
        return NamableReference(prefix="n", identifier=str(i), name=graph.at(i).name)

    grounder = make_grounder([LiteralMapping(reference=reference(n.node), text=n.text) for n in _named(graph, kinds)])
    found = [grounder.get_matches(name) for name in names]
    return [
        Guess([graph.at(int(m.reference.identifier)).id for m in some], some[0].score if some else -1) for some in found
    ]


def _named(graph: Store, kinds: tuple[str, ...]) -> Iterator:  # type: ignore[type-arg]
    scopes = tuple(s for s in Scope if s is not Scope.XREF)
    return (n for n in graph.names(scopes=scopes) if n.text.strip() and (not kinds or graph.at(n.node).kind in kinds))


# --- What is told.


def told(linker: Linker, cases: Cases, at: float | None = None, *, name: str) -> str:
    """One row: the right entity first and among five, and how many are linked at a precision; kept by its name."""
    began = time.process_time()
    guesses = linker([c.text for c in cases])
    ms = 1000 * (time.process_time() - began) / len(cases)
    first = np.array([bool(g.ids) and g.ids[0] in c.right for g, c in zip(guesses, cases, strict=True)])
    five = np.array([not c.right.isdisjoint(g.ids[:5]) for g, c in zip(guesses, cases, strict=True)])
    scores = np.array([g.score for g in guesses])
    made = scores >= 0
    shares = {"first": first, "five": five}
    shares |= {f"at {p}": _linked(first & made, scores, p) for p in (0.95, 0.9)}
    cells = [_share(right) for right in shares.values()]
    if at is not None:
        linked = scores >= at
        precision = float(first[linked].mean()) if linked.any() else 1.0
        cells += [f"{linked.mean():.3f}", f"{precision:.3f}"]
        keep("linking", {f"{name} linked": float(linked.mean()), f"{name} precision": precision})
    keep("linking", {f"{name} {what}": float(right.mean()) for what, right in shares.items()})
    keep(
        "linking", {f"{name} {what} error": _error(right) for what, right in shares.items()} | {f"{name} n": len(cases)}
    )
    return "  ".join([*cells, f"{ms:6.1f}"])


def _share(right: NDArray[Any]) -> str:
    """A share with its standard error."""
    return f"{right.mean():.3f} ({_error(right):.3f})"


def _error(right: NDArray[Any]) -> float:
    """The standard error of a share."""
    p = float(right.mean())
    return float(np.sqrt(p * (1 - p) / len(right)))


def _linked(right: NDArray[Any], scores: NDArray[Any], precision: float) -> NDArray[Any]:
    """Which are linked rightly at the lowest score at which that share of the links is right; equal scores together."""
    best = np.zeros(len(right), bool)
    for score in np.unique(scores[scores >= 0]):
        made = scores >= score
        if right[made].mean() >= precision:
            return np.asarray(right & made)
    return best


def tell(name: str, task: Task, decided: Decided) -> None:
    """The table of a task."""
    linkers: dict[str, tuple[Linker, float | None]] = {
        "kgmed": (partial(of_kgmed, decided, task.kinds), decided.scorer.link),
        "kgmed, the map alone": (partial(of_map, decided, task.kinds), None),
        "kgmed without a map": (partial(of_cascade, task.graph, task.kinds), 0),
        "rapidfuzz": (partial(of_rapidfuzz, task.graph, task.kinds), None),
    }
    if find_spec("ssslm"):
        linkers["ssslm (gilda)"] = partial(of_ssslm, task.graph, task.kinds), None
    for title, cases in task.test.items():
        print(f"\n{name}: {title}, n = {len(cases)}")
        print(f"  {'':22} first          five           linked at .95  linked at .90  linked  precision  ms (CPU)")
        for linker, (work, at) in linkers.items():
            row = told(work, cases, at, name=f"{name} {title} {linker}")
            print(f"  {linker:22} {row}", flush=True)


# --- The tasks. The first half of what is held out is for training, the second is told.


def graph(source: Source, folder: Path, name: str) -> Store:
    """The graph of a source, built where it is not there from a run before."""
    if not (folder / name).exists():
        build(source, folder / name)
    return open_store(folder / name)


def hpo(folder: Path, seed: int, data: Path) -> Task:
    """Synonyms of HPO: of entities whose other names are known, and of such as only the primary name is known of."""
    some = hold_out(obo.read_hpo(), scopes=SYNONYMS, seed=seed)
    bare = hold_out(some.source, scopes=SYNONYMS, seed=seed + 7, every=10, whole=True)
    stripped = frozenset(i for c in (*bare.train, *bare.test) for i in c.right)
    store = graph(bare.source, folder, f"hpo-held-out-{seed}")
    slips = misspelled(store, 300, shortest=8, seed=seed)
    train = [*_known(some.train, stripped), *bare.train, *slips[0], *general(data)[::4]]
    exact = frozenset(normalise(n.text) for n in open_names(obo.read_hpo(), Scope.EXACT))
    known = _known(some.test, stripped)
    return Task(store, [], train, {
        "synonyms, other names known": known,
        "of them exact ones": [c for c in known if normalise(c.text) in exact],
        "entities never trained on": bare.test,
        "names with one slip": slips[1],
    })  # fmt: skip


def open_names(source: Source, scope: Scope) -> Iterator[Alias]:
    """The aliases of a source of one scope."""
    return (a for row in source.rows() if isinstance(row, NodeRow) for a in row.aliases if a.scope is scope)


def _known(cases: Cases, stripped: frozenset[str]) -> list[LinkingCase]:
    """The cases whose entity has kept its other names."""
    return [c for c in cases if stripped.isdisjoint(c.right)]


def general(data: Path) -> list[LinkingCase]:
    """Phrases of questions that are not about medicine: none of them should be linked."""
    rows = json.loads((data / "mintaka" / "mintaka_dev.json").read_text(encoding="utf-8"))
    return [LinkingCase(p.surface, frozenset()) for row in rows for p in phrases(row["question"], [])]


def translations(data: Path, folder: Path, language: str) -> Store:
    """HPO's names in another language, as a graph of the same ids: a primary name and its translation."""
    path = data / "public_graphs" / "hpo_translations" / f"hp-{language}.babelon.tsv"
    with path.open(encoding="utf-8") as file:
        rows = [
            NodeRow(r["subject_id"], r["source_value"], aliases=(Alias(r["translation_value"], Scope.TRANSLATION),))
            for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if r["translation_status"] == "OFFICIAL" and r["translation_value"] not in ("", "NA")
        ]
    return graph(Source(f"hpo-{language}", lambda: iter(rows), language=language), folder, f"hpo-{language}")


def chinese(folder: Path, seed: int, data: Path) -> Task:
    """CMeKG: English names of Chinese diseases and drugs with all their English held out, and Chinese aliases.

    Of as many other entities the English is taken out and not asked for: to have none tells nothing.
    """
    english = hold_out(
        cmekg.read_cmekg(), scopes=(Scope.TRANSLATION,), keep=lambda text: not has_cjk(text), seed=seed, whole=True
    )
    own = hold_out(english.source, scopes=(Scope.EXACT,), keep=has_cjk, seed=seed)
    store = graph(own.source, folder, f"cmekg-held-out-{seed}")
    kinds = ("disease", "drug")
    slips = misspelled(store, 300, shortest=4, seed=seed)
    test: dict[str, Cases] = {
        "English names over Chinese ones": english.test[::2],
        "Chinese aliases": own.test[:1500],
    }
    of = {kind: [c for c in test["English names over Chinese ones"] if _kind(store, c) == kind] for kind in kinds}
    test |= {f"English names of a {kind}": cases for kind, cases in of.items()}
    train = [*english.train[::2], *own.train, *slips[0]]
    return Task(store, [translations(data, folder, "zh")], train, test, kinds)


def _kind(store: Store, case: LinkingCase) -> str:
    """The kind of the right entity."""
    return store.entity(min(case.right)).kind


def marked(paths: list[Path], test: Path, folder: Path, name: str) -> Task:
    """Marked texts: the names of the last over a graph of those of the others."""
    store = graph(_joined(paths), folder, name)
    cases = [c for c in names_of(documents(test), Concepts(store)) if c.right]
    own = frozenset(normalise(n.text) for n in store.names())
    by_kind = {k: [c for c in cases if _kind(store, c) == k] for k in sorted({_kind(store, c) for c in cases})}
    unlisted = [c for c in cases if normalise(c.text) not in own]
    return Task(store, [], cases, {"all names": cases, "names that the graph does not list": unlisted, **by_kind})


def _joined(paths: list[Path]) -> Source:
    """One source of several files of marked text."""
    parts = [read_pubtator(path) for path in paths]
    return replace(parts[0], rows=lambda: chain.from_iterable(p.rows() for p in parts), inputs=())


def xlbel(folder: Path, seed: int, data: Path) -> Task:
    """XL-BEL: mentions of concepts that HPO has by cross-reference, the map trained on translations too."""
    store = graph(obo.read_hpo(), folder, "hpo")
    concepts, test = Concepts(store), {}
    for path in sorted((data / "xlbel").glob("v0.0_*.txt")):
        language = path.stem.rpartition("_")[2]
        pairs = known_other(f"xlbel-{language}", "linking", data).read(data)
        test[language] = [LinkingCase(text, right) for text, concept in pairs if (right := concepts([concept]))]
    return Task(store, [translations(data, folder, language) for language in ("ja", "zh")], [], test)


def tasks(data: Path, folder: Path, seed: int) -> dict[str, Callable[[], Task]]:
    """The tasks by name; a training task is only for --fit."""
    parts = {part: data / file for part, file in BC5CDR.items()}
    made: dict[str, Callable[[], Task]] = {
        "HPO": lambda: hpo(folder, seed, data),
        "CMeKG": lambda: chinese(folder, seed, data),
        "BC5CDR, development": lambda: marked([parts["train"]], parts["dev"], folder, "bc5cdr-train"),
        "BC5CDR": lambda: marked([parts["train"], parts["dev"]], parts["test"], folder, "bc5cdr"),
        "XL-BEL in HPO": lambda: xlbel(folder, seed, data),
    }
    ncbi = {p: data / "ncbi_disease" / f"NCBI{p}set_corpus.txt" for p in ("train", "develop", "test")}
    if all(path.exists() for path in ncbi.values()):
        made["NCBI-disease"] = lambda: marked([ncbi["train"], ncbi["develop"]], ncbi["test"], folder, "ncbi")
    return made


FITTED = ("HPO", "CMeKG", "BC5CDR, development")  # the training parts of these make the shipped scorer


def finder(task: Task) -> Finder:
    """The candidates of a graph by its map, trained here."""
    began = time.process_time()
    vectors = align(task.graph, UseEncoder(), others=task.others)
    if vectors is None:
        raise SystemExit(f"{task.graph.label}: too few names")
    print(f"{task.graph.name}: {len(vectors):,} names encoded, map trained: {time.process_time() - began:.0f} s (CPU)")
    return Finder(task.graph, vectors)


def warm(graph: str, data: Path) -> None:
    """Print how long one core takes to find and link what a question names, of questions not met before."""
    toolkit = open_session(Config(graph=graph)).toolkit(graph)
    if not isinstance(toolkit, Toolkit):
        raise SystemExit(f"{graph}: its files are not here")
    for item in load("medicationqa", data, limit=10):
        toolkit.understood(item.question)
    spent = []
    for item in load("liveqa", data):
        began = time.process_time()
        toolkit.understood(item.question)
        spent.append(1000 * (time.process_time() - began))
    middle, ninth = np.quantile(spent, [0.5, 0.9])
    keep("linking", {"warm median": middle, "warm ninth": ninth, "warm n": len(spent)})
    print(f"{len(spent)} questions, {graph}: median {middle:.0f} ms, ninth decile {ninth:.0f} ms of one core")


def shared(name: str) -> None:
    """Print how many Chinese names share no character with their entity's own name, of substances and of the rest."""
    graph = load_graph(name)
    own = {n.node: set(n.text) for n in graph.names(scopes=(Scope.PREFERRED,))}
    counted: Counter[tuple[bool, bool]] = Counter()
    for other in graph.names(scopes=(Scope.EXACT,)):
        if has_cjk(other.text):
            counted[graph.at(other.node).kind in SUBSTANCES, not own[other.node] & set(other.text)] += 1
    for substance, title in ((True, "substances"), (False, "others")):
        print(f"{title}: {counted[substance, True]:,} of {sum(counted[substance, x] for x in (True, False)):,}")


def main() -> None:
    """Print the tables, or with --fit train the scorer first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="the tasks whose name holds this word")
    parser.add_argument(
        "--fit", type=Path, default=None, help="write a scorer trained on the training halves, and stop"
    )
    parser.add_argument("--cases", type=int, default=100_000, help="at most so many names of each set")
    parser.add_argument("--seed", type=int, default=2026, help="which names are held out")
    parser.add_argument("--folder", type=Path, default=None, help="where graphs and maps are kept between runs")
    parser.add_argument("--warm", default="", help="time the linking of questions in this graph, and stop")
    parser.add_argument("--shared", default="", help="count Chinese names unlike their entity's own, and stop")
    options = parser.parse_args()
    if options.shared:
        shared(options.shared)
        return
    if options.warm:
        warm(options.warm, Path(os.environ["KGMED_DATA"]))
        return
    every = tasks(Path(os.environ["KGMED_DATA"]), options.folder or Path(tempfile.mkdtemp()), options.seed)
    if options.fit:
        made = [every[name]() for name in FITTED if options.only in name]
        judged = [j for task in made for j in judge(finder(task), task.train)]
        arrays, figures = fit(judged)
        save(options.fit, arrays)
        print(figures)
        return
    for name in [n for n in every if options.only in n and n != "BC5CDR, development"]:
        task = every[name]()
        task = task._replace(test={t: cases[: options.cases] for t, cases in task.test.items()})
        tell(name, task, Decided(finder(task), open_scorer()))


if __name__ == "__main__":
    main()
