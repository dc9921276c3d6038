"""What a method is made of: a graph, the stages that understand its names, an encoder and a language model."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from kgmed import vocabulary
from kgmed.derived import cached_arrays, derived_folder, open_arrays
from kgmed.errors import Unavailable
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.names import Fuzzy, Glossary, is_spoken
from kgmed.graph.store.store import Store
from kgmed.language.negation import marked
from kgmed.language.text import has_cjk
from kgmed.linking.align import open_aligned
from kgmed.linking.cascade import Candidates, Cascade, Dense, Misspelled, Reworded, Spelled, unlike
from kgmed.linking.recognise import Lexicon, WithoutAsking, WithPhrases
from kgmed.linking.scattered import AsPatientsSay, Scattered
from kgmed.models.base import LLM, Encoder, PairScorer, name_of
from kgmed.models.encoders import NgramEncoder, UseEncoder
from kgmed.pipeline import Recognizer
from kgmed.question.understand import Trained
from kgmed.records import Link, Mention, Query, Question

if TYPE_CHECKING:
    from kgmed.linking.by_model import ReadByModel
    from kgmed.linking.decide import Decided
    from kgmed.steps.check import ByTriples

T = TypeVar("T")
LIKE, LIKE_CJK = 0.75, 0.6  # edit similarity from which a name is asked about


def default_encoder() -> Encoder:
    """The embedded encoder where the starter extra is installed, else character n-grams."""
    try:
        return UseEncoder()
    except Unavailable:
        return NgramEncoder()


class part(Generic[T]):  # noqa: N801 - used as a decorator
    """A property that is made when first asked for, once, however many threads ask at the same moment.

    `functools.cached_property` has no lock any more since Python 3.12: ten first questions would make ten indexes.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        """`make` is the method."""
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        """The part of that owner."""
        if owner is None:
            return self  # type: ignore[return-value]
        kept = owner.__dict__
        if self._name not in kept:
            with kept.setdefault("_lock", RLock()):
                if self._name not in kept:
                    kept[self._name] = self._make(owner)
        made: T = kept[self._name]
        return made


@dataclass(frozen=True)
class Toolkit:
    """The parts that methods share, each made when first used."""

    graph: LocalGraph
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    pairs: PairScorer | None = None  # None = `LexicalPairs` over the encoder, where a method needs one
    prompts: Path | None = None  # the user's own, in place of kgmed's
    glossary: Glossary | None = None  # translations of terms; None = those of the graph itself
    tagger: Recognizer | None = None  # a trained one; None = `recognize`, where a method needs one

    @part
    def lexicon(self) -> AsPatientsSay:
        """Finds the graph's own names in a text, and its findings in a patient's words."""
        return AsPatientsSay(self.graph, Scattered(self.graph, Lexicon(self.graph).find))

    @part
    def recognize(self) -> WithoutAsking:
        """The names of the graph, and the phrases between them that may mean one of its entities."""
        return WithoutAsking(WithPhrases(self.lexicon))

    @part
    def link(self) -> Cascade:
        """From the surest to the boldest: by spelling, then what the scorer is sure of among what the map finds.

        Where no map is trained: by spelling, by wording, by small slips, by the encoder's vectors.
        """
        names = self._names
        if self.decided is not None:  # of a slip of the pen the rules are surer than the scorer
            from kgmed.linking.decide import Guessed

            slips = Misspelled(self.graph, names)
            return Cascade((Spelled(self.graph), self.decided, slips), nearest=Guessed(self.decided))
        stages: list[Candidates] = [Spelled(self.graph), Reworded(self.graph), Misspelled(self.graph, names)]
        if not isinstance(self.encoder, NgramEncoder):
            stages.append(Dense(self.graph, self.fact_encoder, names))
        nearest = Dense(self.graph, self.fact_encoder, names, at_least=-1, agreement=0, agreement_cjk=0)
        return Cascade(tuple(stages), nearest=nearest)

    @part
    def understand(self) -> Trained:
        """Reads what a question asks: the trained classifier."""
        return Trained(lambda: self.encoder, known=lambda word: is_spoken(self.graph, word), lookup=self.graph.lookup)

    @part
    def understand_by_model(self) -> "ReadByModel | Trained":
        """Reads what a question asks: the language model, where there is one."""
        return _by_model(self)

    @part
    def decided(self) -> "Decided | None":
        """Decides among what the graph's map finds; None where no map is trained (`kgmed graph vectors --train`)."""
        vectors = open_aligned(self.graph, self.encoder)
        if not vectors:
            return None
        from kgmed.linking.decide import Decided, Finder, open_scorer  # read in where a map is trained

        return Decided(Finder(self.graph, vectors), open_scorer())

    @part
    def unlike(self) -> float:
        """The cosine that names of other things seldom reach by this encoder (`kgmed.linking.cascade.unlike`)."""
        return unlike(self.graph, self.fact_encoder, self._names)

    @part
    def fact_encoder(self) -> Encoder:
        """The encoder, by which the vectors of the graph's own texts are kept beside it."""
        if isinstance(self.encoder, NgramEncoder) or not self.graph.folder:  # as fast as reading, or nowhere to keep
            return self.encoder
        from kgmed.graph.vectors import FactVectors  # read in where a method ranks by vectors

        return FactVectors(self.graph, self.encoder)

    @part
    def _names(self) -> Fuzzy:
        return Fuzzy(self.graph)

    def models(self, *, scorer: bool) -> tuple[tuple[str, str], ...]:
        """The models by their part in a method, as runs name them; `scorer` = the method scores pairs."""
        return _models(self, scorer=scorer)

    def near(self, name: str) -> list[str]:
        """At most three names that one that was not linked may mean, best first: to ask a person about.

        By the scorer, and where no map is trained by how they are spelled.
        """
        if self.decided is not None:
            return self.decided.asked(name, most=3)
        return [n.name for n in self._names.search(name, limit=3, at_least=LIKE_CJK if has_cjk(name) else LIKE)]

    def prepare(self, progress: Callable[[int], None] | None = None) -> None:
        """Make what is computed once a graph and kept beside it, and open it, so that no question waits for that.

        `progress` is called with the number of parts that are done.
        """
        for done, part in enumerate(self._parts(), start=1):
            part()
            if progress is not None:
                progress(done)

    def _parts(self) -> Iterator[Callable[[], object]]:
        """What a first question of a graph would wait for, each a call."""
        from kgmed.diagnose.engine import engine  # read in where a graph is prepared
        from kgmed.facts.circumstances import forbidden_groups
        from kgmed.graph.complete import completions
        from kgmed.graph.contradictions import contradictions, warnings_of
        from kgmed.steps.family import classes_of, medicines_of

        yield from (partial(self.understood, Question(text)) for text in ("strange crimson malady", "闻所未闻的怪病"))
        yield partial(is_spoken, self.graph, "")
        for make in (engine, medicines_of, classes_of, contradictions, forbidden_groups, warnings_of):
            yield partial(make, self.graph)
        if isinstance(self.graph, Store):
            yield partial(completions, self.graph)
            yield partial(warnings_of(self.graph).naming, ())

    def linked(self, text: str) -> Sequence[Link]:
        """The entities that a text names outright."""
        return self.link(marked(text, self.lexicon(text)))

    @part
    def check(self) -> "ByTriples":
        """Holds each sentence of an answer against its evidence and against the graph."""
        from kgmed.steps.check import ByTriples  # read in where a model answers
        from kgmed.steps.citations import Citations

        return ByTriples(Citations(names=self.names), self.graph, self.linked)

    def names(self, text: str) -> Collection[str]:
        """The names of the entities that a text names outright."""
        return {link.entity.name for link in self.linked(text)}

    def understood(self, question: Question) -> tuple[list[Mention], list[Link]]:
        """What is recognised in a question, and what of it is linked."""
        mentions = self.recognize(Query(question))
        return mentions, self.link(mentions)


# --- A stored graph is prepared once, so that nothing is made inside a question.


PREPARED = 2  # goes up when a part of what is prepared does
LANGUAGES = ("en", "zh")  # in which a graph of several is prepared to be asked


def views(store: Store) -> list[Store]:
    """A stored graph as it is asked in each of `LANGUAGES`, each once."""
    return list(dict.fromkeys(map(store.speaking, LANGUAGES)))


def is_prepared(store: Store) -> bool:
    """Whether this version has made all that questions need of a graph."""
    return not store.folder or open_arrays(derived_folder(store.folder, *_mark(store)), ("parts",)) is not None


def prepare(store: Store, progress: Callable[[int], None] | None = None) -> None:
    """Make all that questions need of a stored graph, and note that it is there; what is there already is kept.

    `progress` is called with the number of parts that are done in one language.
    """
    for view in views(store):
        Toolkit(view, encoder=NgramEncoder()).prepare(progress)
    default_encoder()(["a"])  # its arrays are made at the first text
    cached_arrays(store.folder, *_mark(store), ("parts",), lambda: {"parts": np.arange(len(LANGUAGES))})


def _mark(store: Store) -> tuple[str, str]:
    """The name of the note, and what it is of."""
    return "prepared", f"{PREPARED} {store.label}{vocabulary.changed(*vocabulary.TABLES)}"


@dataclass(frozen=True)
class InPlace(Toolkit):
    """The parts of a method on an excerpt of a graph in a database: its names are looked up, and never guessed."""

    @part
    def lexicon(self) -> AsPatientsSay:
        """Finds the graph's own names in a text, each text being looked up first."""

        def find(text: str) -> list[Mention]:
            self.graph.read(text)  # type: ignore[attr-defined]
            return Scattered(self.graph, Lexicon(self.graph).find)(text)

        return AsPatientsSay(self.graph, find)

    @part
    def link(self) -> Cascade:
        """The entities that the database has of that name."""
        return Cascade((Spelled(self.graph),))

    def near(self, name: str) -> list[str]:
        """Nothing: the names of a graph that is not here cannot be searched."""
        return []


@dataclass(frozen=True)
class RemoteToolkit:
    """The parts of a method on a graph whose answers come from a server: it can be asked, but not listed by name.

    So a model must say which terms a question has, and only names as they are written are linked.
    """

    graph: KnowledgeGraph
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    pairs: PairScorer | None = None
    prompts: Path | None = None
    glossary: Glossary | None = None
    attributes: bool = True  # whether the graph's texts are triples of their own, and no definitions

    @property
    def fact_encoder(self) -> Encoder:
        """The encoder; nothing is kept."""
        return self.encoder

    @part
    def link(self) -> Cascade:
        """The entities that the server has of that name."""
        return Cascade((Spelled(self.graph),))

    @part
    def understand(self) -> Trained:
        """Reads what a question asks: the trained classifier."""
        return Trained(lambda: self.encoder)

    @part
    def understand_by_model(self) -> "ReadByModel | Trained":
        """Reads what a question asks: the language model, where there is one."""
        return _by_model(self)

    def models(self, *, scorer: bool) -> tuple[tuple[str, str], ...]:
        """The models by their part in a method, as runs name them; `scorer` = the method scores pairs."""
        return _models(self, scorer=scorer)

    def near(self, name: str) -> list[str]:
        """Nothing: the names of a graph that is not here cannot be searched."""
        return []

    def names(self, text: str) -> Collection[str]:
        """Nothing: the names of a graph that is not here cannot be looked for in a text."""
        return ()

    @property
    def check(self) -> "ByTriples":
        """Holds an answer against its evidence; the names in that are the only ones that are known here."""
        from kgmed.steps.check import ByTriples
        from kgmed.steps.citations import Citations

        return ByTriples(Citations())


def _by_model(toolkit: Toolkit | RemoteToolkit) -> "ReadByModel | Trained":
    """What understands a question with the model of a toolkit."""
    if toolkit.llm is None:
        return toolkit.understand
    from kgmed.linking.by_model import ReadByModel  # read in where a model is asked

    return ReadByModel(toolkit.llm, toolkit.understand, toolkit.graph, toolkit.link, toolkit.prompts)


def _models(toolkit: Toolkit | RemoteToolkit, *, scorer: bool) -> tuple[tuple[str, str], ...]:
    """The models of a toolkit by name."""
    found = [("llm", name_of(toolkit.llm))] if toolkit.llm else []
    found.append(("encoder", toolkit.encoder.name))
    if scorer:
        from kgmed.models.scorers import LexicalPairs

        found.append(("scorer", name_of(toolkit.pairs or LexicalPairs(toolkit.encoder))))
    return tuple(found)
