"""Published rare cases: the diagnoses of a strong model, those of the graph, and both lists side by side.

    KGMED_DATA=... python bench/diagnose_with_model.py [--cases 100] [--model openai/NAME]

The model is told sex, age and findings by name, and lists ten diseases; what is not recorded yet is asked of --model. A
name of its list counts for every disease that HPO has under it, numbered forms included. "side by side" = the two lists
in turn, the graph's first: what a reader sees in two columns of five rows is its first ten. The cases are drawn by a
seed, one of each publication. HPO's annotations may stem from the very publication of a case: the second set of figures
leaves those out.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from _cohort import Cohort
from _data import data
from _figures import keep
from with_model import HERE, NotRecorded, Recorded

from kgmed.diagnose.engine import DiagnosisEngine, engine
from kgmed.diagnose.retrieve import one_name
from kgmed.disk import data_folder
from kgmed.evaluate.datasets.cases import Packet, packets
from kgmed.graph import library
from kgmed.graph.base import LocalGraph, names_of
from kgmed.models.asking import strings
from kgmed.models.base import LLM, Message
from kgmed.models.named import llm_from

KS = (1, 3, 5, 10)
_ASKED = (
    "You are a clinical geneticist. List the ten rare diseases that fit this patient best, the most likely first, by "
    'their usual English names, as JSON and nothing else: {"diseases": ["...", "..."]}'
)


def drawn(number: int) -> list[Packet]:
    """Cases drawn by a seed, one of each publication."""
    folder = data() / "phenopackets_dev"
    found = list(packets(next(folder.glob("phenopackets_dev.jsonl*"))))
    random.Random(11).shuffle(found)
    return list({p.reference: p for p in reversed(found)}.values())[:number]


def prompt(model: DiagnosisEngine, packet: Packet) -> list[Message]:
    """What the model is asked."""
    patient = model.known(packet.patient)[0]

    def names(ids: Sequence[str]) -> str:
        return ", ".join(model.graph.entity(i).name for i in ids)

    age = f"\nAge: {patient.age:.0f} years" if patient.age is not None else ""
    sex = f"\nSex: {patient.sex}" if patient.sex else ""
    absent = f"\nNot found: {names(patient.absent)}" if patient.absent else ""
    return [Message("system", _ASKED), Message("user", f"Findings: {names(patient.present)}{absent}{sex}{age}")]


def index(graph: LocalGraph) -> dict[str, set[str]]:
    """The diseases by each of their names, less the number of a series: Kabuki syndrome 1 is one of Kabuki syndrome."""
    found: dict[str, set[str]] = {}
    for node in graph.of_kind("disease").tolist():
        for name, _ in names_of(graph, node):
            found.setdefault(one_name(name, rare=True), set()).add(graph.at(node).id)
    return found


def by_name(names: Mapping[str, set[str]], said: Sequence[str]) -> Iterator[frozenset[str]]:
    """The diseases that each name of a list may mean; also without what stands in brackets or behind a comma."""
    for name in said:
        forms = (name, re.sub(r"\s*\([^)]*\)", "", name), name.partition(",")[0])
        yield frozenset(i for form in dict.fromkeys(forms) for i in names.get(one_name(form, rare=True), ()))


def place(said: Sequence[frozenset[str]], right: str) -> float:
    """The place of the right disease in the model's list; inf where it is not there."""
    return next((float(i) for i, ids in enumerate(said, 1) if right in ids), inf)


def main() -> None:
    """Print the shares of cases whose disease is among the first."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=100)
    options.add_argument("--model", default="")
    chosen = options.parse_args()
    report(drawn(chosen.cases), llm_from(chosen.model, folder=data_folder()) if chosen.model else None)


def report(cases: Sequence[Packet], llm: LLM | None) -> None:
    """Print the table."""
    graph = library.open_graph("hpo")
    said = Recorded(HERE / "diagnoses.jsonl", llm)
    known = index(graph)
    made = {}
    for p in cases:
        try:
            made[p] = list(by_name(known, strings(said(prompt(engine(graph), p)).text, "diseases")))
        except NotRecorded as problem:
            print(problem, file=sys.stderr)
    cases = [p for p in cases if p in made]
    if not cases:
        sys.exit("no case has a recorded reply")
    print(f"{len(cases)} cases, replies of {said.name}")
    cohort = Cohort(graph, cases)
    model = cohort.model
    for own in (True, False):
        ranks: dict[str, list[float]] = {"model alone": [], "graph": [], "side by side": []}
        for p in cases:
            scores = model.scores(model.presentation(model.known(p.patient)[0]))
            mine, theirs = cohort.rank(p, scores, own=own), place(made[p], p.disease)
            ranks["model alone"].append(theirs)
            ranks["graph"].append(mine)
            ranks["side by side"].append(min(2 * mine - 1, 2 * theirs))
        print("all annotations of HPO" if own else "without those that cite the case's publication")
        for name, found in ranks.items():
            shares = "  ".join(f"first {k}: {sum(r <= k for r in found) / len(found):.2f}" for k in KS)
            print(f"  {name:14}{shares}")
            keep("diagnose_with_model", {f"{name} {k} {own}": sum(r <= k for r in found) / len(found) for k in KS})


if __name__ == "__main__":
    main()
