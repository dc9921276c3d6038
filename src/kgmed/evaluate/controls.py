"""Controls: a method run with other evidence than its own, to show what its evidence is worth.

If random triples answer as well as ranked ones, the ranking is worth nothing; if shuffled ones do, the facts are not
read; oracle evidence shows what the reader could do if retrieval were perfect. The first control, no evidence at all,
is the method `zero-shot`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kgmed.errors import BadInput
from kgmed.evaluate.items import Gold, Item
from kgmed.graph.base import LocalGraph
from kgmed.linking.recognise import Lexicon
from kgmed.pipeline import Pipeline, notes
from kgmed.records import Evidence, Link, Query
from kgmed.registry import controls, methods
from kgmed.steps.rank import generator


@controls.register("random", takes=("graph", "seed"))
@dataclass(frozen=True)
class RandomTriples:
    """Ranker: as many pieces as came in, each a triple drawn from the whole graph."""

    graph: LocalGraph
    seed: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """One drawn triple in the place of each piece that stands on triples."""
        edges, evidence = self.graph.adjacency.edges, [e for e in evidence if e.triples]
        if not edges:
            return []
        drawn = generator(self.seed, query).integers(0, edges, len(evidence))
        triples = [self.graph.triple(int(edge)) for edge in drawn]
        return [Evidence(str(t), "triple", (t,), (t.head,), e.score) for t, e in zip(triples, evidence, strict=True)]


@controls.register("shuffled", takes=("seed",))
@dataclass(frozen=True, slots=True)
class ShuffledTriples:
    """Ranker: the triples that came in with their tails permuted among them: the same names, other facts."""

    seed: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """One piece a triple, in the order of the pieces."""
        triples = [t for e in evidence for t in e.triples]
        permuted = generator(self.seed, query).permutation(len(triples))
        mixed = [replace(t, tail=triples[j].tail) for t, j in zip(triples, permuted, strict=True)]
        scores = [e.score for e in evidence for _ in e.triples]
        return [Evidence(str(t), "triple", (t,), (t.head,), s) for t, s in zip(mixed, scores, strict=True)]


@dataclass(frozen=True)
class Oracle:
    """Ranker: the triples of the graph that join what the gold names to what the question names, else around the gold.

    It reads the gold and so is no method. With no name of the gold in the graph there is no evidence.
    """

    graph: LocalGraph
    names: tuple[str, ...]
    linked: Callable[[Query], Sequence[Link]]
    keep: int = 20

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """At most `keep` triples: first those that join the two, each part by falling weight."""
        gold = {m.entity.id for name in self.names for m in self.graph.lookup(name)[:1]}
        asked = {link.entity.id for link in self.linked(query)}
        around = dict.fromkeys(t for entity in sorted(gold) for t in self.graph.neighbours(entity, limit=500))
        joined = [t for t in around if {t.head.id, t.tail.id} & (asked - gold)]
        kept = [*joined, *(t for t in around if t not in set(joined))][: self.keep]
        return [Evidence(str(t), "triple", (t,), (t.head, t.tail), t.weight) for t in kept]


def gold_names(item: Item) -> tuple[str, ...]:
    """What the gold names: its entities, else the texts of the right options.

    >>> from kgmed.records import Question
    >>> gold_names(Item(Question("?", (("A", "gout"), ("B", "flu"))), Gold(("A",))))
    ('gout',)
    """
    gold: Gold = item.gold
    return gold.entities or tuple(text for letter, text in item.question.options if letter in gold.choices)


def known_names(graph: LocalGraph, item: Item) -> tuple[str, ...]:
    """The names of the graph in what the gold names, or, where it names nothing, in the reference answers.

    A text that is no name as a whole is searched for the names in it; what it denies does not count.
    """
    lexicon, found = Lexicon(graph), dict[str, None]()
    for text in gold_names(item) or item.gold.texts:
        whole = graph.lookup(text)[:1]
        found |= dict.fromkeys([text] if whole else [m.name for m in lexicon.find(text) if not m.negated])
    return tuple(found)


class Controlled(NamedTuple):
    """A method, the control it is run under, the settings of its own as texts, and its model; "" and () = none.

    As `hykge`, `hykge+random`, `hykge[hops=3]`, `hykge[hops=3,keep=5]+random` or, where an evaluation holds several
    models, `hykge@openai/NAME`.
    """

    method: str
    control: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    model: str = ""


_NAME = re.compile(r"([^\[\]+@]*)(?:\[([^\[\]]*)\])?(?:\+([^\[\]@]*))?(?:@(.+))?")
_SETTING = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^=,]+?)\s*")


def controlled(name: str) -> Controlled:
    """The parts of a name; raises `BadInput` for one of another form.

    >>> controlled("hykge+random")
    Controlled(method='hykge', control='random', settings=(), model='')
    >>> controlled("hykge[hops=3]").settings, controlled("hykge[keep=5]+random@openai/a+b@c").model
    ((('hops', '3'),), 'openai/a+b@c')
    """
    found = _NAME.fullmatch(name)
    parts = found[2].split(",") if found and found[2] is not None else []
    settings = tuple((pair[1], pair[2]) for pair in [_SETTING.fullmatch(part) for part in parts] if pair)
    if not found or len({n for n, _ in settings}) != len(parts):
        raise BadInput(
            f"{name!r} is no name of a method; write METHOD, METHOD[SETTING=VALUE,...], METHOD+CONTROL or METHOD@MODEL"
        )
    return Controlled(found[1], found[3] or "", settings, found[4] or "")


def by_model(names: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    """Every method with every model, where there are several; one that asks none, or names its own, stays as it is.

    >>> by_model(["facts", "hykge", "mindmap@smollm2"], ["openai/a", "openai/b"])
    ('facts', 'hykge@openai/a', 'hykge@openai/b', 'mindmap@smollm2')
    >>> by_model(["hykge"], ["openai/a"])
    ('hykge',)
    """
    alone = {n for n in names if len(models) < 2 or controlled(n).model or not asks_model(n)}
    several = ([n] if n in alone else [f"{n}@{model}" for model in models] for n in names)
    return tuple(name for some in several for name in some)


def asks_model(name: str) -> bool:
    """Whether a method of that name ever asks a language model."""
    return methods.get(controlled(name).method).about.calls.most > 0


def rival_of(name: str, baseline: str, names: Sequence[str]) -> str:
    """What a method is held against: the baseline with its own model, where it is there with several; "" = nothing.

    >>> rival_of("hykge@a", "zero-shot", ["hykge@a", "zero-shot@a", "zero-shot@b"])
    'zero-shot@a'
    >>> rival_of("hykge@a", "facts", ["hykge@a", "facts"]), rival_of("hykge@a", "zero-shot", ["hykge@a"])
    ('facts', '')
    """
    model = controlled(name).model
    return next((n for n in (f"{baseline}@{model}" if model else "", baseline) if n in names), "")


def has_baseline(baseline: str, names: Sequence[str]) -> bool:
    """Whether that method is among those names, with or without a model.

    >>> has_baseline("zero-shot", ["zero-shot@a"]), has_baseline("zero", ["zero-shot@a"])
    (True, False)
    """
    return any(baseline in (name, name.partition("@")[0]) for name in names)


def under(pipeline: Pipeline, control: str, graph: LocalGraph, item: Item, *, seed: int = 0) -> Pipeline:
    """The pipeline with its ranked evidence replaced as the control says; everything after it stays."""
    if not control:
        return pipeline
    rank = controls.make(control, pipeline=pipeline, graph=graph, item=item, seed=seed)
    return replace(pipeline, rank=(*pipeline.rank, rank), name=f"{pipeline.name}+{control}")


@controls.register("oracle", takes=("pipeline", "graph", "item"))
def _oracle(pipeline: Pipeline, graph: LocalGraph, item: Item) -> Oracle:
    """The gold's triples, joined to what the pipeline links in the question."""

    def linked(query: Query) -> Sequence[Link]:
        with notes():  # the run has those of its own recogniser
            return pipeline.link(pipeline.recognize(query))

    return Oracle(graph, known_names(graph, item), linked)
