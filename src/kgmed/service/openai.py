"""The OpenAI interface: a client that knows nothing of kgmed asks it as a model called `kgmed/GRAPH/METHOD`.

Citations come three ways: `[n]` in the text, `annotations` of type `url_citation` that point at those marks (of the
message, or of a stream's last delta), and a `kgmed` object with the run's id and the triples behind each mark. Evidence
without an address of its own is linked to the page of this service.
"""

import json
import re
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgmed.config import AUTO
from kgmed.errors import BadInput, UnknownName
from kgmed.language.text import one_line
from kgmed.records import Evidence, Run, to_json
from kgmed.service.guard import Problem, Unsupported, body_of
from kgmed.service.rest import LONG, AnswerResponse, Doors, EventStream, ending, leaving
from kgmed.service.uses import LONGEST, AskRequest, RestartTold, TokenTold, Told, UseCases
from kgmed.show_run import MARK, address
from kgmed.stop import Stop

_OWNER = "kgmed"
_TURNS = 6  # of a history that are told of
_TEXTS = 256  # that are encoded at once
ENCODER = "kgmed/encoder"  # the model of embeddings

# --- What is asked. Fields that are not known are ignored: clients send many, and null for what they leave out.


class Part(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore")

    type: str = "text"
    text: str | None = None


class ChatMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n".join(part.text or "" for part in self.content if part.type.endswith("text")).strip()
        return (self.content or "").strip()


class StreamOptions(BaseModel):
    """What a stream holds besides."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class NamedSchema(BaseModel):
    """A JSON schema with a name."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    name: str = "reply"
    wanted: Annotated[dict[str, Any] | None, Field(alias="schema")] = None


class ResponseFormat(BaseModel):
    """What the content of the reply is: text, JSON, or JSON of a schema."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: NamedSchema | None = None


class ChatRequest(BaseModel):
    """A conversation whose last user message is the question."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    n: int | None = None
    tool_choice: str | dict[str, Any] | None = None
    function_call: str | dict[str, Any] | None = None


class EmbeddingRequest(BaseModel):
    """Texts to be encoded by the encoder of the service, whichever model is named."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[Any], Field(min_length=1, max_length=_TEXTS)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None

    @property
    def texts(self) -> list[str]:
        """The texts; raises `Unsupported` for tokens, which are those of another model."""
        given = [self.input] if isinstance(self.input, str) else self.input
        texts = [text for text in given if isinstance(text, str)]
        if len(texts) < len(given):
            raise Unsupported(
                "input", "tokens of another model; send texts (LangChain: check_embedding_ctx_length=False)"
            )
        if any(not text.strip() or len(text) > LONGEST for text in texts):
            raise BadInput(f"input: each text has 1 to {LONGEST:,} characters, not blanks alone")
        return texts


class ServedModel(BaseModel):
    """A model that can be asked for."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = _OWNER


class ModelList(BaseModel):
    """The models."""

    object: Literal["list"] = "list"
    data: list[ServedModel]


def models_of(cases: UseCases) -> list[ServedModel]:
    """The models: each graph by each method that can be asked here."""
    names = [m.name for m in cases.list_methods() if m.available and not m.baseline]
    graphs = [AUTO, *cases.graphs] if len(cases.graphs) > 1 else list(cases.graphs)
    return [ServedModel(id=f"{_OWNER}/{graph}/{method}") for graph in graphs for method in (AUTO, *names)]


def _query(text: str) -> str:
    """What somebody wrote; Open WebUI puts documents and instructions around it."""
    within = re.match(r"(?s)\s*### Task:.*<user_query>\s*(.+?)\s*</user_query>", text)
    return within[1] if within else text


def asked_of(chat: ChatRequest) -> tuple[AskRequest, list[str]]:
    """The question, and the user's earlier ones, oldest first; raises `BadInput`, `UnknownName`."""
    owner, _, rest = chat.model.partition("/")
    graph, _, method = rest.partition("/")
    if owner != _OWNER:
        raise UnknownName("model", chat.model, (), "list them with: GET /v1/models; such as kgmed/auto/auto")
    said = [_query(message.text) for message in chat.messages if message.role == "user" and message.text]
    if not said:
        raise BadInput("messages: none of a user with a text; ask a question")
    if len(said[-1]) > LONGEST:
        raise BadInput(f"messages: the question has more than {LONGEST:,} characters")
    before = said[-1 - _TURNS : -1]
    try:
        for text in before:
            AskRequest(question=text[:LONGEST])
        return AskRequest(question=said[-1], graph=graph or AUTO, method=method or AUTO), before
    except ValidationError as error:
        raise BadInput(f"messages or model: {one_line(error.errors()[0]['msg'])}") from None


def followed(chat: ChatRequest, *, model: bool) -> None:
    """Raises `Unsupported` for what is asked beside the question and cannot be done: better than a reply without it."""
    for name in ("tool_choice", "function_call"):
        chosen = getattr(chat, name)
        if isinstance(chosen, dict) or chosen == "required":
            raise Unsupported(name, "kgmed calls no tools of a client; leave it out, or auto (agents ask it over MCP)")
    if (chat.n or 1) > 1:
        raise Unsupported("n", "a question has one answer here; ask again for another")
    wanted = chat.response_format
    if wanted is not None and wanted.type == "json_schema" and not (model and wanted.json_schema):
        why = "needs a schema" if model else "needs a language model (--llm); json_object gives the answer as JSON"
        raise Unsupported("response_format", f"json_schema {why}")


_TASK = r"(?s)\s*### Task:.*?### Chat History:"
_WANTED = r"\{\s*\"(title|tags|follow_ups|queries)\"\s*:"
_SAID = r"(?m)^\s*(?:USER|user|User):\s*(.+)$"
_TITLE = 60  # characters


def chore(chat: ChatRequest) -> str:
    """What a chat program asks of a model for itself, done briefly; "" = a question.

    Open WebUI asks for the title, the tags and what to ask next of a talk, as JSON, with the talk in the prompt.
    """
    text = next((message.text for message in reversed(chat.messages) if message.role == "user"), "")
    if not re.match(_TASK, text) or not (wanted := re.search(_WANTED, text)):
        return ""
    asked = re.search(_SAID, text[text.index("### Chat History:") :])
    title = one_line(asked[1]) if asked else ""
    short = title if len(title) <= _TITLE else f"{title[: _TITLE - 1].rsplit(' ', 1)[0]}…"
    return json.dumps({wanted[1]: short if wanted[1] == "title" else []}, ensure_ascii=False)


# --- What is answered.


@dataclass(frozen=True, slots=True)
class Shaped:
    """A run with the text that is answered in place of its own."""

    run: Run
    text: str


def shaped(cases: UseCases, run: Run, wanted: ResponseFormat, stop: Stop) -> Shaped:
    """The answer as JSON: that of the run, or what a model makes of it by the caller's schema."""
    if wanted.json_schema is not None and wanted.json_schema.wanted is not None:
        return Shaped(run, cases.shaped(run, wanted.json_schema.wanted, stop))
    found = {"answer": run.answer.text, "choices": list(run.answer.choices), **extra(run)}
    return Shaped(run, json.dumps(found, ensure_ascii=False))


def link_of(evidence: Evidence, run: Run, number: int, base: str) -> tuple[str, str]:
    """The title and the address of a piece of evidence: its first reference with one, else the page of this service."""
    for reference in (r for triple in evidence.triples for r in triple.references):
        if found := address(reference):
            return reference, found
    for entity in evidence.about:
        if found := address(entity.id):
            return f"{entity.name} ({entity.id})", found
    title = next((t.source for t in evidence.triples if t.source), evidence.text[:80])
    return title, f"{base}/#/run/{run.id}?evidence={number}"


def annotations(run: Run, base: str) -> list[dict[str, Any]]:
    """A citation for each mark of the answer that points at evidence."""
    found = []
    for mark in MARK.finditer(run.answer.text):
        number = int(mark[1])
        if 1 <= number <= len(run.context.cited):
            title, url = link_of(run.context.cited[number - 1], run, number, base)
            place = {"start_index": mark.start(), "end_index": mark.end(), "title": title, "url": url}
            found.append({"type": "url_citation", "url_citation": place})
    return found


def extra(run: Run) -> dict[str, Any]:
    """What kgmed says besides: the run's id, and the triples behind each mark of the text."""
    numbers = dict.fromkeys(int(m[1]) for m in MARK.finditer(run.answer.text))
    cited = [n for n in numbers if 1 <= n <= len(run.context.cited)]
    return {
        "run": run.id, "graph": run.graph, "method": run.method, "abstained": run.answer.abstained,
        "citations": [{"mark": n, "text": run.context.cited[n - 1].text,
                       "triples": to_json(run.context.cited[n - 1].triples)} for n in cited],
    }  # fmt: skip


def usage(run: Run) -> dict[str, int]:
    """The tokens of the models that were asked; 0 where none was."""
    spent = run.spent
    return {"prompt_tokens": spent.tokens_in, "completion_tokens": spent.tokens_out,
            "total_tokens": spent.tokens_in + spent.tokens_out}  # fmt: skip


def with_failures(run: Run) -> Run:
    """The run, its text beginning with what failed, where the facts were read in place of a model."""
    if not run.failures or run.answer.reader != "facts":
        return run
    return replace(run, answer=replace(run.answer, text=f"[{'; '.join(run.failures)}]\n\n{run.answer.text}"))


def completion(told: Run | Shaped, model: str, base: str) -> dict[str, Any]:
    """The whole answer."""
    run = told.run if isinstance(told, Shaped) else with_failures(told)
    text, cited = (told.text, []) if isinstance(told, Shaped) else (run.answer.text, annotations(run, base))
    made = plain_completion(text, model, cited)
    return {**made, "id": f"chatcmpl-{run.id}", "usage": usage(run), "kgmed": extra(run)}


def plain_completion(text: str, model: str, cited: list[dict[str, Any]]) -> dict[str, Any]:
    """A reply with that text."""
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": cited}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {"id": "chatcmpl-kgmed", "object": "chat.completion", "created": int(time.time()), "model": model,
            "choices": [choice], "usage": none}  # fmt: skip


class Chunks:
    """A stream's pieces: the words of a model as they come, or the whole answer at the end, then its citations.

    What a model said may be changed by its check, and it may be asked again; what was sent cannot be taken back. So the
    rest of the final text follows where it goes on from what was sent; else the whole of it, on a line of its own.
    """

    def __init__(self, model: str, base: str, *, with_usage: bool) -> None:
        """Nothing is sent yet."""
        self.model, self.base, self.with_usage = model, base, with_usage
        self._id, self._at, self._sent = "chatcmpl-kgmed", int(time.time()), ""

    def __call__(self, told: Told | Shaped) -> Iterator[bytes]:
        """The pieces of what happened."""
        if isinstance(told, Shaped):
            yield from self.whole(told.text, usage(told.run), kgmed=extra(told.run))
        elif isinstance(told, TokenTold):
            yield from self._words(told.text)
        elif isinstance(told, RestartTold) and self._sent:
            yield from self._words("\n\n")
        elif isinstance(told, Run):
            yield from self._end(with_failures(told))

    def whole(self, text: str, used: dict[str, int], **more: Any) -> Iterator[bytes]:
        """All pieces of a reply of that text."""
        yield from self._words(text)
        yield self._chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}], **more)
        if self.with_usage:
            yield self._chunk([], usage=used)
        yield b"data: [DONE]\n\n"

    def _words(self, text: str) -> Iterator[bytes]:
        """Words, the first of them with the role."""
        delta = {"content": text} if self._sent else {"role": "assistant", "content": text}
        self._sent += text
        yield self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def _end(self, run: Run) -> Iterator[bytes]:
        """The rest of the answer, its citations, and the tokens where they are wanted."""
        text = run.answer.text
        if rest := text[len(self._sent) :] if text.startswith(self._sent) else f"\n\n{text}":
            yield from self._words(rest)
        begin = self._sent.rfind(text) if text else 0
        cited = annotations(run, self.base)
        for one in cited:
            one["url_citation"]["start_index"] += begin
            one["url_citation"]["end_index"] += begin
        choice = {"index": 0, "delta": {"annotations": cited}, "finish_reason": "stop"}
        yield self._chunk([choice], kgmed=extra(run))
        if self.with_usage:
            yield self._chunk([], usage=usage(run))
        yield b"data: [DONE]\n\n"

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        """One piece."""
        made = {"id": self._id, "object": "chat.completion.chunk", "created": self._at, "model": self.model,
                "choices": choices, **more}  # fmt: skip
        return b"data: " + json.dumps(made, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


def failed(problem: Problem) -> bytes:
    """The piece that says what went wrong."""
    return b"data: " + body_of(problem, "/v1/chat/completions")[0] + b"\n\ndata: [DONE]\n\n"


# --- The routes.


def openai_routes(doors: Doors) -> APIRouter:
    """The routes of the OpenAI interface."""
    api = APIRouter(prefix="/v1", tags=["openai"])
    responses: dict[int | str, dict[str, Any]] = {"default": {"description": "`{error: {message, type, param, code}}`"}}

    @api.get("/models", responses=responses)
    async def models(request: Request) -> ModelList:
        """The models: a graph by a method each."""
        return ModelList(data=await doors.looking(lambda _: models_of(doors.cases), leaving(request.receive)))

    @api.get("/models/", include_in_schema=False)
    async def models_too(request: Request) -> ModelList:
        """The same; some clients end the address so."""
        return await models(request)

    @api.get("/models/{model:path}", responses=responses)
    async def model(request: Request, model: str) -> ServedModel:
        """A model."""
        known = await doors.looking(lambda _: models_of(doors.cases), leaving(request.receive))
        if found := next((m for m in known if m.id == model), None):
            return found
        raise UnknownName("model", model, [m.id for m in known])

    @api.post("/chat/completions", responses=responses, response_model=dict[str, Any])
    async def chat(request: Request, asked: ChatRequest) -> Response:
        """The answer to the last message of a user, with its citations."""
        with_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        base = str(request.base_url).rstrip("/")
        write = Chunks(asked.model, base, with_usage=with_usage)
        question, before = asked_of(asked)
        if brief := chore(asked):
            if asked.stream:
                return Response(b"".join(write.whole(brief, {})), media_type="text/event-stream")
            return AnswerResponse(json.dumps(plain_completion(brief, asked.model, []), ensure_ascii=False).encode())
        followed(asked, model=doors.cases.session.llm is not None)
        long = len(question.question.encode()) > LONG
        if not asked.stream:
            job = _whole(doors.cases, question, before, asked, base)
            async with ending():
                return AnswerResponse(await doors.asking(job, leaving(request.receive), long=long))
        told = _pieces(doors.cases, question, before, asked)
        return EventStream(partial(doors.asking.stream, told, long=long), write, failed)

    _embeddings(api, doors, responses)
    return api


def _embeddings(api: APIRouter, doors: Doors, responses: dict[int | str, dict[str, Any]]) -> None:
    """The route of vectors."""

    @api.post("/embeddings", responses=responses, response_model=dict[str, Any])
    async def embeddings(request: Request, asked: EmbeddingRequest) -> Response:
        """The vector of each text, by the encoder that the service links and ranks with."""
        encoder = doors.cases.session.encoder
        if asked.model not in (ENCODER, encoder.name):
            raise UnknownName("model of embeddings", asked.model, [ENCODER, encoder.name])
        if asked.dimensions not in (None, encoder.dimensions):
            raise Unsupported("dimensions", f"vectors of {encoder.name} have {encoder.dimensions}; leave it out")
        texts = asked.texts
        job = lambda _: _encoded(doors.cases, texts, packed=asked.encoding_format == "base64")  # noqa: E731
        async with ending():
            return AnswerResponse(await doors.looking(job, leaving(request.receive)))


def _pieces(
    cases: UseCases, question: AskRequest, before: list[str], chat: ChatRequest
) -> Callable[[Stop], Iterator[Told | Shaped]]:
    """The job that answers piece by piece; what is to be JSON comes in one."""
    wanted = chat.response_format

    def work(stop: Stop) -> Iterator[Told | Shaped]:
        if wanted is None or wanted.type == "text":
            yield from cases.stream(question, stop, before=before)
        else:
            yield shaped(cases, cases.ask(question, stop, before=before), wanted, stop)

    return work


def _whole(
    cases: UseCases, question: AskRequest, before: list[str], chat: ChatRequest, base: str
) -> Callable[[Stop], bytes]:
    """The job that answers in one piece."""

    def work(stop: Stop) -> bytes:
        told: Run | Shaped = cases.ask(question, stop, before=before)
        if chat.response_format is not None and chat.response_format.type != "text" and isinstance(told, Run):
            told = shaped(cases, told, chat.response_format, stop)
        return json.dumps(completion(told, chat.model, base), ensure_ascii=False).encode("utf-8", "replace")

    return work


def _encoded(cases: UseCases, texts: list[str], *, packed: bool) -> bytes:
    """The vectors of texts, as lists or as base64 of their 32-bit numbers."""
    name, rows = cases.embed(texts)
    made = [b64encode(struct.pack(f"<{len(row)}f", *row)).decode() if packed else row for row in rows]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(made)]
    used = {"prompt_tokens": 0, "total_tokens": 0}
    return json.dumps({"object": "list", "data": data, "model": name, "usage": used}).encode()
