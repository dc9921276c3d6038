"""Numbers and rules that the papers' algorithms must give, where no part's own tests hold them already."""

import ast
import inspect
import re
import statistics
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgmed
from kgmed.errors import PromptTooLong
from kgmed.evaluate.datasets.questions import consultations
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.methods import hykge, kg_rank, mindmap, mkg_rank
from kgmed.models.base import Message, Reply
from kgmed.models.encoders import HttpEncoder, HttpPairScorer
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.models.limits import Metered, RecordedLLM
from kgmed.records import Question
from kgmed.registry import methods
from kgmed.servers import Limits
from kgmed.steps.rank import worth
from kgmed.toolkit import Toolkit
from named_graph import small
from obliging import Obliging

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
EMCKG = "genmedgpt5k/emckg_train.txt"
UNIT = [(1, 0.2, 0), (1, 0.25, 0), (0.8, -0.6, 0), (0.6, 0, 0.8), (0.1, 0.9, 0.4)]


@pytest.mark.parametrize(
    ("base", "step", "scores"),
    [(0.1, 0.01, [0.8603, 0.7267, 0.5353, 0.0705]), (0.5, 0.1, [0.3708, 0.3999, 0.2470, -0.0654])],
)
def test_the_second_round_of_mmr_has_the_scores_computed_by_hand(base: float, step: float, scores: list[float]) -> None:
    rows = np.array(UNIT) / np.linalg.norm(UNIT, axis=1, keepdims=True)
    found = worth(rows @ np.array([1.0, 0, 0]), rows @ rows[0], 1, base=base, step=step)
    np.testing.assert_allclose(found[1:], scores, atol=1e-4)


ROWS: tuple[Row, ...] = (
    NodeRow("scurvy", kind="disease", description="A disease of missing vitamin C."),
    NodeRow("measles", kind="disease"),
    NodeRow("bleeding gums", kind="symptom"),
    NodeRow("rash", kind="symptom"),
    EdgeRow("scurvy", "has_symptom", "bleeding gums"),
    EdgeRow("lemon juice", "treats", "scurvy"),
    EdgeRow("ascorbate", "treats", "scurvy"),
    EdgeRow("ascorbate", "eases", "bleeding gums"),
    EdgeRow("measles", "has_symptom", "rash"),
)
ASKED = "I have bleeding gums. Is it scurvy, and what helps?"
BEFORE = "Earlier I said that I am allergic to kiwi."


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("oracles"), ROWS)


class Narrow(Obliging):
    """Reads one piece of evidence at a time; what it read is in `asked`."""

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        if any(re.search(r"^\[2\] ", m.text, re.MULTILINE) for m in messages):
            raise PromptTooLong("too long", tokens=100, limit=50)
        return super().__call__(messages, max_tokens=max_tokens)


@pytest.mark.parametrize("name", [m.name for m in methods.all() if m.about.calls.usual])
def test_history_and_question_survive_truncation(graph: Store, name: str) -> None:
    llm = Narrow()
    run = methods.get(name).build(Toolkit(graph, RecordedLLM(llm), TrigramEncoder()))(
        Question(ASKED, history=(BEFORE,))
    )
    assert run.answer.text
    whole = [step for step, said in llm.asked if _holds(said, BEFORE) and _holds(said, ASKED)]
    assert whole, llm.asked
    told = "\n".join(m.text for _, said in llm.asked for m in said)
    assert told.index(BEFORE) < told.rindex(ASKED)


@pytest.mark.parametrize("name", ["kg-rank", "mkg-rank", "mindmap", "hykge", "llm"])
def test_the_reader_of_a_method_is_told_history_first_then_the_whole_question(graph: Store, name: str) -> None:
    llm = Narrow()
    methods.get(name).build(Toolkit(graph, RecordedLLM(llm), TrigramEncoder()))(Question(ASKED, history=(BEFORE,)))
    read = "\n".join(m.text for m in llm.asked[-1][1])
    assert 0 <= read.index(BEFORE) < read.index(ASKED)


def _holds(messages: Sequence[Message], text: str) -> bool:
    return any(text in m.text for m in messages)


def test_the_context_of_kg_rank_is_at_most_five_entities_of_twenty_triples(tmp_path: Path) -> None:
    diseases = ["scurvy", "measles", "pox", "rash", "bleeding gums", "gout"]
    rows = tuple(EdgeRow(d, "has_symptom", f"sign {i} of {d}") for d in diseases for i in range(40))
    llm = Obliging()
    kg_rank = methods.get("kg-rank")
    toolkit = Toolkit(small(tmp_path, rows), RecordedLLM(llm), TrigramEncoder())
    pipeline = kg_rank.build(toolkit, settings=kg_rank.presets["paper"])
    run = pipeline(Question("bleeding gums, scurvy, rash, measles, pox: what is it?"))
    counts = Counter(e.about[0].name for e in run.evidence)
    assert set(counts.values()) == {20}
    assert 0 < len(counts) <= 5


def test_a_module_that_opens_connections_is_one_of_those_with_deadline_retries_and_rate() -> None:
    """A new one must be added here, and be given all three."""
    package = Path(kgmed.__file__).parent
    found = {str(p.relative_to(package)) for p in package.rglob("*.py") if _connects(p)}
    assert found <= {
        "http.py",  # every server: remote graphs, encoders and pair scorers, a GGUF model's tokenizer, the SDKs
        "models/hosted.py",  # which asks through the official SDKs
        "service/client.py",  # of one's own service: a deadline; when to ask again is told by the service
        "graph/get.py",  # which reads files by the client of http.py, with a deadline by size and tries
    }
    known: dict[str, tuple[Callable[..., object], ...]] = {
        "timeout": (OpenAI, Anthropic, HttpEncoder, HttpPairScorer, Limits),
        "retries": (OpenAI, Anthropic, HttpEncoder, HttpPairScorer, Limits),
        "rate": (Metered, HttpEncoder, HttpPairScorer, Limits),
    }
    assert [(n, w) for n, some in known.items() for w in some if n not in inspect.signature(w).parameters] == []


def _connects(path: Path) -> bool:
    names = {
        "urllib.request",
        "http.client",
        "openai",
        "anthropic",
        "httpx",
        "httpx2",
        "requests",
        "aiohttp",
        "urllib3",
    }
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    found = {
        name
        for node in tree
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    return bool(found & names)


@pytest.mark.parametrize(
    ("name", "presets"),
    [
        ("kg-rank", kg_rank.PRESETS),
        ("mkg-rank", mkg_rank.PRESETS),
        ("mindmap", mindmap.PRESETS),
        ("hykge", hykge.PRESETS),
    ],
)
def test_what_other_presets_change_stands_on_the_page_of_the_papers(name: str, presets: Mapping[str, Any]) -> None:
    row = re.compile(rf"\| `{name}` \| (?:`\w+=|nothing)")
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if row.match(line)]
    for preset, line in zip(("code", "safe"), rows, strict=True):
        paper, other = presets["paper"], presets[preset]
        changed = {
            f.name: getattr(other, f.name) for f in fields(paper) if getattr(other, f.name) != getattr(paper, f.name)
        }
        shown = dict(re.findall(r"`(\w+)=([^`]+)`", line))
        assert shown == {k: ",".join(map(str, v)) if isinstance(v, tuple) else str(v) for k, v in changed.items()}


@pytest.fixture(scope="module")
def emckg(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("emckg")
    source: Source = formats.read("triples", data / EMCKG, name="emckg")
    build(source, folder / "emckg")
    return open_store(folder / "emckg")


@pytest.mark.data
def test_the_graph_of_mindmap_has_the_parts_degrees_and_distances_counted_by_hand(data: Path) -> None:
    edges = [row for row in formats.read("triples", data / EMCKG).rows() if isinstance(row, EdgeRow)]
    parts = {"has_symptom": 305, "need_medical_test": 107, "need_medication": 611}
    tails = {name: {row.tail for row in edges if row.relation == name} for name in parts}
    diseases = {row.head for row in edges if row.relation in parts}
    assert ({name: len(tails[name]) for name in parts}, len(diseases)) == (parts, 100)
    assert len(set.union(diseases, *tails.values())) == 1123  # no name has two parts
    said = {(row.head, row.tail) for row in edges}
    assert {(tail, head) for head, tail in said} == said
    repeated = Counter((row.head, row.relation, row.tail) for row in edges)
    assert sum(n - 1 for n in repeated.values()) == 4
    near = defaultdict(set)
    for head, tail in said:
        near[head].add(tail)
    degrees = Counter({name: len(some) for name, some in near.items()})
    assert statistics.median(degrees.values()) == 2
    assert [n for _, n in degrees.most_common(4)] == [38, 37, 34, 34]
    steps = _distances(near)
    assert (max(steps), sum(steps.values())) == (6, 1123 * 1122)  # one component
    share = {n: steps[n] / steps.total() for n in steps}
    assert share[4] == pytest.approx(0.642, abs=0.001)  # 66% of a sample of pairs
    assert 1 - share[6] == pytest.approx(0.859, abs=0.001)  # what five steps reach


def _distances(near: dict[str, set[str]]) -> Counter[int]:
    """How many ordered pairs are so many steps apart."""
    found: Counter[int] = Counter()
    for start in near:
        at, left = {start: 0}, deque([start])
        while left:
            here = left.popleft()
            for there in near[here] - at.keys():
                at[there] = at[here] + 1
                left.append(there)
        found.update(n for n in at.values() if n)
    return found


@pytest.mark.data
def test_the_entities_of_answers_link_exactly_as_often_as_was_counted(data: Path, emckg: Store) -> None:
    """Of the 5,452 rows the first 4,000 are here: there it is 32.3% of the answers' entities, 28.3% over all."""
    rows = list(consultations(data / "genmedgpt5k" / "NER_chatgpt_first4000.json"))
    names = [name for row in rows for name in row.answer_entities]
    known = {name for name in set(names) if any(m.how in ("exact", "normalised") for m in emckg.lookup(name))}
    assert sum(name in known for name in names) / len(names) == pytest.approx(0.323, abs=0.02)


@pytest.mark.data
def test_brand_names_in_brackets_lead_to_their_drug(emckg: Store) -> None:
    for name in ("Alprazolam", "Xanax"):
        assert [m.entity.name for m in emckg.lookup(name)] == ["Alprazolam (Xanax)"]
