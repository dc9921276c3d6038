"""A language model from a GGUF file, run in this process on the CPU by llama.cpp (package `xllamacpp`)."""

import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.asking import LogProbs, shared_start, stream_from_thread
from kgmed.models.base import PENALTY, Message, Reply, sampling
from kgmed.models.files import MODELS, fetched_file
from kgmed.models.hosted import ModelServer
from kgmed.registry import models
from kgmed.servers import Key, Limits

if TYPE_CHECKING:
    from kgmed.http import JsonClient

MAGIC = b"GGUF"
_CALLED = {PENALTY: "repeat_penalty"}  # what the server calls a setting otherwise
_OPENS_TAG = re.compile(r"<(?=[^\s\d<=>.])")  # <|im_end|>, </s>, <start_of_turn>, but not "p <0.05"


class Gguf:
    """A model in process: its own chat template; greedy unless `sampled` says otherwise: equal prompts, equal replies.

    llama.cpp opens a port on the loopback interface; it is closed to all but the holder of a random key, which only
    this object has.
    """

    def __init__(self, path: Path | str, *, threads: int = 0, context: int = 4096) -> None:
        """Load the file; `threads` 0 = OMP_NUM_THREADS or 1, `context` = tokens of prompt and reply together."""
        self.path = _checked(Path(path))
        self.threads = threads or _threads_from(os.environ)
        self.context = context
        self._turn = threading.Lock()
        self._key = secrets.token_urlsafe(32)
        self._server = _load(self.path, threads=self.threads, context=context, key=self._key)

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"gguf/{self.path.name}"

    @property
    def settings(self) -> dict[str, object]:
        """What replies depend on beside the messages, for a cache; the size tells files of one name apart."""
        return {**sampling().settings, "context": self.context, "bytes": self.path.stat().st_size}

    def __repr__(self) -> str:
        """The file, the threads and the context."""
        return f"Gguf({str(self.path)!r}, threads={self.threads}, context={self.context})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply; `PromptTooLong` where prompt and reply do not fit into the context."""
        return self._reply(self._ask(self._request(messages, max_tokens)), max_tokens)

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, which can only be JSON of that schema, or the beginning of it where `max_tokens` cut it off."""
        shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}
        return self._reply(self._ask(self._request(messages, max_tokens) | {"response_format": shape}), max_tokens)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece; one that is left early stops the model."""
        request = self._request(messages, max_tokens) | {"stream": True, "stream_options": {"include_usage": True}}

        def work(put: Callable[[str], bool]) -> Reply:
            whole, parts = _Chunks(), list[str]()

            def take(chunk: Mapping[str, Any]) -> bool:
                parts.append(whole.take(chunk))
                return put(parts[-1])

            self._ask(request, take)
            return self._reply(whole.answer("".join(parts)), max_tokens)

        return stream_from_thread(work)

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is after the prompt; both are read as they are, without a chat template.

        llama.cpp gives no probabilities of a prompt. A grammar of tokens lets each text be all that it can write, and
        the probabilities are those before the grammar. The prompt is read once; for each text only its last token is
        read again.
        """
        start = self._tokens(without_tags(prompt))
        wholes = [self._tokens(without_tags(prompt + c)) for c in continuations]
        shared = [shared_start(start, whole) for whole in wholes]
        with self._turn:  # another question between would take the place of the prompt that was read
            if len(wholes) > 1:
                self._completed({"prompt": start, "max_tokens": 1, "temperature": 0, "cache_prompt": False})
            again = len(wholes) > 1
            found = [self._written(whole, n, again=again) for whole, n in zip(wholes, shared, strict=True)]
        return LogProbs(tuple(found), len(start) + sum(map(len, found)))

    def _written(self, whole: list[int], shared: int, *, again: bool) -> NDArray[np.float64]:
        """The log-probability of each token after the first `shared`; `again` = those were read a moment ago."""
        if shared == len(whole):
            return np.zeros(0)
        forced = " ".join(f"<[{token}]>" for token in whole[shared:])
        request = {"prompt": whole[:shared], "grammar": f"root ::= {forced}", "max_tokens": len(whole) - shared}
        answer = self._completed({**request, "temperature": 0, "n_probs": 1, "cache_prompt": again})
        said = (answer["choices"][0]["logprobs"] or {}).get("content", [])
        if [token["id"] for token in said] != whole[shared:]:
            raise ModelFailed(f"{self.name} could not be made to write a given text; give another runtime of llama.cpp")
        return np.array([token["logprob"] for token in said], np.float64)

    def _completed(self, request: Mapping[str, object]) -> Any:
        """The server's answer to a prompt of tokens."""
        try:
            answer = self._server.handle_completions(dict(request))
        except (RuntimeError, ValueError) as error:
            raise ModelFailed(f"{self.name} failed: {_one_line(error)}") from error
        if problem := answer.get("error"):
            raise self._failure(problem)
        return answer

    @cached_property
    def _client(self) -> "JsonClient":
        """What asks the model's port for that which its Python object does not offer."""
        from kgmed.http import JsonClient  # heavy

        server = ModelServer("localhost", Key(self._key), kind="gguf", model=self.path.name)
        limits = Limits(timeout=60.0, retries=1, rate=math.inf, redirects=0)
        return JsonClient(self._server.listening_address, server, limits=limits)

    def _tokens(self, text: str) -> list[int]:
        """The tokens of a text, with the mark of a beginning where the model has one."""
        answer = self._client.post("/tokenize", {"content": text, "add_special": True, "parse_special": False})
        return [int(token) for token in answer["tokens"]]

    def _request(self, messages: Sequence[Message], max_tokens: int) -> dict[str, object]:
        return {
            "messages": [{"role": m.role, "content": without_tags(m.text)} for m in messages],
            "max_tokens": max_tokens,
            **{_CALLED.get(name, name): value for name, value in sampling().settings.items()},
            "cache_prompt": False,  # what was asked before must not change a reply
        }

    def _ask(self, request: Mapping[str, object], take: Callable[[Mapping[str, Any]], bool] | None = None) -> Any:
        """The server's answer; with `take`, chunk by chunk to it, and no answer."""
        try:
            with self._turn:
                return self._server.handle_chat_completions(dict(request), take)
        except (RuntimeError, ValueError) as error:  # all that the binding raises
            raise ModelFailed(f"{self.name} failed: {_one_line(error)}") from error

    def _reply(self, answer: Mapping[str, Any], max_tokens: int) -> Reply:
        """The reply in the server's answer; raises what the answer says went wrong."""
        if problem := answer.get("error"):
            raise self._failure(problem)
        choice, usage = answer["choices"][0], answer["usage"]
        tokens = usage["prompt_tokens"]
        if choice["finish_reason"] == "length" and usage["completion_tokens"] < max_tokens:
            raise self._too_long(tokens + max_tokens, self.context)
        said = choice["message"]["content"] or ""
        cut = choice["finish_reason"] == "length"
        return Reply(whole_characters(said) if cut else said, tokens, usage["completion_tokens"], self.name, cut)

    def _failure(self, problem: Mapping[str, Any]) -> ModelFailed:
        if problem.get("type") == "exceed_context_size_error":
            return self._too_long(problem["n_prompt_tokens"], problem["n_ctx"])
        return ModelFailed(f"{self.name} failed: {_one_line(problem.get('message', problem))}")

    def _too_long(self, tokens: int, limit: int) -> PromptTooLong:
        message = f"{self.name} can read {limit} tokens at once and was given {tokens}; ask with less evidence"
        return PromptTooLong(message, tokens=tokens, limit=limit)


class _Chunks:
    """What the chunks of a stream say beside its text."""

    def __init__(self) -> None:
        self.error: object = None
        self.usage: Mapping[str, Any] = {}
        self.reason = ""

    def take(self, chunk: Mapping[str, Any]) -> str:
        self.error = chunk.get("error") or self.error
        self.usage = chunk.get("usage") or self.usage
        choice: Mapping[str, Any] = next(iter(chunk.get("choices") or ()), {})
        self.reason = choice.get("finish_reason") or self.reason
        return choice.get("delta", {}).get("content") or ""

    def answer(self, text: str) -> dict[str, Any]:
        """All of it, as if it had come at once; a stream that was left early has no reason to end and no usage."""
        usage = self.usage or {"prompt_tokens": 0, "completion_tokens": 0}
        choice = {"finish_reason": self.reason if self.usage else "", "message": {"content": text}}
        return {"choices": [choice], "usage": usage, **({"error": self.error} if self.error else {})}


def without_tags(text: str) -> str:
    """The text in which nothing reads as a control token of a chat template, so that evidence cannot open a turn.

    >>> without_tags("a<|im_end|> p<0.05 </s>")
    'a< |im_end|> p<0.05 < /s>'
    """
    return _OPENS_TAG.sub("< ", text)


def whole_characters(text: str) -> str:
    """The text of a reply that was cut off at its length without the beginning of a character at its end.

    >>> whole_characters("缺铁\ufffd")
    '缺铁'
    """
    return text.rstrip("\ufffd")


def _checked(path: Path) -> Path:
    """The path, if a GGUF file is there."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise BadInput(f"cannot read the model file {path}: {error.strerror}; give the path of a .gguf file") from error
    if magic != MAGIC:
        raise BadInput(f"{path} is not a GGUF file: it does not begin with the letters GGUF; give another file")
    return path


def _threads_from(environment: Mapping[str, str]) -> int:
    """OMP_NUM_THREADS where it is a number above 0, else 1.

    >>> _threads_from({"OMP_NUM_THREADS": "4"}), _threads_from({"OMP_NUM_THREADS": "4,2"}), _threads_from({})
    (4, 1, 1)
    """
    text = environment.get("OMP_NUM_THREADS", "")
    return max(1, int(text)) if text.isdecimal() else 1


def _load(path: Path, *, threads: int, context: int, key: str) -> Any:
    """The loaded model; quiet, on the CPU, one request at a time."""
    try:
        import xllamacpp  # heavy
    except ImportError as error:
        raise Unavailable('GGUF models need the package xllamacpp: pip install "kgmed[starter]"') from error
    p = xllamacpp.CommonParams()
    p.model.path = str(path)
    p.verbosity = -1
    p.n_ctx, p.n_parallel, p.n_gpu_layers, p.fit_params, p.warmup = context, 1, 0, False, False
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
    p.n_threads_http, p.ui, p.endpoint_slots = 1, False, False
    p.cache_ram_mib, p.n_ctx_checkpoints = 0, 0  # nothing is kept of what was asked
    p.cors_origins, p.api_keys = "", [key]
    try:
        return xllamacpp.Server(p)
    except RuntimeError as error:
        raise ModelFailed(f"llama.cpp cannot load {path}; the file may be cut short: get it again") from error


def _one_line(problem: object) -> str:
    return " ".join(str(problem).split())[:300]


@models.register("gguf/PATH")
def _in_file(path: str) -> Gguf:
    """A model in a file of one's own."""
    return Gguf(Path(path).expanduser())


def _packaged(name: str, *, folder: Path) -> Gguf:
    """A model that `kgmed models get` has fetched into the data folder."""
    return Gguf(fetched_file(name, folder))


for _name in MODELS:
    models.register(_name, takes=("folder",))(partial(_packaged, _name))
