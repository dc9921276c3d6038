"""The scorers of RLKGF beside naive Bayes, logistic regression, overlap and the majority, on DXY, MZ, MZ-4 and MZ-10.

    KGMED_DATA=DIR python bench/rlkgf.py [--only SET ...] [--rows TEXT ...] [--seeds 5] [--table test|cv|both]
                                         [--no-networks] [--again]
    KGMED_DATA=DIR python bench/rlkgf.py --choose
    KGMED_DATA=DIR python bench/rlkgf.py --trained smollm2 [--steps 15] [--policies choice free]

The first prints the test table (each scorer fitted on train and validation, then told once on the closed test cases)
and the table of the cross-validation within train, on other divisions into folds than those that chose. --choose
prints, by cross-validation within train alone, what each number of the "best" scorer does when it is changed. Every
finished figure is kept in a file of the temporary folder, named by the content of the code, so a run that was broken
off goes on; --again begins anew.

--trained trains the policies on the labels of DXY (`kgmed train sft`), and tells their accuracy on the closed test
cases as training prints it and as `kgmed eval run` finds it in the folder that is left: they may differ in one case.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import _scorers as baselines
import xxhash
from _data import data
from _figures import keep
from _scorers import compare_over_folds, compare_predictors, report_on_test

from kgmed.evaluate.datasets import patients
from kgmed.evaluate.datasets.diagnosis import counted_graph
from kgmed.evaluate.diagnosing import cross_validated, mean
from kgmed.reward import loglinear
from kgmed.reward.cases import Fit, Split, folds
from kgmed.reward.loglinear import LogLinearSettings
from kgmed.reward.rlkgf import Recipe, RLKGFSettings, fit_with, preset

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("DXY", "MZ", "MZ-4", "MZ-10")
PAPER = {"DXY": 0.8252, "MZ": 0.6846}  # RLKGF, Table 2, "RLKGF Base"; MZ-4 and MZ-10 are not in the paper
FOLDS = 5
CHOOSING, TOLD = (0,), (10, 11, 12, 13, 14)  # divisions into folds: to choose on, and to report on


class Method(NamedTuple):
    """A row of the table."""

    name: str
    labels: str  # what it uses of the labels: nothing but counts, or more
    fit: Callable[[int], Fit[Any]]  # seed -> fit
    seeded: bool = False  # whether the seed changes anything


def graph(name: str, settings: RLKGFSettings, labels: str = "counts", *, seeded: bool = True) -> Method:
    """A row of RLKGF's scorer."""
    return Method(name, labels, lambda seed: fit_with(settings, seed=seed), seeded)


def network(name: str, recipe: Recipe) -> Method:
    """A row of the semantic half alone."""
    return graph(name, RLKGFSettings(mu=1.0, recipe=recipe), "labels" if recipe.target == "cases" else "counts")


def classifier(name: str, model: Any, see: Any) -> Method:
    """A row of a baseline."""
    return Method(name, "labels", lambda seed: baselines.classifying(model, see))


def learnt_mu(temperature: float, seed: int) -> Fit[Any]:
    """The mixture with mu learnt on a fifth of what it is given; the walk's temperature is the authors' for that."""
    settings = RLKGFSettings(mu=None, walk_temperature=0.1, network_temperature=temperature, recipe=Recipe())
    fit = fit_with(settings, seed=seed)

    def cut(train: Any, validation: Any) -> Any:
        return fit(*(next(folds(train, FOLDS, seed=seed)) if not validation else (train, validation)))

    return cut


METHODS = [
    Method("majority", "counts", lambda seed: baselines.majority),
    Method("overlap", "counts", lambda seed: baselines.overlap),
    graph("walk (paper: c .7, counts)", RLKGFSettings(recipe=None), seeded=False),
    graph("walk, c .3", RLKGFSettings(c=0.3, recipe=None), seeded=False),
    graph("walk, c .3, P(s|d)", RLKGFSettings(c=0.3, weights="symptom given disease", recipe=None), seeded=False),
    graph("walk, rows, product", RLKGFSettings(normalization="row", aggregate="product", recipe=None), seeded=False),
    network("GCN, Eq. 5 softmax, links", Recipe(z_activation="softmax")),
    network("GCN, links", Recipe()),
    network("GCN, cases", Recipe(target="cases")),
    network("GAT, links", Recipe(network="gat", relevance="attention")),
    network("GAT, links, cosine", Recipe(network="gat")),
    network("GAT, cases", Recipe(network="gat", relevance="attention", target="cases")),
    network("GATv2, links", Recipe(network="gatv2", relevance="attention")),
    graph("both (paper, mu .1)", preset("rlkgf")),
    graph("both (paper, GAT)", preset("rlkgf-gat")),
    graph("both (code, mu .1)", preset("code"), "labels"),
    Method("both (mu learnt, walk T .1)", "labels", partial(learnt_mu, 1.0), seeded=True),
    Method("both (mu learnt, all T .1)", "labels", partial(learnt_mu, 0.1), seeded=True),
    Method("best (log-linear walk)", "labels", lambda seed: loglinear.fit),
    classifier("Bernoulli NB", "bernoulli", "there"),
    classifier("Bernoulli NB, + denied", "bernoulli", "denied"),
    classifier("Bernoulli NB, all findings", "bernoulli", "all"),
    classifier("Bernoulli NB, same nodes", "bernoulli", "nodes"),
    classifier("multinomial NB", "multinomial", "there"),
    classifier("multinomial NB, all findings", "multinomial", "all"),
    classifier("logistic regression", "logistic", "there"),
    classifier("logistic regression, + denied", "logistic", "denied"),
    classifier("logistic regression, all", "logistic", "all"),
    classifier("logistic regression, nodes", "logistic", "nodes"),
    classifier("logistic tuned, denied", "tuned", "denied"),
    classifier("logistic tuned, nodes", "tuned", "nodes"),
]
RIVALS = [m.name for m in METHODS if "NB" in m.name or "logistic" in m.name]
BEST = "best (log-linear walk)"


class Kept:
    """Figures by key, in a file."""

    def __init__(self, *, again: bool) -> None:
        code = [Path(__file__), *sorted((ROOT / "src/kgmed/reward").glob("*.py"))]
        code += [ROOT / "src/kgmed/evaluate/datasets/cases.py", ROOT / "src/kgmed/evaluate/diagnosing.py"]
        digest = xxhash.xxh3_64_hexdigest(b"".join(p.read_bytes() for p in code if not p.name.startswith("pheno")))
        self.path = Path(tempfile.gettempdir()) / f"kgmed-rlkgf-{digest}.json"
        self.found: dict[str, Any] = {}
        if self.path.exists() and not again:
            self.found = json.loads(self.path.read_text("utf-8"))

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """The figure of the key, made where it is not there yet."""
        if key not in self.found:
            begin = time.perf_counter()
            self.found[key] = make()
            beside = self.path.with_suffix(".part")
            beside.write_text(json.dumps(self.found), "utf-8")
            beside.replace(self.path)
            print(f"  {key}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        return self.found[key]


def report(split: Split, method: Method, seed: int) -> list[bool]:
    """Which test cases are right."""
    return list(report_on_test(split, method.fit(seed)).right)


def seeds(method: Method, many: int) -> range:
    """The seeds to run; one where they change nothing."""
    return range(many if method.seeded else 1)


def cell(values: list[float], *, seeded: bool) -> str:
    """Mean and, where there are several seeds, standard error."""
    found = mean(values)
    return f"{found.mean:.4f} ±{found.error:.4f}" if seeded and found.n > 1 else f"{found.mean:.4f}        "


def told_table(kept: Kept, splits: list[Split], many: int) -> None:
    """Accuracy on the closed test cases."""
    right = {
        (s.name, m.name): [
            kept.get(f"test {s.name} | {m.name} | {i}", partial(report, s, m, i)) for i in seeds(m, many)
        ]
        for m in sorted(METHODS, key=lambda m: m.seeded)  # what trains a network comes last
        for s in splits
    }
    print(f"\nTest accuracy; ± = standard error over {many} seeds, none where no seed changes the scorer.")
    header(splits, [f"n = {len(s.test)}" for s in splits])
    for method in METHODS:
        columns = [[sum(r) / len(r) for r in right[s.name, method.name]] for s in splits]
        _keep("test", method, splits, columns)
        print(line(method, [cell(c, seeded=method.seeded) for c in columns]))
    print(f"{'the paper: RLKGF Base':31} {'':7}" + "".join(f"{PAPER.get(s.name, ''):<18}" for s in splits))
    shares = [sum(right[s.name, BEST][0]) / len(s.test) for s in splits]
    errors = [(p * (1 - p) / len(s.test)) ** 0.5 for p, s in zip(shares, splits, strict=True)]
    print(f"{'s.e. of best over cases':39}" + "".join(f"{e:<18.4f}" for e in errors))
    print("\nbest against each rival, test cases that only one of them has right, McNemar's exact p:")
    for rival in RIVALS:
        pairs = [compare_predictors(right[s.name, BEST][0], right[s.name, rival][0]) for s in splits]
        print(f"{rival:39}" + "".join(f"{f'{c.only_first}:{c.only_second} p {c.p:.2f}':<18}" for c in pairs))


def cv_table(kept: Kept, splits: list[Split]) -> None:
    """Accuracy by cross-validation within train and validation."""
    methods = [m for m in METHODS if not m.seeded]
    print(f"\n{FOLDS}-fold cross-validation within train; ± = standard error over {len(TOLD)} divisions into folds.")
    print("What trains a network is left out: nothing was chosen among them.")
    header(splits, [f"n = {len(s.train + s.validation)}" for s in splits])
    right = {(s.name, m.name): [crossed_once(kept, s, m, i) for i in TOLD] for s in splits for m in methods}
    for method in methods:
        columns = [[share(r) for r in right[s.name, method.name]] for s in splits]
        _keep("cv", method, splits, columns)
        print(line(method, [cell(c, seeded=True) for c in columns]), flush=True)
    print("\nbest less each rival in cross-validation, ± standard error over cases, p (two-sided):")
    for rival in RIVALS:
        pairs = [compare_over_folds(right[s.name, BEST], right[s.name, rival]) for s in splits]
        cells = (f"{f'{p.difference:+.4f} ±{p.error:.4f} p {p.p:.2f}':24}" for p in pairs)
        print(f"{rival:31}" + "".join(cells))


def _keep(table: str, method: Method, splits: list[Split], columns: list[list[float]]) -> None:
    """Keep the mean of each set and, where there are several values, its standard error."""
    for split, values in zip(splits, columns, strict=True):
        found, name = mean(values), f"{table} {method.name} {split.name}"
        keep("rlkgf", {name: found.mean} | ({f"{name} error": found.error} if found.n > 1 else {}))


def crossed_once(kept: Kept, split: Split, method: Method, seed: int) -> list[bool]:
    """Which cases are right in one division into folds."""
    cases = split.train + split.validation
    key = f"cv {split.name} | {method.name} | {seed}"
    return list(kept.get(key, lambda: cross_validated(cases, method.fit(seed), k=FOLDS, seed=seed)))


def share(right: list[bool]) -> float:
    """The share that is right."""
    return sum(right) / len(right)


def header(splits: list[Split], sizes: list[str]) -> None:
    """The head of a table."""
    print(f"{'':31} {'uses':7}" + "".join(f"{s.name:18}" for s in splits))
    print(f"{'':39}" + "".join(f"{size:18}" for size in sizes))


def line(method: Method, cells: list[str]) -> str:
    """A row of a table."""
    return f"{method.name:31} {method.labels:7}" + "".join(f"{c:18}" for c in cells)


def variants() -> Iterator[LogLinearSettings]:
    """The settings of the best scorer, then each with one number changed."""
    base = LogLinearSettings()
    yield base
    grid = {
        "walk": (0.0, 0.15),
        "ridge": (0.05, 0.2),
        "spoken": (0.0, 1.0),
    }
    for name, values in grid.items():
        yield from (replace(base, **{name: v}) for v in values if v != getattr(base, name))


def choose(kept: Kept, splits: list[Split]) -> None:
    """The cross-validated accuracy of each variant of the best scorer, and each set under the choice of the others."""
    print("c    smooth walk ridge spoken weight  mean    " + "".join(f"{s.name:8}" for s in splits))
    found: dict[str, list[float]] = {}
    for v in variants():
        method = variant(v)
        found[method.name] = [mean([share(crossed_once(kept, s, method, i)) for i in CHOOSING]).mean for s in splits]
        numbers = f"{v.c:<5}{v.smooth:<7}{v.walk:<5}{v.ridge:<6}{v.spoken:<7}{v.weight:<8}"
        shares = found[method.name]
        print(numbers + f"{sum(shares) / len(shares):.4f}  " + "".join(f"{x:<8.4f}" for x in shares), flush=True)
    print("\neach set with the numbers that the others would choose, on divisions that chose nothing:")
    for i, split in enumerate(splits):
        v = max(variants(), key=lambda v: sum(found[variant(v).name]) - found[variant(v).name][i])
        told = mean([share(crossed_once(kept, split, variant(v), seed)) for seed in TOLD])
        print(f"{split.name:8}{told.mean:.4f} ±{told.error:.4f}  {v}", flush=True)


def variant(v: LogLinearSettings) -> Method:
    """The best scorer with these numbers."""
    name = BEST if v == LogLinearSettings() else f"best {v}"
    return Method(name, "labels", lambda seed: partial(loglinear.fit, settings=v))


def trained(model: str, steps: int, policies: list[str]) -> None:
    """What policies are worth on the test cases of DXY, told by training and by asking what it leaves."""
    folder = Path(tempfile.gettempdir()) / f"kgmed-rlkgf-trained-{Path(model).name}-{steps}"
    graph = counted_graph(patients("dxy", data()))
    print(f"DXY, {model}, {steps} steps on labels; accuracy on the closed test cases\npolicy  training  asking  apart")
    for policy in policies:
        out = folder / policy
        train = ("train", "sft", "DXY", "--model", model, "--policy", policy, "--steps", steps, "--out", out)
        ask = ("--set", "dxy-questions", "--llm", f"hf/{out / 'model'}", "-m", "rlkgf-prompt", "-g", graph)
        told = kgmed(*train)["test"]
        kgmed("eval", "run", out / "asked", *ask)
        scores = kgmed("eval", "score", out / "asked")["scores"]
        asked = next(row["mean"]["mean"] for row in scores if row["metric"] == "accuracy")
        cases = round(abs(told["accuracy"] - asked) * told["cases"])
        print(f"{policy:8}{told['accuracy']:<10.3f}{asked:<8.3f}{cases} of {told['cases']} cases", flush=True)


def kgmed(*words: object) -> Any:
    """What a command of kgmed tells."""
    asked = [sys.executable, "-m", "kgmed", *map(str, words), "--data", str(data()), "--json"]
    return json.loads(subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(NAMES), metavar="SET")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", choices=("test", "cv", "both"), default="both")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--no-networks", action="store_true", help="leave out what trains a network")
    parser.add_argument("--rows", nargs="*", default=[""], help="only rows whose names hold one of these, beside best")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--trained", metavar="MODEL", default="", help="train policies and ask them")
    parser.add_argument("--steps", type=int, default=15, help="of that training")
    parser.add_argument("--policies", nargs="*", default=["choice", "free"], help="that are trained")
    asked = parser.parse_args()
    if asked.trained:
        trained(asked.trained, asked.steps, asked.policies)
        return
    splits = [patients(name, data()) for name in asked.only]
    kept = Kept(again=asked.again)
    METHODS[:] = [m for m in METHODS if m.name == BEST or any(text in m.name for text in asked.rows)]
    RIVALS[:] = [name for name in RIVALS if name in {m.name for m in METHODS}]
    if asked.no_networks:
        METHODS[:] = [m for m in METHODS if not m.seeded]
    if asked.choose:
        choose(kept, splits)
        return
    if asked.table != "cv":
        told_table(kept, splits, asked.seeds)
    if asked.table != "test":
        cv_table(kept, splits)


if __name__ == "__main__":
    main()
