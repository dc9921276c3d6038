"""Recogniser: a tagger that `kgmed train ner` has trained, as HyKGE uses W2NER."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kgmed.errors import Unavailable
from kgmed.kg.text import has_cjk
from kgmed.models.w2ner.units import Found
from kgmed.recognize.negation import negated
from kgmed.stages import Encoder
from kgmed.types import Mention, Query

Label = Callable[[Sequence[str]], list[list[Found]]]


@dataclass(frozen=True, slots=True)
class Tagger:
    """The entities that a trained network finds in question and hypothesis, nested and discontinuous ones too.

    `label` finds entities in texts; see `open_tagger`. No text is cut off, however long it is.
    """

    label: Label
    without: frozenset[str] = frozenset()  # types that are not looked for

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions in the expanded query, in order; one that is denied there is marked negated."""
        text = query.expanded
        found = sorted({(f.parts[0][0], f.parts[-1][1], _name(text, f)) for f in self._found(text)})
        denied = negated(text, [(start, end) for start, end, _ in found])
        return [
            Mention(text[start:end], name, start, end, no) for (start, end, name), no in zip(found, denied, strict=True)
        ]

    def _found(self, text: str) -> Iterator[Found]:
        """The entities; no line is looked at together with another."""
        lines = text.splitlines(keepends=True)
        begins = [0]
        for line in lines:
            begins.append(begins[-1] + len(line))
        for begin, entities in zip(begins, self.label(lines), strict=False):
            for kind, parts in entities:
                if kind not in self.without:
                    yield Found(kind, tuple((begin + a, begin + b) for a, b in parts))


def open_tagger(folder: Path, *, vectors: Encoder | None = None) -> Tagger:
    """The tagger of a folder; raises `Unavailable` without torch, `SourceError` for a folder that holds none.

    `vectors` = the encoder whose frozen vectors it was trained on, if any; the embedded one is found by itself.
    """
    try:
        from kgmed.models.w2ner.saved import open_labeller  # torch
    except ImportError as error:
        raise Unavailable('a trained tagger needs torch: pip install "kgmed[train]"') from error
    return Tagger(open_labeller(folder, vectors))


def _name(text: str, found: Found) -> str:
    """The form to look up: the parts without what stands between them.

    >>> _name("手指和脚趾疼痛", Found("sym", ((0, 2), (5, 7))))
    '手指疼痛'
    """
    pieces = [text[a:b] for a, b in found.parts]
    gaps = ["" if has_cjk(a[-1] + b[0]) else " " for a, b in pairwise(pieces)]
    return "".join(piece + gap for piece, gap in zip(pieces, [*gaps, ""], strict=True))
