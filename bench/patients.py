"""Where does the disease of a real dialogue stand among all that an installed graph has? DXY and MZ-10, in Chinese.

    KGMED_DATA=DIR python bench/patients.py [--graph GRAPH] [--part train|test]

The symptoms that a patient told or confirmed, and those denied, are looked up by name; `Diagnosis` ranks every disease.
The patients are children, which stands in each query as it does on the site that the dialogues come from. A patient of
whom no symptom is in the graph counts as not found. Numbers were chosen on `train`; the figures to quote are of `test`.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from _data import data
from _figures import keep

from kgmed.diagnose.retrieve import Diagnosis
from kgmed.frame import Frame
from kgmed.graph import library
from kgmed.graph.base import LocalGraph
from kgmed.question.patient import patient_of
from kgmed.records import Link, Mention, Query, Question
from kgmed.steps.family import Family

SETS = {"DXY": "dxy/dxformer_{}_set.json", "MZ-10": "muzhi10_dxformer/mz10_{}_set.json"}
KS = (1, 3, 5, 10)
KEPT = 50  # diseases that are looked at


def main() -> None:
    """Print a line a set."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graph", default="hpo,cmekg,hpo-translations,icd10,who-eml")
    options.add_argument("--part", choices=("train", "test"), default="test")
    chosen = options.parse_args()
    graph = library.open_graph(chosen.graph)
    for name, file in SETS.items():
        ranks = list(_ranks(graph, data() / file.format(chosen.part)))
        among = {k: sum(0 < r <= k for r in ranks) / len(ranks) for k in KS}
        shares = "  ".join(f"first {k}: {share:.3f}" for k, share in among.items())
        keep("patients", {f"{name} {chosen.part} {k}": share for k, share in among.items()})
        mean = sum(1 / r for r in ranks if r) / len(ranks)
        print(f"{name} {chosen.part}: {len(ranks)} patients  {shares}  mean reciprocal rank: {mean:.3f}")


def _ranks(graph: LocalGraph, file: Path) -> Iterator[int]:
    """The rank of each patient's disease, 0 = not among those kept."""
    for row in json.loads(file.read_text(encoding="utf-8")):
        told = [(n, v == "0") for part in ("exp_sxs", "imp_sxs") for n, v in row[part].items() if v in ("0", "1")]
        text = "患儿，" + "，".join(f"没有{name}" if denied else name for name, denied in told)
        links = [link for name, denied in told for link in _links(graph, name, denied=denied)]
        right = {e.id for link in _links(graph, row["label"]) for e in Family(graph).twins(link)}
        found = Diagnosis(graph, keep=KEPT)(Query(Question(text), frame=Frame(patient=patient_of(text))), links)
        yield next((i for i, e in enumerate(found, start=1) if e.about[0].id in right), 0)


def _links(graph: LocalGraph, name: str, *, denied: bool = False) -> list[Link]:
    """The link to what a graph has under a name."""
    mention = Mention(name, name, 0, len(name), denied)
    return [Link(mention, match.entity, 1.0, "exact") for match in graph.lookup(name)[:1]]


if __name__ == "__main__":
    main()
