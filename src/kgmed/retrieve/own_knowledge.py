"""Retriever: what a model knows itself, for a question that the graph says nothing useful of.

MKG-Rank (arXiv 2503.16131), self-information mining: the model writes background without answering, and BM25 picks the
fragments that have most to do with the question and its options. Such evidence stands on no triple, and says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgmed.kg.bm25 import BM25
from kgmed.kg.language import prompt_language
from kgmed.kg.text import one_line
from kgmed.prompts import prompt
from kgmed.stages import LLM
from kgmed.types import Evidence, Link, Query

SOURCE = "the model's own words"
_END = re.compile(r"(?<=[.!?])\s+(?!\d)|(?<=[。！？；])|\n+")
_BULLET = re.compile(r"^\s*(?:#+|\d{1,2}[.)、]|[-*•])\s*")
_LEAST = 8  # characters of a fragment; half as many where each is a word


@dataclass(frozen=True, slots=True)
class OwnKnowledge:
    """At most `keep` fragments of the background a model writes, kind "passage", best first.

    The score is that of BM25; a fragment that shares no word with the question or its options is left out.
    """

    llm: LLM
    keep: int = 3  # ours; the paper is silent
    bm25: BM25 = field(default_factory=BM25)  # BM25Okapi's usual k1 and b; the paper names only the package
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The fragments; raises what the model raises."""
        about = tuple(dict.fromkeys(link.entity for link in links if not link.mention.negated))
        asked = prompt("mkg_rank/background", language=prompt_language(query.question), folder=self.prompts)
        options = "\n".join(f"{letter}. {text}" for letter, text in query.question.options)
        messages = asked.messages(question=query.text, options=options)
        texts = fragments(self.llm(messages, max_tokens=self.max_tokens).text)
        wanted = "\n".join([query.text, *(text for _, text in query.question.options)])
        scores = self.bm25.scores(wanted, texts)
        return [
            Evidence(f"{texts[i]} ({SOURCE})", "passage", about=about, score=float(scores[i]))
            for i in self.bm25.best(wanted, texts, self.keep)
        ]


def fragments(background: str) -> list[str]:
    """The sentences of a background text, each once, without bullets and headings.

    >>> fragments("# Flu\\n- Fever of 38.5 is common. Rest helps.\\n流感会引起发热。多休息。")
    ['Fever of 38.5 is common.', 'Rest helps.', '流感会引起发热。', '多休息。']
    """
    pieces = (
        _BULLET.sub("", piece)
        for piece in _END.split(background.replace("**", ""))
        if not piece.lstrip().startswith("#")
    )
    texts = (one_line(piece) for piece in pieces)
    return list(dict.fromkeys(t for t in texts if len(t) >= (_LEAST if t.isascii() else _LEAST // 2)))
