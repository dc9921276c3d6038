"""What has a name that a person types: methods, graph formats, metrics, data sets, models, encoders, scorers, controls.

A thing registers where it stands, and nothing else has to know of it:

    from kgmed.registry import About, Calls, methods

    @methods.register("mine", about=About(does="...", calls=Calls.always(1, "the answer")))
    def mine(toolkit: Toolkit) -> Pipeline: ...

A file of the package that a registry looks in is found by being there. `get` imports the module that registers a name
and no other, for it reads the sources first: there a call is written `methods.register("name", ...`, or
`metrics.add(Metric("name", ...`; where the name is made up instead, the module is imported to know it.
Another package names its things in the entry points of the registry's group, such as `mine = "package.module"` or
`mine = "package.module:mine"` under `kgmed.methods`. No plug-in can take a name of kgmed's; one that cannot be loaded
is reported in one line and left out.
"""

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast, get_args

from kgmed.errors import BadInput, UnknownName
from kgmed.language.text import visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# What is registered is known here by its name only: its types stand in the packages that use this module, and to name
# them here would tie the lowest layer to all the others.

_LONGEST = 200  # characters of what went wrong with a plug-in


class Named(Protocol):
    """What can be registered."""

    @property
    def name(self) -> str:
        """What a person types."""
        ...


T = TypeVar("T", bound=Named)
P = TypeVar("P")
F = TypeVar("F", bound=Callable[..., object])
MakesPipeline = TypeVar("MakesPipeline", bound=Callable[..., Any])
Reads = TypeVar("Reads", bound=Callable[..., Any])


class Registry(Generic[T]):
    """The things of one kind by name; safe to use from several threads.

    What registers twice under one name is refused, unless the same module does it again (as a notebook does).
    """

    def __init__(self, what: str, group: str, package: str, first: str = "") -> None:
        """`what` the things are called, the `group` of entry points, and the `package` whose modules are looked in.

        The last part of the group is what the registry is called in the sources: `methods` of `kgmed.methods`. Lists
        show the names in `first` before the others; a new one need not be there.
        """
        self._first = first.split()
        self.what, self.group, self.package = what, group, package
        self.problems: dict[str, str] = {}  # entry point -> why it was left out, in one line
        self._things: dict[str, T] = {}
        self._places: dict[str, str] = {}  # name -> module that registered it
        self._tried: set[EntryPoint] = set()
        self._variable = group.rpartition(".")[2]

    def add(self, thing: T, /) -> T:
        """Register a thing that knows its name; raises `BadInput` for a name that is taken."""
        self._put(thing, _caller())
        return thing

    def get(self, name: str, /) -> T:
        """The thing of that name; raises `UnknownName` with the nearest names."""
        found = self._seek(name)
        if found is None:
            raise UnknownName(self.what, name, self.names(), self.problems.get(name, ""))
        return found

    def names(self) -> list[str]:
        """Every name: those that come first, kgmed's others by module in the order there, then those of plug-ins."""
        own = self._own()
        self._load_plug_ins()
        return list(dict.fromkeys([*[name for name in self._first if name in own], *own, *self._things]))

    def all(self) -> list[T]:
        """Every thing, in the order of `names`; what holds one is imported."""
        return [self.get(name) for name in self.names()]

    def _put(self, thing: T, module: str) -> None:
        """Keep a thing under its name."""
        name = thing.name
        inside = f"{module}.".startswith(f"{self.package}.")
        holder = self._places.get(name) or ("" if inside else self._own().get(name, ""))
        if holder and holder != module:
            raise BadInput(f"the {self.what} {name!r} of {module} is there already, in {holder}; give it another name")
        self._things[name], self._places[name] = thing, module

    def _seek(self, name: str) -> T | None:
        """The thing of that name, or None; what may register it is imported until it is there."""
        if name not in self._things:
            self._import(name)
        for only in (name, ""):
            if name not in self._things:
                self._load_plug_ins(only)
        return self._things.get(name)

    def _import(self, name: str) -> None:
        """Import the module of that name, that which is written to register it, or those that make names up."""
        namesake = f"{self.package}.{name.replace('-', '_')}"
        if hasattr(import_module(self.package), "__path__") and "." not in name and find_spec(namesake):
            import_module(namesake)
            if name in self._things:
                return
        written = [m for m, names in self._written.items() if name in names]
        made_up = [m for m, names in self._written.items() if None in names]
        for module in written or sorted(made_up, key=lambda m: f'"{name}"' not in self._sources[m]):
            import_module(module)
            if name in self._things:
                return

    def _own(self) -> dict[str, str]:
        """The names of kgmed's own things and their modules; a module is imported only where it makes names up."""
        own: dict[str, str] = {}
        for module, names in self._written.items():
            if None in names:
                import_module(module)
                own |= {name: module for name, place in [*self._places.items()] if place == module}
            else:
                own |= {name: module for name in names if name}
        return own

    @cached_property
    def _sources(self) -> dict[str, str]:
        """The text of every module of the package; of one without a source, a text that has it imported."""
        package = import_module(self.package)
        found: dict[str, str] = {}
        for name in [f"{self.package}.{info.name}" for info in iter_modules(getattr(package, "__path__", ()))]:
            loader: Any = getattr(find_spec(name), "loader", None)
            source = loader.get_source(name) if hasattr(loader, "get_source") else None
            found[name] = source if source is not None else f"{self._variable}.add("
        return found or {self.package: f"{self._variable}.add("}

    @cached_property
    def _written(self) -> dict[str, list[str | None]]:
        """The names that each module is written to register; None = one that is made up when it is imported."""
        call = re.compile(rf'\b{self._variable}\.(?:register|add)\(\s*(?:\w+\(\s*)?(?:name=)?(?:"([^"\n]+)")?')
        calls = {m: [c[1] and c[1].partition("/")[0] for c in call.finditer(t)] for m, t in self._sources.items()}
        return {module: names for module, names in calls.items() if names}

    @cached_property
    def _points(self) -> "tuple[EntryPoint, ...]":
        """What other packages name."""
        if not _may_be_named(self.group):
            return ()
        from importlib.metadata import entry_points

        return tuple(entry_points(group=self.group))

    def _load_plug_ins(self, name: str = "") -> None:
        """Load the plug-ins, or those of one name, and report those that cannot be."""
        for point in self._points:
            if point not in self._tried and name in ("", point.name):
                problem = self._load(point)
                if problem and point.name not in self.problems:
                    self.problems[point.name] = problem
                    import logging

                    logging.getLogger("kgmed").warning("%s", visible(problem))
                self._tried.add(point)

    def _load(self, point: "EntryPoint") -> str:
        """Load a plug-in; why it cannot be, in one line, else ""."""
        try:
            if point.name in self._own():
                raise BadInput(f"kgmed has a {self.what} of that name; give it another")
            found = point.load()
            if point.name not in self._things and not isinstance(found, ModuleType):
                self._put(self._wrapped(point.name, found), point.module)
        except Exception as error:  # noqa: BLE001 - whatever another package raises must not stop this one
            why = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
            return f"the plug-in {point.name} = {point.value} of {self.group} is left out: {why}"
        return ""

    def _wrapped(self, name: str, found: Any) -> T:
        """The thing that an entry point names, where it did not register itself."""
        if not isinstance(getattr(found, "name", None), str):
            raise BadInput(f"{found!r} is no {self.what}")
        thing: T = found
        return thing


def _may_be_named(group: str) -> bool:
    """Whether a package may name something of a group; to parse what all packages name takes longer than to answer."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    for place in map(Path, sys.path):
        if place.is_file() or any(place.glob("*.egg")):
            return True
        for file in place.glob("*-info/entry_points.txt"):
            with suppress(OSError):
                if group.encode() in file.read_bytes():
                    return True
    return False


def _caller() -> str:
    """The module that registers something: the first on the way up that is not this one."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__"))


# --- Methods: a function that makes a pipeline, what it is, and its numbers.


class Calls(NamedTuple):
    """How often a model is asked: for a question with evidence, at the paper's settings, whose replies can be read.

    `usual` = where every step has something to do. A reply that must be asked for a second time is one call more;
    where there is no evidence the model is not asked to read any.
    """

    usual: int
    fewest: int
    most: int
    why: str  # step by step, and who says so: the paper, its code, or ours

    @classmethod
    def always(cls, count: int, why: str) -> "Calls":
        """The same number for every question."""
        return cls(count, count, count, why)

    def __str__(self) -> str:
        """The number, with its bounds where it varies.

        >>> str(Calls.always(2, "")), str(Calls(2, 2, 6, ""))
        ('2', '2 (2 to 6)')
        """
        return str(self.usual) if self.fewest == self.most else f"{self.usual} ({self.fewest} to {self.most})"


Need = Literal[
    "model",  # cannot do without a language model
    "local_graph",  # cannot do with a graph behind a server, whose names cannot be listed
    "pairs",  # ranks by a scorer of pairs, which its runs name
    "tagger",  # finds terms by a trained tagger, where there is one
]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A method in a few lines: its paper, what it does, how often it asks a model, what it needs, where we deviate."""

    paper: str = ""  # name; "" = our own
    by: str = ""
    year: int = 0
    where: str = ""  # arXiv id or venue
    does: str
    calls: Calls
    ours: tuple[str, ...] = field(default=())  # where we deviate from the paper, one line each
    needs: Collection[Need] = frozenset({"model", "local_graph"})
    baseline: bool = False  # whether it is here for others to be compared with
    encoder: str = ""  # the paper's, whose place another takes where none of that name is given
    scorer: str = ""  # the paper's, of pairs of texts
    tagger: str = ""  # the paper's, which finds terms
    unused: Callable[[Any], Collection[str]] = lambda settings: ()  # which of the three some settings do without

    def __post_init__(self) -> None:
        """Refuse a need that nothing looks at; raises `UnknownName`."""
        for need in self.needs:
            if need not in get_args(Need):
                raise UnknownName("need of a method", need, get_args(Need))

    @property
    def needs_model(self) -> bool:
        """Whether it cannot do without a language model."""
        return "model" in self.needs

    def __str__(self) -> str:
        """The paper as one quotes it; "ours" without one."""
        return f"{self.paper} ({self.by} {self.year}, {self.where})" if self.paper else "ours"


@dataclass(frozen=True, slots=True)
class Method:
    """A method that can be named: a function `(toolkit) -> Pipeline`, or `(toolkit, *, settings) -> Pipeline`."""

    name: str
    function: Callable[..., Any]
    about: About
    presets: Mapping[str, Any] = field(default_factory=dict)  # the default first; {} = no settings; "" = no presets

    @property
    def settings_type(self) -> type | None:
        """The dataclass of its numbers; None where it has none."""
        return next((type(settings) for settings in self.presets.values()), None)

    def build(self, toolkit: Any, settings: Any = None) -> Any:
        """The method on the parts of a toolkit; no settings = those of the first preset. Raises `BadInput`."""
        return self.function(toolkit) if settings is None else self.function(toolkit, settings=settings)


class Methods(Registry[Method]):
    """Methods by name."""

    def register(
        self, name: str, *, about: About, presets: Mapping[Any, object] | None = None
    ) -> Callable[[MakesPipeline], MakesPipeline]:
        """Make a method of a function. `presets` = settings by name, the default first; "" = numbers without a name."""

        def put(function: MakesPipeline) -> MakesPipeline:
            self.add(Method(name, function, about, presets or {}))
            return function

        return put

    def of(self, method: str | Callable[..., Any]) -> Method:
        """The method of that name, or that a function is, whether it registered or not; raises `UnknownName`."""
        if isinstance(method, str):
            return self.get(method)
        known = next((m for m in [*self._things.values()] if m.function is method), None)
        return known or self._wrapped(getattr(method, "__name__", type(method).__name__).replace("_", "-"), method)

    def _wrapped(self, name: str, found: Any) -> Method:
        """A function of another package that says nothing of itself, by the first line of its docstring."""
        if not callable(found):
            raise BadInput(f"{found!r} is no function (toolkit) -> Pipeline")
        first = (found.__doc__ or "no description").strip().splitlines()[0]
        calls = Calls.always(0, "not stated")
        return Method(name, found, About(does=first, calls=calls, needs=frozenset({"local_graph"})))


# --- Graph formats: a function that reads a file, and how a file of the format is recognised.


class Format(NamedTuple):
    """A graph format that can be named: a function `(path, *, name, release, ...) -> Source`."""

    name: str
    read: Callable[..., Any]
    suffixes: tuple[str, ...] = ()  # of its files, with the dot, in small letters
    starts: tuple[str, ...] = ()  # how the first line of its files may begin
    holds: tuple[str, ...] = ()  # patterns of files by which a folder is one of it
    looks: Callable[[Sequence[str]], int] | None = None  # of the first two lines: 0 = not it, 1 = perhaps, 2 = surely


class Formats(Registry[Format]):
    """Graph formats by name."""

    def register(
        self,
        name: str,
        *,
        suffixes: Sequence[str] = (),
        starts: Sequence[str] = (),
        holds: Sequence[str] = (),
        looks: Callable[[Sequence[str]], int] | None = None,
    ) -> Callable[[Reads], Reads]:
        """Make a format of a function that reads; see `Format`."""

        def put(function: Reads) -> Reads:
            self.add(Format(name, function, tuple(suffixes), tuple(starts), tuple(holds), looks))
            return function

        return put

    def _wrapped(self, name: str, found: Any) -> Format:
        """A reader of another package that says nothing of its files; it can be named."""
        if not callable(found):
            raise BadInput(f"{found!r} is no function (path, *, name, release) -> Source")
        return Format(name, found)


# --- Models, encoders, scorers and controls: a function or class that makes one from what a person types.


@dataclass(frozen=True, slots=True)
class Factory(Generic[P]):
    """What makes a part that can be named, such as the encoder `local/NAME`: called with what stands after the slash.

    `takes` are the choices that it is also given, as keyword arguments.
    """

    name: str
    make: Callable[..., P]
    form: str  # as a person types it: the name alone, or the name, a slash and what stands there
    takes: tuple[str, ...] = ()


class Factories(Registry[Factory[P]], Generic[P]):
    """Parts of one kind by the names that a person types."""

    def register(self, form: str, *, takes: Sequence[str] = ()) -> Callable[[F], F]:
        """Make parts of one form with a function or class: `"use"` without arguments, `"local/NAME"` with one."""

        def put(function: F) -> F:
            self.add(Factory(form.partition("/")[0], cast("Callable[..., P]", function), form, tuple(takes)))
            return function

        return put

    def find(self, text: str) -> tuple[Factory[P], str]:
        """What makes a part of that name, and what stands after the slash; raises `UnknownName` with the forms."""
        name, _, rest = text.partition("/")
        factory = self._seek(name)
        if factory is None or bool(rest) != ("/" in factory.form):
            raise UnknownName(self.what, text, [f.form for f in self.all()], self.problems.get(name, ""))
        return factory, rest

    def make(self, text: str, **choices: object) -> P:
        """The part of that name, with those of the choices that it takes; raises `UnknownName` and what it raises."""
        factory, rest = self.find(text)
        return factory.make(*([rest] if rest else []), **{name: choices[name] for name in factory.takes})

    def _wrapped(self, name: str, found: Any) -> Factory[P]:
        """A function or class of another package, called without arguments."""
        if not callable(found):
            raise BadInput(f"{found!r} is neither a function nor a class")
        return Factory(name, found, name)


# --- The registries. A module that registers imports them by these names, which are looked for in its source.


methods = Methods(
    "method",
    "kgmed.methods",
    "kgmed.methods",
    "facts llm agent kg-rank hykge mindmap mkg-rank rlkgf-prompt zero-shot cot tot bm25 embedding kg-retriever kgrag "
    "qe chain-of-note chain-of-knowledge kalmv kg-gpt sure",
)
formats = Formats("format", "kgmed.formats", "kgmed.graph.formats")
metrics: Registry[Any] = Registry("metric", "kgmed.metrics", "kgmed.evaluate.metrics")
datasets: Registry[Any] = Registry("data set", "kgmed.datasets", "kgmed.evaluate.datasets")
models: Factories[Any] = Factories("language model", "kgmed.models", "kgmed.models")
encoders: Factories[Any] = Factories("encoder", "kgmed.encoders", "kgmed.models")
scorers: Factories[Any] = Factories("scorer", "kgmed.scorers", "kgmed.models")
controls: Factories[Any] = Factories("control", "kgmed.controls", "kgmed.evaluate.controls", "random shuffled")
