"""A model whose replies are kept short, for a quick look or where many questions are asked of a slow model."""

from collections.abc import Generator, Mapping, Sequence

from kgmed.models.passing import Passing
from kgmed.stages import LLM, Message, Reply


class Brief(Passing):
    """A model whose replies are no longer than `most` tokens, whatever a method asks for; its name says so."""

    def __init__(self, llm: LLM, most: int) -> None:
        """Bound a model."""
        super().__init__(llm)
        self.most = most

    @property
    def name(self) -> str:
        """The model and the bound, since its replies are others than those of the model."""
        return f"{self.llm.name}, {self.most} tokens a reply"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        return super().__call__(messages, max_tokens=min(max_tokens, self.most))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can."""
        return super().as_json(messages, schema, max_tokens=min(max_tokens, self.most))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece."""
        return (yield from super().stream(messages, max_tokens=min(max_tokens, self.most)))
