"""A language model in this process through `transformers`: by a folder, a name on the model hub, or a GGUF file.

Larger in memory than `Gguf`; for models of a hub, for GPUs, for what is trained here, and for many calls at once (what
is faster on a CPU: bench/batching.py). Gives log-probabilities as well: `perplexities` of a text, and the choice of an
option by its likelihood.
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, PromptTooLong
from kgmed.models.from_hub import loaded
from kgmed.models.gguf import whole_characters, without_tags
from kgmed.models.joining import Joining
from kgmed.models.likelihood import LogProbs, shared_start
from kgmed.models.streaming import pulled
from kgmed.models.transformers_rows import Rows
from kgmed.models.transformers_schema import Held, Schema, holding, reads
from kgmed.models.transformers_scores import scored
from kgmed.models.transformers_text import Asked, ends_of, generated, streaming
from kgmed.stages import Message, Reply

AUTO = "auto"
DTYPES = (AUTO, "float32", "bfloat16", "float16")
_CONTEXT = 2048  # tokens, where the model names no limit


class TransformersLM:
    """A causal model, greedy: equal prompts get equal replies, as long as each is answered alone (`batch` 1).

    Safe between threads. With `batch` above 1 calls that come at once are generated together, which takes less
    than one after the other; sums are then rounded otherwise, so that a reply can differ from the one given alone.
    """

    def __init__(
        self, model: str | Path, *, device: str = "cpu", context: int = 0, batch: int = 1, dtype: str = AUTO
    ) -> None:
        """Load a model; `context` = tokens of prompt and reply together, 0 = as many as the model can.

        `batch` = most calls that are generated together; `dtype` one of `DTYPES`, auto = that of the files. Raises
        `BadInput`, `Unavailable` or `ModelFailed`.
        """
        if batch < 1:
            raise BadInput("a batch holds at least one call")
        if dtype not in DTYPES:
            raise BadInput(f"{dtype!r} is no precision of a model; take one of {', '.join(DTYPES)}")
        self._tokenizer, self._model = loaded(
            "AutoModelForCausalLM", model, device, dtype="" if dtype == AUTO else dtype
        )
        path = Path(model)
        self.name = f"hf/{path.name if path.exists() else model}"
        self.context = context or _limit(self._model)
        self._device, self._batch, self._dtype = device, batch, dtype
        # one thread computes for all: memory that many threads take from the C library is never given back, gigabytes
        self._one = ThreadPoolExecutor(1, "model")
        self._together: Joining[Asked, list[int]] | None = None
        if batch > 1:
            rows = Rows(self._model, self._ends, device, self._held)
            self._together = Joining(rows, most=batch, pool=self._one)

    @cached_property
    def settings(self) -> dict[str, object]:
        """What replies depend on beside the messages, for a cache; a sample of the weights tells trainings apart.

        `batch` and `dtype` are told where they were asked for.
        """
        asked = {"batch": self._batch} if self._batch > 1 else {}
        kept = {} if self._dtype == AUTO else {"dtype": self._dtype}
        return {"temperature": 0, "context": self.context, "weights": _sampled(self._model), **asked, **kept}

    @cached_property
    def _ends(self) -> list[int]:
        """The tokens that end a reply."""
        return ends_of(self._model, self._tokenizer)

    @cached_property
    def _known(self) -> Any:
        """What is known of the tokenizer, to hold replies to a schema."""
        return reads(self._tokenizer, self._ends)

    def __repr__(self) -> str:
        """The name, the device and the context."""
        return f"TransformersLM({self.name}, device={self._device!r}, context={self.context})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply; `PromptTooLong` where prompt and reply do not fit into the context."""
        return self._replied(self._asked(messages, max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Schema, /, *, max_tokens: int = 256) -> Reply:
        """The reply, which can only be JSON of that schema, or the beginning of it where `max_tokens` cut it off.

        Where the tokenizer cannot be held to one (see `reads`) the reply is a plain one.
        """
        asked = self._asked(messages, max_tokens)
        return self._replied(asked._replace(schema=schema) if self._known is not None else asked)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece, never in a batch; one that is left early stops the model."""
        return pulled(lambda put: self._alone(self._asked(messages, max_tokens), put))

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is after the prompt; both are read as they are, without a chat template."""
        start = self._tokens(prompt)
        rows = [self._tokens(prompt + text) for text in continuations]
        begins = [shared_start(start, row) for row in rows]
        longest = max(map(len, rows), default=0)
        if longest > self.context:
            raise self._too_long(longest)
        found = self._one.submit(self._scored, rows, begins).result()
        return LogProbs(tuple(found), sum(map(len, rows)))

    def _scored(self, rows: list[list[int]], begins: list[int]) -> list[NDArray[np.float64]]:
        """The log-probabilities of the tokens of each row from where it begins."""
        import torch  # heavy

        with torch.inference_mode():
            return scored(self._model, rows, begins, self._device)

    def _asked(self, messages: Sequence[Message], max_tokens: int) -> Asked:
        """The call in tokens."""
        asked = Asked(self._prompt(messages), max_tokens)
        if len(asked.prompt) + max_tokens > self.context:
            raise self._too_long(len(asked.prompt) + max_tokens)
        return asked

    def _replied(self, asked: Asked) -> Reply:
        """The reply, alone or beside others."""
        return self._alone(asked) if self._together is None else self._reply(asked, self._together(asked))

    def _alone(self, asked: Asked, put: Callable[[str], bool] | None = None) -> Reply:
        """The reply; its pieces are handed to `put` on the way."""
        told = dict(streaming(self._tokenizer, put) if put else {})
        if asked.schema is not None:
            told["logits_processor"] = holding(self._held(asked.schema))
        row = self._one.submit(generated, self._model, self._tokenizer, asked, self._device, told).result()
        return self._reply(asked, row)

    def _held(self, schema: Schema) -> Held:
        """What holds a reply to that schema."""
        return Held(self._known, schema, self._ends)

    def _reply(self, asked: Asked, row: Sequence[int]) -> Reply:
        """The reply in tokens."""
        said = self._tokenizer.decode(row, skip_special_tokens=True)
        cut = len(row) == asked.most
        return Reply(whole_characters(said) if cut else said, len(asked.prompt), len(row), self.name)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a conversation: by the model's chat template, or where it has none as paragraphs."""
        turns = [{"role": m.role, "content": _whole(without_tags(m.text))} for m in messages]
        if not self._tokenizer.chat_template:
            return self._tokens("\n\n".join(turn["content"] for turn in turns) + "\n\n")
        text = self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return [int(t) for t in self._tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _tokens(self, text: str) -> list[int]:
        """The tokens of a text, with the mark of a beginning where the model has one."""
        ids = self._tokenizer(_whole(without_tags(text)), add_special_tokens=False)["input_ids"]
        begin = self._tokenizer.bos_token_id
        adds = begin is not None and self._tokenizer("")["input_ids"][:1] == [begin]
        return [*([int(begin)] if adds else []), *map(int, ids)]

    def _too_long(self, tokens: int) -> PromptTooLong:
        """The error for a prompt that does not fit."""
        message = f"{self.name} can read {self.context} tokens at once and was given {tokens}; ask with less evidence"
        return PromptTooLong(message, tokens=tokens, limit=self.context)


def _whole(text: str) -> str:
    """The text without halves of characters, which tokenizers cannot read."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _sampled(model: Any) -> str:
    """The beginning of a hash over some 64 numbers of every weight of a model."""
    digest = hashlib.sha256()
    for weight in model.parameters():
        flat = weight.detach().flatten()
        digest.update(flat[:: max(1, len(flat) // 64)].double().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _limit(model: Any) -> int:
    """The tokens that a model can read at once."""
    config: object = model.config
    named = (getattr(config, field, None) for field in ("max_position_embeddings", "n_positions"))
    return next((int(n) for n in named if n), _CONTEXT)
