"""A session: graphs, a method and models by name, asked one question after the other."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, cast, get_args, get_type_hints

from kgmed.config import AUTO, Mode, Setup, data_folder, presets_of, settings_of
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph import formats, library
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.names import Fuzzy, Glossary
from kgmed.graph.remote.cache import CachedGraph, Hits
from kgmed.graph.remote.named import is_remote, open_remote
from kgmed.graph.vectors import compute
from kgmed.language.text import has_cjk, prompt_language
from kgmed.linking.by_model import open_tagger
from kgmed.linking.cascade import CarriedOver
from kgmed.models.base import LLM, Encoder, PairScorer
from kgmed.models.cache import Absent, CachedLLM, recorded_models
from kgmed.models.encoders import NgramEncoder, Remembered
from kgmed.models.files import MODELS
from kgmed.models.limits import Budget, CallLimit, CountedLLM, Metered, Rate, RecordedLLM, ReplyLimit, prices
from kgmed.models.named import encoder_from, llm_from, name_of, scorer_from
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Pipeline, Reader, Recognizer
from kgmed.records import Answer, Context, Evidence, Query, Question, Run
from kgmed.registry import method
from kgmed.registry import method as method_named
from kgmed.steps.budget import Within
from kgmed.steps.facts import facts
from kgmed.steps.likelihood import Likeliest, LikelihoodReader, likelihood_of
from kgmed.toolkit import Kit, RemoteKit, default_encoder

# --- A reader that says nothing where the best evidence is weak.
# The rule: the strength of the evidence is the highest score that the method's last ranker gave to any piece that the
# reader would be shown; warnings and descriptions, which no ranker chose, do not count. Below `at_least` the answer is
# that the evidence is too weak, with both numbers. Scores are those of the method (a cosine, a share of a chain's
# words, a frequency): a threshold fits one method, and is chosen on questions of one's own.


UNRANKED = frozenset({"warning", "description"})
_SAID = {
    "en": "The evidence is too weak to answer from: its best score is {best:.3g}, and {at_least:.3g} is asked for.",
    "zh": "证据太弱，无法据此回答：最高得分为 {best:.3g}，要求至少 {at_least:.3g}。",
}


@dataclass(frozen=True, slots=True)
class UnlessWeak:
    """Abstains below `at_least`; else the answer of another reader. Without evidence it leaves that to the other."""

    read: Reader
    at_least: float

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; one that abstains names the rule in `limits`."""
        best = best_score(context.cited)
        if best is None or best >= self.at_least:
            return self.read(query, context)
        said = _SAID[prompt_language(query.question)].format(best=best, at_least=self.at_least)
        rule = f"abstained: best score of the evidence {best:.3g} is below {self.at_least:.3g}"
        return Answer(said, abstained=True, limits=rule, reader="none")


def best_score(cited: Sequence[Evidence]) -> float | None:
    """The best score of the evidence that a ranker chose; None where there is none.

    >>> best_score([Evidence("a", "triple", score=0.2), Evidence("b", "warning", score=9.0)])
    0.2
    """
    return max((e.score for e in cited if e.kind not in UNRANKED), default=None)


# --- Asking: the graph that has an answer, a method, and the run of it.


@dataclass(frozen=True)
class Asker:
    """Answers questions from one of some graphs.

    `open_graph` gives the graph of a name. With several graphs those in the question's language are tried first, and
    the first that has an answer gives it; a graph that is not needed is not opened. Where all abstain, the first that
    knows a word of the question does.
    """

    graphs: Sequence[str]
    open_graph: Callable[[str], KnowledgeGraph]
    languages: Mapping[str, str] = field(default_factory=dict)  # graph -> language of its names
    method: str = AUTO
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    pairs: PairScorer | None = None
    prompts: Path | None = None
    glossary: Glossary | None = None
    preset: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    evidence_tokens: int = 0  # of the context; 0 = any number
    abstain_below: float | None = None  # the best score of the evidence
    tagger: Recognizer | None = None
    choose: str = "letter"  # or "likelihood": how a model chooses among options
    _kits: dict[str, Kit | RemoteKit] = field(default_factory=dict, repr=False)

    def ask(
        self, question: Question | str, *, options: Mapping[str, str] | None = None, after: Run | None = None
    ) -> Run:
        """The run of a question; `options` = letter -> text of a question with a choice. Raises `BadInput`.

        `after` is the run before it in a conversation: a question that names nothing known is about what that one was.
        """
        asked = Question(question) if isinstance(question, str) else question
        asked = replace(asked, options=tuple(options.items())) if options else asked
        if not asked.text.strip():
            raise BadInput('the question is empty; ask for example: kgmed ask "What are the signs of rickets?"')
        first: Run | None = None
        for name in self._order(asked, after):
            run = self._run(self.kit(name), asked, after)
            if not run.answer.abstained:
                return run
            first = run if first is None or (run.links and not first.links) else first
        if first is None:
            raise BadInput("there is no graph to ask; name one")
        tried = f" ({', '.join(self.graphs)})" if len(self.graphs) > 1 and not first.links else ""
        return replace(first, answer=replace(first.answer, text=f"{first.answer.text}{tried}"))

    def pipeline(self, kit: Kit | RemoteKit) -> Pipeline:
        """The method on a graph; `auto` reads with the language model where one is given, else the facts alone.

        The embedded 135M model is not taken unless it is named: on the same evidence it answers fewer questions right
        than the facts do (docs/decisions/004-readers.md). On a graph behind a server, `auto` is kg-rank.
        """
        function, settings = self._method(kit)
        given = {} if settings is None else {"settings": settings}
        made = cast(Callable[..., Pipeline], function)(kit, **given)
        if self.evidence_tokens:
            made = replace(made, phrase=Within(made.phrase, self.evidence_tokens, kit.encoder))
        if self.choose == "likelihood" and kit.llm is not None and made.read is not facts:
            by_text = LikelihoodReader(likelihood_of(kit.llm), prompts=kit.prompts)
            made = replace(made, read=Likeliest(made.read, by_text))
        if self.abstain_below is not None:
            made = replace(made, read=UnlessWeak(made.read, self.abstain_below))
            made = replace(made, otherwise=made.otherwise and UnlessWeak(made.otherwise, self.abstain_below))
        return made

    def kit(self, name: str) -> Kit | RemoteKit:
        """The kit of a graph, opened once."""
        if name not in self._kits:
            graph = self.open_graph(name)
            llm = self.llm if self.llm is None or isinstance(self.llm, RecordedLLM) else RecordedLLM(self.llm)
            parts = (llm, self.encoder, self.pairs, self.prompts, self.glossary)
            if isinstance(graph, CachedGraph) or not hasattr(graph, "adjacency"):
                self._kits[name] = RemoteKit(graph, *parts, attributes=graph.name != "umls")
            else:
                self._kits[name] = Kit(cast(LocalGraph, graph), *parts, tagger=self.tagger)
        return self._kits[name]

    def near(self, run: Run) -> dict[str, list[str]]:
        """The names of a run's graph that are spelled much like a term that was not linked, by term; [] is left out."""
        kit = next((kit for kit in self._kits.values() if kit.graph.label == run.graph), None)
        terms = dict.fromkeys(m.name for m in run.missed) if kit else ()
        return {term: names for term in terms if kit and (names := kit.near(term))}

    def close(self) -> None:
        """Keep what caches have counted, and close them; they open again by themselves."""
        for kit in self._kits.values():
            if isinstance(kit.graph, CachedGraph):
                kit.graph.close()

    def _method(self, kit: Kit | RemoteKit) -> tuple[Callable[..., object], Any]:
        """The method's function and its settings; raises `BadInput` for one that the graph does not do for."""
        local = isinstance(kit, Kit)
        auto = ("llm" if self.llm else "facts") if local else "kg-rank"
        name = auto if self.method == AUTO else self.method
        function = method(name)
        if not local and RemoteKit not in get_args(get_type_hints(function).get("kit")):
            raise BadInput(f"the method {name} needs a graph whose files are here; behind a server: kg-rank, mkg-rank")
        return function, settings_of(function, preset=self.preset, given=self.settings)

    def _run(self, kit: Kit | RemoteKit, asked: Question, after: Run | None) -> Run:
        """The run on one graph, with what it was made with."""
        made = self.pipeline(kit)
        if after is not None and after.graph == kit.graph.label:
            made = replace(made, link=CarriedOver(made.link, after.links, asked.text))
        before = _hits(kit.graph)
        run = made(asked)
        function, settings = self._method(kit)
        presets = presets_of(function)
        models = [("llm", name_of(kit.llm))] if kit.llm else []
        models.append(("encoder", kit.encoder.name))
        if "pairs" in inspect.signature(function).parameters:
            models.append(("scorer", name_of(kit.pairs or LexicalPairs(kit.encoder))))
        now = {what: (h, before.get(what, Hits())) for what, h in _hits(kit.graph).items()}
        hits = ((w, h.hits - b.hits, h.hits + h.misses - b.hits - b.misses) for w, (h, b) in now.items())
        return replace(
            run,
            preset=self.preset or next(iter(presets), ""),
            settings=_plain(settings),
            models=tuple(models),
            hits=tuple(hits),
        )

    def _order(self, question: Question, after: Run | None) -> list[str]:
        """The graphs to try: the one of the conversation, then those in the question's language."""
        language = question.language or ("zh" if has_cjk(question.text) else "en")
        label = after.graph if after else ""
        told = {name for name, kit in self._kits.items() if label and kit.graph.label == label}
        return sorted(self.graphs, key=lambda n: (n not in told, self.languages.get(n, language) != language))


def _plain(settings: object) -> tuple[tuple[str, Any], ...]:
    """The settings by name."""
    if not is_dataclass(settings):
        return ()
    return tuple((f.name, getattr(settings, f.name)) for f in fields(settings))


def _hits(graph: KnowledgeGraph) -> dict[str, Hits]:
    """What a remote graph's cache has counted so far."""
    return graph.hits if isinstance(graph, CachedGraph) else {}


# --- Questions one after the other, each understood in the light of those before it.
# Every question is asked with the turns before it as its history, the oldest left out first where they are too many:
# the
# question itself is never cut. A question that names nothing known ("What treats it?") is about what the last one that
# did was about; the run shows those links as carried over.


TURNS = 6  # ours: that a model is told of
LONGEST = 600  # ours: characters of an answer that a model is told of
_TURN = {"en": ("Question", "Answer"), "zh": ("问题", "回答")}


@dataclass
class Conversation:
    """A talk with an asker; `runs` are its turns so far."""

    asker: Asker
    turns: int = TURNS
    runs: list[Run] = field(default_factory=list)

    def ask(self, question: Question | str) -> Run:
        """The run of the next question; one that raises is no turn. Raises what the asker raises."""
        asked = Question(question) if isinstance(question, str) else question
        last = next((run for run in reversed(self.runs) if run.links), None)
        recent = self.runs[-self.turns :] if self.turns else []
        history = tuple(line for run in recent for line in turn_lines(run))
        run = self.asker.ask(replace(asked, history=(*asked.history, *history)), after=last)
        self.runs.append(run)
        return run


def turn_lines(run: Run) -> tuple[str, str]:
    """A turn as a model is told of it: what was asked, and the beginning of the answer, on a line each.

    >>> from kgmed.records import Answer, Context, Query
    >>> turn_lines(Run(Query(Question("Gout?")), (), (), (), (), Context(""), Answer("A disease.\\nIt hurts.")))
    ('Question: Gout?', 'Answer: A disease. It hurts.')
    """
    question, answer = _TURN[prompt_language(run.question)]
    text = " ".join(run.answer.text.split())
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f"{question}: {run.question.text}", f"{answer}: {short}"


# --- From the names that a person types to an `Asker`: graphs of the data folder or behind a server, a method, models.


Progress = Callable[[int], None]


def asker(chosen: Setup, *, progress: Progress | None, environment: Mapping[str, str] = os.environ) -> Asker:
    """See `kgmed.load`; `environment` is where the key of a remote graph is looked for."""
    if chosen.method != AUTO:
        method_named(chosen.method)
    languages = {} if is_remote(chosen.graph) else _languages()
    names = tuple(languages) if chosen.graph == AUTO else (chosen.graph,)
    if not names:
        raise Unavailable('no graph is here; pip install "kgmed[starter]", or: kgmed graph build NAME FILE')
    encoder = encoder_from(chosen.encoder) if chosen.encoder else default_encoder()
    if not isinstance(encoder, NgramEncoder):
        encoder = Remembered(encoder)

    def open_graph(name: str) -> KnowledgeGraph:
        return open_remote(name, data_folder(), environment) if is_remote(name) else _open(name, progress)

    return Asker(
        names,
        open_graph,
        languages,
        chosen.method,
        model(chosen),
        encoder,
        pairs=scorer_from(chosen.scorer, encoder) if chosen.scorer else None,
        prompts=chosen.prompts,
        glossary=Glossary(_open(chosen.glossary, progress)) if chosen.glossary else None,
        preset=chosen.preset,
        settings=chosen.settings,
        evidence_tokens=chosen.evidence_tokens,
        abstain_below=chosen.abstain_below,
        tagger=open_tagger(chosen.tagger) if chosen.tagger else None,
        choose=chosen.choose,
    )


def model(chosen: Setup) -> LLM | None:
    """The language model, within its limits, behind its cache, its calls written down; None where none is named."""
    replayed = chosen.cache is not None and chosen.cache_mode is Mode.REPLAY
    if not chosen.llm and not replayed:
        if chosen.cache:
            raise BadInput("a cache of replies needs a model to record: --llm NAME, or --cache-mode replay")
        return None
    llm = _recorded(chosen, chosen.cache) if replayed and chosen.cache else _model(chosen)
    table = prices(chosen.prices)
    behind: LLM = CountedLLM(llm)
    if not replayed:
        behind = _limited(behind, chosen)
    if chosen.cache:
        behind = CachedLLM(behind, chosen.cache, mode=chosen.cache_mode)
    if chosen.reply_tokens:
        behind = ReplyLimit(behind, chosen.reply_tokens)
    return RecordedLLM(behind, price=table.get(llm.name), behind=True)


def _model(chosen: Setup) -> LLM:
    """The model that is named."""
    precision, batch = chosen.precision, chosen.batch
    return llm_from(chosen.llm, base_url=chosen.base_url, folder=data_folder(), batch=batch, precision=precision)


def _limited(llm: LLM, chosen: Setup) -> LLM:
    """The model within its budget, rate and number of calls."""
    if chosen.budget is not None or chosen.rate:
        money = None if chosen.budget is None else Decimal(str(chosen.budget))
        rate = Rate(chosen.rate) if chosen.rate else None
        at_once = max(8, chosen.batch)
        llm = Metered(llm, budget=Budget(money), price=prices(chosen.prices), rate=rate, at_once=at_once)
    return CallLimit(llm, chosen.max_calls) if chosen.max_calls else llm


def _recorded(chosen: Setup, path: Path) -> LLM:
    """The model whose replies are replayed: by name and settings where it is behind a server, else from the file."""
    if chosen.llm.startswith(("openai/", "anthropic/")):
        return _model(chosen)
    known = recorded_models(path)
    wanted = _file_name(chosen.llm)
    found = [m for m in known if (not wanted or m.name == wanted) and _set_so(m.settings, chosen)]
    if len(found) != 1:
        names = sorted({m.name for m in known})
        if wanted and not found:
            raise UnknownName(f"recorded model in {path}", wanted, names)
        raise BadInput(f"{path} has replies of {len(found)} models ({', '.join(names)}); name one by --llm")
    return Absent(found[0].name, found[0].settings)


def _set_so(settings: Mapping[str, object], chosen: Setup) -> bool:
    """Whether a recorded model was asked with the batch and the precision that are given, if any are."""
    return (chosen.batch == 1 or settings.get("batch") == chosen.batch) and (
        not chosen.precision or settings.get("dtype") == chosen.precision
    )


def _file_name(spec: str) -> str:
    """What a model in a file is called in the cache.

    >>> _file_name("models/a.gguf"), _file_name("gguf/models/a.gguf"), _file_name("")
    ('gguf/a.gguf', 'gguf/a.gguf', '')
    >>> _file_name("hf/org/name")
    'hf/org/name'
    """
    if spec.startswith("hf/"):
        path = Path(spec.removeprefix("hf/")).expanduser()
        return f"hf/{path.name}" if path.exists() else spec
    place = MODELS[spec].member if spec in MODELS else spec
    return f"gguf/{PurePosixPath(place).name}" if spec else ""


def prepare(name: str) -> None:
    """Compute what asking a graph needs (the indexes of its names), so that the first question does not wait for it."""
    Kit(library.load(name), encoder=NgramEncoder()).prepare()


def vectors(name: str, progress: Progress) -> tuple[int, str]:
    """How many names of a graph have vectors now, and by which encoder."""
    store, encoder = library.load(name), default_encoder()
    compute(store, encoder, lambda done, of: progress(done))
    return len(Fuzzy(store)), encoder.name


def _languages() -> dict[str, str]:
    """The graphs that can be asked, packaged ones first, with the language of their names."""
    built = {m.name: m.language for m in library.graphs()}
    packaged = {name: built.get(name) or _language(name) for name in library.PACKAGED}
    return {name: language for name, language in packaged.items() if language is not None} | built


def _language(name: str) -> str | None:
    """The language of a packaged graph that is not built yet; None where its package is not installed."""
    try:
        return formats.read(library.PACKAGED[name], None, name=name).language
    except Unavailable:
        return None


def _open(name: str, progress: Progress | None) -> LocalGraph:
    """A graph by name or folder; a packaged one is built when it is not there yet."""
    if name in library.PACKAGED and not any(m.name == name for m in library.graphs()):
        library.build_graph(name, progress=progress)
    return library.load(name)
