"""Evidence fitted to a number of tokens, by score and by how little it repeats.

What is counted is the text that the reader sees: one token for each Chinese, Japanese or Korean character and one for
four other characters of a line, rounded up (ours; a tokenizer of a model's own can be given). Pieces are taken in turn
by maximal marginal relevance: the score, scaled to 0..1 over all pieces, less `repeats` times the largest cosine with a
piece already taken. One that does not fit is passed over, so that a shorter one may still go in. Evidence that warns is
taken first and is never dropped, even where it alone takes more than there is. The order of the lines stays. Where no
piece fits, the best one is cut, and holds the triples only whose names are still in its text.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgmed.language.text import one_line, prompt_language
from kgmed.models.base import Encoder
from kgmed.pipeline import Phraser, Reader
from kgmed.records import Answer, Context, Evidence, Query

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_MARK = re.compile(r"^\[(\d+)\]")
_CUT = re.compile(r"[,;:，；：、。]|\s(?=<-|-[(\[])|(?<=\))(?=<-|-\w)")  # behind a name of a list or of a chain
_BEFORE, _AFTER = r"(?:^|[,;:，；：、。(\[]|->|[)\]]-)\s*", r"\s*(?:$|[,;:，；：、。)\]]|<-|-[(\[])"  # a name of either


def tokens(line: str) -> int:
    """The tokens of a line, as far as its characters tell.

    >>> tokens("胃反酸"), tokens("gout pain"), tokens("")
    (3, 3, 0)
    """
    wide = len(_CJK.findall(line))
    return wide + math.ceil((len(line) - wide) / 4)


@dataclass(frozen=True, slots=True)
class Within:
    """The context of another phraser, without what does not fit; its notes say what was dropped."""

    phrase: Phraser
    most: int  # tokens
    encoder: Encoder | None = None  # None = no piece repeats another
    repeats: float = 0.3  # ours
    count: Callable[[str], int] = tokens

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines that fit, numbered anew, and their evidence."""
        whole = self.phrase(query, evidence)
        lines = whole.text.split("\n")
        if sum(map(self.count, lines)) <= self.most:
            return whole
        sections = _sections(lines, len(whole.cited))
        if sections is None:
            return replace(whole, notes=(*whole.notes, "evidence not fitted: its lines are not numbered"))
        kept = self._kept(whole.cited, sections)
        if sections and not kept and (cut := self._cut(whole.cited, sections)) is not None:
            return replace(whole, text=cut[0], cited=(cut[1],), notes=(*whole.notes, cut[2]))
        text, cited = _joined(sections, kept), tuple(whole.cited[i] for i in kept)
        taken = sum(map(self.count, text.split("\n")))
        return replace(whole, text=text, cited=cited, notes=(*whole.notes, *self._notes(whole.cited, kept, taken)))

    def _kept(self, cited: Sequence[Evidence], sections: "Sequence[_Section]") -> list[int]:
        """The places of the pieces that are taken, in their order."""
        first = [i for i, e in enumerate(cited) if e.is_safety or e.kind == "warning"]
        kept: list[int] = []
        free, headed = self.most, set[int]()
        for i in [*first, *self._order(cited, first)]:
            section = sections[i]
            cost = sum(map(self.count, section.lines))
            cost += sum(map(self.count, section.heading)) if section.group not in headed else 0
            if i in first or cost <= free:
                kept.append(i)
                headed.add(section.group)
                free -= cost
        return sorted(kept)

    def _cut(self, cited: Sequence[Evidence], sections: "Sequence[_Section]") -> tuple[str, Evidence, str] | None:
        """The text of the best piece as far as it fits, the piece as it is then, and a note; None = nothing is left."""
        best = self._order(cited, [])[0]
        section, piece = sections[best], cited[best]
        free = self.most - sum(map(self.count, section.heading))
        line = _MARK.sub("[1]", section.lines[0])
        ends = [m.start() for m in _CUT.finditer(line) if self.count(line[: m.start()] + " …") <= free]
        text = line[: ends[-1]] if ends else ""
        said = _MARK.sub("", text).strip()
        triples = tuple(t for t in piece.triples if _told(t.head.name, said) and _told(t.tail.name, said))
        if not triples:
            return None
        note = f"the best of {len(cited)} pieces of evidence was cut to fit {self.most} tokens, the others dropped"
        return "\n".join([*section.heading, f"{text} …"]), replace(piece, text=f"{said} …", triples=triples), note

    def _order(self, cited: Sequence[Evidence], taken: Sequence[int]) -> list[int]:
        """The other pieces, by score and by how little each repeats those before it."""
        scores = _scaled(np.array([e.score for e in cited], np.float64))
        rows = self.encoder([e.text for e in cited]) if self.encoder else np.zeros((len(cited), 1), np.float32)
        likest = np.max(rows @ rows[list(taken)].T, axis=1) if taken else np.zeros(len(cited))
        left = [i for i in range(len(cited)) if i not in set(taken)]
        order: list[int] = []
        while left:
            best = max(left, key=lambda i: (scores[i] - self.repeats * likest[i], -i))
            left.remove(best)
            order.append(best)
            likest = np.maximum(likest, rows @ rows[best])
        return order

    def _notes(self, cited: Sequence[Evidence], kept: Sequence[int], taken: int) -> list[str]:
        """What was dropped, and whether warnings took more than there is."""
        dropped = [cited[i] for i in range(len(cited)) if i not in set(kept)]
        best = max((e.score for e in dropped), default=0.0)
        said = f"{len(dropped)} of {len(cited)} pieces of evidence dropped to fit {self.most} tokens"
        notes = [f"{said} (best score dropped {best:.3g})"] if dropped else []
        over = f"evidence that warns takes {taken} tokens, more than the {self.most} there are; none of it was dropped"
        return [*notes, *([over] if taken > self.most else [])]


@dataclass(frozen=True, slots=True)
class _Section:
    """The lines of one piece of evidence, and the heading that they stand under."""

    lines: tuple[str, ...]
    heading: tuple[str, ...]
    group: int


def _sections(lines: Sequence[str], count: int) -> list[_Section] | None:
    """The lines of each piece under its heading; a heading is a line without mark that ends in a colon, or comes first.

    None = the pieces are not numbered one after the other.
    """
    found: list[_Section] = []
    heading: list[str] = []
    group, open_ = 0, True
    for line in lines:
        mark = _MARK.match(line)
        if mark and int(mark[1]) == len(found) + 1:
            found.append(_Section((line,), tuple(heading), group))
            open_ = False
        elif not found or line.endswith((":", "：")):
            heading, group, open_ = [*heading, line] if open_ else [line], group + (not open_), True
        else:
            found[-1] = replace(found[-1], lines=(*found[-1].lines, line))
    return found if len(found) == count else None


def _joined(sections: Sequence[_Section], kept: Sequence[int]) -> str:
    """The text of the pieces kept, numbered from 1, each group under its heading."""
    lines: list[str] = []
    group = -1
    for number, i in enumerate(kept, start=1):
        section = sections[i]
        lines += section.heading if section.group != group else ()
        group = section.group
        lines += [_MARK.sub(f"[{number}]", section.lines[0]), *section.lines[1:]]
    return "\n".join(lines)


def _told(name: str, text: str) -> bool:
    """Whether a list or a chain names that, and not only something that holds it.

    >>> _told("flu", "(flu)-has sign->(fever"), _told("flu", "bird flu, flu -(of)-> man"), _told("flu", "bird flu")
    (True, True, False)
    """
    words, line = text.replace("_", " "), one_line(name.replace("_", " "))
    return line in words and re.search(f"{_BEFORE}{re.escape(line)}{_AFTER}", words) is not None


def _scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores on 0..1; all 1 where they are equal."""
    low, high = (float(scores.min()), float(scores.max())) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


# --- A reader that says nothing where the best evidence is weak.
# The rule: the strength of the evidence is the highest score that the method's last ranker gave to any piece that the
# reader would be shown; warnings and descriptions, which no ranker chose, do not count. Below `at_least` the answer is
# that the evidence is too weak, with both numbers. Scores are those of the method (a cosine, a share of a chain's
# words, a frequency): a threshold fits one method, and is chosen on questions of one's own.


UNRANKED = frozenset({"warning", "description"})
_SAID = {
    "en": "The evidence is too weak to answer from: its best score is {best:.3g}, and {at_least:.3g} is asked for.",
    "zh": "证据太弱，无法据此回答：最高得分为 {best:.3g}，要求至少 {at_least:.3g}。",
}


@dataclass(frozen=True, slots=True)
class UnlessWeak:
    """Abstains below `at_least`; else the answer of another reader. Without evidence it leaves that to the other."""

    read: Reader
    at_least: float

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; one that abstains names the rule in `limits`."""
        best = best_score(context.cited)
        if best is None or best >= self.at_least:
            return self.read(query, context)
        said = _SAID[prompt_language(query.question)].format(best=best, at_least=self.at_least)
        rule = f"abstained: best score of the evidence {best:.3g} is below {self.at_least:.3g}"
        return Answer(said, abstained=True, limits=rule, reader="none")


def best_score(cited: Sequence[Evidence]) -> float | None:
    """The best score of the evidence that a ranker chose; None where there is none.

    >>> best_score([Evidence("a", "triple", score=0.2), Evidence("b", "warning", score=9.0)])
    0.2
    """
    return max((e.score for e in cited if e.kind not in UNRANKED), default=None)
