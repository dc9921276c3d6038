"""`kgmed reward`: a scorer of diseases from labelled cases; it ranks patients with reasons, and rewards answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgmed.cli import show as show
from kgmed.errors import BadInput

if TYPE_CHECKING:
    from kgmed.evaluate.datasets.cases import CaseQuestion
    from kgmed.reward.cases import Case, CaseReport, Split
    from kgmed.reward.criticality import WalkReason
    from kgmed.reward.graph_reward import KGReward
    from kgmed.reward.rlkgf import Explaining, ScorerChoice

app = typer.Typer(no_args_is_help=True)
Labelled = Annotated[str, typer.Argument(help="DXY, MZ, MZ-4, MZ-10 or DDXPlus (with --data), or a .jsonl file.")]
Data = Annotated[Path | None, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]

# What `kgmed train rlkgf` shares: which scorer, and its settings.
Scored = Annotated[
    str,
    typer.Option(
        "--scorer", help="best (ours), gatv2 (ours); rlkgf, walk, gcn, gat, rlkgf-gat, code, code-gmd: RLKGF."
    ),
]
Mu = Annotated[str, typer.Option("--mu", help="Weight of the network against the walk: 0 to 1, or learn.")]
Restart = Annotated[float | None, typer.Option("--restart", help="Restart probability of the walk; the paper has .3.")]
Normalize = Annotated[str | None, typer.Option("--normalize", help="The walk's matrix: column, symmetric or row.")]
Aggregate = Annotated[str | None, typer.Option("--aggregate", help="Over the symptoms: mean, sum, max or product.")]
Temperature = Annotated[float | None, typer.Option("--temperature", help="Temperature of both halves' softmax.")]
NetworkSeed = Annotated[int, typer.Option("--seed", help="Seed of the network.")]


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A disease for a patient: its score and what carried it."""

    disease: str
    score: float
    reasons: "tuple[WalkReason, ...]"


@dataclass(frozen=True, slots=True)
class Rewarded:
    """An answer: its reward (None = cannot judge), what it names, and what carried that disease."""

    answer: str
    reward: float | None
    outcome: str
    disease: str
    reasons: "tuple[WalkReason, ...]"


@app.callback()
def reward() -> None:
    """Score diagnoses by a graph of diseases and symptoms, counted from labelled cases."""


@app.command()
def rank(
    cases: Labelled,
    patients: Annotated[
        Path | None, typer.Argument(help="Patients in a .jsonl file; default: the test cases.")
    ] = None,
    data: Data = None, scorer: Scored = "best", mu: Mu = "", restart: Restart = None, normalize: Normalize = None,
    aggregate: Aggregate = None, temperature: Temperature = None, seed: NetworkSeed = 0,
    keep: Annotated[int, typer.Option("--keep", "-k", min=1, help="How many diseases.")] = 3,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Rank the diseases for patients and say which findings carried each; or print the accuracy on the test cases."""
    from kgmed.evaluate.datasets import cases as case_files
    from kgmed.reward.cases import best_disease
    from kgmed.reward.cases import rank_diseases as ranked

    choice = scorer_choice(scorer, mu, restart, normalize, aggregate, temperature, seed)
    asked = list(case_files.case_patients(patients)) if patients else []
    split = split_of(cases, data)
    fitted = _fitted(split, choice)
    if patients is None:
        _tell(split.test.report(best_disease(fitted)), as_json=as_json)
        return
    found = [
        (case.id, [NamedScorer(d, score, fitted.reasons(case, d)) for d, score in several])
        for case, several in zip(asked, ranked(fitted, asked, keep=keep), strict=True)
    ]
    if as_json:
        show.data([{"id": name, "ranked": several} for name, several in found])
        return
    rows = [
        (name, place, n.disease, f"{n.score:.4f}", _said(n.reasons))
        for name, several in found
        for place, n in enumerate(several, start=1)
    ]
    show.table(("id", "place", "disease", "score", "because"), rows)


@app.command()
def score(
    cases: Labelled,
    answers: Annotated[Path, typer.Option(help='JSON Lines: {"question": "fever, no rash", "answer": "flu"}.')],
    data: Data = None, scorer: Scored = "best", mu: Mu = "", restart: Restart = None, normalize: Normalize = None,
    aggregate: Aggregate = None, temperature: Temperature = None, seed: NetworkSeed = 0,
    shaping: Annotated[str, typer.Option(help="flat (as in RLKGF), rank or z.")] = "flat",
    as_json: Json = False,
) -> None:  # fmt: skip
    """Reward answers: the score of the one disease that each names; all are judged in one call."""
    from kgmed.evaluate.datasets import cases as case_files
    from kgmed.reward.graph_reward import tally

    choice = scorer_choice(scorer, mu, restart, normalize, aggregate, temperature, seed)
    asked = list(case_files.answers(answers))
    split = split_of(cases, data)
    fitted = _fitted(split, choice)
    judge = _judge(fitted, split, asked, shaping)
    judged = judge.judge([a.question for a in asked], [a.answer for a in asked])
    counts = tally(judged)
    rows = []
    for one, j in zip(asked, judged, strict=True):
        case = judge.case_of(one.question)
        reasons = fitted.reasons(case, j.disease) if case and j.disease in fitted.diseases else ()
        rows.append(Rewarded(one.answer, j.reward, j.outcome.value, j.disease, reasons))
    if as_json:
        show.data({"answers": rows, "outcomes": counts})
        return
    shown = [("-" if r.reward is None else f"{r.reward:.4f}", r.outcome, r.disease, _said(r.reasons)) for r in rows]
    show.table(("reward", "outcome", "disease", "because"), shown)


@app.command()
def graph(
    cases: Labelled,
    name: Annotated[str, typer.Argument(help="The graph's name; default: mz-cases for MZ.")] = "",
    data: Data = None,
    english: Annotated[bool, typer.Option("--english", help="Names in English; of DXY alone.")] = False,
    as_json: Json = False,
) -> None:
    """Build the graph that the train cases count, for methods to be asked on: kgmed eval run ... --graph NAME."""
    from kgmed.evaluate.datasets.diagnosis import counted_graph
    from kgmed.graph import library

    made = counted_graph(split_of(cases, data), called=name, english=english)
    built = library.load(made)
    told = {"graph": made, "label": built.label, "triples": built.adjacency.edges}
    if as_json:
        show.data(told)
        return
    show.lines([f"{told['label']}: {told['triples']} triples (disease, causes, symptom)"])


@app.command()
def readings(
    cases: Labelled,
    data: Data = None,
    restart: Restart = None,
    divisions: Annotated[int, typer.Option(help="Divisions into five folds.", min=1)] = 5,
    as_json: Json = False,
) -> None:
    """Compare the readings of RLKGF's walk by cross-validation within train, and test the best one."""
    from kgmed.evaluate.diagnosing import cross_validated, mean
    from kgmed.reward.cases import best_disease
    from kgmed.reward.rlkgf import READINGS, ScorerChoice

    split = split_of(cases, data)
    every, found = split.train + split.validation, []
    for normalize, aggregate in READINGS:
        choice = ScorerChoice(name="walk", restart=restart, normalization=normalize, aggregate=aggregate)
        right = [cross_validated(every, choice.fit, k=5, seed=seed) for seed in range(divisions)]
        found.append((choice, mean([sum(r) / len(r) for r in right])))
    best, _ = max(found, key=lambda reading: reading[1].mean)
    report = split.test.report(best_disease(split.fitted(best.fit)))
    if as_json:
        told = [{"scorer": choice.told(), "accuracy": m.mean, "error": m.error} for choice, m in found]
        show.data({"readings": told, "chosen": best.told(), "test": _counted(report)})
        return
    shown = [(c.normalization, c.aggregate, f"{m.mean:.4f}", f"{m.error:.4f}") for c, m in found]
    show.table(("normalize", "aggregate", f"accuracy in train (n = {len(every)})", "error"), shown)
    show.lines([f"chosen: --scorer {best.told()}; it alone is told by the test cases:"])
    _tell(report, as_json=False)


@app.command()
def shares(
    cases: Labelled,
    data: Data = None, scorer: Scored = "rlkgf", mu: Mu = "", restart: Restart = None, normalize: Normalize = None,
    aggregate: Aggregate = None, temperature: Temperature = None, seed: NetworkSeed = 0, as_json: Json = False,
) -> None:  # fmt: skip
    """Tell what the right disease and the strongest other get as diseases grow in number, by cross-validation."""
    from kgmed.evaluate.diagnosing import shares_by_diseases

    choice = scorer_choice(scorer, mu, restart, normalize, aggregate, temperature, seed)
    split = split_of(cases, data)
    found = shares_by_diseases(split.train + split.validation, choice.fit)
    if as_json:
        show.data({"scorer": choice.told(), "shares": found})
        return
    rows = [
        (f.diseases, f.cases, f"{1 / f.diseases:.4f}", f"{f.right:.4f}", f"{f.other:.4f}",
         f"{f.gap.mean:.4f}", f"{f.gap.error:.4f}") for f in found
    ]  # fmt: skip
    show.table(("diseases", "cases", "even share", "right", "strongest other", "gap", "error"), rows)


def _tell(report: "CaseReport", *, as_json: bool) -> None:
    """Print how a scorer does on test cases, in both ways of counting."""
    counted = _counted(report)
    if as_json:
        show.data(counted)
        return
    rows = [
        (name, c["cases"], c["right"], c["unjudged"], f"{c['accuracy']:.4f}", f"{c['error']:.4f}")
        for name, c in counted.items()
    ]
    show.table(("test cases", "cases", "right", "unjudged", "accuracy", "error"), rows)


def _counted(report: "CaseReport") -> dict[str, dict[str, float]]:
    """The figures of all cases, and of those with an explicit symptom as the paper counts."""
    parts = {"all": report, "with an explicit symptom": report.explicit}
    return {
        name: {"cases": r.n, "right": sum(r.right), "unjudged": r.unjudged, "accuracy": r.accuracy, "error": r.error}
        for name, r in parts.items()
    }


def scorer_choice(
    scorer: str, mu: str, restart: float | None, normalize: str | None, aggregate: str | None,
    temperature: float | None, seed: int,
) -> "ScorerChoice":  # fmt: skip
    """The scorer that the options name, checked; raises `UnknownName`, `BadInput`."""
    from kgmed.reward.rlkgf import ScorerChoice

    choice = ScorerChoice(
        name=scorer, mu=mu, restart=restart, normalization=normalize, aggregate=aggregate,
        temperature=temperature, seed=seed,
    )  # fmt: skip
    _ = choice.fit
    return choice


def split_of(cases: str, data: Path | None) -> "Split":
    """The cases that are named: a file, or a set of the folder of data sets."""
    from kgmed.evaluate.datasets import patients
    from kgmed.evaluate.datasets.cases import GOALS, read_case_lines, read_goals
    from kgmed.language.text import has_cjk

    if "://" in cases:  # it may hold a password, and is not repeated
        more = "a graph's own diseases are ranked by kgmed diagnose --graph ADDRESS"
        raise BadInput(
            f"a reward is counted from labelled cases, not from a graph: name a .jsonl file or MZ, DXY; {more}"
        )
    if Path(cases).suffix or Path(cases).is_file():
        found = (read_goals if Path(cases).suffix in GOALS else read_case_lines)(Path(cases))
        return replace(found, language="zh" if has_cjk("".join(found.diseases)) else "en")
    if data is None:
        raise BadInput("name the folder of data sets: --data DIR, or KGMED_DATA")
    found = patients(cases, data)
    show.warn([f"left out of {found.name}: {told}" for told in found.dropped])
    return found


def fitted_on(choice: "ScorerChoice", train: "tuple[Case, ...]", validation: "tuple[Case, ...]") -> "Explaining":
    """The scorer on the cases of both; a mu that is learnt is told."""
    from kgmed.reward.rlkgf import LEARN, Mixed

    with show.progress(f"fitting {choice.told()} on {len(train) + len(validation)} cases", ""):
        fitted = choice.fit(train, validation)
    if choice.mu == LEARN and isinstance(fitted, Mixed):
        show.warn([f"mu learnt on {len(validation)} cases: {fitted.mu:.2f}"])
    return fitted


def _fitted(split: "Split", choice: "ScorerChoice") -> "Explaining":
    return split.fitted(lambda train, validation: fitted_on(choice, train, validation))


def _judge(scorer: "Explaining", split: "Split", asked: "Sequence[CaseQuestion]", shaping: str) -> "KGReward":
    """The reward of answers to these questions; those given as findings need no reading."""
    from kgmed.reward.cases import NamesIn, case_in
    from kgmed.reward.graph_reward import KGReward

    read = case_in(NamesIn({s: [] for s in split.symptoms}))
    given = {a.question: a.case for a in asked if a.case}
    diseases = NamesIn({d: [] for d in scorer.diseases})
    return KGReward(scorer, diseases, lambda text: given.get(text) or read(text), shaping)  # type: ignore[arg-type]


def _said(reasons: "Sequence[WalkReason]", most: int = 5) -> str:
    """The weightiest reasons in words: what a finding adds, and the count of the edge."""
    told = []
    for r in reasons[:most]:
        count = dict(r.triple.support[0].qualifiers).get("count", "") if r.triple else ""
        told.append(f"{'no ' if r.denied else ''}{r.symptom} {r.share:+.2f}" + (f" (seen {count})" if count else ""))
    more = [f"and {len(reasons) - most} more"] if len(reasons) > most else []
    return "; ".join([*told, *more])
