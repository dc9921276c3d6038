"""The check of sentences against evidence: by rules alone, and by a model and rules together.

    python bench/check.py                       # the sentences of bench/check.jsonl; replies of the model are replayed
    python bench/check.py --contexts FOLDER     # writes evidence to write sentences for, a file for each question
    python bench/check.py --sentences FOLDER    # takes in the sentences written beside it

Each sentence was written, without sight of the rules, for the evidence that `facts` gives for a question: it cites
pieces by number and is "true" (they say so), "false" (they do not, or say the opposite) or "neutral" (it says what the
evidence does not tell, or claims nothing). The evidence itself is not kept but retrieved again; a sentence whose pieces
have changed since is left out and counted. A third of the questions, by hash, is held out: what is mended is looked at
on the others alone.
"""

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _figures import keep
from with_model import GRAPHS, HERE, NotRecorded, Recorded, _hash

import kgmed
from kgmed.disk import data_folder
from kgmed.models.base import LLM
from kgmed.models.named import llm_from
from kgmed.prompts import ASSISTED, tasked
from kgmed.records import Answer, Run
from kgmed.session import Session
from kgmed.steps.label import Labelled, ModelJudge

FILE = Path(__file__).with_suffix(".jsonl")
KINDS = ("true", "false", "neutral")
LABELS = ("supported", "unsupported", "contradicted", "neutral")


@dataclass(frozen=True)
class Sentences:
    """Sentences on the evidence for one question: text, kind, and the hash of each piece cited by its number."""

    question: str
    said: tuple[tuple[str, str, dict[str, str]], ...]

    @property
    def held(self) -> bool:
        """Whether nothing is tuned on them."""
        return int(_hash(self.question), 16) % 3 == 0


def read() -> list[Sentences]:
    """What the file holds."""
    rows = map(json.loads, FILE.read_text(encoding="utf-8").splitlines()) if FILE.exists() else ()
    return [Sentences(r["question"], tuple((s["text"], s["kind"], s["pieces"]) for s in r["sentences"])) for r in rows]


def contexts(session: Session, folder: Path, number: int) -> None:
    """Write the evidence for questions drawn from the strangers' development part."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = map(json.loads, FILE.with_name("strangers.jsonl").read_text(encoding="utf-8").splitlines())
    asked = [r for r in rows if r["part"] == "dev" and r["expect"] == "answer"]
    random.Random(7).shuffle(asked)
    languages: Counter[str] = Counter()
    for row in asked:
        cited = session.retrieve(row["question"]).context.cited
        if len(cited) < 4 or languages[row["lang"]] >= number / 2:
            continue
        languages[row["lang"]] += 1
        shown = {"question": row["question"], "evidence": {str(i): e.text for i, e in enumerate(cited, 1)}}
        (folder / f"{row['id']}.json").write_text(json.dumps(shown, ensure_ascii=False, indent=1), encoding="utf-8")


def take_in(folder: Path) -> None:
    """Write the file anew from sentences written beside the contexts: {"sentences": [{"text", "kind"}]}."""
    lines = []
    for file in sorted(folder.glob("*.sentences.json")):
        shown = json.loads((folder / file.name.replace(".sentences", "")).read_text(encoding="utf-8"))
        rows = []
        for s in json.loads(file.read_text(encoding="utf-8"))["sentences"]:
            cited = {n: _hash(text) for n, text in shown["evidence"].items() if f"[{n}]" in s["text"]}
            rows.append({"text": s["text"], "kind": s["kind"], "pieces": cited})
        lines.append(json.dumps({"question": shown["question"], "sentences": rows}, ensure_ascii=False))
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def labels(session: Session, rows: Sentences, judge: ModelJudge | None) -> Iterator[tuple[str, str, str]]:
    """Text, kind and label of each sentence whose pieces are there; label "lost" for the others."""
    run = session.retrieve(rows.question)
    here = {_hash(e.text): n for n, e in enumerate(run.context.cited, 1)}
    known = []
    for text, kind, pieces in rows.said:
        if all(h in here for h in pieces.values()):
            for n, h in pieces.items():
                text = text.replace(f"[{n}]", f"[#{here[h]}]")
            known.append((text.replace("[#", "["), kind))
        else:
            yield text, kind, "lost"
    yield from _checked(session, run, known, judge)


def _checked(
    session: Session, run: Run, known: list[tuple[str, str]], judge: ModelJudge | None
) -> Iterator[tuple[str, str, str]]:
    toolkit = session.toolkit(session.graphs[0])
    with tasked(ASSISTED):
        answer = Answer("\n".join(text for text, _ in known), reader="llm")
        checked = Labelled(toolkit.check, judge)(run.query, run.context, answer)
    found = defaultdict(list)
    for v in checked.verdicts:
        found[v.sentence.strip()].append(v.label)
    for text, kind in known:
        yield text, kind, (found.get(text.strip()) or ["cut"])[0]


def main() -> None:
    """Print how the sentences of each kind are labelled."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--contexts", type=Path)
    options.add_argument("--number", type=int, default=40)
    options.add_argument("--sentences", type=Path)
    options.add_argument("--model", default="", help="asked what has no recorded reply")
    options.add_argument("--show", action="store_true", help="print the sentences labelled otherwise, but the held-out")
    chosen = options.parse_args()
    session = kgmed.load(graph=GRAPHS, method="facts")
    if chosen.contexts:
        contexts(session, chosen.contexts, chosen.number)
    elif chosen.sentences:
        take_in(chosen.sentences)
    else:
        report(session, llm_from(chosen.model, folder=data_folder()) if chosen.model else None, show=chosen.show)


def report(session: Session, llm: LLM | None, *, show: bool = False) -> None:
    """Print the table: shares of the sentences whose pieces are there, and for a model whose verdict is recorded."""
    judge = ModelJudge(Recorded(HERE / "checks.jsonl", llm))
    print(f"{'by':6}{'part':6}{'kind':9}{'n':>5}{'lost':>6}" + "".join(f"{x:>14}" for x in (*LABELS, "cut")))
    for name, by in (("rules", None), ("both", judge)):
        counts: dict[tuple[bool, str], Counter[str]] = defaultdict(Counter)
        for rows in read():
            try:
                found = list(labels(session, rows, by))
            except NotRecorded as problem:
                print(problem, file=sys.stderr)
                continue
            for text, kind, label in found:
                counts[rows.held, kind][label] += 1
                right = {"true": ("supported",), "neutral": ("neutral", "unsupported")}.get(kind)
                wrong = label not in right if right else label == "supported"
                if show and wrong and not rows.held:
                    print(f"   {name} {kind} -> {label}: {text}")
        for held in (False, True):
            for kind in KINDS:
                c, part = counts[held, kind], "held" if held else "dev"
                n = sum(c.values()) - c["lost"]
                shares = {x: c[x] / max(n, 1) for x in (*LABELS, "cut")}
                print(f"{name:6}{part:6}{kind:9}{n:>5}{c['lost']:>6}" + "".join(f"{x:>14.3f}" for x in shares.values()))
                row = {"n": n, "lost": c["lost"], "supported": shares["supported"]}
                keep("check", {f"{name} {part} {kind} {what}": figure for what, figure in row.items()})


if __name__ == "__main__":
    main()
