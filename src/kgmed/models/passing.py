"""What stands before a model and passes every way of asking it on.

In one piece, by JSON schema, word by word, and for the likelihood of texts.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from kgmed.models.likelihood import LogProbs, as_messages, as_reply, asked, from_reply
from kgmed.models.streaming import streamed
from kgmed.models.structured import shaped
from kgmed.stages import LLM, Message, Reply

Note = Callable[[Reply], Reply]


class Passing:
    """A model before a model; what it does around a call is its `around`."""

    def __init__(self, llm: LLM) -> None:
        """Stand before a model."""
        self.llm = llm

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.llm.name

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of the model."""
        found: Mapping[str, object] = getattr(self.llm, "settings", {})
        return found

    def __repr__(self) -> str:
        """What stands before what."""
        return f"{type(self).__name__}({self.llm!r})"

    def around(self, messages: Sequence[Message]) -> AbstractContextManager[Note]:
        """What is done before a call, with its reply, and where it fails; here nothing."""
        return nullcontext(as_it_is)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        with self.around(messages) as note:
            return note(self.llm(messages, max_tokens=max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can."""
        with self.around(messages) as note:
            return note(shaped(self.llm, messages, schema, max_tokens=max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece."""
        with self.around(messages) as note:
            reply = yield from streamed(self.llm, messages, max_tokens=max_tokens)
            return note(reply)

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely the model finds each text after the prompt; raises `BadInput` where it cannot say."""
        with self.around(as_messages(prompt, continuations)) as note:
            return from_reply(note(as_reply(asked(self.llm, prompt, continuations), self.name)))


def as_it_is(reply: Reply) -> Reply:
    """The reply."""
    return reply
