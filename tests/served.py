"""A small service for tests: two graphs in a data folder, a scripted model if wanted, on a real port."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from kgmed.config import Config
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.obo import KINDS, RELATIONS
from kgmed.graph.library import build_source
from kgmed.models.base import LLM, Message, Reply
from kgmed.records import Relation, Role, Support
from kgmed.service.app import HeldConnection, ServiceSettings, make_app
from kgmed.service.uses import UseCases, open_cases
from kgmed.stop import check_stop

SPIDER = (Alias("Spider fingers", Scope.LAYPERSON), Alias("蜘蛛指", Scope.TRANSLATION))
LONG, LENS, SEIZURE = "HP:0001166", "HP:0001083", "HP:0001250"
HTTP = httpx2.Client(trust_env=False, timeout=20)  # to make one takes longer than what it is made for
QUESTION = "What are the signs of Marfan syndrome?"


def until(true: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())


def finding(disease: str, sign: str, frequency: str, reference: str) -> EdgeRow:
    """A disease has a finding, says a publication."""
    return EdgeRow(disease, "has_phenotype", sign, 1.0, (Support(reference, (("frequency", frequency),)),))


HPO: tuple[Row, ...] = (
    NodeRow(LONG, "Arachnodactyly", "phenotype", "Long slender fingers.", SPIDER),
    NodeRow(LENS, "Ectopia lentis", "phenotype", aliases=(Alias("Lens dislocation"),)),
    NodeRow(SEIZURE, "Seizure", "phenotype"),
    NodeRow("OMIM:154700", "Marfan syndrome", "disease"),
    NodeRow("OMIM:1", "Weill syndrome", "disease"),
    NodeRow("OMIM:2", "Twin disease", "disease"),
    NodeRow("ORPHA:2", "Twin disease", "disease"),
    finding("OMIM:154700", LONG, "9/10", "PMID:1"),
    finding("OMIM:154700", LENS, "6/10", "PMID:2"),
    finding("OMIM:1", LENS, "9/10", "PMID:3"),
    finding("OMIM:2", SEIZURE, "9/10", "PMID:4"),
)
CMEKG: tuple[Row, ...] = (
    NodeRow("痛风", kind="disease"),
    NodeRow("秋水仙碱", kind="drug"),
    NodeRow("急性胰腺炎", kind="disease"),
    EdgeRow("秋水仙碱", "treats", "痛风"),
)


def build(home: Path) -> None:
    """The graphs hpo and cmekg of a data folder; KGMED_HOME names it already."""
    relations = {relation.name: relation for relation in RELATIONS}
    build_source("hpo", Source("hpo", lambda: HPO, "1", "free", language="en", relations=relations, kinds=KINDS))
    treats = {"treats": Relation("treats", Role.TREATS)}
    build_source("cmekg", Source("cmekg", lambda: CMEKG, "2", language="zh", prefix="cmekg", relations=treats))


@dataclass
class Slow:
    """A model that says a word every moment until it is stopped or has said all; it counts those it has said."""

    words: Sequence[str] = ("Long", " fingers", " [1].")
    seconds: float = 0.0
    said: int = 0
    asked: int = 0
    left: int = 0  # times that it was stopped, or said all
    name: str = "slow"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        return Reply("".join(self.stream(messages)), 7, 3, self.name)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Any:
        self.asked += 1
        try:
            for word in self.words:
                check_stop()
                time.sleep(self.seconds)
                self.said += 1
                yield word
        finally:
            self.left += 1
        return Reply("".join(self.words), 7, 3, self.name)


def cases_of(*, llm: LLM | None = None, graph: str = "auto", keep: bool = True) -> UseCases:
    """The use cases on the graphs of the data folder, with a model of one's own."""
    made = open_cases(Config(graph=graph, encoder="ngrams"), keep=keep)
    return replace(made, session=replace(made.session, llm=llm))


@dataclass
class Running:
    """A service that runs: its address, its lines, its use cases."""

    url: str
    port: int
    lines: list[str]
    server: uvicorn.Server


@contextmanager
def running(
    cases: UseCases,
    settings: ServiceSettings | None = None,
    *,
    http: type[HeldConnection] = HeldConnection,
    **more: Any,
) -> Iterator[Running]:
    """The service on a free port of the loopback interface until the block ends."""
    lines: list[str] = []
    app = make_app(cases, settings or ServiceSettings(), write=lines.append, **more)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
        config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1, http=http)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([place],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield Running(f"http://127.0.0.1:{port}", port, lines, server)
        server.should_exit = True
        thread.join(30)
