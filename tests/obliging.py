"""A model that gives every prompt of kgmed a reply in the form it asks for, and keeps what it was asked."""

import re
from collections.abc import Mapping, Sequence

from kgmed.errors import ModelFailed
from kgmed.models.base import FilledPrompt, Message, Reply

GOOD: Mapping[str, str] = {
    "agent/gather": '{"tool": "done", "arguments": {"facts": []}}',
    "baselines/facts": '{"facts": [2, 1]}',
    "baselines/reader": "It is so [1].",
    "cok/answer": "It is so [1].",
    "cok/correct": "A corrected step.",
    "cok/prepare": '{"sentences": ["A first step.", "A second step."]}',
    "con/read": "1: it helps\nAnswer: it is so [1].",
    "cot/answer": "Step by step.\nAnswer: it is so.",
    "cot/conclude": "It is so.",
    "hykge/hypothesis": "A guess.",
    "hykge/reader": "It is so [1].",
    "kalmv/answer": "It is so [1].",
    "kalmv/verify": "3",
    "kgarevion/triples": '{"triples": [["rash", "treats", "measles"]]}',
    "kgarevion/revise": '{"triples": [["measles", "has_symptom", "rash"]]}',
    "kg_gpt/segment": '{"sentences": ["A first part?", "A second part?", "A third part?"]}',
    "kg_gpt/relations": '{"relations": ["has_symptom"]}',
    "kg_rank/draft": "A draft.",
    "kg_rank/reader": "It is so [1].",
    "kg_rank/short": "so [1]",
    "kg_rank/short_own": "so [1]",
    "medrag/reader": "It is so [1].",
    "mindmap/neighbours": "",
    "mindmap/paths": "",
    "mindmap/reason": "Output 1: It is so (P1).\nOutput 2: P1('a'->'b'->'c')\nOutput 3:\na (P1)",
    "mindmap/infer": "Output 1: It is so.\nOutput 2: P1('a'->'b'->'c')\nOutput 3:\na (P1)",
    "mindmap/relevant": "1",
    "mkg_rank/background": "It is so, as it is known.",
    "mkg_rank/convert": "1: Colchicine is for gout.",
    "mkg_rank/declarative": "",
    "mkg_rank/reader": "[A]",
    "qe/background": "Some background.",
    "rlkgf/diagnose": "It is [1].",
    "sure/candidates": '{"answers": ["one", "two"]}',
    "sure/compare": "1",
    "sure/summarise": "It is so [1].",
    "sure/valid": "yes",
    "think_on_graph/relations": '{"relations": ["has_symptom", "treats", "risk_of"]}',
    "think_on_graph/enough": "yes",
    "tot/answer": "It is so.",
    "tot/propose": '{"thoughts": ["one thought", "another thought", "a third"]}',
    "tot/vote": "2",
    "zero_shot/answer": "It is so.",
}


BEHIND = {
    "check/sentences": '{"verdicts": []}',
    "question/frame": '{"asks": []}',
}  # not kept in `asked`


class Obliging:
    """Replies by the prompt; the terms of a question are those of its words that are known here."""

    name = "obliging"

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[Message, ...]]] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        if not isinstance(messages, FilledPrompt):
            raise ModelFailed(f"asked a second time: {messages[-1].text}")
        step = messages.prompt.split(".")[0]
        if step in BEHIND:
            return Reply(BEHIND[step], 10, 5, self.name)
        self.asked.append((step, tuple(messages)))
        return Reply(self.reply(step, messages), 10, 5, self.name)

    def reply(self, step: str, messages: Sequence[Message]) -> str:
        """What is said to a prompt."""
        return GOOD[step] if step in GOOD else self._named(step, messages[-1].text)

    def _named(self, step: str, text: str) -> str:
        """The terms of a question, in the form that the prompt wants."""
        if step in ("ask/reader", "ask/detailed"):
            found = re.search(r"^\[1\] (.*?)[.;]*$", text, re.MULTILINE)
            knows = "from what you know" in text or "你自己的知识" in text
            return f"{found[1]} [1]." if found else "It is so." if knows else "I do not know."
        terms = re.findall(r"bleeding gums|scurvy|rash|measles|pox", text)[:3] or ["nothing"]
        if step == "mindmap/extract":
            return ", ".join(terms)
        listed = ", ".join(f'"{t}"' for t in terms)
        if step in ("kg_rank/terms", "hykge/entities"):
            return f'{{"terms": [{listed}]}}'
        if step in ("mkg_rank/question_terms", "mkg_rank/option_terms"):
            return f'{{"medical entities": [{listed}]}}'
        return f"[{listed}]"  # mkg_rank/translate

    @property
    def said(self) -> str:
        """Everything that was asked."""
        return "\n".join(m.text for _, messages in self.asked for m in messages)
