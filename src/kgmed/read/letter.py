"""The one option that a reply in any of five languages chooses; hedging and several letters choose nothing.

MKG-Rank (arXiv 2503.16131) counts an uncertain answer and one with several candidates as wrong. A model may think step
by step first, so what is said last decides: a final line that is a letter, then the statements ("the answer is B",
答案：B, 答えはB, 정답은 B, jibu ni B), which must agree, then an option's own text.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kgmed.errors import ModelFailed
from kgmed.models.marks import marks
from kgmed.read.choice import chosen
from kgmed.read.fitting import ask
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query

_LETTER = r"[(\[{<「『【\"'*\s]*(?P<letter>[A-Z])(?![A-Za-z'])"
_SAYS = (
    r"answers?(?:\s+(?:choice|option))?|choice|correct(?:\s+(?:option|answer|one))?|boxed"  # en
    r"|答案|正确选项|正确的?(?:选项)?|应?选择?|"  # zh
    r"正解|答え|解答|回答|正しい(?:の|選択肢)?|"  # ja
    r"정답|답안?|답변|선택지?|"  # ko
    r"jibu(?:\s+(?:sahihi|langu|ni))?|chaguo(?:\s+sahihi)?"  # sw
)
_LINKS = r"\s*(?:is|are|would be|must be|应?为|应?是|は|が|은|는|이|가|ni)?\s*[:=]?\s*(?:option\s+|选项\s*|chaguo\s+)?"
_STATED = re.compile(rf"(?<![A-Za-z])(?:{_SAYS}){_LINKS}{_LETTER}(?!\W*(?:is|are) (?:wrong|not\b|in))", re.IGNORECASE)
_AFTER = re.compile(
    r"(?<![A-Za-z])(?:option\s+)?[(\[]?(?P<letter>[A-Z])[)\]]?\s*"
    r"(?:is (?:the )?(?:correct|right)\b|が正解|が正しい|[가이] 정답|是?正确|(?:ni|ndiyo) sahihi)"
)
_LAST = re.compile(r"[(\[{<「『【\"'*\s]*([A-Z])[)\]}>」』】\"'*.。\s]*")
_JOINED = re.compile(
    r"[)\]}>」』】\"'*\s]*(?:[,、/&+]|\bor\b|\band\b|或者?|和|及|与|または|又は|と|또는|혹은|와|과|\bau\b|\bna\b)"
    r"\s*[(\[「『【\"'*]*[A-Z](?![A-Za-z'])",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:not (?:sure|certain)|unsure|uncertain|cannot (?:determine|decide|tell)|can['’]t (?:determine|decide|tell)"
    r"|do not know|don['’]t know|either|perhaps|maybe|might be|could be|possibly|none of (?:the|these))\b"
    r"|不确定|无法(?:确定|判断)|不知道|可能是|也许|或许|都不对"
    r"|わかりません|分かりません|わからない|不明|かもしれ|おそらく|判断できません"
    r"|모르겠|모릅니다|확실하지|아마|일 수도|판단할 수 없"
    r"|\b(?:sijui|huenda|labda|sina uhakika|haijulikani)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def letter(reply: str, options: Sequence[tuple[str, str]]) -> str:
    """The letter that the reply settles on, "" where it hedges, names several, or names none of the options.

    >>> abcd = (("A", "gout"), ("B", "flu"), ("C", "measles"), ("D", "mumps"))
    >>> [letter(t, abcd) for t in ("A is wrong. So:\\n[B]", "答案：Ｃ", "答えはDです。", "정답은 A입니다")]
    ['B', 'C', 'D', 'A']
    >>> [letter(t, abcd) for t in ("The answer is A or B.", "Maybe the answer is A.", "答案：A、B", "[E]", "")]
    ['', '', '', '', '']
    """
    text = unicodedata.normalize("NFKC", reply).replace("**", "").strip()
    pieces = [p.strip() for p in _SENTENCES.split(text) if p.strip()]
    if not pieces:
        return ""
    known = {mark.upper() for mark, _ in options}
    found = _final(pieces) or _stated(pieces)
    if found is None:
        hedged = _HEDGES.search(pieces[-1]) is not None
        written = chosen(text, options)
        found = {written[0]} if len(written) == 1 and not hedged else set()
    return next(iter(found)) if len(found) == 1 and found <= known else ""


def _final(pieces: Sequence[str]) -> set[str] | None:
    """The letter that is all of the last sentence; None where it says more. The one before it must not hedge."""
    match = _LAST.fullmatch(pieces[-1])
    if not match:
        return None
    hedged = len(pieces) > 1 and _HEDGES.search(pieces[-2]) is not None
    return set() if hedged else {match[1]}


def _stated(pieces: Sequence[str]) -> set[str] | None:
    """The letters of all statements; two where one of them names several or hedges; None where there is none."""
    found: set[str] = set()
    for piece in pieces:
        for match in [*_STATED.finditer(piece), *_AFTER.finditer(piece)]:
            if not match["letter"].isupper():
                continue
            several = _JOINED.match(piece, match.end("letter")) is not None
            found |= {match["letter"], "?"} if several or _HEDGES.search(piece) else {match["letter"]}
    return found or None


@dataclass(frozen=True, slots=True)
class LetterReader:
    """A model that chooses one option (MKG-Rank's reader); it may think aloud, and is asked without evidence too.

    `Answer.choices` is () where the reply chooses nothing, and `limits` say so: that counts as wrong, and apart from a
    wrong letter. A question without options raises `ModelFailed`, for another reader to take over.
    """

    chooses: ClassVar[str] = "without evidence"
    llm: LLM
    name: str = "mkg_rank/reader"
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer with its letter."""
        question = query.question
        if not question.options:
            raise ModelFailed("a letter can be chosen only where the question has options")
        said = ask(self.llm, self.name, question, context, max_tokens=self.max_tokens, prompts=self.prompts)
        if not said.text:
            raise ModelFailed(f"{self.llm.name} said nothing")
        found = letter(said.text, question.options)
        there = len(context.cited)
        limits = [
            *([f"the model read the first {said.shown} of {there} pieces of evidence"] if said.shown < there else []),
            *([] if found else ["the reply chooses no single option"]),
            *(["the reply was cut off"] if said.cut_off else []),
        ]
        return Answer(
            said.text,
            citations=tuple(n for n in marks(said.text) if 1 <= n <= said.shown),
            choices=(found,) if found else (),
            limits="; ".join(limits),
            reader=f"letter {self.llm.name}, prompt {said.prompt}",
        )
