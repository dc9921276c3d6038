"""A language model as judge of answers that an evaluation has logged: of two, or of all in order.

Every contest is judged in both orders; which comes first is drawn by a seed. A judgement is a `Run` whose answer is
the judge's reply as it came, kept in a log of the same kind as the evaluation's own: it goes on where it was stopped,
and what the replies mean is read from the log (`verdicts`). An answer that is not there loses without a call.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.compare import Ask, Plan, compare
from kgmed.evaluate.crews import Threads
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job, Log, digest
from kgmed.kg.language import prompt_language
from kgmed.models.ledger import ledger
from kgmed.models.structured import shaped
from kgmed.prompts import Conversation, prompt
from kgmed.read.llm import fence_for
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query, Question, Run, Stage

ORDERS = (0, 1)  # as drawn, and the other way round
BETWEEN = " | "  # the methods of a contest
MODEL, RULE = "judge", "rule"  # who judged


@dataclass(frozen=True, slots=True)
class Kind:
    """A way of judging; without criteria the answers are put in order."""

    name: str
    prompt: str
    criteria: tuple[str, ...]
    source: str
    reference: bool = True  # whether the judge is shown what is right


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "pair",
            "judge/pair",
            ("factuality", "completeness", "readability", "relevance"),
            "the four criteria of KG-Rank's physicians, Yang et al. 2024",
            reference=False,
        ),
        Kind(
            "mindmap", "judge/mindmap", ("disease", "drug", "total"), "the three questions of MindMap, Wen et al. 2024"
        ),
        Kind("rank", "judge/rank", (), "MindMap's ranking, Wen et al. 2024"),
    )
}


def kind_of(name: str) -> Kind:
    """The kind of a name; raises `UnknownName`."""
    if name not in KINDS:
        raise UnknownName("kind of judging", name, KINDS)
    return KINDS[name]


@dataclass(frozen=True)
class Bench:
    """What is judged, by whom and how; makes a judgement of each contest, item and order (see `compare.Make`)."""

    kind: Kind
    methods: tuple[str, ...]
    items: Sequence[Item]
    found: Mapping[Job, Entry]  # of the evaluation
    llm: LLM
    seed: int = 0  # of the runs that are judged
    positions: int = 0  # draws which answer comes first
    max_tokens: int = 128
    prompts: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be judged."""
        if len({*self.methods}) < 2 or len({*self.methods}) < len(self.methods):
            raise BadInput("name at least two methods to judge between, each once")
        if self.kind.reference and (lacking := [i for i in self.items if not reference(i)]):
            raise BadInput(
                f"{self.kind.name} judges by a reference, and question {lacking[0].question.id} has none"
                f" ({len(lacking)} of {len(self.items)}); judge by --kind pair"
            )

    @property
    def contests(self) -> dict[str, tuple[str, ...]]:
        """The methods of each contest, by its name: every two, or for a ranking all."""
        several = list(combinations(self.methods, 2)) if self.kind.criteria else [self.methods]
        return {BETWEEN.join(some): some for some in several}

    def plan(self) -> Plan:
        """Every item of every contest in both orders."""
        return Plan(tuple(self.contests), self.items, ORDERS)

    def manifest(self) -> dict[str, Any]:
        """What the judgements depend on."""
        jobs = [Job(m, i.question.id, self.seed) for i in self.items for m in self.methods]
        asked = [prompt(self.kind.prompt, language=x, folder=self.prompts) for x in ("en", "zh")]
        return {
            "judging": self.kind.name,
            "methods": list(self.methods),
            "items": [i.question.id for i in self.items],
            "judged": digest({job: self.found[job] for job in jobs if job in self.found}),
            "seed": self.seed,
            "positions": self.positions,
            "judge": self.llm.name,
            "settings": json.loads(json.dumps(dict(getattr(self.llm, "settings", {})), default=str)),
            "prompts": [f"{p} {p.hash}" for p in asked],
            "max_tokens": self.max_tokens,
        }

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The judgement of one contest (`method`) in one order (`seed`)."""
        return lambda question: self._judged(self.contests[method], seed, item, question)

    def _judged(self, contest: tuple[str, ...], order: int, item: Item, question: Question) -> Run:
        said = {m: text for m in contest if (text := self._said(m, item))}
        shown = [m for m in drawn(contest, item.question.id, self.positions, order) if m in said]
        settings = (("shown", shown), ("silent", [m for m in contest if m not in said]))
        if len(shown) < 2:
            ruled = Answer(self._ruled(contest, shown))
            return Run(Query(question), (), (), (), (), Context(""), ruled, method=RULE, settings=settings)
        began = time.perf_counter()
        messages = self._messages(item, [said[m] for m in shown])
        with ledger() as book:
            reply = shaped(self.llm, messages, schema(self.kind, len(shown)), max_tokens=self.max_tokens)
        return Run(
            Query(question), (), (), (), (), Context(""), Answer(reply.text),
            (Stage("judge", time.perf_counter() - began),), MODEL, settings=settings, models=(("llm", self.llm.name),),
            prompts=(messages.prompt,), spent=book.spent(),
        )  # fmt: skip

    def _said(self, method: str, item: Item) -> str:
        """The answer of a method; "" where it failed or says nothing."""
        entry = self.found.get(Job(method, item.question.id, self.seed))
        return entry.run.answer.text.strip() if entry and entry.run else ""

    def _ruled(self, contest: tuple[str, ...], shown: list[str]) -> str:
        """The verdict where fewer than two answered: who did wins."""
        if not self.kind.criteria:
            return json.dumps({"order": list(range(1, len(shown) + 1))})
        return json.dumps(dict.fromkeys(self.kind.criteria, len(shown)))

    def _messages(self, item: Item, answers: Sequence[str]) -> Conversation:
        """What the judge is asked; nothing in an answer can end the lines that it stands between."""
        fence = f"=== {fence_for(chr(10).join((*answers, reference(item))))}"
        values = {"question": asked(item.question), "fence": fence}
        if self.kind.reference:
            values["reference"] = reference(item)
        if self.kind.criteria:
            values |= {"first": answers[0], "second": answers[1]}
        else:
            values["answers"] = "\n\n".join(f"{i}.\n{fence}\n{a}\n{fence}" for i, a in enumerate(answers, start=1))
            values["count"] = str(len(answers))
        chosen = prompt(self.kind.prompt, language=prompt_language(item.question), folder=self.prompts)
        return chosen.messages(**values)


def drawn(contest: Sequence[str], item: str, positions: int, order: int) -> list[str]:
    """The methods of a contest in the order in which an item's judge sees them; the second order is the first reversed.

    >>> drawn("abc", "q1", 0, 0) == drawn("abc", "q1", 0, 1)[::-1]
    True
    """
    key = f"{positions}:{item}:{BETWEEN.join(contest)}"
    found = sorted(contest, key=lambda m: hashlib.sha256(f"{key}:{m}".encode()).digest())
    return found[::-1] if order else found


def asked(question: Question) -> str:
    """The question with its options.

    >>> asked(Question("Which?", (("A", "gout"), ("B", "flu"))))
    'Which?\\nA. gout\\nB. flu'
    """
    return "\n".join([question.text, *(f"{letter}. {text}" for letter, text in question.options)])


def reference(item: Item) -> str:
    """What is right: the first reference answer, else the right options, else the names of the gold; "" = not known."""
    if item.gold.texts:
        return item.gold.texts[0].strip()
    right = [f"{letter}. {text}" for letter, text in item.question.options if letter in item.gold.choices]
    return "\n".join(right) or ", ".join(item.gold.entities)


def schema(kind: Kind, count: int) -> dict[str, object]:
    """The JSON schema of a reply.

    >>> schema(KINDS["rank"], 3)["required"], schema(KINDS["mindmap"], 2)["required"]
    (['order'], ['disease', 'drug', 'total'])
    """
    if not kind.criteria:
        number = {"type": "integer", "minimum": 1, "maximum": count}
        properties: dict[str, object] = {
            "order": {"type": "array", "items": number, "minItems": count, "maxItems": count}
        }
    else:
        properties = {c: {"type": "integer", "enum": [0, 1, 2]} for c in kind.criteria}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def judge(
    bench: Bench, out: Path, *, threads: int = 1, again: bool = False, each: Callable[[Entry], None] | None = None
) -> None:
    """Judge what the folder's log does not have yet; `again` = also what failed for want of the model."""
    with Log(out, bench.manifest()) as log:
        compare(bench.plan(), bench, log, Threads(threads), again=again, each=each)
