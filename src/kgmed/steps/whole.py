"""Chinese names that a recogniser cut in two, or ran together: 胆囊 and 结石 are 胆囊结石, 心梗溶栓 is 溶栓 of 心梗."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgmed.graph.base import LocalGraph
from kgmed.language.text import has_cjk, lazily
from kgmed.pipeline import Recognizer
from kgmed.records import Mention, Query
from kgmed.steps.strangers import is_like_a_medicine

_ILLNESS = ("", "病", "症")  # what may be left out at the end of an illness's name
_DONE_ABOUT = lazily("(?:预防|治疗|防治|控制|改善|缓解)(?=[一-鿿]{2})")  # the verb of the question, and of a name
_OF_THE_BODY = (
    "嘴脸手脚腿头胃肚眼心舌牙真还也都就大小成老孕宝娃男女避降治防止退消"  # and what else stands right behind it
)
_PEOPLE = frozenset({"大人", "小孩", "孕妇", "老人", "宝宝", "成人", "儿童", "孩子"})
_LEAST, _LONGEST = 2, 12  # characters of a part, and of what is cut


@dataclass(frozen=True)
class Whole:
    """The mentions of a recogniser; two side by side that are one name are one, and one that is two names is two."""

    find: Recognizer
    graph: LocalGraph

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        found = self.find(query)
        if not has_cjk(query.text):
            return found
        found = [self._before_people(query.text, m) for m in found]
        return list(self._joined([part for m in found for part in self._cut(m)]))

    def _before_people(self, text: str, mention: Mention) -> Mention:
        """The medicine that runs into those who take it: 快克 of 快克大人一次几粒."""
        cut = mention.end - 1
        if (
            mention.start < 0
            or mention.surface != text[mention.start : mention.end]
            or text[cut : cut + 2] not in _PEOPLE
        ):
            return mention
        said = text[mention.start : cut]
        return replace(mention, surface=said, name=said, end=cut) if "drug" in self._kinds(said) else mention

    def _joined(self, found: list[Mention]) -> Iterator[Mention]:
        """The mentions, those side by side whose names together are an illness as one."""
        i = 0
        while i < len(found):
            both = self._as_one(found[i], found[i + 1]) if i + 1 < len(found) else None
            yield both or found[i]
            i += 2 if both else 1

    def _as_one(self, a: Mention, b: Mention) -> Mention | None:
        """The illness that two mentions side by side name together; None where they do not."""
        beside = 0 <= a.start < a.end == b.start and a.negated == b.negated
        if not beside or not has_cjk(a.surface) or not has_cjk(b.surface):
            return None
        said = a.surface + b.surface
        names = (said + end for end in _ILLNESS)
        name = next((n for n in names if any(m.entity.kind == "disease" for m in self.graph.lookup(n))), "")
        return replace(a, surface=said, name=name, end=b.end) if name else None

    def _cut(self, mention: Mention) -> list[Mention]:
        """The mention; of a name that no graph has, an illness and what is done about it, if it is made of two such."""
        said = mention.surface
        if mention.start >= 0 and has_cjk(said) and mention.surface == mention.name:
            mention = self._illness(mention)
            said = mention.surface
        if mention.start < 0 or not has_cjk(said) or not 2 * _LEAST <= len(said) <= _LONGEST:
            return [mention]
        if (taken := self._medicine(said)) and not self.graph.lookup(said):
            return [replace(mention, surface=taken, name=taken, end=mention.start + len(taken))]
        if is_like_a_medicine(said) or self.graph.lookup(mention.name) or self.graph.lookup(said):
            return [mention]
        for cut in range(len(said) - _LEAST, _LEAST - 1, -1):
            ill, done = self._kinds(said[:cut]), self._kinds(said[cut:])
            if "disease" in ill and done and "disease" not in done:
                middle = mention.start + cut
                return [
                    replace(mention, surface=said[:cut], name=said[:cut], end=middle),
                    replace(mention, surface=said[cut:], name=said[cut:], start=middle),
                ]
        return [mention]

    def _illness(self, mention: Mention) -> Mention:
        """The illness that a longer name of it has, 产后抑郁症, or that is named behind what is done: 预防骨质疏松."""
        said = mention.surface
        if (
            len(said) > _LEAST and (kinds := self._kinds(said)) and "disease" not in kinds and "drug" not in kinds
        ) and (name := next((said + end for end in _ILLNESS[1:] if "disease" in self._kinds(said + end)), "")):
            return replace(mention, name=name)
        verb = _DONE_ABOUT.match(mention.surface)
        rest = mention.surface[verb.end() :] if verb else ""
        name = next((rest + end for end in _ILLNESS if verb and "disease" in self._kinds(rest + end)), "")
        if verb and name:
            return replace(mention, surface=rest, name=name, start=mention.start + verb.end())
        return mention

    def _medicine(self, said: str) -> str:
        """The medicine before what it does to the mouth in 甲硝唑嘴; "" where it may be another of a longer name."""
        cut = said[:-1]
        return cut if said[-1] in _OF_THE_BODY and len(cut) > _LEAST and "drug" in self._kinds(cut) else ""

    def _kinds(self, name: str) -> set[str]:
        """The kinds of the entries of a name."""
        return {m.entity.kind for m in self.graph.lookup(name)}
