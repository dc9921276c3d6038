"""Recognisers that ask a language model or a trained tagger."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from kgmed.errors import ModelFailed, Unavailable
from kgmed.language.negation import negated
from kgmed.language.text import has_cjk, prompt_language
from kgmed.models.asking import Malformed, Structured, Tally, strings, strings_schema
from kgmed.models.base import GREEDY, LLM, Encoder, Sampling, sampled, sampling
from kgmed.models.replies import without_example
from kgmed.models.w2ner import FoundEntity
from kgmed.pipeline import Recognizer, note
from kgmed.prompts import Prompt, prompt
from kgmed.records import Mention, Query, Question

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
            if self.otherwise is None:
                raise
            note(f"terms by the graph's names: {problem}")
            return self.otherwise(Query(query.question))

    def _terms(self, question: Question) -> list[str]:
        """What the model names, at most `most`."""
        language = prompt_language(question)
        asked = prompt(self.name, language=language, folder=self.prompts)
        key, schema = KEY[language], strings_schema(KEY[language], most=self.most)
        whole = with_options(question)
        parse = partial(of_question, key=key, question=whole, asked=asked)
        ask = Structured(self.llm, parse, self.max_tokens, AGAIN[language], self.tally, schema)
        return ask(asked.messages(question=whole, most=str(self.most)))[: self.most]


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
    denied = dict(zip(there, negated(text, there), strict=True))
    mentions = [
        Mention(text[a:b] if a >= 0 else term, term, a, b, denied.get((a, b), False))
        for (term, _), (a, b) in zip(found, places, strict=True)
    ]
    return sorted(mentions, key=lambda m: (m.start, m.end))


def _whole_word(term: str) -> str:
    """A pattern for a term that is not part of a longer word; in Chinese words have no borders."""
    body = r"\s+".join(map(re.escape, term.split()))
    return body if has_cjk(term) else rf"(?<![^\W_]){body}(?![^\W_])"


def with_options(question: Question) -> str:
    """The question before its options.

    >>> with_options(Question("Which?", (("A", "gout"),)))
    'Which?\\nA. gout'
    """
    return "\n".join([question.text, *(f"{letter}. {text}" for letter, text in question.options)])


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

    The latter leaves a note in the run. A model that cannot be reached ends the run.
    """

    first: Recognizer
    second: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions of one of the two."""
        try:
            return self.first(query) or self.second(query)
        except ModelFailed as problem:
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
