"""The agent: a model looks facts up with tools until it has what it needs, then answers from them as `llm` does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kgmed.errors import BadInput, KgmedError, ModelFailed
from kgmed.facts.tools import TOOLS, Toolbox, lines
from kgmed.language.text import prompt_language
from kgmed.methods.facts import Grounded, grounded
from kgmed.models.asking import Malformed, values
from kgmed.models.base import LLM, FilledPrompt, Message, Tool, call_line, is_call, offering
from kgmed.pipeline import Fact, Pipeline, note
from kgmed.prompts import prompt, task
from kgmed.records import Evidence, Link, Query, is_verdict
from kgmed.registry import About, Calls, methods
from kgmed.toolkit import Toolkit

DONE = Tool(
    "done",
    "Ends the search: the numbers of the facts that bear on the question, the most important first.",
    {"facts": {"type": "array", "items": {"type": "integer"}}},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The numbers of `agent`."""

    turns: int = 6  # ours: times that the model is asked what to look up
    calls: int = 12  # ours: calls of tools
    gathered: int = 60  # ours: facts that may be gathered
    turn_tokens: int = 400  # ours: of what the model says in a turn
    keep: int = Grounded().keep  # pieces that the answer is written from
    answer_tokens: int = Grounded().answer_tokens


@dataclass
class Gathered:
    """The facts so far, numbered in the order in which they came, each once."""

    facts: list[Evidence] = field(default_factory=list)

    def add(self, found: Sequence[Evidence], most: int) -> tuple[list[Evidence], int]:
        """Those of some facts that are new, as far as there is room, and the number of the first of them."""
        known = {e.text for e in self.facts}
        once = {e.text: e for e in reversed(found) if e.text not in known}  # the first of each text
        new = [e for e in found if once.get(e.text) is e][: max(most - len(self.facts), 0)]
        first = len(self.facts) + 1
        self.facts += new
        return new, first


@dataclass(frozen=True)
class Gather:
    """Retriever: what a model looks up with tools, beginning with what answers the frame; it names what to keep.

    Each call of a tool is a note of the run. A model that fails leaves what was found before it.
    """

    llm: LLM
    toolkit: Toolkit
    settings: AgentSettings = field(default_factory=AgentSettings)

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The facts that the model named; all where it named none and may say no more than they do."""
        box = Toolbox(self.toolkit, query.frame.language, self.settings.keep)
        found = Gathered()
        framed = box.framed(query.frame) if query.frame.asks else ()
        known = [e for e in framed if e.triples or not is_verdict(e, "lacking", "unknown", "absent")]
        found.add(known, self.settings.gathered)
        try:
            kept = self._loop(query, box, found)
        except ModelFailed as problem:
            note(f"the search ended early: {problem}")
            kept = None
        return found.facts if kept is None or not (kept or task().own_knowledge) else [found.facts[n - 1] for n in kept]

    def _loop(self, query: Query, box: Toolbox, found: Gathered) -> list[int] | None:
        """The numbers that the model named in the end; None where it named none."""
        messages, left = self._begin(query, box, found), self.settings.calls
        for _ in range(self.settings.turns):
            with offering((*TOOLS, DONE)):
                said = self.llm(messages, max_tokens=self.settings.turn_tokens).text
            calls = list(calls_in(said))
            for tool, arguments in calls:
                if tool == DONE.name:
                    numbers = arguments.get("facts")
                    whole = [n for n in numbers if isinstance(n, int)] if isinstance(numbers, list) else []
                    return [n for n in dict.fromkeys(whole) if 1 <= n <= len(found.facts)]
            if not calls or left <= 0:
                return None
            for tool, arguments in calls[:left]:
                result = self._result(box, found, tool, arguments)
                turn = Message("assistant", call_line(tool, arguments)), Message("user", result)
                messages = FilledPrompt.of((*messages, *turn), messages.prompt)
            left -= len(calls)
        return None

    def _begin(self, query: Query, box: Toolbox, found: Gathered) -> FilledPrompt:
        """The instructions, the question and what is known so far."""
        asked = prompt("agent/gather", language=prompt_language(query.question), folder=self.toolkit.prompts)
        tools = "\n".join(f"- {t.name}({', '.join(t.arguments)}): {t.about}{_values(t)}" for t in (*TOOLS, DONE))
        known = "\n".join(lines(found.facts, language=box.language)) or "-"
        return asked.messages(question=query.question.with_history, facts=known, tools=tools)

    def _result(self, box: Toolbox, found: Gathered, tool: str, arguments: dict[str, object]) -> str:
        """What the model is told of a call: the facts that are new, or what to mend."""
        called = f"{tool}({', '.join(f'{k}={v}' for k, v in arguments.items())})"
        try:
            new, first = found.add(box(tool, arguments), self.settings.gathered)
        except KgmedError as problem:
            note(Fact(f"{called}: {problem}"))
            return str(problem)
        note(Fact(f"{called}: {len(new)} new facts"))
        return "\n".join(lines(new, first=first, language=box.language)) or "No new facts."


def _values(tool: Tool) -> str:
    """The values that an argument of a tool may have, where they are listed."""
    listed = {name: said["enum"] for name, said in tool.arguments.items() if isinstance(said.get("enum"), list)}
    return "".join(f" {name}: {', '.join(map(str, values))}." for name, values in listed.items())  # type: ignore[call-overload]


def calls_in(said: str) -> Iterator[tuple[str, dict[str, object]]]:
    """The calls of tools in a reply, in their order."""
    try:
        yield from filter(None, map(is_call, values(said)))
    except Malformed:
        return


@methods.register(
    "agent",
    about=About(
        does="a model looks facts up with tools, step by step, and answers from those that it keeps",
        calls=Calls(2, 2, 7, "one to six turns of the search, and the answer"),
        needs=frozenset({"model", "local_graph"}),
    ),
    presets={"": AgentSettings()},
)
def agent(toolkit: Toolkit, *, settings: AgentSettings | None = None) -> Pipeline:
    """A model that looks facts up with tools, then answers as `llm` does; raises `BadInput` without a model."""
    if toolkit.llm is None:
        raise BadInput("the method agent needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s = settings or AgentSettings()
    base = grounded(toolkit, settings=Grounded(keep=s.keep, helpful=False, answer_tokens=s.answer_tokens))
    return replace(base, retrieve=(Gather(toolkit.llm, toolkit, s),), name="agent")
