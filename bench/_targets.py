"""What the fuzzing harness gives damaged input to: every reader and parser, each with small whole inputs to damage."""

import io
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from damaged import ANNOTATIONS, GENES, OBO, SEEDS

Read = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Target:
    """A reader: its area, its name, whole inputs, how often it is chosen, and what reads bytes in a folder."""

    area: str
    name: str
    seeds: tuple[bytes, ...]
    read: Read
    weight: float = 1.0
    is_text: bool = False


def text(data: bytes) -> str:
    """The bytes as text; what is no UTF-8 becomes lone surrogates, as JSON can hold them too."""
    return data.decode("utf-8", "surrogateescape")


def targets(home: Path) -> list[Target]:
    """All of them; graphs that are asked are kept in `home`."""
    return [
        *_formats(), *_layouts(), *_replies(), *_settings(), *_patients(), *_data_sets(), *_kept(), *_asked(home),
        *_requests(home),
    ]  # fmt: skip


def _file(name: str, read: Callable[[Path], object]) -> Read:
    """What reads a file of that name."""

    def call(data: bytes, folder: Path) -> object:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return _used_up(read(path))

    return call


def _used_up(found: object) -> object:
    if isinstance(found, Iterator):
        for _ in found:
            pass
    return found


# --- Formats of graphs.


def _formats() -> Iterator[Target]:
    from kgmed.graph import formats
    from kgmed.graph.formats.base import roles_from_toml

    for seed, (format, name, data) in SEEDS.items():
        yield Target("graph formats", seed, (data,), _file(name, _rows(format)))
    for name, data in (("hp.obo", OBO), ("phenotype.hpoa", ANNOTATIONS), ("genes_to_phenotype.txt", GENES)):
        yield Target("graph formats", f"hpo: {name}", (data,), _hpo(name))
    for kind, of in (("icd10", "icd10"), ("who-eml", "who")):
        yield from _wheels(kind, of)
    rrf = {"MRCONSO.RRF": _CONSO, "MRREL.RRF": _REL, "MRSTY.RRF": _STY, "MRDEF.RRF": _DEF}
    for name in rrf:
        yield Target("graph formats", f"umls: {name}", (rrf[name],), _umls(name, rrf))
    roles = b'[r1]\nrole = "treats"\nreverse = true\nhead = "plant"\n[has_symptom]\ntail = "sign"\n'
    yield Target("graph formats", "roles", (roles,), _file("roles.toml", roles_from_toml))
    looked = lambda path: formats.reader_of(formats.detect(path))  # noqa: E731
    yield Target("graph formats", "detect", tuple(d for _, _, d in SEEDS.values()), _file("x", looked))
    yield Target("graph formats", "built and walked", (_TRIPLES,), _file("a.tsv", _built), 0.15)


_TRIPLES = "gout\thas_symptom\ttoe pain\n痛风\t治疗\t别嘌醇\ngout\tis_a\tarthritis\n".encode() * 3
_CONSO = b"C1|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|Gout|0|N||\nC2|ENG|P|L2|PF|S2|Y|A2||||MSH|MH|D2|Pain|0|N||\n"
_REL = b"C1|A1|AUI|RO|C2|A2|AUI|has_manifestation|R1||MSH|MSH||N|N||\n"
_STY = b"C1|T047|B2|Disease or Syndrome|AT1||\nC2|T184|A2|Sign or Symptom|AT2||\n"
_DEF = b"C1|A1|AT3||MSH|A metabolic disorder.|N||\n"


def _rows(format: str) -> Callable[[Path], object]:
    from kgmed.graph import formats

    return lambda path: _used_up(iter(formats.read(format, path).rows()))


def _hpo(damaged: str) -> Read:
    def call(data: bytes, folder: Path) -> object:
        for name, whole in (("hp.obo", OBO), ("phenotype.hpoa", ANNOTATIONS), ("genes_to_phenotype.txt", GENES)):
            (folder / name).write_bytes(data if name == damaged else whole)
        return _rows("hpo")(folder / "hp.obo")

    return call


def _umls(damaged: str, files: dict[str, bytes]) -> Read:
    def call(data: bytes, folder: Path) -> object:
        for name, whole in files.items():
            (folder / name).write_bytes(data if name == damaged else whole)
        return _rows("umls")(folder)

    return call


def _wheels(format: str, of: str) -> Iterator[Target]:
    import made_wheels as made

    make, files = {"icd10": (made.icd10_wheel, made.ICD10), "who": (made.who_wheel, made.WHO)}[of]

    def read(name: str) -> Read:
        def call(data: bytes, folder: Path) -> object:
            return _rows(format)(make(folder / "a.whl", {**files, name: data}))

        return call

    for name, data in files.items():
        yield Target("graph formats", f"{format}: {name}", (data.encode(),), read(name), 0.2)


def _built(path: Path) -> object:
    from kgmed.graph import formats
    from kgmed.graph.store.build import build
    from kgmed.graph.store.store import open_store

    build(formats.read("triples", path), path.parent / "g")
    store = open_store(path.parent / "g")
    for node in range(min(8, len(store))):
        found = store.entity(store.at(node).id)
        store.neighbours(found.id)
        store.lookup(found.name)
    return store


def _layouts() -> Iterator[Target]:
    """Graphs in the layouts in which they are published: one file of each damaged, previewed and read whole."""
    layouts = import_module("test_layouts").LAYOUTS
    with tempfile.TemporaryDirectory() as scratch:
        for number, (layout, (make, _)) in enumerate(layouts.items()):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            top = make(folder).relative_to(folder)
            whole = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
            for name in [n for n in whole if (Path(n) == top or top in Path(n).parents)]:
                yield Target("graph formats", f"{layout}: {name}", (whole[name],), _layout(whole, name, top), 0.3)


def _layout(whole: Mapping[str, bytes], damaged: str, top: Path) -> Read:
    def call(data: bytes, folder: Path) -> object:
        from kgmed.graph.doctor import preview
        from kgmed.graph.library import source_of

        for name, content in {**whole, damaged: data}.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        source = source_of("mine", folder / top)
        preview(source)
        return _used_up(iter(source.rows()))

    return call


# --- Replies of language models.


def _replies() -> Iterator[Target]:
    from kgmed.models import asking, replies
    from kgmed.steps.options import parse_choice
    from prompts.test_malformed_replies import CASES

    for prompt, (read, said) in CASES.items():
        seeds = tuple(reply.encode("utf-8", "surrogatepass") for reply, _ in said)
        yield Target("replies", prompt, seeds, _of_text(read), is_text=True)
    every = tuple(r.encode("utf-8", "surrogatepass") for _, said in CASES.values() for r, _ in said)
    options = (("A", "gout"), ("B", "flu"), ("C", "肺炎"))
    parsers: dict[str, Callable[[str], object]] = {
        "a choice": lambda reply: parse_choice(reply, options),
        "values": lambda reply: asking.values(reply),
        "strings": lambda reply: asking.strings(reply, "terms"),
        "names": replies.names,
        "final line": replies.split_final,
    }
    for name, parse in parsers.items():
        yield Target("replies", name, every, _of_text(parse), is_text=True)


def _of_text(parse: Callable[[str], object]) -> Read:
    """What parses the text of the bytes."""
    return lambda data, _: parse(text(data))


# --- Settings.


def _settings() -> Iterator[Target]:
    from kgmed.config import configure, read_config
    from kgmed.models.limits import prices

    toml = b'graph = "hpo"\nmethod = "kg-rank"\nevidence_tokens = 300\ndeadline = 2.5\ncache = "r.db"\nrate = 10.0\n'
    toml += b'[settings]\nranking = "mmr"\nkeep = 5\n'
    yield Target("configuration", "config.toml", (toml,), _file("c.toml", read_config), 3)
    money = b'["openai/gpt"]\ninput = 1.5\noutput = 6\n["x"]\ninput = "0.1"\noutput = 0\n'
    yield Target("configuration", "prices.toml", (money,), _file("p.toml", prices), 2)

    for name, whole, read in _MAPPINGS:
        yield Target("configuration", name, (whole,), _file("m.toml", _of_module(read)))

    def given(data: bytes, where: Path) -> object:
        name, _, value = text(data).partition("=")
        return configure(None, {name: value})

    pairs = (b"graph=hpo", b"evidence_tokens=300", b"deadline=1e9", b"cache_mode=replay", b"choose=letter", b"rate=1")
    yield Target("configuration", "options as text", pairs, given, 2, is_text=True)


_TABLES = b"""[kinds.disease]
name = "title"
aliases = ["short"]
texts = { cure = "treats", note = { role = "other", reverse = true } }
[kinds.drug]
kind_column = "type"
[[aliases]]
of = "disease"
table = "names"
entity = "disease_id"
name = "said"
scope = "broad"
[relations.treated]
head = { drug = "drug_id" }
tail = { disease = "disease_id" }
role = "treats"
"""
_BOLT = b"""id = "code"
aliases = ["names"]
[kinds]
Disease = "disease"
[relations]
HAS = "finding"
TREATED_BY = { name = "treated by", role = "treats", reverse = true }
"""
_MAPPINGS = (
    ("mapping of tables", _TABLES, "kgmed.graph.remote.table_mapping:read_tables"),
    ("mapping over Bolt", _BOLT, "kgmed.graph.remote.bolt:read_mapping"),
    ("columns of a table", b'head = "a"\ntail = "b"\nrelation = "what"\n', "kgmed.graph.formats.tables:own_columns"),
)


def _of_module(place: str) -> Callable[[Path], object]:
    """What a module's reader makes of a file."""
    module, _, name = place.partition(":")
    return lambda path: getattr(import_module(module), name)(path)


# --- Patients.


def _patients() -> Iterator[Target]:
    from kgmed.evaluate.datasets import cases
    from kgmed.evaluate.judge import read as ratings

    packet = {
        "id": "PMID_1_boy",
        "subject": {"id": "boy", "sex": "MALE", "timeAtLastEncounter": {"age": {"iso8601duration": "P3Y6M"}}},
        "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}, {"type": {"id": "HP:0000365"}, "excluded": True}],
        "interpretations": [{"diagnosis": {"disease": {"id": "OMIM:1", "label": "X"}}}],
        "diseases": [{"term": {"id": "OMIM:1"}, "onset": {"ontologyClass": {"id": "HP:0003593"}}}],
    }
    whole = json.dumps(packet).encode()
    skip: list[str] = []
    yield Target("patients", "phenopackets", (whole + b"\n" + whole,), _file("a.jsonl", cases.packets), 3)
    told = lambda path: cases.packets(path, skip.append)  # noqa: E731
    yield Target("patients", "phenopacket", (whole, json.dumps(packet, indent=1).encode()), _file("a.json", told), 2)
    goal = {"explicit_inform_slots": {"a": True}, "implicit_inform_slots": {"b": "UNK"}, "disease_tag": "flu"}
    goals = pickle.dumps({"train": [goal] * 2, "test": [goal]}, protocol=2)
    plain = pickle.dumps({"train": [goal] * 2, "test": [goal]}, protocol=0)
    yield Target("patients", "goals", (goals, plain), _file("g.p", cases.read_goals), 2)
    rows = [{"pid": "a", "exp_sxs": {"发热": "1"}, "imp_sxs": {"咳嗽": "0"}, "label": "肺炎"}]
    yield Target("patients", "dxformer", (json.dumps(rows).encode(),), _file("d.json", lambda p: cases.part(p, [])))
    line = b'{"disease": "flu", "positive": ["fever"], "negative": ["rash"], "unsure": [], "split": "train", "id": 7}\n'
    yield Target("patients", "case lines", (line * 3,), _file("c.jsonl", cases.read_case_lines), 2)
    asked = b'{"question": "fever, no rash", "answer": "flu"}\n{"positive": ["fever"], "answer": "flu"}\n'
    yield Target("patients", "answers to judge", (asked,), _file("q.jsonl", cases.answers))
    csv = b"AGE,PATHOLOGY,EVIDENCES,INITIAL_EVIDENCE\n3,Flu,\"['E_91', 'E_55_@_V_29']\",E_91\n"
    same = lambda name: name  # noqa: E731
    yield Target("patients", "ddxplus", (csv,), _file("p.csv", lambda p: cases.patients(p, same, same, [])))
    rated = b"item,method,rater,rating\nq1,facts,r1,1\nq1,llm,r1,-1\nq2,facts,r1,0\n"
    yield Target("patients", "ratings", (rated,), _file("r.csv", ratings))


# --- Data sets of evaluations.


def _data_sets() -> Iterator[Target]:
    from kgmed.evaluate.datasets import datasets, load, others

    known, held = datasets(), others()

    def read(name: str, place: str, beside: tuple[tuple[str, bytes], ...] = ()) -> Read:
        found = known.get(name) or held[name]

        def call(data: bytes, folder: Path) -> object:
            for file, whole in (*beside, (place, data)):
                path = folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(whole)
            made = found.read(folder)
            return _used_up(iter(made)) if hasattr(made, "__iter__") else made

        return call

    for name, place, data, *beside in _SETS:
        yield Target("data sets", name, (data,), read(name, place, tuple(beside)))
    own = b'{"question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "B", "id": "q"}\n'
    own += b'{"question": "Why?", "texts": ["so"], "entities": ["gout"], "part": "dev"}\n'
    yield Target("data sets", "own", (own,), _file("mine.jsonl", lambda p: load(str(p), p.parent)), 2)
    yield Target("data sets", "mmcu", (_workbook(),), read("mmcu", "mmcu_medical/MMCU-Medical.xlsx"), 0.1)


_MIRAGE = {"bioasq": {"7": {"question": "So?", "options": {"A": "yes", "B": "no"}, "answer": "B"}}, "medqa": {}}
_MINTAKA = [{"question": "Who?", "id": "a", "answer": {"answer": [{"label": {"en": "X"}}], "mention": "x"}}]
_NER = {
    "qustion_output": "<CLS>fever?<SEP>The extracted entities are fever<EOS>",
    "answer_output": "<CLS>flu.<SEP>The extracted entities are flu, rest<EOS>",
}
_CPE = json.dumps([{"id": 1, "question": "?", "options": ["A.a", "B.b"], "answer": "A", "explanation": "x"}]).encode()
_CPE_PLACES = [f"explaincpe/{part}.json" for part in ("train", "dev", "test")]
_ASKED = b'{"question": "Why?", "answer": "so", "metadata": {"field": "Healthcare / Medicine"}}\n'
_SETS: list[tuple[Any, ...]] = [  # name, file, what is in it, other files with what is in them
    (
        "cmb",
        "cmb_exam/apollo_xmedbench_zh.json",
        json.dumps([{"source": "cmb-single", "question": "?", "options": "(A) a\n(B) b", "answer": "A"}]).encode(),
    ),
    ("mirage", "mirage/benchmark.json", json.dumps(_MIRAGE).encode()),
    ("explaincpe", _CPE_PLACES[2], _CPE, *((p, _CPE) for p in _CPE_PLACES[:2])),
    ("cmcqa", "cmcqa/Chinese_doctor_qa_ner.json", '{"question": "痛", "answer": "药"}\n'.encode() * 2),
    ("genmedgpt", "genmedgpt5k/NER_chatgpt_first4000.json", (json.dumps(_NER) + "\n").encode() * 2),
    (
        "expertqa",
        "expertqa/r1_data_anon.jsonl",
        _ASKED,
        *((f"expertqa/rand_lfqa_{p}.json", _ASKED) for p in ("train", "val", "test")),
    ),
    (
        "liveqa",
        "liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml",
        b'<a><NLM-QUESTION qid="1"><NIST-PARAPHRASE>Why?</NIST-PARAPHRASE><ANSWER>so</ANSWER></NLM-QUESTION></a>',
    ),
    (
        "mintaka",
        "mintaka/mintaka_test_en_subset.json",
        json.dumps(_MINTAKA).encode(),
        ("mintaka/mintaka_dev.json", json.dumps(_MINTAKA).encode()),
    ),
    ("xlbel-en", "xlbel/v0.0_en.txt", b"C1||gout\nC2||toe pain\n"),
    (
        "cmeee",
        "cmeee/CMeEE-V2_dev.json",
        json.dumps(
            [{"text": "痛风", "entities": [{"start_idx": 0, "end_idx": 2, "type": "dis", "entity": "痛风"}]}]
        ).encode(),
    ),
]


def _workbook() -> bytes:
    from openpyxl import Workbook

    book, out = Workbook(), io.BytesIO()
    for row in (["q", "A", "B", "C", "D", "answer"], ["Which?", "a", "b", "c", "d", "A"]):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


# --- What kgmed itself has kept: manifests, logs, journals.


def _kept() -> Iterator[Target]:
    from eval_makers import items, run
    from kgmed.evaluate import log
    from kgmed.graph import get
    from kgmed.graph.store import edits, folder
    from kgmed.records import Run

    entry = log.to_line(log.Entry(log.Job("facts", "q1"), run(items(1)[0].question, "said")))
    yield Target("kept files", "an evaluation's log", (entry * 2,), _file("log.jsonl", lambda p: log.entries(p.parent)))
    told = b'{"methods": ["facts"], "dataset": {"name": "mmcu", "part": "test"}, "seeds": [0]}'
    read = lambda p: log.read_manifest(p.parent)  # noqa: E731
    yield Target("kept files", "an evaluation's manifest", (told,), _file("manifest.json", read))
    said = b'{"what": "add", "head": "a", "relation": "r", "tail": "b", "weight": 0.5, "note": "n"}\n'
    journal = _file(folder.JOURNAL, lambda p: edits.read_journal(p.parent))
    yield Target("kept files", "edits", (said * 2,), journal)
    stored = json.dumps({"format": folder.FORMAT, "check": "", "name": "x", "relations": [], "files": {}}).encode()
    manifest = _file("manifest.json", lambda p: folder.read_manifest(p.parent))
    yield Target("kept files", "a graph's manifest", (stored,), manifest)
    index = json.dumps({"kgmed": 1, "name": "x", "files": {"a.npy": [1, "0" * 64], "shard-0/b.npy": [2, "f" * 64]}})
    yield Target("kept files", "an index of a graph", (index.encode(),), _file(get.INDEX, get._index))
    whole = entry.decode("utf-8", "surrogatepass")
    plain = json.dumps(json.loads(whole)["run"]).encode()
    yield Target("kept files", "a run", (plain,), _file("run.json", lambda p: _from_json(Run, p)), 2)


def _from_json(kind: type, path: Path) -> object:
    """A run out of JSON; what is no JSON is refused before."""
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return kind.from_json(data)  # type: ignore[attr-defined]


# --- Questions and command lines.


QUESTIONS = (
    "What are the symptoms of flu?",
    "Has a patient with fever, cough and no rash the flu?",
    "Which drug treats gout but not in pregnancy?",
    "痛风怎么治疗？",
    "I am 34 weeks pregnant and have gout. Can I take allopurinol?",
    "flu?\nA) fever\nB) rash",
)
COMMANDS = (
    'ask "What are the symptoms of flu?" --graph flu',
    "ask flu -g flu --explain --json",
    "ask flu -g flu --method facts --set keep=3 --evidence-tokens 30",
    "ask flu -g flu --config c.toml --deadline 3",
    "graph find flu fever",
    "graph show flu flu --limit 3 --json",
    "graph neighbours flu flu --role finding",
    "graph paths flu fever gout",
    "graph info flu",
    "graph edits flu",
    "graph doctor flu",
    "graph list --json",
    "graph build x x.tsv --format triples",
    "graph add flu fever r cough --reference PMID:1 --weight 0.5",
    "graph withdraw flu flu has_symptom fever",
    "graph export flu --format jsonl",
    "methods facts",
    "methods --json",
    "eval datasets --data .",
    "eval score none --data . --metric accuracy",
    "eval run out --set mine.jsonl --method facts --graph flu -n 1",
    "reward rank cases.jsonl --patients cases.jsonl",
    "diagnose HP:0001250 --graph flu",
    "--help",
)


def _asked(home: Path) -> Iterator[Target]:
    questions = tuple(q.encode() for q in QUESTIONS)
    yield Target("questions", "facts", questions, lambda data, _: session(home).ask(text(data)), 0.4, is_text=True)
    commands = tuple(c.encode() for c in COMMANDS)
    yield Target("command lines", "kgmed", commands, _command(home), 0.4, is_text=True)


@cache
def session(home: Path) -> Any:
    """A session on a small graph."""
    import kgmed

    os.environ["KGMED_HOME"] = str(home)
    return kgmed.load(graph="flu", method="facts")


def prepare(home: Path) -> None:
    """Build the graph that questions are asked of."""
    from kgmed.graph import library

    os.environ["KGMED_HOME"] = str(home)
    home.mkdir(parents=True, exist_ok=True)
    rows = "head\trelation\ttail\nflu\thas_symptom\tfever\nflu\thas_symptom\tcough\ngout\thas_symptom\ttoe pain\n"
    rows += "gout\ttreated_by\tallopurinol\nallopurinol\tcontraindicated_in\tpregnancy\n痛风\t治疗\t别嘌醇\n"
    (home / "flu.tsv").write_text(rows, encoding="utf-8")
    library.build_graph("flu", home / "flu.tsv")


def _command(home: Path) -> Read:
    """What runs a command in a folder; its own errors and exits are as they should be, any other is raised."""
    import shlex

    def call(data: bytes, folder: Path) -> object:
        from typer.testing import CliRunner

        from kgmed.cli import PARTS, app
        from kgmed.errors import KgmedError

        try:
            words = shlex.split(text(data))
        except ValueError:
            words = text(data).split()
        words = [w for w in words if "\0" not in w and not _reaches_out(w)]
        if words and words[0] not in PARTS and not words[0].startswith("-"):  # a question without a command is asked
            words = ["ask", *words]
        if words[:1] in (["ask"], ["chat"], ["diagnose"]):  # not of all graphs that are installed
            words = [words[0], "--graph", "flu", *words[1:]]
        before = Path.cwd()
        os.chdir(folder)
        os.environ["KGMED_HOME"] = str(home)
        try:
            found = CliRunner().invoke(app, words, input="")
        finally:
            os.chdir(before)
        if isinstance(found.exception, KgmedError) or not isinstance(found.exception, Exception):
            if isinstance(found.exception, KgmedError):
                raise found.exception
            return None
        raise found.exception

    return call


def _reaches_out(word: str) -> bool:
    """Whether a word would have kgmed ask a server or write outside its folder: not what is attacked here."""
    return any(sign in word for sign in ("://", "+", "..", "umls", "dbpedia", "wikidata", "hub/")) or word[:1] == "/"


# --- Requests to the service.

_ASK = b'{"question": "What are the signs of flu?", "options": {"A": "fever"}, "graph": "flu", "method": "facts"}'
_CHAT = b'{"model": "kgmed", "messages": [{"role": "user", "content": "What treats gout?"}], "stream": false}'
REQUESTS: Mapping[str, bytes] = {  # path -> a whole body
    "/v1/ask": _ASK,
    "/v1/compare": b'{"question": "What treats gout?", "methods": ["facts", "kg-rank"], "graph": "flu"}',
    "/v1/graphs/flu/paths": b'{"entities": ["flu", "gout"], "hops": 3, "limit": 5}',
    "/v1/diagnose": b'{"findings": ["HP:0001250"], "text": "fever", "sex": "male", "age": "P3Y", "keep": 5}',
    "/v1/phenopacket": b'{"findings": ["HP:0001250"], "phenopacket": {"id": "a", "subject": {"id": "b"}}}',
    "/v1/chat/completions": _CHAT,
    "/mcp": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}',
}


def _requests(home: Path) -> Iterator[Target]:
    for path, body in REQUESTS.items():
        yield Target("requests", f"POST {path}", (body,), _request(home, path), 0.3)


def _request(home: Path, path: str) -> Read:
    """What sends a body; a refusal is `BadInput`, an error of the service an error."""

    def call(data: bytes, folder: Path) -> object:
        from kgmed.errors import BadInput
        from served import HTTP

        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = HTTP.post(service(home) + path, content=data, headers=headers, timeout=120)
        if answer.status_code >= 500:
            raise RuntimeError(f"{path} answers {answer.status_code}: {answer.text[:200]}")
        if answer.status_code >= 400:
            raise BadInput(answer.text[:200])
        return answer.text

    return call


@cache
def service(home: Path) -> str:
    """The address of a service on a small graph, which ends with this process."""
    from served import cases_of, running

    os.environ["KGMED_HOME"] = str(home)
    opened = running(cases_of(graph="flu", keep=False))
    _OPENED.append(opened)
    return opened.__enter__().url


_OPENED: list[Any] = []  # a block that is never left; were it let go, the service would end
