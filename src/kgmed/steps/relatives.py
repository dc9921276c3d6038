"""What it means for someone that a relative has an inherited disease: no graph says who gets it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.asked import AskedFor
from kgmed.steps.family import Family
from kgmed.steps.halves import from_outside
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, language_of, sentence

_MODES = (  # the name of a mode of inheritance, and what it means for the children, in English and Chinese
    (
        r"autosomal dominant",
        "each child of someone who has it has one chance in two to be given the gene",
        "父母一方患病时，每个孩子有一半机会得到致病基因",
    ),
    (
        r"autosomal recessive",
        "a child gets it where both parents pass on the changed gene",
        "父母双方都传下致病基因时，孩子才会发病",
    ),
    (
        r"x-?linked recessive",
        "mothers who carry it may pass it on, and it is mostly sons who get it",
        "多由携带致病基因的母亲传下，主要是儿子发病",
    ),
    (
        r"x-?linked",
        "it is passed on with the X chromosome",
        "随X染色体传下",
    ),
    (r"mitochondrial", "it is passed on by mothers alone", "只由母亲传下"),
)
_SHOWN = 2  # modes that are told
_ALL = 1 << 20
_COUNSEL = (
    " Whether this person gets it the graph cannot say: ask for genetic counselling.",
    "至于本人或孩子会不会得，图谱无法判断，请做遗传咨询。",
)
_RELATIVE = (
    r"爸|妈|爹|娘|父|母|公公|婆婆|外公|外婆|爷|奶|姥|舅|姨|姑|叔|伯|哥|姐|弟|妹|老公|老婆|丈夫|妻子|对象|男友|女友|亲戚|家族|家里人|祖|儿子|女儿|孩子"
    r"|\b(?:mum|mom|mother|dad|father|parents?|grand\w+|brothers?|sisters?|siblings?|uncles?|aunts?|cousins?|husband"
    r"|wife|partner|relatives?|famil(?:y|ies)|sons?|daughters?|child|children|kids?)\b"
)
_WHO_GETS_IT = (
    r"(?:我|孩子|宝宝|小孩|男孩|女孩|儿子|女儿|下一代|后代|他们|胎儿)[^，。？?]{0,6}(?:会不会|会|能不能|有没有可能|要紧)[^，。？?]{0,6}(?:得|遗传|患|有|传)"
    r"|(?:会不会|会)[^，。？?]{0,4}(?:遗传|传)(?:给|到)?(?:我|孩子|宝宝|小孩|下一代)?"
    r"|\b(?:will|can|could|might|would|do|does|am|is|are) (?:i|we|he|she|(?:my|our|the|his|her) \w+)\b[^.?!]{0,40}"
    r"\b(?:get|have|inherit|develop|pass|at risk|affected)\b"
)


@dataclass(frozen=True)
class OfRelatives:
    """The verdict for someone who asks whether they or a child get what a relative has; [] where that is not asked.

    A disease with causes from outside is left alone: that some form of it is inherited is not all there is to it.
    """

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """One piece, of the one disease that is named."""
        told = {link.entity: link for link in links if not link.mention.negated and link.entity.kind == "disease"}
        if len(told) != 1 or not (_OF_A_RELATIVE.search(query.text) and _ASKS_WHO.search(query.text)):
            return []
        (link,) = told.values()
        pieces = AskedFor(self.graph, through=False).of(link, Role.INHERITANCE)
        modes: dict[Entity, Triple] = {}
        for t in (t for e in pieces for t in e.triples if t.relation.role is Role.INHERITANCE):
            modes.setdefault(t.object, t)
        meant = dict.fromkeys(m for t in modes.values() if (m := self._meaning(t, language_of(query.text))))
        if not meant or self._has_other_causes(link):
            return []
        of_it = {*Family(self.graph).twins(link)}
        forms = len(meant) > 1 and not any(t.subject in of_it for t in modes.values())  # of forms that have other names
        return [self._said(query, link, list(modes.values())[:_SHOWN], [] if forms else list(meant))]

    def _said(self, query: Query, link: Link, modes: Sequence[Triple], meant: Sequence[str]) -> Evidence:
        """How it is inherited, what that means and that it is not known who gets it."""
        language = language_of(query.text)
        yes = (("It can be inherited", "可以遗传") if meant else ("Some forms are inherited", "有的类型可以遗传"))[
            language
        ]
        joint = ("; ", "；")[language]
        said = affirmed(yes, language, [sentence(t, language) for t in modes])
        meaning = ("That means: {}.", "这种遗传方式是指：{}。")[language].format(joint.join(meant))
        text = f"{said}{'' if language else ' '}{meaning if meant else ''}{_COUNSEL[language]}".replace("  ", " ")
        return Evidence(text, VERDICT, tuple(modes), (link.entity,), 1.0, "other")

    def _has_other_causes(self, link: Link) -> bool:
        near = (
            t
            for e in Family(self.graph).twins(link)
            for t in self.graph.neighbours(e.id, limit=_ALL, roles=(Role.CAUSE, Role.RISK))
        )
        return any(from_outside(t) for t in near)

    def _meaning(self, triple: Triple, language: int) -> str:
        """What a mode of inheritance means, by its name in English or Chinese; "" of one that is not known."""
        name = triple.object.name
        name = next((english for chinese, english in _CHINESE.items() if chinese in name), name)
        return next((row[1 + language] for row in _MODES if re.search(row[0], name, re.IGNORECASE)), "")


_CHINESE = {
    "常染色体显性": "autosomal dominant",
    "常染色体隐性": "autosomal recessive",
    "X-连锁隐性": "x-linked recessive",
    "X连锁隐性": "x-linked recessive",
    "X-连锁": "x-linked",
    "X连锁": "x-linked",
    "线粒体": "mitochondrial",
}
_OF_A_RELATIVE = lazily(_RELATIVE, re.IGNORECASE)
_ASKS_WHO = lazily(_WHO_GETS_IT, re.IGNORECASE)
