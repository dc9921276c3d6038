"""`kgmed reward`: a scorer of diseases from labelled cases; it ranks patients with reasons, and rewards answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgmed.cli import show

if TYPE_CHECKING:
    from kgmed.evaluate.datasets.cases import CaseQuestion
    from kgmed.reward.cases import Split
    from kgmed.reward.criticality import WalkReason
    from kgmed.reward.graph_reward import KGReward
    from kgmed.reward.rlkgf import Explaining

app = typer.Typer(no_args_is_help=True)
Labelled = Annotated[Path, typer.Argument(help="Labelled cases, JSON Lines: disease, positive, negative, ... a line.")]
Scored = Annotated[str, typer.Option("--scorer", help="best, walk, or RLKGF's paper, code, code-gmd.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


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
    patients: Annotated[Path, typer.Argument(help="The patients, in the same format; they need no disease.")],
    scorer: Scored = "best",
    keep: Annotated[int, typer.Option("--keep", "-k", min=1, help="How many diseases.")] = 3,
    as_json: Json = False,
) -> None:
    """Rank the diseases for patients, and say which findings carried each."""
    from kgmed.evaluate.datasets import cases as case_files
    from kgmed.reward.cases import rank_diseases as ranked

    asked = list(case_files.case_patients(patients))
    fitted, _ = _fitted(cases, scorer)
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
    scorer: Scored = "best",
    shaping: Annotated[str, typer.Option(help="flat (as in RLKGF), rank or z.")] = "flat",
    as_json: Json = False,
) -> None:
    """Reward answers: the score of the one disease that each names; all are judged in one call."""
    from kgmed.evaluate.datasets import cases as case_files
    from kgmed.reward.graph_reward import tally

    asked = list(case_files.answers(answers))
    fitted, split = _fitted(cases, scorer)
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


def _fitted(cases: Path, scorer: str) -> "tuple[Explaining, Split]":
    """The scorer of that name on the train and validation cases of a file, and these."""
    from kgmed.evaluate.datasets import cases as case_files
    from kgmed.reward.rlkgf import scorer_fit as named

    fit = named(scorer)
    split = case_files.read_case_lines(cases)
    with show.progress(f"fitting {scorer} on {len(split.train) + len(split.validation)} cases", ""):
        return split.fitted(fit), split


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
