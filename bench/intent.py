"""Is the intent of a question read right? The trained understander on questions that other people labelled.

    python bench/intent.py [--data DIR] [--only NAME ...] [--confusions]

Sets: bench/strangers.jsonl (dev and held), KUAKE-QIC (queries as typed, 10 labels), MedicationQA (its own types),
MeQSum (a long message and its one-sentence summary must get the same first intent). None of them was trained on, but
for rows 1 to 250 of MeQSum, which are left out here. Single questions are shown of the dev part of strangers alone.
Of MedicationQA the questions of one half were read to see what goes wrong; the other half is told apart. What can be
reached on MeQSum is told by `meqsum_read.tsv`: 60 of these rows, of which one reader wrote down the first intent of the
message without its summary, and later that of the summary without its message.

How the labels of each set fit ours stands in the tables below; where a label is coarser than our intents, each of
those that it covers by its own definition is right. Strangers: "relation" asks whether two things are tied in any
way, so it holds whether one helps and whether an illness is caught; "side_effects" holds "does it cause ...", a
relation of ours; "department" asks where to go, so it holds providers; "definition" asks for what a thing is or is
called; "other" is all that no other label names. KUAKE-QIC: the labels say what is spoken of and not how, so whether
two things are tied is 病情诊断 (is it that?), 病因分析 (is it from that?), 疾病表述 or 后果表述 (does it lead to
that?). MedicationQA: Information is anything general about a medicine (what it is, its class, uses, names,
ingredients, way of working), Usage any circumstance of its use, also what else may be taken or done beside it, Dose how
much there is to take or in a tablet, Side effects also whether it does one and whether it is safe, Action also which
medicines act so, Indication also what is given for an illness. A question that the sheet has under two types is right
by either.
"""

import argparse
import collections
import csv
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from _figures import keep

import kgmed
from kgmed.frame import Frame, Intent
from kgmed.records import Question

HERE = Path(__file__).parent
STRANGERS = {
    "treatment": "treatment uses", "symptoms": "symptoms", "causes": "causes risk_factors",
    "complications": "complications", "test": "tests", "gene": "genes", "inheritance": "inheritance",
    "department": "department provider", "comparison": "comparison", "definition": "overview names",
    "side_effects": "side_effects drug_causes relation",
    "contraindication": "contraindications safety", "interaction": "interactions", "dosage": "dosage dose_change",
    "ddx": "diagnosis", "relation": "relation helps contagion",
    "other": "prevention diet price provider other test_preparation test_meaning prognosis duration frequency contagion"
    " onset location types mechanism ingredients storage self_care names overdose drug_class",
}  # fmt: skip
KUAKE = {
    "治疗方案": "treatment helps",
    "病情诊断": "diagnosis causes relation",
    "病因分析": "causes risk_factors diagnosis relation",
    "注意事项": "diet self_care contraindications safety interactions prevention test_preparation",
    "功效作用": "uses helps side_effects drug_causes mechanism",
    "就医建议": "department provider tests",
    "医疗费用": "price",
    "指标解读": "test_meaning",
    "疾病表述": "symptoms prognosis contagion duration inheritance causes overview complications types onset location"
    " relation frequency",
    "后果表述": "complications side_effects risk_factors drug_causes overdose relation",
}
MEDICATION = {
    "Information": "overview drug_class uses ingredients names mechanism types", "Dose": "dosage ingredients",
    "Usage": "dosage self_care safety uses dose_change test_preparation interactions", "Side effects":
    "side_effects relation drug_causes safety",
    "Indication": "uses helps treatment", "Interaction": "interactions safety", "Appearance": "ingredients",
    "Action": "mechanism uses overview relation drug_causes", "Usage/time": "dosage duration dose_change frequency",
    "Stopping/tapering": "dose_change", "Ingredient": "ingredients drug_class", "Action/time": "mechanism duration",
    "Storage and disposal": "storage", "Comparison": "comparison", "Contraindication": "contraindications safety",
    "Overdose": "overdose", "Alternatives": "treatment comparison",
    "Usage/duration": "dosage duration dose_change mechanism",
    "Brand names": "names ingredients", "Combination": "interactions", "Dose/time": "dosage",
    "Forget a dose": "dose_change",
    "Stopping/side effects": "dose_change side_effects", "Side effects/time": "side_effects duration",
    "Time/side effects": "side_effects duration", "Time/duration": "duration mechanism", "Manufacturer": "provider",
    "Availability": "provider", "Dose/Potency": "dosage comparison", "Action/effectiveness": "helps mechanism",
    "Time/effectiveness": "mechanism duration", "Usage/special populations": "safety",
    "Long term consequences": "side_effects",
}  # fmt: skip
_REFUSED = (Intent.TREATMENT, Intent.HELPS, Intent.USES, Intent.DRUG_CAUSES)
_LATER = 250  # rows of MeQSum that may be trained on


Read = tuple[str, bool]  # the first intent and whether what must not be taken is asked for
Reader = Callable[[str], Read]


def trained(session: kgmed.Session) -> Reader:
    """The first intent as the stage `understand` reads it."""

    def read(text: str) -> Read:
        frame: Frame = session.understand(Question(text))
        first = frame.asks[0]
        return first.intent.value, first.negative and first.intent in _REFUSED

    return read


def shown(name: str, right: Mapping[str, Sequence[bool]], labels: Sequence[str]) -> None:
    """The accuracy of each reader on a set, and by label of the first."""
    figures = ", ".join(f"{reader} {sum(r) / max(len(r), 1):.3f}" for reader, r in right.items())
    print(f"{name}: {figures} of {len(labels)}", flush=True)
    first = next(iter(right.values()))
    keep("intent", {name: sum(first) / max(len(first), 1), f"{name} n": len(labels)})
    by: dict[str, list[bool]] = collections.defaultdict(list)
    for ok, label in zip(first, labels, strict=True):
        by[label].append(ok)
    print("   " + ", ".join(f"{label} {sum(r) / len(r):.2f}/{len(r)}" for label, r in sorted(by.items())))


def measured(
    name: str,
    readers: Mapping[str, Reader],
    texts: Sequence[str],
    gold: Sequence[str],
    fits: Mapping[str, str],
    *,
    tell: bool,
) -> None:
    """A set with labels: an intent is right that the label covers."""
    right: dict[str, list[bool]] = {}
    said: list[Read] = []
    for reader, read in readers.items():
        found = [read(text) for text in texts]
        right[reader] = [_fits(f, g, fits) for f, g in zip(found, gold, strict=True)]
        said = said or found
    shown(name, right, gold)
    for label in dict.fromkeys(gold) if tell else ():
        first = next(iter(right.values()))
        wrong = collections.Counter(s[0] for s, g, ok in zip(said, gold, first, strict=True) if g == label and not ok)
        print("     ", label, wrong.most_common(6))


def _fits(found: Read, label: str, fits: Mapping[str, str]) -> bool:
    intent, refused = found
    if refused and "contraindication" in fits:
        return label == "contraindication"
    return intent in fits[label].split()


def strangers(readers: Mapping[str, Reader], *, tell: bool) -> None:
    rows = [json.loads(line) for line in (HERE / "strangers.jsonl").open(encoding="utf-8")]
    for part in ("dev", "held"):
        mine = [r for r in rows if r["part"] == part]
        gold = ["ddx" if r["intent"].startswith("ddx") else r["intent"] for r in mine]
        measured(f"strangers {part}", readers, [r["question"] for r in mine], gold, STRANGERS, tell=tell)
        if part == "dev" and tell:
            read = next(iter(readers.values()))
            for label, row in zip(gold, mine, strict=True):
                if not _fits(found := read(row["question"]), label, STRANGERS):
                    print("        ", label, found, row["question"][:110])


def kuake(readers: Mapping[str, Reader], data: Path, *, tell: bool) -> None:
    rows = json.loads((data / "kuake_qic" / "KUAKE-QIC_train.json").read_text(encoding="utf-8"))
    once = {r["query"]: r["label"] for r in reversed(rows) if r["label"] in KUAKE}
    measured("KUAKE-QIC", readers, list(once), list(once.values()), KUAKE, tell=tell)


def medication(readers: Mapping[str, Reader], data: Path, *, tell: bool) -> None:
    from openpyxl import load_workbook

    sheet = load_workbook(data / "medicationqa" / "MedInfo2019-QA-Medications.xlsx", read_only=True).active
    rows = [(str(r[0]), str(r[2]).strip()) for r in list(sheet.values)[1:] if r[0] and str(r[2]).strip() in MEDICATION]
    types: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for question, label in rows:
        types[question][label] = MEDICATION[label]
    fits = {"+".join(mine): " ".join(mine.values()) for mine in types.values()}
    for half, name in enumerate(("MedicationQA, read", "MedicationQA, unread")):
        mine = [q for q, _ in rows if zlib.crc32(q.strip().lower().encode()) % 2 == half]
        measured(name, readers, mine, ["+".join(types[q]) for q in mine], fits, tell=tell and not half)


def meqsum(readers: Mapping[str, Reader], data: Path, *, tell: bool) -> None:
    with (data / "meqsum" / "first500.csv").open(encoding="utf-8", newline="") as file:
        rows = [(r["question"], r["summary"]) for r in csv.DictReader(file)][_LATER:]
    pairs = {name: [(read(q)[0], read(s)[0]) for q, s in rows] for name, read in readers.items()}
    first = next(iter(pairs.values()))
    shown(
        "MeQSum, message and summary alike",
        {n: [a == b for a, b in p] for n, p in pairs.items()},
        [s for _, s in first],
    )
    twice = [line.split("\t")[1:] for line in (HERE / "meqsum_read.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    alike = sum(a == b for a, b in twice) / len(twice)
    print(f"   one reader, {len(twice)} of these rows: {alike:.3f}")
    keep("intent", {"one reader": alike, "one reader n": len(twice)})
    if tell:
        print("     ", collections.Counter((s, m) for m, s in first if m != s).most_common(20))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("KGMED_DATA"), help="folder of the data sets")
    parser.add_argument("--only", nargs="*", default=("strangers", "kuake", "medication", "meqsum"))
    parser.add_argument("--confusions", action="store_true", help="what each label is taken for")
    given = parser.parse_args()
    readers = {"trained": trained(kgmed.load())}
    if "strangers" in given.only:
        strangers(readers, tell=given.confusions)
    for name, run in (("kuake", kuake), ("medication", medication), ("meqsum", meqsum)):
        if name in given.only and given.data:
            run(readers, Path(given.data), tell=given.confusions)


if __name__ == "__main__":
    main()
