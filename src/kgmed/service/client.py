"""A client of `kgmed serve`: the same records as in this process, from a service.

with ServiceClient("http://127.0.0.1:8765") as service:
    run = service.ask("What are the signs of Marfan syndrome?")
    for entity in service.complete("hpo", "arachno"):
        ...
"""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter

from kgmed.config import AUTO
from kgmed.diagnose.findings import Diagnosed
from kgmed.errors import Ambiguous, BadInput, Busy, KgmedError, ModelFailed, Stopped, Unavailable
from kgmed.graph.base import Match
from kgmed.graph.complete import Completion
from kgmed.graph.library import GraphSummary
from kgmed.graph.search.paths import FoundPaths
from kgmed.records import Entity, Question, Role, Run
from kgmed.reward.cases import text_of
from kgmed.service.uses import (
    Compared,
    FoundTold,
    Neighbourhood,
    RestartTold,
    RewardedAnswers,
    ServedGraph,
    ServedMethod,
    ServiceAbout,
    StageTold,
    TokenTold,
    Told,
)

T = TypeVar("T")
_EVENTS: Mapping[str, type] = {
    "stage": StageTold, "found": FoundTold, "token": TokenTold, "restart": RestartTold, "run": Run,
}  # fmt: skip


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    """What reads a type."""
    return TypeAdapter(kind)


class ServiceClient:
    """A service by its address; safe to share between threads. Raises `KgmedError` as asking here does."""

    def __init__(
        self, url: str, *, key: str = "", timeout: float = 90.0, transport: httpx2.BaseTransport | None = None
    ) -> None:
        """`key` as `kgmed serve keys add` has shown it; `transport` takes the place of the network, in tests."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False)

    def __enter__(self) -> "ServiceClient":
        """This client, closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._http.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def about(self) -> ServiceAbout:
        """Version, graphs, model and limits."""
        return self._get(ServiceAbout, "about")

    def graphs(self) -> list[ServedGraph]:
        """The graphs that can be asked."""
        return self._get(list[ServedGraph], "graphs")

    def methods(self) -> list[ServedMethod]:
        """The methods."""
        return self._get(list[ServedMethod], "methods")

    def complete(self, graph: str, typed: str, *, limit: int = 8, kinds: Sequence[str] = ()) -> list[Completion]:
        """Entities with a name that goes on from what was typed."""
        return self._get(list[Completion], f"graphs/{_in(graph)}/complete", q=typed, limit=limit, kind=list(kinds))

    def find(self, graph: str, name: str, *, limit: int = 10) -> list[Match]:
        """The entities of a name, else those with the most similar names."""
        return self._get(list[Match], f"graphs/{_in(graph)}/entities", q=name, limit=limit)

    def entity(self, graph: str, name: str, *, limit: int = 20) -> GraphSummary:
        """All that a graph says of an entity, by id or name."""
        return self._get(GraphSummary, f"graphs/{_in(graph)}/entities/{_in(name)}", limit=limit)

    def neighbours(
        self, graph: str, name: str, *, roles: Sequence[Role] = (), limit: int = 64, after: int = 0
    ) -> Neighbourhood:
        """The triples around an entity, as answers list them."""
        path = f"graphs/{_in(graph)}/entities/{_in(name)}/neighbours"
        return self._get(Neighbourhood, path, role=[str(role) for role in roles], limit=limit, after=after)

    def paths(self, graph: str, *entities: str, hops: int = 0, limit: int = 20) -> FoundPaths:
        """The shortest paths between two entities, or the chains between more."""
        asked = {"entities": entities, "hops": hops, "limit": limit}
        return self._post(FoundPaths, f"graphs/{_in(graph)}/paths", asked)

    def ask(self, question: str, *, graph: str = AUTO, method: str = AUTO, **more: Any) -> Run:
        """The run of a question; `more` are the other fields of the request: options, preset, language, after."""
        return self._post(Run, "ask", {"question": question, "graph": graph, "method": method, **more})

    def stream(self, question: str, *, graph: str = AUTO, method: str = AUTO, **more: Any) -> Iterator[Told]:
        """What happens while a question is answered, the run last; leaving it early stops the service's work."""
        asked = {"question": question, "graph": graph, "method": method, "stream": True, **more}
        with _errors(), self._http.stream("POST", "/v1/ask", json=asked) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _error(answer)
            yield from _told(answer.iter_lines())

    def compare(self, question: str, methods: Sequence[str], *, graph: str = AUTO) -> list[Compared]:
        """What each of some methods makes of a question."""
        return self._post(list[Compared], "compare", {"question": question, "methods": methods, "graph": graph})

    def reward(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """The reward of each answer, None where it cannot be judged: the protocol `Reward`, for training."""
        texts = [text_of(question) for question in questions]
        return list(self._post(RewardedAnswers, "reward", {"questions": texts, "answers": list(answers)}).rewards)

    def diagnose(self, findings: Sequence[str] = (), text: str = "", **more: Any) -> Diagnosed:
        """The diseases that fit a patient; `more`: phenopacket, sex, age, onset, keep, database, graph."""
        return self._post(Diagnosed, "diagnose", {"findings": findings, "text": text, **more})

    def run(self, id: str) -> Run:
        """A run by its whole id."""
        return self._get(Run, f"runs/{_in(id)}")

    def _get(self, kind: type[T], path: str, /, **query: Any) -> T:
        with _errors():
            return _read(kind, self._http.get(f"/v1/{path}", params=query))

    def _post(self, kind: type[T], path: str, body: object) -> T:
        with _errors():
            return _read(kind, self._http.post(f"/v1/{path}", json=body))


@contextmanager
def _errors() -> Iterator[None]:
    """A block whose errors of the network are ours."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise Unavailable(f"the service does not answer ({error}); start it with: kgmed serve") from None


def _in(text: str) -> str:
    """A text as a part of a path."""
    return quote(text, safe="")


def _read(kind: type[T], answer: httpx2.Response) -> T:
    if answer.status_code != 200:
        raise _error(answer)
    made: T = _reader(cast(Hashable, kind)).validate_json(answer.content)
    return made


def _error(answer: httpx2.Response) -> KgmedError:
    try:
        said = answer.json()
    except ValueError:
        said = {}
    return _problem(answer.status_code, said, float(answer.headers.get("retry-after", "0") or 0))


def _problem(status: int, said: Mapping[str, Any], after: float) -> KgmedError:
    """The error of a status."""
    detail = str(said.get("detail") or f"the service answered with {status}")
    if status == 409:
        return Ambiguous(detail, [_reader(Entity).validate_python(c) for c in said.get("candidates", ())])
    if status in (429, 503):
        return Busy(detail, after=after)
    kinds: Mapping[int, type[KgmedError]] = {502: ModelFailed, 504: Stopped}
    return kinds.get(status, BadInput if status < 500 else Unavailable)(detail)


def _told(lines: Iterator[str]) -> Iterator[Told]:
    """The events in the lines of a stream; raises what an error event says."""
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data" and kind == "error":
            said = json.loads(value)
            raise _problem(int(said.get("status", 500)), said, 0)
        elif name == "data" and kind in _EVENTS:
            yield _reader(_EVENTS[kind]).validate_json(value)
