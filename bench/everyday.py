"""Are everyday questions of ours answered usefully? 160 questions, English and Chinese, in one process.

    python bench/everyday.py [--graph GRAPH] [--part first|choose|held] [--questions FILE.jsonl] [--verbose]

The part "first" was written before an earlier round of mending and "choose" and "held" before a later one; "choose" was
looked at while mending, "held" was asked once, at its end.

The rows of `everyday.jsonl` say what an answer must hold: of each group in `first` (or of `at_least` of them) one
alternative in its first 700 characters (350 of a Chinese answer), one of `opening` in its first line, of a list of
diseases within the first `top`, none of `not` anywhere; `expect: abstain` asks for the word that it is not known.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from _figures import keep

import kgmed
from kgmed.language.text import has_cjk
from kgmed.records import Answer

QUESTIONS = Path(__file__).with_suffix(".jsonl")
FIRST = (700, 350)  # characters that are read, of an English and of a Chinese answer


def main() -> None:
    """Ask, and print the verdicts by language."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graph", default="auto", help="an installed graph; all that are by default")
    options.add_argument("--questions", type=Path, default=QUESTIONS, help="a file of such rows")
    options.add_argument("--part", default="", help="only the questions of this part of the file")
    options.add_argument("--verbose", action="store_true", help="print every answer that is not useful")
    args = options.parse_args()
    session = kgmed.load(graph=args.graph)
    rows = [json.loads(line) for line in args.questions.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if args.part in ("", row.get("part", ""))]
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        answer = session.ask(row["question"]).answer
        verdict = judged(row, answer)
        counts[row["lang"], verdict] += 1
        if args.verbose and verdict != "useful":
            print(f"--- {verdict}: {row['id']}: {row['question']}\n{answer.text}\n")
    for language in ("en", "zh"):
        mine = {verdict: n for (spoken, verdict), n in counts.items() if spoken == language}
        said = ", ".join(f"{mine.get(v, 0)} {v}" for v in ("useful", "partly", "wrong", "abstained"))
        print(f"{language}: {said}, of {sum(mine.values())}")
    kept = {v: sum(n for (_, w), n in counts.items() if w == v) for v in ("useful", "partly", "wrong", "abstained")}
    part = f"{args.questions.stem} {args.part}"
    keep("everyday", {f"{part} {v}": n for v, n in kept.items()} | {f"{part} n": sum(kept.values())})


def judged(row: dict[str, Any], answer: Answer) -> str:
    """`useful`, `partly`, `wrong` or `abstained`; a right abstention is useful."""
    if row["expect"] == "abstain":
        return "useful" if answer.abstained else "wrong"
    if answer.abstained:
        return "abstained"
    if any(_occurs(bad, answer.text) for bad in row.get("not", ())):
        return "wrong"
    read = _listed(answer.text, row["top"]) if row.get("top") else answer.text[: FIRST[has_cjk(answer.text[:40])]]
    groups = sum(any(_occurs(one, read) for one in group) for group in row["first"])
    opening = row.get("opening", ())
    said = not opening or any(_occurs(one, answer.text.partition("\n")[0]) for one in opening)
    if groups >= row.get("at_least", len(row["first"])) and said:
        return "useful"
    return "partly" if groups or (said and opening) else "wrong"


def _listed(text: str, most: int) -> str:
    """The names of the first diseases of a list; of a text without a list all of it."""
    items = [re.split(r": |：", line[2:])[0] for line in text.splitlines() if line.startswith("- ")]
    return "\n".join(items[:most]) or text


def _occurs(wanted: str, text: str) -> bool:
    """Whether a string, or `re:` and a pattern, occurs; a Latin word begins at a word's beginning."""
    if wanted.startswith("re:"):
        return re.search(wanted[3:], text, re.IGNORECASE) is not None
    before = r"(?<![a-z0-9])" if wanted.isascii() else ""
    after = r"(?![a-z0-9])" if wanted.isascii() and len(wanted) <= 4 else ""
    return re.search(before + re.escape(wanted) + after, text, re.IGNORECASE) is not None


if __name__ == "__main__":
    main()
