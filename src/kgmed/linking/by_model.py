"""Recognisers that ask a language model or a trained tagger."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from kgmed.errors import ModelFailed, Unavailable
from kgmed.frame import Ask, Form, Frame, Intent, Named
from kgmed.graph.base import KnowledgeGraph
from kgmed.language.negation import negated
from kgmed.language.text import has_cjk, one_line, prompt_language
from kgmed.linking.cascade import Spelled
from kgmed.models.asking import Malformed, Structured, Tally, ask_with_schema, strings, strings_schema, values
from kgmed.models.base import GREEDY, LLM, Encoder, Sampling, sampled, sampling
from kgmed.models.replies import without_example
from kgmed.models.w2ner import FoundEntity
from kgmed.pipeline import Recognizer, note
from kgmed.prompts import Prompt, prompt, task, whole_question
from kgmed.question.patient import as_read, patient_of
from kgmed.question.understand import ILL, MEDICINES, Trained, before_of, of_what_was_said
from kgmed.records import Link, Mention, Query, Question, Status

# --- The stage `understand` by a language model: names, what is asked of them, and the patient, in one structured
# call.

_KINDS = ("drug", "disease", "finding", "test", "gene", "food", "procedure", "other")
_PARTS = ("asked", "finding", "takes", "has", "allergic", "denied", "other person", "likely")
_KEPT = 256  # ours: readings that are remembered
_ABOUT = "likely"  # the part of what the question does not name


def _objects(**properties: Any) -> dict[str, Any]:
    """The JSON schema of a list of objects with those properties, all of them required."""
    one = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": one}


_TEXT, _NUMBERS = {"type": "string"}, {"type": "array", "items": {"type": "integer"}}
_THINGS = _objects(
    words=_TEXT,
    names={"type": "array", "items": _TEXT},
    kind={"type": "string", "enum": list(_KINDS)},
    part={"type": "string", "enum": list(_PARTS)},
)
_ASKS = _objects(
    intent={"type": "string", "enum": [i.value for i in Intent]},
    subject=_NUMBERS,
    object=_NUMBERS,
    negative={"type": "boolean"},
    form={"type": "string", "enum": [f.value for f in Form]},
)
_PATIENT = _objects(
    age={"type": ["number", "null"]},
    sex={"type": "string", "enum": ["female", "male", ""]},
    groups={"type": "array", "items": {"type": "string", "enum": ["pregnancy", "breastfeeding"]}},
)["items"]
SCHEMA: dict[str, Any] = _objects(things=_THINGS, asks=_ASKS, patient=_PATIENT, premise=_TEXT)["items"]


@dataclass(frozen=True)
class ReadByModel:
    """The understander with a language model.

    A name that the model gives is linked where the graph has one spelled so, the words of the question else as `link`
    does. `otherwise` reads the question too: its asks are further readings, and its frame stands where the reply cannot
    be read or asks nothing (a note says why), and for a question with options. A reading is remembered.
    """

    llm: LLM
    otherwise: Trained
    graph: KnowledgeGraph
    link: Callable[[Sequence[Mention]], Sequence[Link]]
    prompts: Path | None = None
    max_tokens: int = 700  # ours: some 350 characters are usual
    _kept: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, query: Query, mentions: Sequence[Mention], links: Sequence[Link]) -> Frame:
        """The frame of a question."""
        trained = self.otherwise(query, mentions, links)
        if query.question.options:
            return trained
        try:
            said = self._said(query.question)
        except Unavailable as problem:
            note(f"the question was read without the model: {problem}")
            return trained
        things = [(row, self._thing(query.text, row)) for row in said["things"]]
        asks = tuple(ask for row in said["asks"] if (ask := _asked(row, [named for _, named in things])))
        if not asks:
            return trained
        before = before_of(links)
        asks = tuple(of_what_was_said(ask, before) for ask in asks)
        others = [a for a in (*trained.asks, *trained.alternatives) if a.intent not in {ask.intent for ask in asks}]

        def of(*parts: str) -> tuple[Named, ...]:
            return tuple(named for row, named in things if row["part"] in parts and named.names)

        told = patient_of(query.text, [named for row, named in things if row["part"] != _ABOUT])
        patient = replace(
            as_read(told, said["patient"]),
            takes=_added(told.takes, of("takes")),
            has=_added(told.has, of("has")),
            allergic_to=_added(told.allergic_to, of("allergic")),
        )
        findings = of("finding", "denied") or tuple(n for n in of("asked", "has") if n.kind in ILL)
        likely, premise = of(_ABOUT), one_line(said["premise"])
        return Frame(asks, tuple(others), findings, likely, patient, trained.language, "model", 1.0, premise)

    def _said(self, question: Question) -> Mapping[str, Any]:
        """What the model replies, as data; raises `Unavailable`."""
        whole = whole_question(question)
        if whole not in self._kept:
            asked = prompt("question/frame", language=prompt_language(question), folder=self.prompts)
            messages = asked.messages(question=whole, intents=", ".join(i.value for i in Intent))
            reply = ask_with_schema(self.llm, messages, SCHEMA, max_tokens=self.max_tokens).text
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[whole] = _data(reply)
        return self._kept[whole]

    def _thing(self, text: str, row: Mapping[str, Any]) -> Named:
        """A thing with its place in the question and its entities, those of its kind first."""
        words, part = row["words"], row["part"]
        names = tuple(dict.fromkeys(filter(None, (words, *row["names"]))))
        at = text.casefold().find(words.casefold()) if words and part != _ABOUT else -1
        start, end = (at, at + len(words)) if at >= 0 else (-1, -1)
        status = Status.OTHER if part == "other person" else Status.STATED
        mentions = [Mention(words or name, name, start, end, part == "denied", status) for name in names]
        found = [x for one in mentions for x in Spelled(self.graph)([one])]
        found = found or list(self.link(mentions[:1] if words else []))
        found.sort(key=lambda link: link.entity.kind not in (row["kind"], *_LIKE.get(row["kind"], ())))
        kept = tuple(reversed({link.entity.id or link.entity.name: link for link in reversed(found)}.values()))
        kind = kept[0].entity.kind if kept else row["kind"]
        return Named(names, kind, ((start, end),) if at >= 0 else (), kept, part in ("denied", "other person"))


def _data(reply: str) -> Mapping[str, Any]:
    """What a reply holds, empty what is not of the form; raises `Malformed` where it holds no asks.

    >>> _data('{"things": [{"words": "gout"}], "asks": [{"intent": "treatment", "subject": [1]}]}')["things"]
    [{'words': 'gout', 'kind': '', 'part': '', 'names': []}]
    """
    for value in values(reply):
        if isinstance(value, dict) and isinstance(value.get("asks"), list):
            rows = value.get("things")
            things = [row if isinstance(row, dict) else {} for row in (rows if isinstance(rows, list) else ())]
            patient, premise = value.get("patient"), value.get("premise")
            return {
                "things": [_plain(row) for row in things],
                "asks": value["asks"],
                "patient": patient if isinstance(patient, dict) else {},
                "premise": premise if isinstance(premise, str) else "",
            }
    raise Malformed('it must be an object with the keys "things" and "asks"')


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A thing whose values are texts on one line, "" where they are none."""
    names = row.get("names")
    texts = [one_line(n) for n in names if isinstance(n, str)] if isinstance(names, list) else []
    values = {key: row.get(key) for key in ("words", "kind", "part")}
    return {key: one_line(v) if isinstance(v, str) else "" for key, v in values.items()} | {"names": texts}


def _asked(row: object, things: Sequence[Named]) -> Ask | None:
    """An ask of a reply; None where it is none."""
    if not isinstance(row, dict) or row.get("intent") not in _INTENT_NAMES:
        return None

    def of(key: str) -> tuple[Named, ...]:
        numbers = row.get(key)
        listed = [n for n in numbers if isinstance(n, int)] if isinstance(numbers, list) else []
        return tuple(things[n - 1] for n in dict.fromkeys(listed) if 1 <= n <= len(things) and things[n - 1].names)

    form = Form(row["form"]) if row.get("form") in {f.value for f in Form} else Form.LIST
    return Ask(Intent(row["intent"]), of("subject"), of("object"), row.get("negative") is True, form)


_INTENT_NAMES = frozenset(i.value for i in Intent)
_LIKE = {"drug": MEDICINES, "disease": ILL, "finding": ILL}


def _added(told: tuple[Named, ...], more: tuple[Named, ...]) -> tuple[Named, ...]:
    """The things of both, each once."""
    return tuple(dict.fromkeys((*told, *more)))


# --- Recogniser: the medical terms that a language model picks out of a question (KG-Rank, step 1).


KEY = {"en": "terms", "zh": "术语"}
AGAIN = {
    "en": "That reply cannot be used: $reason. Answer with the JSON object alone.",
    "zh": "这个回答无法使用：$reason。请只输出 JSON 对象。",
}


@dataclass(frozen=True, slots=True)
class ByModel:
    """At most `most` terms of the question, asked for by a prompt; the model's guess, if any, is not looked at.

    An unusable reply is asked for once more with the reason; if that fails too, `tally` counts it, and `otherwise`
    finds the mentions, with a note of it, or, without one, it raises `Malformed`. An empty list is a reply: the
    question names nothing.
    """

    llm: LLM
    name: str = "kg_rank/terms"
    most: int = 5  # KG-Rank: three to five terms
    max_tokens: int = 128
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)
    otherwise: Recognizer | None = None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The terms in the order of the text; one that does not stand in it has start -1 and comes first."""
        if not query.text.strip():
            return []
        try:
            return locate_terms(query.text, self._terms(query.question))
        except ModelFailed as problem:
            if task().published:
                return no_terms(problem)
            if self.otherwise is None:
                raise
            note(f"terms by the graph's names: {problem}")
            return self.otherwise(Query(query.question))

    def _terms(self, question: Question) -> list[str]:
        """What the model names, at most `most`."""
        language = prompt_language(question)
        asked = prompt(self.name, language=language, folder=self.prompts)
        key, schema = KEY[language], strings_schema(KEY[language], most=self.most)
        whole = question.with_options
        parse = partial(of_question, key=key, question=whole, asked=asked)
        ask = Structured(self.llm, parse, self.max_tokens, AGAIN[language], self.tally, schema)
        return ask(asked.messages(question=whole, most=str(self.most)))[: self.most]


def no_terms(problem: ModelFailed) -> list[Mention]:
    """No mention, and a note why: what a published method has where its model lists no terms that can be read."""
    note(f"no terms: {problem}")
    return []


def of_question(reply: str, *, key: str, question: str, asked: Prompt) -> list[str]:
    """The terms under a key of a reply that are not merely those of the prompt's example; raises `Malformed`."""
    return without_example(strings(reply, key), example=asked.example, given=question)


def locate_terms(text: str, terms: list[str]) -> list[Mention]:
    """A mention for each term, where it first stands in the text whatever its case.

    >>> [(m.surface, m.start, m.negated) for m in locate_terms("No Fever, but gout.", ["gout", "fever", "arthritis"])]
    [('arthritis', -1, False), ('Fever', 3, True), ('gout', 14, False)]
    """
    found = [(term, re.search(_whole_word(term), text, re.IGNORECASE)) for term in terms]
    places = [match.span() if match else (-1, -1) for _, match in found]
    there = [place for place in places if place[0] >= 0]
    denied = {} if task().published else dict(zip(there, negated(text, there), strict=True))
    mentions = [
        Mention(text[a:b] if a >= 0 else term, term, a, b, denied.get((a, b), False))
        for (term, _), (a, b) in zip(found, places, strict=True)
    ]
    return sorted(mentions, key=lambda m: (m.start, m.end))


def _whole_word(term: str) -> str:
    """A pattern for a term that is not part of a longer word; in Chinese words have no borders."""
    body = r"\s+".join(map(re.escape, term.split()))
    return body if has_cjk(term) else rf"(?<![^\W_]){body}(?![^\W_])"


# --- Recogniser: the entities that a model lists in question and guess (HyKGE, Table 4, "LLM as NER").


@dataclass(frozen=True, slots=True)
class DrawnEntities:
    """The entities of `draws` replies together, each drawn anew; a greedy one more where none of them can be read.

    A reply that cannot be read counts in `tally`; where all of them are such, there is no mention.
    """

    llm: LLM
    name: str = "hykge/entities"
    draws: int = 3  # HyKGE's code
    temperature: float = 0.6  # HyKGE's code
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, /) -> list[Mention]:
        """The entities of the expanded query, in the order of the text."""
        text, language, seed = query.expanded, prompt_language(query.question), sampling().seed
        if not text.strip():
            return []
        asked = prompt(self.name, language=language, folder=self.prompts)
        ways = [Sampling(self.temperature, seed=seed + i) for i in range(self.draws)]
        found = [term for way in ways for term in self._listed(asked, text, language, way)]
        return locate_terms(text, list(dict.fromkeys(found or self._listed(asked, text, language, GREEDY))))

    def _listed(self, asked: Prompt, text: str, language: str, way: Sampling) -> list[str]:
        """The entities of one reply."""
        self.tally.add(asked=1)
        with sampled(way):
            reply = self.llm(asked.messages(text=text), max_tokens=self.max_tokens)
        try:
            return of_question(reply.text, key=KEY[language], question=text, asked=asked)
        except Malformed:
            self.tally.add(failed=1)
            return []


@dataclass(frozen=True, slots=True)
class OrElse:
    """The mentions of the first recogniser; those of the second where it finds none, or where its model is of no use.

    The latter leaves a note in the run. A model that cannot be reached ends the run. Of a method as published (see
    `kgmed.prompts.AnswerTask`) the first alone counts.
    """

    first: Recognizer
    second: Recognizer | None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions of one of the two."""
        try:
            found = self.first(query)
            return found if found or task().published or self.second is None else self.second(query)
        except ModelFailed as problem:
            if task().published:
                return no_terms(problem)
            if self.second is None:
                raise
            note(f"terms by the graph's names: {problem}")
            return self.second(query)


# --- Recogniser: a tagger that `kgmed train ner` has trained, as HyKGE uses W2NER.


Label = Callable[[Sequence[str]], list[list[FoundEntity]]]


@dataclass(frozen=True, slots=True)
class Tagger:
    """The entities that a trained network finds in question and hypothesis, nested and discontinuous ones too.

    `label` finds entities in texts; see `open_tagger`. No text is cut off, however long it is.
    """

    label: Label
    without: frozenset[str] = frozenset()  # types that are not looked for

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions in the expanded query, in order; one that is denied there is marked negated."""
        text = query.expanded
        found = sorted({(f.parts[0][0], f.parts[-1][1], _name(text, f)) for f in self._found(text)})
        denied = negated(text, [(start, end) for start, end, _ in found])
        return [
            Mention(text[start:end], name, start, end, no) for (start, end, name), no in zip(found, denied, strict=True)
        ]

    def _found(self, text: str) -> Iterator[FoundEntity]:
        """The entities; no line is looked at together with another."""
        lines = text.splitlines(keepends=True)
        begins = [0]
        for line in lines:
            begins.append(begins[-1] + len(line))
        for begin, entities in zip(begins, self.label(lines), strict=False):
            for kind, parts in entities:
                if kind not in self.without:
                    yield FoundEntity(kind, tuple((begin + a, begin + b) for a, b in parts))


def open_tagger(folder: Path, *, vectors: Encoder | None = None, device: str = "") -> Tagger:
    """The tagger of a folder; raises `Unavailable` without torch, `SourceError` for a folder that holds none.

    `vectors` = the encoder whose frozen vectors it was trained on, if any; the embedded one is found by itself.
    """
    try:
        from kgmed.models.w2ner_network import open_labeller  # torch
    except ImportError as error:
        raise Unavailable('a trained tagger needs torch: pip install "kgmed[train]"') from error
    return Tagger(open_labeller(folder, vectors, device or "cpu"))


def _name(text: str, found: FoundEntity) -> str:
    """The form to look up: the parts without what stands between them.

    >>> _name("手指和脚趾疼痛", FoundEntity("sym", ((0, 2), (5, 7))))
    '手指疼痛'
    """
    pieces = [text[a:b] for a, b in found.parts]
    gaps = ["" if has_cjk(a[-1] + b[0]) else " " for a, b in pairwise(pieces)]
    return "".join(piece + gap for piece, gap in zip(pieces, [*gaps, ""], strict=True))
