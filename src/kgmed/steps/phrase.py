"""Phrasers: the evidence as the text that a reader is shown."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Literal

from kgmed.graph.base import KnowledgeGraph
from kgmed.language.text import fold_word, has_cjk, normalise, one_line, prompt_language
from kgmed.models.base import LLM, Encoder
from kgmed.prompts import prompt
from kgmed.records import Context, Entity, Evidence, Query, Triple

# --- Evidence as numbered lines.


@dataclass(frozen=True, slots=True)
class Numbered:
    """One line a piece of evidence, as in `[1] asthma | treated by | salbutamol`.

    `limit` = the most pieces shown, 0 = all; evidence that warns is shown beyond it.
    """

    limit: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        cited = tuple(e for i, e in enumerate(evidence) if not self.limit or i < self.limit or e.is_safety)
        lines = [f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)]
        return Context("\n".join(lines), cited)


# --- HyKGE's background: chains as arrows, then what the things at their ends are.


_IS = {"en": "{} is defined as: {}", "zh": "{}是：{}"}


@dataclass(frozen=True, slots=True)
class Arrows:
    """A numbered line a chain, then a numbered line a description of the entities at the chains' ends, each once.

    A description is evidence of its own, kind "description", so that it can be cited. With an encoder, one whose
    cosine with the question is below `at_least` is left out. An entity without a description has no line.
    """

    graph: KnowledgeGraph
    descriptions: bool = True
    encoder: Encoder | None = None
    at_least: float = 0.2  # HyKGE's code; the paper shows all

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        ends = (entity for e in evidence for entity in e.about) if self.descriptions else ()
        said = self._fitting(query, definitions(self.graph, query, ends))
        cited = (*evidence, *said)
        return Context("\n".join(f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)), cited)

    def _fitting(self, query: Query, said: list[Evidence]) -> list[Evidence]:
        """The descriptions that have to do with the question."""
        if self.encoder is None or not said:
            return said
        rows = self.encoder([query.text, *(e.text for e in said)])
        cosines = (rows[1:] @ rows[0]).tolist()
        return [e for e, cosine in zip(said, cosines, strict=True) if cosine >= self.at_least]


def definitions(graph: KnowledgeGraph, query: Query, entities: Iterable[Entity]) -> list[Evidence]:
    """What the graph says each of the entities is, each once, in the language of the question."""
    whole = [graph.entity(entity.id) for entity in dict.fromkeys(entities) if entity.id]
    form = _IS["zh" if has_cjk(query.text) else "en"]
    return [_description(entity, form) for entity in whole if entity.description.strip()]


def _description(entity: Entity, form: str) -> Evidence:
    return Evidence(form.format(entity.name, one_line(entity.description)), "description", (), (entity,))


# --- MindMap's evidence as numbered chains: `[1] P1: (cough)<-has symptom-(flu)-test->(PCR)`.
# Names stand in brackets as in Wen et al. 2024, 3.2; arrows, which the paper leaves out, keep the direction of the
# graph.


@dataclass(frozen=True, slots=True)
class NumberedChains:
    """One line a piece of evidence: its number, its label (P1, N1, ...) and its chain."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        from kgmed.models.replies import labels  # read in where a model is to answer by label

        lines = [
            f"[{i}] {label}: {chain(e)}"
            for i, (label, e) in enumerate(zip(labels(evidence), evidence, strict=True), start=1)
        ]
        return Context("\n".join(lines), tuple(evidence))


def chain(evidence: Evidence) -> str:
    """A piece of evidence as a chain of names in brackets; its text where it has no triples.

    >>> from kgmed.records import Entity, Relation
    >>> flu, a, b = Entity("1", "flu"), Entity("2", "fever"), Entity("3", "cough")
    >>> has = Relation("has_symptom")
    >>> chain(Evidence("", "neighbours", (Triple(flu, has, a), Triple(flu, has, b)), (flu,)))
    '(flu)-has symptom->(fever, cough)'
    >>> chain(Evidence("", "path", (Triple(flu, has, a), Triple(flu, has, b)), (a, b)))
    '(fever)<-has symptom-(flu)-has symptom->(cough)'
    """
    if not evidence.triples:
        return one_line(evidence.text)
    if evidence.kind == "path":
        return _path(evidence)
    return "; ".join(_grouped(evidence.triples))


def _path(evidence: Evidence) -> str:
    """The steps one after the other, from the entity that the path starts at."""
    at = evidence.about[0] if evidence.about else evidence.triples[0].head
    text = f"({_name(at.name)})"
    for t in evidence.triples:
        if t.head == at:
            at, text = t.tail, f"{text}-{_name(t.relation.name)}->({_name(t.tail.name)})"
        else:
            at, text = t.head, f"{text}<-{_name(t.relation.name)}-({_name(t.head.name)})"
    return text


def _grouped(triples: Sequence[Triple]) -> list[str]:
    """The triples of one head and relation, or of one relation and tail, as one chain."""
    by_head: dict[tuple[str, str, str], list[Triple]] = {}
    by_tail: dict[tuple[str, str, str], list[Triple]] = {}
    for t in triples:
        by_head.setdefault((t.head.id, t.head.name, t.relation.name), []).append(t)
        by_tail.setdefault((t.relation.name, t.tail.id, t.tail.name), []).append(t)
    groups = min((by_head, by_tail), key=len).values()
    return [f"({_names(t.head.name for t in g)})-{_name(g[0].relation.name)}->({_names(t.tail.name for t in g)})"
            for g in groups]  # fmt: skip


def _names(names: Iterable[str]) -> str:
    """Names, each once, between commas."""
    return ", ".join(dict.fromkeys(map(_name, names)))


def _name(text: str) -> str:
    return one_line(text.replace("_", " "))


# --- Evidence put into sentences by a model, one sentence for each label, held against the triples it came from.


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
    language: str = ""  # of the sentences; "" = that of the question

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The sentences in the order of the evidence, each with its number and label."""
        if not evidence:
            return Context("")
        from kgmed.models.replies import labels

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
        asked = prompt(step, language=self.language or prompt_language(query.question), folder=self.prompts)
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
            if not keeps_entities(text, e):
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
    from kgmed.models.replies import cited_labels

    found: dict[str, str] = {}
    for line in reply.splitlines():
        match = _LINE.fullmatch(line.strip(_DECORATION))
        named = cited_labels(match["label"]) if match else ()
        if match and len(named) == 1 and named[0] in known:
            found.setdefault(named[0], one_line(match["text"].strip(_DECORATION)))
    return found


def keeps_entities(sentence: str, evidence: Evidence) -> bool:
    """Whether a sentence still names every entity of the evidence's triples; any sentence keeps what has none.

    >>> from kgmed.records import Entity, Relation, Triple
    >>> gout = Evidence("", "triple", (Triple(Entity("1", "Gout"), Relation("has"), Entity("2", "Toe_pains")),))
    >>> keeps_entities("In 'gout' there is toe pain.", gout), keeps_entities("Gout hurts.", gout)
    (True, False)
    """
    said = f" {_folded(sentence)} "
    names = {_folded(e.name) for t in evidence.triples for e in (t.head, t.tail)}
    return bool(sentence) and all(f" {n} " in said or (not n.isascii() and n in said) for n in names)


def _folded(text: str) -> str:
    """The words of a text, each in the singular and American spelling, in their order."""
    return " ".join(map(fold_word, normalise(text).split()))
