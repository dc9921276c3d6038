"""Recall of the linker's stages, alone and together, on held-out names and on XL-BEL. Prints one table.

    KGMED_DATA=... python bench/linking.py [--tune] [--only WORD] [--cases N] [--seed S] [--folder DIR]

--tune shows the train split instead: precision and recall of the fuzzy and the dense stage by threshold, on what the
surer stages leave over, and how often phrases of general questions (Mintaka) would be linked. Nothing is chosen on
the test split.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kgmed.evaluate.datasets import known_other
from kgmed.evaluate.linking import Concepts, Linking, LinkingCase, NameSplit, hold_out, mention, misspelled, recall
from kgmed.graph.base import Match, Scope
from kgmed.graph.formats import cmekg, obo
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.vectors import compute
from kgmed.language.text import has_cjk
from kgmed.linking.cascade import Bridge, Cascade, Misspelled, Reworded, Spelled
from kgmed.linking.dense import Dense
from kgmed.linking.recognise import phrases
from kgmed.models.encoders import UseEncoder

SYNONYMS = (Scope.EXACT, Scope.LAYPERSON, Scope.NARROW, Scope.RELATED)


def graph(split: NameSplit, folder: Path, name: str) -> Store:
    """The graph without the held-out names."""
    build(split.source, folder / name)
    return open_store(folder / name)


def stages(store: Store, *, whole: bool) -> dict[str, Linking]:
    """The stages by name; `whole` = with the vectors of all names."""
    names, encoder = Fuzzy(store), UseEncoder()
    if whole:
        started = time.perf_counter()
        vectors = compute(store, encoder)
        print(f"  {store.name}: {len(vectors)} vectors in {time.perf_counter() - started:.0f} s")
    return {
        "spelled": Spelled(store),
        "reworded": Reworded(store),
        "fuzzy, any score": Misspelled(store, names, at_least=0, at_least_cjk=0),
        "fuzzy": Misspelled(store, names),
        "dense, any score": Dense(store, encoder, names, at_least=-1, agreement=0, agreement_cjk=0),
        "dense, cosine >= .7": Dense(store, encoder, names, agreement=0, agreement_cjk=0),
        "dense, any agreement": Dense(store, encoder, names, at_least=-1, agreement=1e-9, agreement_cjk=1e-9),
        "dense": Dense(store, encoder, names, indexed=whole),
    }


def table(title: str, linkers: dict[str, Linking], cases: Sequence[LinkingCase]) -> None:
    """One row a linker."""
    print(f"\n{title}, n = {len(cases)}")
    print(f"  {'stage':28} recall@1 (s.e.)  recall@5  linked  precision  ms")
    for name, linker in linkers.items():
        started = time.perf_counter()
        r = recall(linker, cases)
        ms = 1000 * (time.perf_counter() - started) / max(len(cases), 1)
        shares = f"{r.first:.3f} ({r.error:.3f})    {r.five:.3f}     {r.linked:.3f}   {r.precision:.3f}"
        print(f"  {name:28} {shares}    {ms:6.2f}")


def together(found: dict[str, Linking]) -> Cascade:
    """All stages in turn."""
    stages = tuple(found[n] for n in ("spelled", "reworded", "fuzzy", "dense"))
    return Cascade(stages, nearest=found["dense, any score"])


def general(data: Path) -> list[LinkingCase]:
    """Phrases of questions that are not about medicine: none of them should be linked."""
    rows = json.loads((data / "mintaka" / "mintaka_dev.json").read_text(encoding="utf-8"))
    return [LinkingCase(p.surface, frozenset()) for row in rows for p in phrases(row["question"], [])]


def first(linker: Linking, cases: Sequence[LinkingCase]) -> list[list[Match]]:
    """The best match of each case, if any."""
    return linker.topk([mention(c.text) for c in cases], 1)


def tune(
    title: str, store: Store, cases: Sequence[LinkingCase], nil: Sequence[LinkingCase], *, whole: bool, seed: int
) -> None:
    """Precision and recall by threshold on the train split, on what the surer stages leave over."""
    found = stages(store, whole=whole)
    sure = Cascade((found["spelled"], found["reworded"]))
    left = [c for c, found_sure in zip(cases, first(sure, cases), strict=True) if not found_sure]
    print(
        f"\n{title}: {len(left)} of {len(cases)} train names are left over by the surer stages; {len(nil)} nil phrases"
    )
    slips = misspelled(store, 300, shortest=4 if store.language == "zh" else 8, seed=seed)[0]
    for name, asked in (("fuzzy, any score", slips), ("fuzzy, any score", left), ("dense, any agreement", left)):
        print(f"  {name} on {len(asked)} {'misspelled' if asked is slips else 'left over'} names")
        scored = [(m, c.right) for c, ms in zip(asked, first(found[name], asked), strict=True) for m in ms]
        wrong = [m.score for ms in first(found[name], nil) for m in ms]
        for at in [x / 100 for x in range(60, 100, 3)]:
            made = [m.entity.id in right for m, right in scored if m.score >= at]
            share = sum(s >= at for s in wrong) / max(len(nil), 1)
            print(f"  {name:18} >= {at:.2f}: recall {sum(made) / max(len(asked), 1):.3f} precision "
                  f"{sum(made) / max(len(made), 1):.3f} ({len(made)}), nil linked {share:.4f}")  # fmt: skip


SETS: dict[str, Callable[[int], NameSplit]] = {
    "HPO synonyms": lambda seed: hold_out(obo.read_hpo(), scopes=SYNONYMS, seed=seed),
    "CMeKG aliases": lambda seed: hold_out(cmekg.read_cmekg(), scopes=(Scope.EXACT,), keep=has_cjk, seed=seed),
    "CMeKG English names": lambda seed: hold_out(
        cmekg.read_cmekg(), scopes=(Scope.TRANSLATION,), keep=lambda text: not has_cjk(text), seed=seed
    ),
}


def main() -> None:
    """Print the table, or with --tune the train split."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--only", default="", help="the sets whose name holds this word")
    parser.add_argument("--seed", type=int, default=2026, help="which names are held out; 0 is what was tuned on")
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    data = Path(os.environ.get("KGMED_DATA", ""))
    for name in [n for n in SETS if options.only in n]:
        split = SETS[name](options.seed)
        store = graph(split, folder, name.replace(" ", "-").lower())
        if options.tune:
            nil = general(data)[::2] if os.environ.get("KGMED_DATA") else []
            tune(name, store, split.train[: options.cases], nil[: options.cases], whole=True, seed=options.seed)
            continue
        short = stages(store, whole=False)
        first = together(short)
        found = {**stages(store, whole=True)}
        together_short = {"dense, no index": short["dense"], "together, no index": first}
        linkers = {**found, **together_short, "together": together(found)}
        table(name, linkers, split.test[: options.cases])
        slips = misspelled(store, 300, shortest=4 if store.language == "zh" else 8, seed=options.seed)[1]
        table(f"{name}: preferred names with one slip", {n: linkers[n] for n in ("fuzzy", "together")}, slips)
        if os.environ.get("KGMED_DATA"):
            nil = general(data)[1::2][: options.cases]
            table(f"{name}: phrases of general questions (linked = wrong)", {"together": together(found)}, nil)
    if not options.tune and options.only in "XL-BEL" and os.environ.get("KGMED_DATA"):
        xlbel(data, folder)


def xlbel(data: Path, folder: Path) -> None:
    """XL-BEL against HPO, Chinese also over CMeKG's English names."""
    build(obo.read_hpo(), folder / "hpo")
    build(cmekg.read_cmekg(), folder / "cmekg")
    store, dictionary = open_store(folder / "hpo"), open_store(folder / "cmekg")
    found = stages(store, whole=True)
    lexical = Cascade((found["spelled"], found["reworded"], found["fuzzy"]))
    bridge = Bridge(dictionary, lexical)
    concepts = Concepts(store)
    for language in ("en", "ja", "zh"):
        pairs = known_other(f"xlbel-{language}", "linking", data).read(data)
        cases = [LinkingCase(text, right) for text, concept in pairs if (right := concepts([concept]))]
        linkers = {**found, "together": together(found)}
        if language == "zh":
            linkers |= {"bridge": bridge, "together + bridge": Cascade((found["spelled"], bridge, found["dense"]))}
        table(f"XL-BEL {language} in HPO", linkers, cases)


if __name__ == "__main__":
    main()
