"""A language model in this process through `transformers`: by a folder, a name on the model hub, or a GGUF file.

Slower than `Gguf` on a CPU and larger in memory; for models of a hub, for GPUs, and for what is trained here. Gives
log-probabilities as well: `perplexities` of a text, and the choice of an option by its likelihood.
"""

import hashlib
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, PromptTooLong
from kgmed.models.from_hub import loaded
from kgmed.models.gguf import without_tags
from kgmed.models.likelihood import LogProbs, shared_start
from kgmed.models.streaming import pulled
from kgmed.stages import Message, Reply

_CONTEXT = 2048  # tokens, where the model names no limit


class TransformersLM:
    """A causal model, greedy: equal prompts get equal replies. One call at a time."""

    def __init__(self, model: str | Path, *, device: str = "cpu", context: int = 0, batch: int = 8) -> None:
        """Load a model; `context` = tokens of prompt and reply together, 0 = as many as the model can.

        `batch` texts are given their log-probabilities at a time.
        """
        if batch < 1:
            raise BadInput("a batch holds at least one text")
        self._tokenizer, self._model = loaded("AutoModelForCausalLM", model, device)
        path = Path(model)
        self.name = f"hf/{path.name if path.exists() else model}"
        self.context = context or _limit(self._model)
        self._device, self._batch = device, batch
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> dict[str, object]:
        """What replies depend on beside the messages, for a cache; a sample of the weights tells trainings apart."""
        return {"temperature": 0, "context": self.context, "weights": _sampled(self._model)}

    def __repr__(self) -> str:
        """The name, the device and the context."""
        return f"TransformersLM({self.name}, device={self._device!r}, context={self.context})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply; `PromptTooLong` where prompt and reply do not fit into the context."""
        return self._generated(messages, max_tokens, None)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece; one that is left early stops the model."""
        return pulled(lambda put: self._generated(messages, max_tokens, put))

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is after the prompt; both are read as they are, without a chat template."""
        start = self._tokens(prompt)
        rows = [self._tokens(prompt + text) for text in continuations]
        begins = [shared_start(start, row) for row in rows]
        found: list[NDArray[np.float64]] = []
        for i in range(0, len(rows), self._batch):
            found += self._scored(rows[i : i + self._batch], begins[i : i + self._batch])
        return LogProbs(tuple(found), sum(map(len, rows)))

    def _scored(self, rows: Sequence[list[int]], begins: Sequence[int]) -> list[NDArray[np.float64]]:
        """The log-probabilities of the tokens of each row from where it begins."""
        import torch  # heavy

        longest = max(map(len, rows))
        if longest > self.context:
            raise self._too_long(longest)
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)], mask[i, : len(row)] = torch.tensor(row), 1
        with self._lock, torch.inference_mode():
            logits = self._model(input_ids=ids.to(self._device), attention_mask=mask.to(self._device)).logits
        found = []
        for i, (row, begin) in enumerate(zip(rows, begins, strict=True)):
            said = torch.log_softmax(logits[i, begin - 1 : len(row) - 1].double(), -1).cpu().numpy()
            found.append(said[np.arange(len(row) - begin), row[begin:]])
        return found

    def _generated(self, messages: Sequence[Message], max_tokens: int, put: Callable[[str], bool] | None) -> Reply:
        """The reply, with its pieces handed to `put` on the way."""
        import torch  # heavy
        import transformers

        start = self._prompt(messages)
        if len(start) + max_tokens > self.context:
            raise self._too_long(len(start) + max_tokens)
        ends = self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id
        pad = self._tokenizer.pad_token_id
        config: Any = transformers.GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=max_tokens,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=pad if pad is not None else (ends[0] if isinstance(ends, list) else ends),
        )
        ids = torch.tensor([start], device=self._device)
        streaming = _streaming(self._tokenizer, put) if put else {}
        with self._lock, torch.inference_mode():
            whole = self._model.generate(
                ids, attention_mask=torch.ones_like(ids), generation_config=config, **streaming
            )
        said = whole[0, len(start) :]
        return Reply(self._tokenizer.decode(said, skip_special_tokens=True), len(start), len(said), self.name)

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


def _streaming(tokenizer: Any, put: Callable[[str], bool]) -> Mapping[str, Any]:
    """What makes `generate` hand its text to `put`, and end when that says so."""
    import transformers  # heavy

    state = {"left": False}

    class Told(transformers.TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: FBT001, FBT002
            state["left"] = put(text)

    class Left(transformers.StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: object) -> Any:
            import torch

            return torch.full((len(input_ids),), fill_value=state["left"], device=input_ids.device)

    return {
        "streamer": Told(tokenizer, skip_prompt=True, skip_special_tokens=True),
        "stopping_criteria": transformers.StoppingCriteriaList([Left()]),
    }
