"""Evidence put into sentences by a model, one sentence for each label, held against the triples it came from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Literal

from kgmed.kg.language import prompt_language
from kgmed.kg.text import fold_word, normalise, one_line
from kgmed.models.labels import labels
from kgmed.models.steps import cited_labels
from kgmed.phrase.evidence_chains import chain
from kgmed.prompts import prompt
from kgmed.stages import LLM
from kgmed.types import Context, Evidence, Query

_LINE = re.compile(r"(?:\d{1,2}[.)]\s+)?(?P<label>[^:：]{1,60})[:：](?P<text>.+)")
_DECORATION = " \t>*-•#"
Style = Literal["mindmap", "declarative"]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Sentences in place of chains.

    `style="mindmap"` keeps all evidence, paths and neighbours asked for apart (two calls); "declarative" is MKG-Rank's
    conversion (one call), which may leave out what has no bearing on the question, but never a warning. A sentence
    that lost the entities of its triple is not used: the chain stands in its place, and `notes` say so.
    """

    llm: LLM
    style: Style = "mindmap"
    max_tokens: int = 600
    prompts: Path | None = None

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The sentences in the order of the evidence, each with its number and label."""
        if not evidence:
            return Context("")
        names = labels(evidence)
        said: dict[str, str] = {}
        for step, group in self._steps(list(zip(names, evidence, strict=True))):
            said |= self._asked(query, step, group)
        return self._context(list(zip(names, evidence, strict=True)), said)

    def _steps(self, rows: list[tuple[str, Evidence]]) -> list[tuple[str, list[tuple[str, Evidence]]]]:
        """The prompts to ask with, and the evidence of each."""
        if self.style == "declarative":
            return [("mkg_rank/declarative", rows)]
        ordered = sorted(rows, key=lambda row: row[1].kind != "path")
        groups = groupby(ordered, key=lambda row: row[1].kind == "path")
        return [("mindmap/paths" if path else "mindmap/neighbours", list(group)) for path, group in groups]

    def _asked(self, query: Query, step: str, rows: list[tuple[str, Evidence]]) -> dict[str, str]:
        """The model's sentences by label."""
        values = {"evidence": "\n".join(f"{label}: {chain(e)}" for label, e in rows)}
        values["fence"] = f"=== {blake2b(values['evidence'].encode(), digest_size=6).hexdigest()}"
        values |= {"question": query.text} if self.style == "declarative" else {}
        asked = prompt(step, language=prompt_language(query.question), folder=self.prompts)
        reply = self.llm(asked.messages(**values), max_tokens=self.max_tokens)
        return sentences_by_label(reply.text, [label for label, _ in rows])

    def _context(self, rows: list[tuple[str, Evidence]], said: dict[str, str]) -> Context:
        """The context, with what was lost or left out."""
        lines: list[str] = []
        cited: list[Evidence] = []
        lost: list[str] = []
        dropped: list[str] = []
        left_out = self.style == "declarative" and bool(said)
        for label, e in rows:
            if label not in said and left_out and not e.is_safety:
                dropped.append(label)
                continue
            text = said.get(label, "")
            if not keeps(text, e):
                lost.append(label)
                text = chain(e)
            cited.append(e)
            shown = label if label[0] in "PN" else f"E{len(cited)}"
            lines.append(f"[{len(cited)}] {shown}: {text}")
        notes = [f"rewritten evidence lost the triple of {', '.join(lost)}; shown as chains"] if lost else []
        notes += [f"left out as not relevant by {self.llm.name}: {', '.join(dropped)}"] if dropped else []
        return Context("\n".join(lines), tuple(cited), tuple(notes))


def sentences_by_label(reply: str, known: Sequence[str]) -> dict[str, str]:
    """The sentence of each known label in a reply; the first of two; other lines are passed over.

    >>> sentences_by_label("**Path-based Evidence 1**: 'a' is b.\\nP1: again\\nN2：甲。\\nP9: x", ["P1", "N2"])
    {'P1': "'a' is b.", 'N2': '甲。'}
    """
    found: dict[str, str] = {}
    for line in reply.splitlines():
        match = _LINE.fullmatch(line.strip(_DECORATION))
        named = cited_labels(match["label"]) if match else ()
        if match and len(named) == 1 and named[0] in known:
            found.setdefault(named[0], one_line(match["text"].strip(_DECORATION)))
    return found


def keeps(sentence: str, evidence: Evidence) -> bool:
    """Whether a sentence still names every entity of the evidence's triples; any sentence keeps what has none.

    >>> from kgmed.types import Entity, Relation, Triple
    >>> gout = Evidence("", "triple", (Triple(Entity("1", "Gout"), Relation("has"), Entity("2", "Toe_pains")),))
    >>> keeps("In 'gout' there is toe pain.", gout), keeps("Gout hurts.", gout)
    (True, False)
    """
    said = f" {_folded(sentence)} "
    names = {_folded(e.name) for t in evidence.triples for e in (t.head, t.tail)}
    return bool(sentence) and all(f" {n} " in said or (not n.isascii() and n in said) for n in names)


def _folded(text: str) -> str:
    """The words of a text, each in the singular and American spelling, in their order."""
    return " ".join(map(fold_word, normalise(text).split()))
