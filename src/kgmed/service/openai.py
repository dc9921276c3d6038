"""The OpenAI interface: a client that knows nothing of kgmed asks it as a model called `kgmed/GRAPH/METHOD`.

Citations come three ways: `[n]` in the text, `annotations` of type `url_citation` that point at those marks (of the
message, or of a stream's last delta), and a `kgmed` object with the run's id and the triples behind each mark. Evidence
without an address of its own is linked to the page of this service.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgmed.config import AUTO
from kgmed.errors import BadInput, UnknownName
from kgmed.language.text import one_line
from kgmed.records import Evidence, Run, to_json
from kgmed.service.problems import Problem, body_of
from kgmed.service.rest import AnswerResponse, Doors, EventStream, ending, leaving
from kgmed.service.uses import LONGEST, AskRequest, RestartTold, TokenTold, Told, UseCases
from kgmed.show_run import address
from kgmed.stop import Stop

_MARK = re.compile(r"\[(\d{1,4})\]")
_OWNER = "kgmed"
_TURNS = 6  # of a history that are told of

# --- What is asked. Fields that are not known are ignored: clients send many.


class Part(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore")

    type: str = "text"
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text").strip()
        return (self.content or "").strip()


class StreamOptions(BaseModel):
    """What a stream holds besides."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A conversation whose last user message is the question."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    stream: bool = False
    stream_options: StreamOptions | None = None


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


def asked_of(chat: ChatRequest) -> tuple[AskRequest, list[str]]:
    """The question, and the user's earlier ones, oldest first; raises `BadInput`, `UnknownName`."""
    owner, _, rest = chat.model.partition("/")
    graph, _, method = rest.partition("/")
    if owner != _OWNER:
        raise UnknownName("model", chat.model, (), "list them with: GET /v1/models; such as kgmed/auto/auto")
    said = [message.text for message in chat.messages if message.role == "user" and message.text]
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


# --- What is answered.


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
    for mark in _MARK.finditer(run.answer.text):
        number = int(mark[1])
        if 1 <= number <= len(run.context.cited):
            title, url = link_of(run.context.cited[number - 1], run, number, base)
            place = {"start_index": mark.start(), "end_index": mark.end(), "title": title, "url": url}
            found.append({"type": "url_citation", "url_citation": place})
    return found


def extra(run: Run) -> dict[str, Any]:
    """What kgmed says besides: the run's id, and the triples behind each mark of the text."""
    numbers = dict.fromkeys(int(m[1]) for m in _MARK.finditer(run.answer.text))
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


def completion(run: Run, model: str, base: str) -> dict[str, Any]:
    """The whole answer."""
    message = {"role": "assistant", "content": run.answer.text, "refusal": None, "annotations": annotations(run, base)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": f"chatcmpl-{run.id}", "object": "chat.completion", "created": int(time.time()), "model": model,
            "choices": [choice], "usage": usage(run), "kgmed": extra(run)}  # fmt: skip


class Chunks:
    """A stream's pieces: the words of a model as they come, or the whole answer at the end, then its citations.

    What a model said may be changed by its check, and it may be asked again; what was sent cannot be taken back. So the
    rest of the final text follows where it goes on from what was sent; else the whole of it, on a line of its own.
    """

    def __init__(self, model: str, base: str, *, with_usage: bool) -> None:
        """Nothing is sent yet."""
        self.model, self.base, self.with_usage = model, base, with_usage
        self._id, self._at, self._sent = "chatcmpl-kgmed", int(time.time()), ""

    def __call__(self, told: Told) -> Iterator[bytes]:
        """The pieces of what happened."""
        if isinstance(told, TokenTold):
            yield from self._words(told.text)
        elif isinstance(told, RestartTold) and self._sent:
            yield from self._words("\n\n")
        elif isinstance(told, Run):
            yield from self._end(told)

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
        question, before = asked_of(asked)
        base = str(request.base_url).rstrip("/")
        if not asked.stream:
            job = _whole(doors.cases, question, before, asked.model, base)
            async with ending():
                return AnswerResponse(await doors.asking(job, leaving(request.receive)))
        with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        write = Chunks(asked.model, base, with_usage=with_usage)
        return EventStream(
            lambda gone: doors.asking.stream(lambda stop: doors.cases.stream(question, stop, before=before), gone),
            write,
            failed,
        )

    return api


def _whole(cases: UseCases, question: AskRequest, before: list[str], model: str, base: str) -> Callable[[Stop], bytes]:
    """The job that answers in one piece."""

    def work(stop: Stop) -> bytes:
        run = cases.ask(question, stop, before=before)
        return json.dumps(completion(run, model, base), ensure_ascii=False).encode("utf-8", "replace")

    return work
