"""Phrasers: the evidence as the text that a reader is shown; facts in short sentences, English and Chinese."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

from kgmed.graph.base import KnowledgeGraph
from kgmed.language.text import fold_word, has_cjk, lazily, normalise, one_line, prompt_language
from kgmed.models.base import LLM, Encoder
from kgmed.prompts import prompt, task
from kgmed.records import Context, Entity, Evidence, Query, Relation, Triple

# Phrasers: the evidence as the text that a reader is shown.

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
        return Context("\n".join([f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)]), cited)


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
        cited = (*evidence, *self._fitting(query, definitions(self.graph, query, ends)))
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
    return [
        Evidence(form.format(e.name, one_line(e.description)), "description", (), (e,))
        for e in whole
        if e.description.strip()
    ]


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


def chain(evidence: Evidence, named: Callable[[Relation], str] = str) -> str:
    """A piece of evidence as a chain of names in brackets; its text where it has no triples.

    `named` gives the words for a relation: those in the language of the question, unless others are asked for.

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
    return _path(evidence, named) if evidence.kind == "path" else "; ".join(_grouped(evidence.triples, named))


def _path(evidence: Evidence, named: Callable[[Relation], str]) -> str:
    """The steps one after the other, from the entity that the path starts at."""
    at = evidence.about[0] if evidence.about else evidence.triples[0].head
    text = f"({_name(at.name)})"
    for t in evidence.triples:
        if t.head == at:
            at, text = t.tail, f"{text}-{_name(named(t.relation))}->({_name(t.tail.name)})"
        else:
            at, text = t.head, f"{text}<-{_name(named(t.relation))}-({_name(t.head.name)})"
    return text


def _grouped(triples: Sequence[Triple], named: Callable[[Relation], str]) -> list[str]:
    """The triples of one head and relation, or of one relation and tail, as one chain."""
    by_head: dict[tuple[str, str, str], list[Triple]] = {}
    by_tail: dict[tuple[str, str, str], list[Triple]] = {}
    for t in triples:
        by_head.setdefault((t.head.id, t.head.name, t.relation.name), []).append(t)
        by_tail.setdefault((t.relation.name, t.tail.id, t.tail.name), []).append(t)
    groups = min((by_head, by_tail), key=len).values()
    return [f"({_names(t.head.name for t in g)})-{_name(named(g[0].relation))}->({_names(t.tail.name for t in g)})"
            for g in groups]  # fmt: skip


def _names(names: Iterable[str]) -> str:
    """Names, each once, between commas."""
    return ", ".join(dict.fromkeys(map(_name, names)))


def _name(text: str) -> str:
    return one_line(text.replace("_", " "))


# --- Evidence put into sentences by a model, one sentence for each label, held against the triples it came from.


_LINE = lazily(r"(?:\d{1,2}[.)]\s+)?(?P<label>[^:：]{1,60})[:：](?P<text>.+)")
_DECORATION = " \t>*-•#"
Style = Literal["mindmap", "declarative"]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Sentences in place of chains.

    `style="mindmap"` keeps all evidence, paths and neighbours asked for apart (two calls); "declarative" is MKG-Rank's
    conversion (one call), which may leave out what has no bearing on the question, but never a warning; what stands on
    no triple is in sentences already. A sentence that lost the entities of its triple is not used: the chain stands in
    its place, and `notes` say so. As published the model's words stand as they are: what has no sentence is left out,
    and a reply without labels is the sentence of the first.
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
            facts = [row for row in rows if row[1].triples]
            return [("mkg_rank/declarative", facts)] if facts else []
        ordered = sorted(rows, key=lambda row: row[1].kind != "path")
        groups = groupby(ordered, key=lambda row: row[1].kind == "path")
        return [("mindmap/paths" if path else "mindmap/neighbours", list(group)) for path, group in groups]

    def _asked(self, query: Query, step: str, rows: list[tuple[str, Evidence]]) -> dict[str, str]:
        """The model's sentences by label."""
        from kgmed.models.asking import without_thinking  # where a model is asked

        named = attrgetter("name") if self.language else str  # of the graph, for sentences in another language
        values = {"evidence": "\n".join(f"{label}: {chain(e, named)}" for label, e in rows)}
        values["fence"] = f"=== {blake2b(values['evidence'].encode(), digest_size=6).hexdigest()}"
        if self.style == "declarative":
            step, values = (step, values | {"question": query.text}) if task().cites else ("mkg_rank/convert", values)

        asked = prompt(step, language=self.language or prompt_language(query.question), folder=self.prompts)
        reply = self.llm(asked.messages(**values), max_tokens=self.max_tokens)
        known = [label for label, _ in rows]
        found = sentences_by_label(reply.text, known)
        if not found and self.style == "declarative" and _NOTHING.fullmatch(one_line(without_thinking(reply.text))):
            return {"": ""}  # of no label: all is left out
        whole = one_line(without_thinking(reply.text)) if task().published and not found else ""
        return {known[0]: whole} if whole else found

    def _context(self, rows: list[tuple[str, Evidence]], said: dict[str, str]) -> Context:
        """The context, with what was lost or left out."""
        lines: list[str] = []
        cited: list[Evidence] = []
        lost: list[str] = []
        dropped: list[str] = []
        as_said = task().published
        left_out = as_said or (self.style == "declarative" and bool(said))
        for label, e in rows:
            plain = self.style == "declarative" and not e.triples
            if label not in said and left_out and not ((e.is_safety and not as_said) or plain):
                dropped.append(label)
                continue
            text = one_line(e.text) if plain else said.get(label, "")
            if not (as_said or keeps_entities(text, e)):
                lost.append(label)
                text = chain(e)
            cited.append(e)
            shown = label if label[0] in "PN" else f"E{len(cited)}"
            lines.append(f"[{len(cited)}] {shown}: {text}")
        notes = [f"rewritten evidence lost the triple of {', '.join(lost)}; shown as chains"] if lost else []
        notes += [f"left out as not relevant by {self.llm.name}: {', '.join(dropped)}"] if dropped else []
        return Context("\n".join(lines), tuple(cited), tuple(notes))


_NOTHING = lazily(r"(?:none|no relevant facts|无|没有)[.。]?", re.IGNORECASE)  # what the prompt asks to say


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
    >>> cry = Evidence("", "triple", (Triple(Entity("1", "猫叫综合征"), Relation("表现"), Entity("2", "Cat cry")),))
    >>> keeps_entities("'猫叫综合征'的表现有'Cat cry'和小头畸形。", cry)
    True
    """
    said = f" {_folded(sentence)} "
    names = {_folded(e.name) for t in evidence.triples for e in (t.head, t.tail)}
    return bool(sentence) and all(f" {n} " in said or (not n.isascii() and n in said) for n in names)


def _folded(text: str) -> str:
    """The words of a text, each in the singular and American spelling, in their order; no word is of two scripts."""
    return " ".join(map(fold_word, _SCRIPTS.sub(" ", normalise(text)).split()))


_SCRIPTS = lazily(r"(?<=[a-z0-9])(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])(?=[a-z0-9])")  # between two of them
