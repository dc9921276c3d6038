"""kgmed with a strong language model beside that model alone: right answers, citations, relevance of the evidence.

    python bench/with_model.py                          # replays what is recorded, prints the tables
    python bench/with_model.py --model openai/NAME      # asks that model what has no recorded reply, and records it
    python bench/with_model.py --sheets FOLDER          # writes what no one has judged yet, a file for each question
    python bench/with_model.py --judged FOLDER          # takes in the judgements written beside those sheets

`bench/with_model/` holds the questions (those of public data sets by their place there; their text is read from
KGMED_DATA), the model's replies by the SHA-256 of the messages, and what a reader judged, by the hash of what was read:
an answer that has changed is not judged any more until someone reads it again. Every method runs as it comes, on the
graphs hpo, who-eml, icd10 and cmekg; where a prompt has no recorded reply the run is counted as not replayed.

A sheet shows the question, what a right answer must say, the evidence, and the answers in a random order without the
names of their methods. Beside NAME.json the reader writes NAME.judged.json:
{"pieces": {HASH: whether it helps to answer}, "answers": {HASH: {"verdict": "right" | "partly" | "wrong" | "none",
"why": TEXT, "borne_out": [numbers of the sentences that the evidence shown with that answer bears out]}}}.
"""

import argparse
import hashlib
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from _figures import keep

import kgmed
from kgmed.disk import data_folder
from kgmed.errors import KgmedError
from kgmed.evaluate.datasets import dataset
from kgmed.models.base import LLM, Message, Reply
from kgmed.models.named import llm_from
from kgmed.records import Run
from kgmed.session import Session

HERE = Path(__file__).parent / "with_model"
GRAPHS = "hpo,who-eml,icd10,cmekg"
ALONE = "zero-shot"
METHODS = (ALONE, "llm", "agent", "kg-rank", "mkg-rank", "mindmap", "hykge")
_REFERENCE = 1500  # characters of a data set's own answer that a sheet shows
READ_CLOSELY = ("llm", "agent")  # whose sentences are held against the evidence


@dataclass(frozen=True)
class Asked:
    """A question of the set; `key` = what a right answer must say, `gold` = the letter of an exam question."""

    id: str
    kind: str
    question: kgmed.Question
    key: str = ""
    gold: str = ""


def asked(data: Path) -> list[Asked]:
    """The questions, the text of those of public data sets read from the folder."""
    strangers = {row["id"]: row for row in _rows(HERE.parent / "strangers.jsonl")}
    sets: dict[str, list[Any]] = {}
    found = []
    for row in _rows(HERE / "questions.jsonl"):
        name, at = row.get("set", ""), row.get("at", 0)
        if not name:
            found.append(Asked(row["id"], row["kind"], kgmed.Question(row["question"]), row["key"]))
        elif name == "strangers":
            names = " and ".join(" or ".join(some) for some in strangers[at]["first"])
            found.append(Asked(row["id"], row["kind"], kgmed.Question(strangers[at]["question"]), f"such as {names}"))
        else:
            if name not in sets:
                sets[name] = list(dataset(name).read(data))
            item = sets[name][at]
            key, gold = " ".join(item.gold.texts)[:_REFERENCE], "".join(sorted(item.gold.choices))
            found.append(Asked(row["id"], row["kind"], replace(item.question, id=""), key, gold))
    return found


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# --- The model: what it said before, by the hash of the messages.


class NotRecorded(KgmedError):
    """A prompt that has no recorded reply, and no model to ask."""


class Recorded:
    """A model that says what was recorded; what was not is asked of `llm`, where there is one, and recorded."""

    def __init__(self, file: Path, llm: LLM | None = None) -> None:
        """Read the file: a line with the model's name, then a line for each reply."""
        self._file, self._llm, self._lock = file, llm, Lock()
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines]
        self.name = rows[0]["model"] if rows else llm.name if llm else ""
        self.replies = {row["key"]: row["reply"] for row in rows[1:]}
        self.used: set[str] = set()
        if not rows and llm:
            file.write_text(json.dumps({"model": llm.name}) + "\n", encoding="utf-8")

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply recorded, else the model's; raises `NotRecorded`."""
        key = key_of(messages)
        self.used.add(key)
        if key not in self.replies:
            if self._llm is None:
                raise NotRecorded(f"no reply is recorded to {messages[-1].text[:60]!r}")
            said = self._llm(messages, max_tokens=max(max_tokens, 4096)).text
            with self._lock, self._file.open("a", encoding="utf-8") as file:
                self.replies[key] = said
                row = {"key": key, "prompt": getattr(messages, "prompt", "").split(" ")[0], "reply": said}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        text = self.replies[key]
        return Reply(text, _tokens("".join(m.text for m in messages)), _tokens(text), self.name)


def key_of(messages: Sequence[Message]) -> str:
    """What a reply is recorded under: 16 hexadecimal digits."""
    return _hash(json.dumps([[m.role, m.text] for m in messages], ensure_ascii=False))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tokens(text: str) -> int:
    """About how many tokens a text has: four Latin letters or one Chinese sign each."""
    return round(sum(1 if ord(c) > 0x2E80 else 0.25 for c in text))


# --- The runs.


def runs(
    questions: Sequence[Asked], names: Sequence[str], llm: LLM, jobs: int = 1
) -> dict[tuple[str, str], Run | None]:
    """The run of each method and question; None for one that could not be replayed."""
    opened = kgmed.load(graph=GRAPHS, method="facts")
    sessions: dict[str, Session] = {name: replace(opened.under(method=name), llm=llm) for name in names}

    def one(name: str, q: Asked) -> Run | None:
        try:
            run = sessions[name].ask(q.question)
        except KgmedError as problem:
            print(f"{q.id} {name}: {problem}", file=sys.stderr)
            return None
        unsaid = [why for why in (*run.failures, *run.notes) if "no reply is recorded" in str(why)]
        return None if unsaid else run

    todo = [(name, q) for q in questions for name in names]
    with ThreadPoolExecutor(jobs) as pool:
        made = pool.map(lambda job: one(*job), todo)
        return {(name, q.id): run for (name, q), run in zip(todo, made, strict=True)}


# --- Judgements.


@dataclass
class Judged:
    """What readers judged, by hash: a piece of evidence for a question, an answer, the sentences borne out in it."""

    pieces: dict[str, bool]
    answers: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, file: Path) -> "Judged":
        """What the file holds."""
        data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return cls(data.get("pieces", {}), data.get("answers", {}))

    def write(self, file: Path) -> None:
        """Keep it, a line for each judgement."""
        lines = [
            f"  {json.dumps(name)}: {{\n"
            + ",\n".join(f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in sorted(rows.items()))
            + "\n  }"
            for name, rows in (("answers", self.answers), ("pieces", self.pieces))
        ]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def piece_hash(q: Asked, text: str) -> str:
    """The hash of a piece of evidence for a question."""
    return _hash(f"{q.id}\n{text}")


def answer_hash(q: Asked, run: Run) -> str:
    """The hash of an answer, with the evidence that it was shown beside."""
    return _hash("\n".join([q.id, run.answer.text, *(e.text for e in run.context.cited)]))


def sheets(questions: Sequence[Asked], made: dict[tuple[str, str], Run | None], judged: Judged, folder: Path) -> None:
    """Write what is not judged yet, a file for each question, the answers in an order by lot."""
    folder.mkdir(parents=True, exist_ok=True)
    for q in questions:
        mine = [(name, run) for (name, at), run in made.items() if at == q.id and run is not None]
        random.Random(q.id).shuffle(mine)
        pieces = {piece_hash(q, e.text): e.text for name, run in mine if name != ALONE for e in run.context.cited}
        answers = {}
        for name, run in mine:
            shown: dict[str, Any] = {"answer": run.answer.text}
            if name in READ_CLOSELY:
                shown["evidence"] = [f"[{i}] {e.text}" for i, e in enumerate(run.context.cited, 1)]
                shown["sentences"] = [f"{i}. {v.sentence}" for i, v in enumerate(run.answer.verdicts, 1)]
            if q.gold and name not in READ_CLOSELY:
                continue
            answers[answer_hash(q, run)] = shown
        answers = {h: a for h, a in answers.items() if h not in judged.answers}
        pieces = {h: text for h, text in pieces.items() if h not in judged.pieces}
        if answers or pieces:
            sheet = {"question": q.question.text, "options": q.question.options, "right answer": q.gold or q.key}
            text = json.dumps({**sheet, "pieces": pieces, "answers": answers}, ensure_ascii=False, indent=1)
            (folder / f"{q.id}.json").write_text(text, encoding="utf-8")


def take_in(judged: Judged, folder: Path) -> None:
    """Add what was written beside the sheets."""
    for file in sorted(folder.glob("*.judged.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        judged.pieces |= {k: bool(v) for k, v in data.get("pieces", {}).items()}
        judged.answers |= data.get("answers", {})


# --- The tables.


def table(
    questions: Sequence[Asked], made: dict[tuple[str, str], Run | None], names: Sequence[str], judged: Judged
) -> Iterator[str]:
    """A row for each method, in all and by kind of question."""
    heads = ("right", "partly", "wrong", "none", "unjudged", "unreplayed")
    yield f"{'method':10}" + "".join(f"{h:>11}" for h in heads) + f"{'calls':>8}{'tokens in':>11}{'out':>7}"
    right: dict[tuple[str, str], int] = defaultdict(int)
    for name in names:
        counts: Counter[str] = Counter()
        calls = tokens_in = tokens_out = 0
        for q in questions:
            run = made[name, q.id]
            verdict = "unreplayed" if run is None else verdict_of(q, run, judged)
            counts[verdict] += 1
            right[name, q.kind] += verdict == "right"
            if run is not None:
                calls += run.spent.calls
                tokens_in += run.spent.tokens_in
                tokens_out += run.spent.tokens_out
        n = max(len(questions) - counts["unreplayed"], 1)
        keep("with_model", {f"{name} {h}": counts[h] for h in heads[:3]} | {f"{name} tokens": tokens_in / n})
        row = "".join(f"{counts[h]:>11}" for h in heads)
        yield f"{name:10}{row}{calls / n:>8.1f}{tokens_in / n:>11.0f}{tokens_out / n:>7.0f}"
    kinds = list(dict.fromkeys(q.kind for q in questions))
    yield ""
    yield f"{'right of':12}" + "".join(f"{name:>11}" for name in names)
    for kind in kinds:
        n = sum(q.kind == kind for q in questions)
        yield f"{kind:9}{n:>3}" + "".join(f"{right[name, kind]:>11}" for name in names)


def verdict_of(q: Asked, run: Run, judged: Judged) -> str:
    """Right, partly, wrong, none or unjudged: of an exam by its letter."""
    if q.gold:
        chosen = "".join(sorted(run.answer.choices))
        return "right" if chosen == q.gold else "wrong" if chosen else "none"
    return str(judged.answers.get(answer_hash(q, run), {}).get("verdict", "unjudged"))


def evidence_table(
    questions: Sequence[Asked], made: dict[tuple[str, str], Run | None], names: Sequence[str], judged: Judged
) -> Iterator[str]:
    """For each method what share of the evidence helps; of those read closely, how the sentences were labelled."""
    yield (
        f"{'method':10}{'pieces':>8}{'judged':>8}{'helps':>8}{'sentences':>11}{'borne out':>11}{'of them cited':>15}"
        f"{'cited, not borne out':>22}"
    )
    for name in names:
        if name == ALONE:
            continue
        pieces = known = helps = sentences = bearable = cited = accepted = 0
        for q in questions:
            run = made[name, q.id]
            if run is None:
                continue
            said = [judged.pieces.get(piece_hash(q, e.text)) for e in run.context.cited]
            pieces += len(said)
            known += sum(v is not None for v in said)
            helps += sum(v is True for v in said)
            close = judged.answers.get(answer_hash(q, run), {}).get("borne_out") if name in READ_CLOSELY else None
            if close is None:
                continue
            for i, v in enumerate(run.answer.verdicts, 1):
                sentences += v.label != "neutral"
                bearable += i in close
                cited += i in close and v.label == "supported"
                accepted += i not in close and v.label == "supported"
        share = f"{helps / known:.2f}" if known else "-"
        closely = f"{sentences:>11}{bearable:>11}{cited / max(bearable, 1):>15.2f}{accepted:>22}"
        keep("with_model", {f"{name} helps": helps / max(known, 1), f"{name} cited": cited / max(bearable, 1)})
        yield f"{name:10}{pieces:>8}{known:>8}{share:>8}" + (closely if name in READ_CLOSELY else "")


def main() -> None:
    """Replay or record, then print or write what was asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default=os.environ.get("KGMED_DATA", ""), help="the folder of data sets")
    options.add_argument("--method", nargs="*", default=METHODS)
    options.add_argument("--question", nargs="*", default=(), help="ids; all by default")
    options.add_argument("--model", default="", help="asked what has no recorded reply")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--sheets", type=Path)
    options.add_argument("--judged", type=Path)
    chosen = options.parse_args()
    if not chosen.data:
        sys.exit("set KGMED_DATA to the folder of data sets; kgmed eval datasets says what it holds and from where")
    carry_out(chosen, llm_from(chosen.model, folder=data_folder()) if chosen.model else None)


def carry_out(chosen: argparse.Namespace, llm: LLM | None, show: Callable[[str], object] = print) -> None:
    """What the options ask for, with that model for what is not recorded."""
    questions = [q for q in asked(Path(chosen.data)) if not chosen.question or q.id in chosen.question]
    said, judged = Recorded(HERE / "replies.jsonl", llm), Judged.read(HERE / "judged.json")
    if chosen.judged:
        take_in(judged, chosen.judged)
        judged.write(HERE / "judged.json")
    made = runs(questions, chosen.method, said, chosen.jobs)
    if chosen.sheets:
        sheets(questions, made, judged, chosen.sheets)
    show(f"{len(questions)} questions, replies of {said.name}")
    for line in (
        *table(questions, made, chosen.method, judged),
        "",
        *evidence_table(questions, made, chosen.method, judged),
    ):
        show(line)


if __name__ == "__main__":
    main()
