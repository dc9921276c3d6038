"""Ranking HPO's diseases for published cases: what each ingredient is worth, under cross-validation. Prints tables.

    KGMED_DATA=... python bench/diagnose.py [--cases N] [--folder DIR] [--pairs N]

The cases are a development set. Every row but the plain ones is fitted: its weights are chosen on four fifths of the
diseases and the ranks taken on the cases of the fifth left out, for all five; no case is ranked by weights that its
disease was fitted on. What is kept in DIR (graph, features of the cases) is not computed again: a run that was stopped
goes on; name another DIR after a change of the features. "by hand" are the weights of sex, denied and excluded.

`--pairs` fits nothing: by the shipped weights it ranks every case, and N patients with the diseases of two of the cases
(drawn by a seed), with the findings of both, the age of the older and no onset; with and without second diseases.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from _cohort import Cohort, Ranks, rank
from _data import data
from _figures import keep
from numpy.typing import NDArray

from kgmed.diagnose.engine import FEATURES, SIGNS, ConditionalChoice, DiagnosisEngine, fit
from kgmed.diagnose.engine import weights as weights_of
from kgmed.diagnose.patient import Patient
from kgmed.evaluate.datasets.cases import Packet, packets
from kgmed.graph.base import ByRole
from kgmed.graph.formats import obo as obo
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store
from kgmed.records import Role

Floats = NDArray[np.float64]
FOLDS, POOL, CHUNK = 5, 250, 100
OURS = {name: weights_of("cases")[name] for name in ("sex", "denied", "excluded")}  # set by hand, not fitted


@dataclass(frozen=True)
class Row:
    """A scorer: which features are fitted, which weights are set by hand."""

    name: str
    fitted: tuple[str, ...]
    by_hand: Mapping[str, float] = field(default_factory=dict)

    @property
    def fixed(self) -> list[float | None]:
        """The weight of each feature; None = to be fitted."""
        return [None if name in self.fitted else self.by_hand.get(name, 0.0) for name in FEATURES]


def rows() -> list[Row]:
    """The scorer built up, as it is, and without each of its parts."""
    steps = ("exact narrower", "broader", "twin", "missing", "published", "onset")
    found: list[Row] = []
    names: tuple[str, ...] = ()
    for step in steps:
        names = (*names, *step.split())
        found.append(Row(("+ " if len(names) > 2 else "") + ", ".join(step.split()), names))
    shipped = Row("+ by hand = kgmed diagnose", names, OURS)
    without = [Row(f"  without {n}", tuple(x for x in names if x != n), OURS) for n in names]
    hands = [Row(f"  without {n}", names, {k: v for k, v in OURS.items() if k != n}) for n in OURS]
    more = [Row(f"  excluded at {w}", names, OURS | {"excluded": w}) for w in (-0.05, -0.1, -0.2)]
    return [*found, shipped, *without, *hands, *more]


def main() -> None:
    """Fit, rank, print."""
    args, cases = _arguments(), data() / "phenopackets_dev" / "phenopackets_dev.jsonl.xz"
    folder = Path(args.folder or tempfile.mkdtemp(prefix="kgmed-diagnose-"))
    graph = folder / "hpo"
    if not (graph / "CURRENT").is_file():
        build(obo.read_hpo(), graph)
    store = open_store(graph)
    cohort = Cohort(store, list(packets(cases))[: args.cases])
    print(f"{store.label}; {len(cohort.packets)} cases of {cases.name}, {len(set(_diseases(cohort)))} diseases")
    if args.pairs:
        _print_pairs(cohort, args.pairs)
        return
    pool = list(_pool(cohort, folder / f"pool-{len(cohort.packets)}-{POOL}-{'-'.join(FEATURES)}"))
    table = rows()
    weights = [_fitted(row, pool, cohort) for row in _progress(table, "fitted")]
    figures = _plain(cohort) | _ranked(cohort, table, weights)
    _print(figures)
    keep("diagnose", {"cases": len(cohort.packets), "diseases": len(set(_diseases(cohort)))})
    shipped = next(i for i, row in enumerate(table) if "kgmed diagnose" in row.name)
    blunt = next(i for i, row in enumerate(table) if row.name == "  without narrower")
    some = {"findings one step broader": weights[shipped], "  without narrower": weights[blunt]}
    print("\nevery finding replaced by what it is a kind of:")
    _print(_ranked(replaced(cohort), [Row(name, ()) for name in some], list(some.values())), "broader: ")
    everyone = fit(_choices(pool, cohort, -1), signs=SIGNS, fixed=table[shipped].fixed)
    print("\nfitted on all cases:", ", ".join(f"{n} {w:.3f}" for n, w in zip(FEATURES, everyone, strict=True)))
    least, most = weights[shipped].min(0), weights[shipped].max(0)
    spans = (f"{n} {a:.3f} to {b:.3f}" for n, a, b in zip(FEATURES, least, most, strict=True) if a < b)
    print("over the five folds:", ", ".join(spans))
    print(f"the weight of excluded if its sign were free: {_free(pool, cohort, table[shipped]):+.3f}")
    _time(DiagnosisEngine(store), cohort)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=None, help="only the first N")
    parser.add_argument("--folder", default="", help="where the graph and the features are kept")
    parser.add_argument("--pairs", type=int, default=0, help="only rank cases, and so many patients of two diseases")
    return parser.parse_args()


def _diseases(cohort: Cohort) -> list[str]:
    return [p.disease for p in cohort.packets]


def _fold(packet: Packet) -> int:
    """The part of the cases that a disease falls into."""
    return xxhash.xxh3_64_intdigest(packet.disease.encode()) % FOLDS


def _progress(items: Sequence[Any], what: str) -> Iterator[Any]:
    """The items, with how many have been done on standard error."""
    for i, item in enumerate(items):
        sys.stderr.write(f"\r{what}: {i:,}/{len(items):,} ")
        yield item
    sys.stderr.write("\r\033[K")


@dataclass(frozen=True)
class Pooled:
    """The best candidates of one case by the shipped weights, and the right one."""

    case: int
    features: Floats
    right: int


def _pool(cohort: Cohort, folder: Path) -> Iterator[Pooled]:
    """Of each case with and without its own annotations, where the right disease stands for choice; kept in chunks."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in _progress(range(0, len(cohort.packets), CHUNK), "chunks of features"):
        file = folder / f"{start}.npz"
        if not file.exists():
            found = [p for i in range(start, min(start + CHUNK, len(cohort.packets))) for p in _candidates(cohort, i)]
            part = file.with_suffix(".part.npz")
            cases, right = np.array([p.case for p in found]), np.array([p.right for p in found])
            size, features = np.array([len(p.features) for p in found]), np.concatenate([p.features for p in found])
            np.savez(part, cases=cases, right=right, size=size, features=features)
            part.replace(file)
        with np.load(file, allow_pickle=False) as kept:
            parts = np.split(kept["features"], np.cumsum(kept["size"])[:-1])
            yield from map(Pooled, kept["cases"].tolist(), parts, kept["right"].tolist())


def _candidates(cohort: Cohort, i: int) -> Iterator[Pooled]:
    packet, model = cohort.packets[i], cohort.model
    features = model.features(model.known(packet.patient)[0])
    for own in (True, False):
        allowed, right = cohort.allowed(packet, own=own), cohort.right(packet, own=own)
        if right >= 0 and allowed[right]:
            scores = np.where(allowed, features @ model.weights, -np.inf)
            best = np.argpartition(-scores, POOL)[:POOL]
            best = np.append(best[best != right], right)
            yield Pooled(i, features[best].astype(np.float32), len(best) - 1)


def _choices(pool: Sequence[Pooled], cohort: Cohort, left_out: int) -> list[ConditionalChoice]:
    """The cases of all parts but one; those of a disease with n cases count 1 / sqrt(n) each."""
    times, cases = Counter(_diseases(cohort)), cohort.packets
    return [
        ConditionalChoice(p.features, p.right, times[cases[p.case].disease] ** -0.5)
        for p in pool
        if _fold(cases[p.case]) != left_out
    ]


def _fitted(row: Row, pool: Sequence[Pooled], cohort: Cohort) -> Floats:
    """The weights for each fold (FOLDS, FEATURES), fitted on the others."""
    return np.array([fit(_choices(pool, cohort, f), signs=SIGNS, fixed=row.fixed) for f in range(FOLDS)])


def _free(pool: Sequence[Pooled], cohort: Cohort, row: Row) -> float:
    """The weight that the cases would give to absent findings, were it let speak for a disease."""
    place = FEATURES.index("excluded")
    signs = [1 if i == place else sign for i, sign in enumerate(SIGNS)]
    fixed = [None if i == place else weight for i, weight in enumerate(row.fixed)]
    return float(fit(_choices(pool, cohort, -1), signs=signs, fixed=fixed)[place])


Figures = dict[str, tuple[Ranks, Ranks]]


def _ranked(cohort: Cohort, table: Sequence[Row], weights: Sequence[Floats]) -> Figures:
    """The ranks of every row, with and without own annotations, by the weights of the case's fold."""
    by_fold = np.stack(weights, axis=2)  # (FOLDS, FEATURES, rows)
    ranks: tuple[list[list[float]], list[list[float]]] = ([], [])
    for packet in _progress(cohort.packets, "ranked"):
        known = cohort.model.known(packet.patient)[0]
        scores = cohort.model.features(known) @ by_fold[_fold(packet)]
        for own, found in zip((True, False), ranks, strict=True):
            found.append([cohort.rank(packet, scores[:, i], own=own) for i in range(len(table))])
    columns = [[Ranks(tuple(c)) for c in zip(*found, strict=True)] for found in ranks]
    return {row.name: (columns[0][i], columns[1][i]) for i, row in enumerate(table)}


def _plain(cohort: Cohort) -> Figures:
    """The plain likelihood: each finding by the rarest finding of the disease that it is a kind of; nothing fitted."""
    names = {"": "plain, every database", "OMIM": "plain, OMIM only"}
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names.values()}
    model = cohort.model
    for packet in _progress(cohort.packets, "plain"):
        present = [model.graph.number(i) for i in model.known(packet.patient)[0].present]
        scores = sum((model.world.nearest((q,))[0] for q in present), np.zeros(model.world.size))
        for database, name in names.items():
            for own, ranks in zip((True, False), found[name], strict=True):
                ranks.append(cohort.rank(packet, scores, own=own, database=database))
    return {name: (Ranks(tuple(a)), Ranks(tuple(b))) for name, (a, b) in found.items()}


def replaced(cohort: Cohort) -> Cohort:
    """The cases with each finding replaced by the first that it is a kind of."""
    up = ByRole(cohort.model.graph, Role.IS_A)

    def broader(identifier: str) -> str:
        graph = cohort.model.graph
        above = up.objects([graph.number(identifier)]).node
        return graph.at(int(above[0])).id if len(above) else identifier

    def blunt(packet: Packet) -> Packet:
        known = cohort.model.known(packet.patient)[0]
        present = tuple(dict.fromkeys(broader(i) for i in known.present))
        return replace(packet, patient=replace(known, present=present))

    return Cohort(cohort.model.graph, [blunt(p) for p in cohort.packets])


def _print(figures: Figures, kept: str = "") -> None:
    """One line a row: the four figures with, then without the case's own annotations; `kept` begins the kept names."""
    print(f"{'':34}  {'all annotations':^27}   {'without own':^27}")
    print(f"{'':34} " + "   ".join([f"{'top-1':>6} {'top-3':>6} {'top-10':>6} {'MRR':>6}"] * 2))
    for name, pair in figures.items():
        cells = [f"{r.top(1):6.3f} {r.top(3):6.3f} {r.top(10):6.3f} {r.reciprocal:6.3f}" for r in pair]
        print(f"{name:34} " + "   ".join(cells))
        for own, r in zip(("", " without own"), pair, strict=True):
            shares = {"top 1": r.top(1), "top 3": r.top(3), "top 10": r.top(10), "MRR": r.reciprocal}
            keep("diagnose", {f"{kept}{name.strip()}{own} {what}": share for what, share in shares.items()})
    first = next(iter(figures.values()))
    print("cases whose disease HPO does not describe: " + ", without own ".join(str(r.unranked) for r in first))
    keep("diagnose", {"not described": first[0].unranked, "not described without own": first[1].unranked})


def _print_pairs(cohort: Cohort, count: int) -> None:
    """How often the one disease of a case is found, and both of two, by scores of one disease and of two."""
    model, ok = cohort.model, cohort.model.of()

    def right(packet: Packet) -> int:
        place = cohort.right(packet, own=True)
        return place if place >= 0 and ok[place] else -1

    def ranks(patient: Patient, places: Sequence[int]) -> tuple[tuple[list[float], list[float]], set[int]]:
        told = model.presentation(model.known(patient)[0])
        alone = np.where(ok, model.scores(told), -np.inf)
        either, both = model.with_second(told, alone)
        first, second = ([rank(s, p) if p >= 0 else np.inf for p in places] for s in (alone, either))
        return (first, second), set(both)

    everyone = [(p, right(p)) for p in cohort.packets]
    own = {id(p): ranks(p.patient, [place]) for p, place in _progress(everyone, "cases")}
    for i, what in enumerate(("one disease alone", "with a second")):
        first = Ranks(tuple(found[i][0] for found, _ in own.values()))
        print(f"cases, {what}: top-1 {first.top(1):.3f}, top-3 {first.top(3):.3f}, top-10 {first.top(10):.3f}")
        keep("diagnose", {f"cases {what} top {k}": first.top(k) for k in (1, 3, 10)})
    doubled = float(np.mean([bool(both) for _, both in own.values()]))
    print(f"cases of which two are told: {doubled:.3f}")
    keep("diagnose", {"cases of two": doubled})
    for name, cases in (("all", everyone), ("diseases that HPO describes", [c for c in everyone if c[1] >= 0])):
        drawn = list(islice(_two(cases), count))
        found = [ranks(patient, places) for patient, places, _ in _progress(drawn, "pairs")]
        print(f"{count} pairs, {name}: both among the first")
        apart = [max(own[id(p)][0][0][0] for p in of) for *_, of in drawn]
        rows = {"one disease alone": [max(r[0]) for r, _ in found], "with a second": [max(r[1]) for r, _ in found]}
        for what, last in (rows | {"each patient by itself, a list each": apart}).items():
            two, ten = (float(np.mean(np.less_equal(last, k))) for k in (2, 10))
            print(f"  {what}: two {two:.3f}, ten {ten:.3f}")
            keep("diagnose", {f"pairs {name} {what} 2": two, f"pairs {name} {what} 10": ten})
        said = [(bool(both), both == set(places)) for (_, both), (_, places, _) in zip(found, drawn, strict=True)]
        told, right_ones = np.mean(said, axis=0).tolist()
        print(f"  two are told of {told:.3f}, the right ones of {right_ones:.3f}")
        keep("diagnose", {f"pairs {name} told": told, f"pairs {name} right ones": right_ones})


def _two(cases: Sequence[tuple[Packet, int]]) -> Iterator[tuple[Patient, list[int], list[Packet]]]:
    """Patients with two diseases, where these stand, and the cases; no two cases of one disease or of both sexes."""
    draw = random.Random(1)
    while True:
        two = draw.sample(cases, 2)
        one, other = (packet.patient for packet, _ in two)
        if two[0][0].disease == two[1][0].disease or {one.sex, other.sex} == {"female", "male"}:
            continue
        present = tuple(dict.fromkeys(one.present + other.present))
        absent = tuple(i for i in dict.fromkeys(one.absent + other.absent) if i not in present)
        age = max((age for age in (one.age, other.age) if age is not None), default=None)
        yield Patient(present, absent, one.sex or other.sex, age), [place for _, place in two], [p for p, _ in two]


def _time(model: DiagnosisEngine, cohort: Cohort) -> None:
    """Milliseconds a case, scoring alone and with the reasons of ten diseases."""
    known = [model.known(p.patient)[0] for p in cohort.packets[:300]]
    for what, work in (("scoring", lambda p: model.scores(model.presentation(p))), ("with reasons", model.diagnose)):
        times = []
        for patient in known:
            started = time.process_time()
            work(patient)
            times.append(1000 * (time.process_time() - started))
        print(f"{what}: {np.median(times):.1f} ms a case (median), {np.quantile(times, 0.9):.1f} ms (9 of 10), CPU")
        keep("diagnose", {f"{what} ms": float(np.median(times))})


if __name__ == "__main__":
    main()
