"""Recall of a doctor's answer entities in the evidence retrieved from the question alone (GenMedGPT-5k, EMCKG).

    KGMED_DATA=DIR python bench/evidence.py [--part dev|test|all] [--most N]
    KGMED_DATA=DIR python bench/evidence.py --exams [--part ...] [--graph cmekg,disease-kg]    # these must be built

The first 1,000 rows are `dev`, where settings were chosen; the figures to quote are those of `test`.
Micro recall is over all gold entities, its error by the bootstrap over questions; macro recall is the mean over
questions, with the error of that mean. Evidence is cut after a number of pieces, and after a number of tokens, since
pieces differ in size. The last table is paired: on the same questions, its error by the same bootstrap.

--exams asks which option of an exam question the evidence of HyKGE names most often, under `safe` and without a model:
100 questions each of CMB and CMMLU (by the hash of their ids) of which the right option and all others but one are
names in CMeKG. Every other one is `dev`, where the ranking was chosen. Chance is one in as many as there are options.
The last line tells what the graph holds at all: how often the right option is joined by a path of two steps or less to
anything that the question names, and how often to more of that than any other option.
--graph names what is asked, the paper's two graphs as one for instance; the questions stay those that CMeKG has.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import mean

from _data import data
from _figures import keep
from _recall import compare

from kgmed.evaluate.datasets import load
from kgmed.evaluate.datasets.questions import consultations
from kgmed.evaluate.items import Item
from kgmed.graph import formats, library
from kgmed.graph.base import LocalGraph
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.vectors import compute
from kgmed.methods.hykge import hykge
from kgmed.records import Run
from kgmed.toolkit import Toolkit

DEV = 1000


def main() -> None:
    """Build EMCKG in a temporary folder and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=("dev", "test", "all"), default="test")
    options.add_argument("--most", type=int, default=0, help="rows at most; 0 = all")
    options.add_argument("--exams", action="store_true", help="which option of an exam question is named most often")
    options.add_argument("--graph", default="cmekg", help="of --exams: one, or several as one with commas between")
    chosen = options.parse_args()
    if chosen.exams:
        _exams(chosen.part, chosen.most, chosen.graph.split(","))
        return
    folder = data() / "genmedgpt5k"
    every = list(consultations(folder / "NER_chatgpt_first4000.json"))
    part = {"dev": every[:DEV], "test": every[DEV:], "all": every}[chosen.part]
    part = part[: chosen.most or None]
    with tempfile.TemporaryDirectory() as place:
        build(formats.read("triples", folder / "emckg_train.txt", name="emckg"), Path(place) / "emckg")
        toolkit = Toolkit(open_store(Path(place) / "emckg"))
        compute(toolkit.graph, toolkit.encoder)
        scores, empty = compare(toolkit, part)
    first = next(iter(scores.values()))
    print(f"part {chosen.part}: {len(part)} rows, {empty} without gold; encoder {toolkit.encoder.name}")
    print(f"{first.questions} questions, {first.wanted} gold entities; nothing linked in {first.unlinked} of them")
    cuts = {k: f"@{k}" for k in first.ks} | {n: f"{n} tokens" for n in first.tokens}
    micro = {name: [(s.micro(k), s.micro_error(k)) for k in cuts] for name, s in scores.items()}
    macro = {name: [(s.macro(k), s.macro_error(k)) for k in cuts] for name, s in scores.items()}
    figures: dict[str, float] = {"questions": first.questions, "rows": len(part), "unlinked": first.unlinked}
    for kind, rows in (("micro", micro), ("macro", macro)):
        _table(f"{kind} recall", cuts, rows)
        for name, cells in rows.items():
            for cut, (value, error) in zip(cuts.values(), cells, strict=True):
                figures |= {f"{kind} {name} {cut}": value, f"{kind} {name} {cut} error": error}
    if chosen.part == "test" and not chosen.most:
        keep("evidence", figures)
    others = {name: [first.lead(s, k) for k in cuts] for name, s in scores.items() if s is not first}
    _table("kgmed facts less", cuts, others)


def _table(title: str, cuts: dict[int, str], rows: dict[str, list[tuple[float, float]]]) -> None:
    """Print figures with their standard errors, a row a method."""
    print(f"\n{title:20} " + " ".join(f"{cut:>15}" for cut in cuts.values()))
    for name, cells in rows.items():
        print(f"{name:20} " + " ".join(f"{value:.3f} (±{error:.3f})".rjust(15) for value, error in cells))


def _exams(part: str, most: int, names: Sequence[str]) -> None:
    """Print how often the right option is named by strictly more pieces than any other."""
    graph = library.together(names) if len(names) > 1 else library.load(names[0])
    toolkit = Toolkit(graph)
    made, cmekg = hykge(toolkit), library.load("cmekg")
    drawn = [item for name in ("cmb", "cmmlu") for item in _known(load(name, data()), cmekg)[:100]]
    asked = {"dev": drawn[::2], "test": drawn[1::2], "all": drawn}[part][: most or None]
    counts = [_named(made(item.question), graph) for item in asked]
    right = [(found, found[item.gold.choices[0]]) for item, found in zip(asked, counts, strict=True)]
    strictly = [_leads(found, own) for found, own in right]
    share, chance = mean(strictly), mean(1 / len(found) for found in counts)
    error = (share * (1 - share) / len(asked)) ** 0.5
    print(f"part {part}: {len(asked)} questions, {graph.label}")
    print(f"right option strictly most often named: {share:.3f} (±{error:.3f}), chance {chance:.3f}")
    wrong = mean((sum(found.values()) - own) / (len(found) - 1) for found, own in right)
    print(f"pieces that name it: {mean(own for _, own in right):.2f}, that name a wrong one: {wrong:.2f}")
    none = mean(not own for _, own in right)
    print(f"no piece names it: {none:.3f}")
    joined = [(ties, ties[item.gold.choices[0]]) for item in asked if (ties := _joined(item, toolkit))]
    leading = mean(_leads(ties, own) for ties, own in joined)
    reached = mean(own > 0 for _, own in joined)
    print(f"joined to what the question names: {reached:.3f}, most often: {leading:.3f}")
    row = {"": share, "error": error, "chance": chance, "none": none, "joined": reached, "leading": leading}
    keep("evidence", {f"exams {','.join(names)} {part} {what}": figure for what, figure in row.items()})


def _leads(counts: dict[str, int], own: int) -> bool:
    """Whether a count is above all others."""
    return own == max(counts.values()) and [*counts.values()].count(own) == 1


def _joined(item: Item, toolkit: Toolkit) -> dict[str, int]:
    """How many of the entities that the question names without its options lie within two steps of each option."""
    asked = {link.entity.id for link in toolkit.linked(item.question.text)}
    around = [_near(toolkit.graph, {entity}) for entity in asked]
    options = {letter: {m.entity.id for m in toolkit.graph.lookup(text)} for letter, text in item.question.options}
    return {letter: sum(bool(_near(toolkit.graph, own) & of) for of in around) for letter, own in options.items()}


def _near(graph: LocalGraph, entities: set[str]) -> set[str]:
    """The entities and their neighbours."""
    found = (t for entity in entities for t in graph.neighbours(entity, limit=1 << 20))
    return entities | {x.id for t in found for x in (t.head, t.tail)}


def _known(items: Iterable[Item], graph: Store) -> list[Item]:
    """The questions with one right option that is a name of the graph, as are all others but one, in a fixed order."""

    def known(item: Item) -> bool:
        there = [letter for letter, text in item.question.options if graph.lookup(text)]
        [right, *others] = item.gold.choices
        return not others and right in there and len(item.question.options) >= 4 and len(
            there) >= len(item.question.options) - 1  # fmt: skip

    return sorted(filter(known, items), key=lambda item: sha256(item.question.id.encode()).hexdigest())


def _named(run: Run, graph: Store) -> dict[str, int]:
    """How many pieces of evidence name each option, in words or by an entity of its name."""
    ends = [{x.id for t in e.triples for x in (t.head, t.tail)} for e in run.evidence]
    ids = {letter: {m.entity.id for m in graph.lookup(text)} for letter, text in run.query.question.options}
    return {
        letter: sum(text in e.text or bool(ids[letter] & of) for e, of in zip(run.evidence, ends, strict=True))
        for letter, text in run.query.question.options
    }


if __name__ == "__main__":
    main()
