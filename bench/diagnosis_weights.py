"""Fits the weights of the diagnosis engine for patients at a doctor's; prints them and the ranks that they give.

    KGMED_DATA=DIR python bench/diagnosis_weights.py [--graph GRAPH] [--most 400]

Fitted on the train parts of DXY and MZ-10 (`most` patients of each, drawn by their number), the `dev` stories and the
`dev` questions of strangers that ask for a disease, by a conditional logit over the diseases that have one of the
findings; a disease with n cases counts as the root of n cases.
Ranks are printed of all; nothing is fitted on the test parts and the `held` stories and questions. The weights go into
src/kgmed/diagnose/weights.toml, table "patients". Those of case reports are fitted by bench/diagnose.py.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from _data import data
from _figures import keep
from numpy.typing import NDArray
from patients import SETS, _links
from stories import STORIES, _others

from kgmed.diagnose.engine import (
    FEATURES,
    SIGNS,
    ConditionalChoice,
    DiagnosisEngine,
    Presentation,
    engine,
    fit,
    tables,
    weights,
)
from kgmed.diagnose.findings import findings_of
from kgmed.diagnose.retrieve import count_fitting
from kgmed.frame import Patient
from kgmed.graph import library
from kgmed.graph.base import LocalGraph
from kgmed.question.patient import patient_of
from kgmed.records import Link, Query, Question
from kgmed.steps.family import Family
from kgmed.toolkit import Toolkit

Floats = NDArray[np.float64]
STRANGERS = STORIES.with_name("strangers.jsonl")
POOL = 300  # candidates of a case
ROUNDS = 2  # of choosing candidates by the weights and fitting
FITTED = ("exact", "narrower", "twin", "broader", "listed", "care", "shown", "befalling")
WITHOUT = ("twin", "broader", "care", "shown", "befalling")  # rows of the table: each of them left out
BY_HAND = {name: weights("patients")[name] for name in tables()["patients"]["by_hand"]}


@dataclass(frozen=True)
class Case:
    """The features of the diseases that have one of a patient's findings, and which of them are right."""

    group: str
    part: str
    features: Floats
    right: NDArray[np.bool_]
    disease: str


def main() -> None:
    """Fit and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph", default="hpo,cmekg,icd10,who-eml")
    options.add_argument("--most", type=int, default=400)
    chosen = options.parse_args()
    graph = library.open_graph(chosen.graph)
    cases = [*_stories(graph), *_patients(graph, chosen.most)]
    of = weights("patients")
    now = np.array([of[name] for name in FEATURES])
    _show("weights.toml", now, cases)
    rows = {"fitted": FITTED, **{f"without {n}": tuple(x for x in FITTED if x != n) for n in WITHOUT}}
    for name, use in rows.items():
        found = _fitted(use, now, cases)
        _show(name, found, cases)
        print("   ", ", ".join(f"{n} = {w:.2f}" for n, w in zip(FEATURES, found, strict=True) if n in use))


def _case(model: DiagnosisEngine, group: str, part: str, links: Sequence[Link], who: Patient, right: set[int]) -> Case:
    known = findings_of(model.graph, links)
    present = tuple(q for q, link in known.items() if not link.mention.negated)
    told = Presentation(
        present, tuple(q for q in known if q not in present), who.sex, who.age, None, frozenset(who.traits)
    )
    rows = np.flatnonzero(count_fitting(model, present))
    is_right = np.isin(model.world.diseases[rows], list(right))
    name = str(min(right, default=-1))
    return Case(group, part, model.features_of(told)[rows].astype(np.float32), is_right, name)


def _stories(graph: LocalGraph) -> Iterator[Case]:
    """The stories and the questions of strangers, their findings read from their words."""
    kit, model = Toolkit(graph), engine(graph)
    names = {d: _names(kit, d) for d in model.world.diseases.tolist()}
    for group, part, text, accepted in _told():
        question = Question(text)
        mentions, links = kit.understood(question)
        who = kit.understand(Query(question), mentions, links).patient
        right = {d for d, name in names.items() if any(one.casefold() in name for one in accepted)}
        yield _case(model, group, part, links, who, right)


def _told() -> Iterator[tuple[str, str, str, list[str]]]:
    """Of each story its group, its part, its text and the names of diseases that are accepted."""
    for row in map(json.loads, STORIES.read_text(encoding="utf-8").splitlines()):
        yield "stories", row["part"], row["story"], row["accept"]
    for row in map(json.loads, STRANGERS.read_text(encoding="utf-8").splitlines()):
        if row["intent"].startswith("ddx") and row["expect"] == "answer":
            yield row["intent"], row["part"], row["question"], [name for group in row["first"] for name in group]


def _names(kit: Toolkit, disease: int) -> str:
    entity = kit.graph.at(disease)
    return " | ".join([entity.name, *_others(kit, entity.id)]).casefold()


def _patients(graph: LocalGraph, most: int) -> Iterator[Case]:
    """The patients of the dialogues, children all."""
    child, model, family = patient_of("患儿"), engine(graph), Family(graph)
    for group, file in SETS.items():
        for part in ("train", "test"):
            rows = json.loads((data() / file.format(part)).read_text(encoding="utf-8"))
            for row in random.Random(1).sample(rows, min(most, len(rows))):
                told = [(n, v == "0") for p in ("exp_sxs", "imp_sxs") for n, v in row[p].items() if v in ("0", "1")]
                links = [link for name, denied in told for link in _links(graph, name, denied=denied)]
                right = {graph.number(e.id) for link in _links(graph, row["label"]) for e in family.twins(link)}
                yield _case(model, group, part, links, child, right)


def _fitted(use: Sequence[str], now: Floats, cases: Sequence[Case]) -> Floats:
    """The weights, fitted on what is not held out."""
    fixed = [None if name in use else BY_HAND.get(name, 0.0) for name in FEATURES]
    for _ in range(ROUNDS):
        now = fit(_choices(now, cases), signs=SIGNS, fixed=fixed)
    return now


def _choices(now: Floats, cases: Sequence[Case]) -> list[ConditionalChoice]:
    """The best candidates of each case by some weights, and the best of the right ones."""
    learnt = [case for case in cases if case.part in ("train", "dev") and case.right.any()]
    times = Counter(case.disease for case in learnt if case.part == "train")
    found = []
    for case in learnt:
        scores = case.features @ now
        right = np.flatnonzero(case.right)[scores[case.right].argmax()]
        best = np.argsort(-scores)[:POOL]
        rows = np.append(best[~case.right[best]], right)
        weight = max(times[case.disease], 1) ** -0.5
        found.append(ConditionalChoice(case.features[rows].astype(np.float64), len(rows) - 1, weight))
    return found


def _show(name: str, now: Floats, cases: Sequence[Case]) -> None:
    """The shares of right diseases among the first and the first five, and the mean reciprocal rank."""
    ranks: Mapping[tuple[str, str], list[int]] = defaultdict(list)
    for case in cases:
        scores = case.features @ now
        better = int((scores > scores[case.right].max()).sum()) if case.right.any() else -1
        ranks[case.group, case.part].append(better + 1)
    print(name)
    for (group, part), of in sorted(ranks.items()):
        first, five = (np.mean([0 < r <= k for r in of]) for k in (1, 5))
        mean = np.mean([1 / r if r else 0 for r in of])
        row = {"n": len(of), "first": float(first), "five": float(five), "MRR": float(mean)}
        keep("diagnosis_weights", {f"{name} {group} {part} {what}": figure for what, figure in row.items()})
        print(f"  {group:10} {part:6} {len(of):4}  {first:.3f}  {five:.3f}  {mean:.3f}")


if __name__ == "__main__":
    main()
