"""The evidence of each method under its presets and as it was before them: relevant rows, repeats, length.

    KGMED_DATA=DIR python bench/presets.py [--set genmedgpt|cmmlu|cmb] [--number N] [--method NAME] [--preset NAME]
        [--setting NAME=VALUE]

Questions: of GenMedGPT-5k the first 1,000 rows (dev), on EMCKG, with the data set's own entities; of CMMLU the six
subjects that MKG-Rank's test does not have, and of CMB-Exam its one part, both on CMeKG, with the names of the graph as
terms, as many as each paper takes. N of each are drawn (200). No language model is asked: no hypothesis, no sentences.

`before` = the preset `paper` of commit 58c4267, restored by settings. A row is relevant where a triple of it ends in
what the right answer names: the doctor's diseases, tests and drugs, or the entities of the right option. Columns: rows
a question; the share of rows that are relevant; of questions with such a row; the share of facts told before; tokens;
the shares of questions with a row that tells of a test and of a treatment; how often MKG-Rank asks for own knowledge.
`--setting` changes a setting of every preset that has it, such as alone=alone, so that one can be told from another.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from _data import data
from _figures import keep
from _recall import gold_ids

from kgmed.config import settings_of
from kgmed.evaluate.datasets import load
from kgmed.evaluate.datasets.questions import Consultation
from kgmed.graph import formats, library
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store
from kgmed.graph.vectors import compute
from kgmed.linking.by_model import locate_terms
from kgmed.linking.cascade import AGREEMENT
from kgmed.methods import hykge, kg_rank, mindmap, mkg_rank
from kgmed.models.base import Message, Reply
from kgmed.models.encoders import Remembered
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.records import Evidence, Mention, Query, Question, Role
from kgmed.registry import methods
from kgmed.steps.budget import tokens
from kgmed.steps.rank import BM25, Fragments, fact
from kgmed.toolkit import Toolkit, default_encoder

Makers = Mapping[str, Callable[[Toolkit], Pipeline]]


class Silent:
    """A model that says nothing, and counts how often it is asked."""

    name = "silent"

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """An empty reply."""
        self.asked += 1
        return Reply("")


@dataclass
class Tally:
    """What the evidence of a method is like, question by question."""

    questions: int = 0
    judged: int = 0  # questions whose right answer names something of the graph
    rows: int = 0
    judged_rows: int = 0
    relevant: int = 0
    reached: int = 0
    facts: int = 0
    repeats: int = 0
    tokens: int = 0
    recalled: int = 0
    roles: dict[Role, int] = field(default_factory=dict)

    def add(self, evidence: Sequence[Evidence], right: frozenset[str], recalled: int) -> None:
        """Count one question."""
        told = [fact(t) for e in evidence for t in e.triples]
        hits = [any({t.head.id, t.tail.id} & right for t in e.triples) for e in evidence]
        self.questions, self.rows = self.questions + 1, self.rows + len(evidence)
        self.facts, self.repeats = self.facts + len(told), self.repeats + len(told) - len(set(told))
        self.tokens += sum(tokens(e.text) for e in evidence)
        self.recalled += recalled > 0
        if right:
            self.judged, self.judged_rows = self.judged + 1, self.judged_rows + len(evidence)
            self.relevant, self.reached = self.relevant + sum(hits), self.reached + any(hits)
        for role in {t.relation.role for e in evidence for t in e.triples}:
            self.roles[role] = self.roles.get(role, 0) + 1

    def shares(self) -> dict[str, float]:
        """The share of relevant rows, and of questions with one."""
        reached = self.reached / max(self.judged, 1)
        return {"relevant": self.relevant / max(self.judged_rows, 1), "reached": reached}

    def line(self) -> str:
        """The figures, one a column."""
        n, roles = max(self.questions, 1), [self.roles.get(r, 0) for r in (Role.TESTS, Role.TREATS)]
        cells = [f"{self.rows / n:5.1f}", *(f"{s:8.3f}" for s in self.shares().values()),
                 f"{self.repeats / max(self.facts, 1):8.3f}", f"{self.tokens / n:8.0f}",
                 *(f"{r / n:6.2f}" for r in roles), f"{self.recalled / n:6.2f}"]  # fmt: skip
        return " ".join(cells)


def makers(name: str, given: Mapping[str, str]) -> Makers:
    """The pipelines of a method: before, and by preset, there with the settings that are given."""
    before = {
        "kg-rank": replace(kg_rank.PAPER, warnings=True),
        "mkg-rank": mkg_rank.SAFE,
        "mindmap": replace(mindmap.PAPER, relevance="cosine", warnings=True),
    }
    method = methods.get(name)
    ways: dict[str, Any] = {preset: settings_of(method, preset=preset, given=given) for preset in method.presets}
    found = {preset: partial(_made, name, settings) for preset, settings in ways.items()}
    return {"before": partial(_made, name, before[name]) if name in before else _hykge_before, **found}


def _made(name: str, settings: Any, kit: Toolkit) -> Pipeline:
    """The method with those settings; without a model where it does without."""
    free = replace(kit, llm=None) if name in ("kg-rank", "hykge") else kit
    made: Pipeline = methods.get(name).build(free, settings)
    return made


def _hykge_before(kit: Toolkit) -> Pipeline:
    """HyKGE when warnings stood beyond topK and nothing held patterns apart."""
    settings = replace(hykge.PAPER, agreement=AGREEMENT, alone="alone", unit="script")
    made = hykge.hykge(replace(kit, llm=None), settings=settings)
    return replace(made, rank=(BM25(200, over_hypothesis=True), Fragments(LexicalPairs(kit.encoder), settings.keep)))


MOST = {"kg-rank": (5, 0), "mkg-rank": (3, 1), "mindmap": (20, 4), "hykge": (99, 99)}  # terms of question, of an option


def terms(kit: Toolkit, name: str, question: Question, given: Sequence[str]) -> list[Mention]:
    """The terms that a method searches with: those given, or the graph's names in question and options."""
    of_question, of_option = MOST[name]
    if given:
        return locate_terms(question.text, list(given)[:of_question])
    found = list(kit.recognize(Query(question)))[:of_question]
    options = (kit.recognize(Query(Question(text)))[:of_option] for _, text in question.options)
    return [*found, *(replace(m, start=-1, end=-1) for some in options for m in some)]


def consulted(folder: Path, kit: Toolkit, number: int) -> Iterator[tuple[Question, list[str], frozenset[str]]]:
    """Patients' questions with their entities and what the doctor's answers name."""
    rows = (folder / "NER_chatgpt_first4000.json").read_text("utf-8").splitlines()[:1000]
    pattern = re.compile(r"^(.*?)\s*(?:<SEP>\s*)?The extracted entities are:?\s*(.*?)\s*(?:<END>|<EOS>)?\s*$", re.S)
    every = []
    for line, text in enumerate(rows, start=1):
        parts = [pattern.match(str(part).replace("<CLS>", "")) for part in json.loads(text).values()]
        if all(parts) and len(parts) == 2 and parts[0] and parts[1]:
            every.append((line, parts[0], parts[1]))
    for line, asked, said in every[:: max(1, len(every) // number)][:number]:
        named = [tuple(x.strip(" .") for x in part[2].split(",") if x.strip(" .")) for part in (asked, said)]
        gold = gold_ids(kit.graph, Consultation(line, asked[1], said[1], named[1]))
        yield Question(asked[1].strip(), language="en"), list(named[0]), gold


def examined(
    name: str, folder: Path, kit: Toolkit, number: int
) -> Iterator[tuple[Question, list[str], frozenset[str]]]:
    """Exam questions, with the entities of the right option."""
    paper = ("clinical_knowledge", "college_medicine", "professional_medicine")
    items = load("cmmlu-all" if name == "cmmlu" else name, folder, limit=0)
    items = [i for i in items if not i.question.id.startswith(paper)]
    for item in items[:: max(1, len(items) // number)][:number]:
        right = " ".join(text for letter, text in item.question.options if letter in item.gold.choices)
        yield item.question, [], frozenset(link.entity.id for link in kit.linked(right))


def main() -> None:
    """Ask, and print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=("genmedgpt", "cmmlu", "cmb"))
    parser.add_argument("--method", action="append", choices=tuple(MOST))
    parser.add_argument("--preset", action="append", choices=("before", "safe", "paper", "code"))
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--number", type=int, default=200)
    chosen = parser.parse_args()
    given = dict(text.split("=", 1) for text in chosen.setting)
    for name in chosen.set or ("genmedgpt", "cmmlu", "cmb"):
        with tempfile.TemporaryDirectory() as place:
            model, encoder = Silent(), Remembered(default_encoder(), most=1 << 19)  # 1 GB; presets share texts
            if name == "genmedgpt":
                source = formats.read("triples", data() / "genmedgpt5k" / "emckg_train.txt", name="emckg")
                build(source, Path(place) / "emckg")
                kit = Toolkit(open_store(Path(place) / "emckg"), model, encoder)
                compute(kit.graph, encoder)
                asked = list(consulted(data() / "genmedgpt5k", kit, chosen.number))
            else:
                kit = Toolkit(library.open_graph("cmekg"), model, encoder)
                asked = list(examined(name, data(), kit, chosen.number))
            print(f"\n{name}: {len(asked)} questions on {kit.graph.label}; encoder {encoder.name}")
            print(f"{'':18}  rows relevant reached  repeats   tokens  tests treat  recall")
            for method in chosen.method or MOST:
                for preset, made in makers(method, given).items():
                    if chosen.preset and preset not in chosen.preset:
                        continue
                    tally = measured(kit, model, method, made(kit), asked)
                    print(f"{method:9}{preset:8} {tally.line()}", flush=True)
                    if not given:
                        told = {f"{name} {method} {preset} {what}": share for what, share in tally.shares().items()}
                        keep("presets", told)


def measured(
    kit: Toolkit,
    model: Silent,
    method: str,
    pipeline: Pipeline,
    asked: Sequence[tuple[Question, list[str], frozenset[str]]],
) -> Tally:
    """The tally of a pipeline, up to its evidence."""
    tally = Tally()
    for question, given, right in asked:
        before, query = model.asked, Query(question)
        links = pipeline.link(terms(kit, method, question, given))
        evidence = [e for retrieve in pipeline.retrieve for e in retrieve(query, links)]
        for rank in pipeline.rank:
            evidence = rank(query, evidence)
        tally.add(evidence, right, model.asked - before)
    return tally


if __name__ == "__main__":
    main()
