"""That a graph does not say of a thing what is asked, and in a line what it does say of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.question import defines
from kgmed.language.text import has_cjk, lazily
from kgmed.language.types import QuestionType
from kgmed.records import Evidence, Link, Query, Role
from kgmed.steps.family import MEDICINES, Family
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import joined, language_of, named, verdict
from kgmed.steps.things import is_called_ill

_HELD = {  # what a graph may have of a thing, as it is called
    Role.FINDING: ("findings", "症状"),
    Role.CAUSE: ("causes", "病因"),
    Role.TREATS: ("treatments", "治疗"),
    Role.TESTS: ("tests", "检查"),
    Role.COMPLICATION: ("complications", "并发症"),
    Role.PREVENTION: ("prevention", "预防"),
    Role.GENE: ("genes", "基因"),
    Role.INHERITANCE: ("inheritance", "遗传方式"),
    Role.CARE: ("who treats it", "就诊科室"),
    Role.CONTRAINDICATED: ("contraindications", "禁忌"),
    Role.PRECAUTION: ("precautions", "注意事项"),
    Role.ADVERSE: ("side effects", "不良反应"),
    Role.INTERACTS: ("interactions", "相互作用"),
    Role.DOSAGE: ("dosage", "用法用量"),
}
_ASKED_OF = {"drug": 0, "ingredient": 0, "medicine": 0, "disease": 1}  # of several things, the one that is asked about
_GIVEN_FOR = ("what it is given for", "适应症")
_USES = ("indications", "适应症")  # a medicine has these where an illness has treatments
_FROM_BEHIND = (Role.TREATS, Role.TESTS)  # asked of a disease, which is their object
_GENERAL = lazily(
    r"\b(?:explain|describe|overview|information|info|details?|facts?|know of)\b|\btell me\b"
    r"|\b(?:know|learn|read|hear|more|told) (?:\w+ ){0,2}about\b|^\W*(?:(?:what|how|and) )?about\b"
    r"|\bwhat (?:do|does) .{1,60} do\W*$|\bwho (?:is|are)\b"
    r"|介绍|了解|讲讲|说说|科普|关于|解释|知识|信息|是什么|是啥|怎么样\W*$",
    re.IGNORECASE,
)
_EMPTY = lazily(
    r"\b(?:an?|the|and|or|of|my|your|his|her|i|me|you|he|she|it|have|has|had|got|with|please|hi|hello|help|thanks|in)\b"
    r"|请问|谢谢|你好|医生|我|有|得了|患|的|了|呢|啊|吗|和|与|及|[\W_]",
    re.IGNORECASE,
)


def asks_in_general(text: str, links: Sequence[Link]) -> bool:
    """Whether a question asks for whatever is known of what it names, or only names it.

    >>> [asks_in_general(t, []) for t in ("Tell me about gout", "What does digoxin do?", "Can gout come back?")]
    [True, True, False]
    """
    if defines(text) or _GENERAL.search(text):
        return True
    for m in (link.mention for link in links):
        if 0 <= m.start < m.end and text[m.start : m.end] == m.surface:
            text = f"{text[: m.start]}{' ' * (m.end - m.start)}{text[m.end :]}"
    return not _EMPTY.sub("", text)


@dataclass(frozen=True)
class Missing:
    """The verdict "lacking" of what a question asks of a thing, with what the graph has of it."""

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link], row: QuestionType | None) -> Evidence:
        """The one piece; `row` = what is asked for, None where no type of question is known."""
        link = min(links, key=lambda x: _place(x, row))
        entity, said = link.entity, link.mention.surface
        language = language_of(query.text)
        what = (_USES if row.role is Role.TREATS and entity.kind in MEDICINES else row.says)[language] if row else ""
        what = what if language else what[:1].lower() + what[1:]
        own = has_cjk(said) and language and any(m.entity == entity for m in self.graph.lookup(said))
        name = said if own else named(entity, language)
        told = verdict("lacking" if row else "unsaid", language, (), name, what)
        if held := [words[language] for words in self._held(link)]:
            told += _HAS[language].format(joined(held, language))
        return Evidence(told, VERDICT, (), (entity,), 1.0, "lacking")

    def _held(self, link: Link) -> list[tuple[str, str]]:
        """What the graph has of a thing, as it is called."""
        nodes = list(Family(self.graph).of(link, narrower=False)) if link.entity.id else []
        medicine = any(self.graph.at(n).kind in MEDICINES for n in nodes)
        texts = {t.relation.role for n in nodes for t in self.graph.attributes(self.graph.at(n).id)}
        found = []
        for role, words in _HELD.items():
            steps = ByRole(self.graph, role)
            behind = role in _FROM_BEHIND and not medicine
            hops = steps.subjects(nodes) if behind else steps.objects(nodes)
            if len(hops.node) or role in texts:
                found.append(_GIVEN_FOR if medicine and role is Role.TREATS else words)
        return found


def _place(link: Link, row: QuestionType | None) -> tuple[bool, int, int]:
    """How soon a thing is the one asked about: of how an illness goes the last that is named, else a medicine."""
    if row and row.name in _OF_AN_ILLNESS:
        return link.mention.negated, 2 - is_called_ill(link) - (link.entity.kind == "disease"), -link.mention.start
    return link.mention.negated, _ASKED_OF.get(link.entity.kind, len(_ASKED_OF)), 0


_OF_AN_ILLNESS = ("survival", "prognosis", "frequency", "contagion")
_HAS = (" What it has of it: {}.", "图谱有其{}。")
