"""An illness that is supposed beside what is felt ("I think I have asthma"): whether the graph says that it fits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Role, Status, Triple
from kgmed.steps.diagnosis import findings_of
from kgmed.steps.family import Family
from kgmed.steps.naming import CONDITIONS, is_an_illness
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import Language, joined, language_of, named
from kgmed.steps.posterior import posterior
from kgmed.steps.urgent import is_emergency

_MOST = 2  # illnesses that are weighed: "is it gout or arthritis"
_KINDS = 60  # entries of an illness whose findings are looked at


def supposed(graph: LocalGraph, text: str, links: Sequence[Link]) -> list[Link]:
    """The links to illnesses that are supposed or were named by a doctor, each once, in their order."""
    places = [m.span() for m in _SUPPOSES.finditer(text)]
    found: dict[Entity, Link] = {}
    for link in links:
        at = link.mention
        if at.negated or at.status in _ELSE or link.entity.kind not in CONDITIONS:
            continue
        near = any(begin <= at.start and not _ENDS.search(text[min(end, at.start) : at.start]) for begin, end in places)
        named = _IS.search(text[max(0, at.start - 3) : at.start]) and _IT.match(text, at.end)
        if (near or named) and is_an_illness(graph, link):
            found.setdefault(link.entity, link)
    return list(found.values())[:_MOST]


def asks_what_it_is(text: str) -> bool:
    """Whether it is asked what it is, whatever is supposed.

    >>> asks_what_it_is("Might be gout. What could it be?"), asks_what_it_is("Might be gout. Which tests confirm it?")
    (True, False)
    """
    return bool(_WHAT.search(text))


@dataclass(frozen=True)
class Supposed:
    """A verdict for each illness that is supposed: which of the findings told the graph has of it, and which not."""

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link], ill: Sequence[Link]) -> list[Evidence]:
        """[] where no finding is told beside the illnesses."""
        told = findings_of(self.graph, [x for x in links if x not in ill])
        told = {node: x for node, x in told.items() if not x.mention.negated}
        return [self._weighed(one, list(told), language_of(query.text)) for one in ill] if told else []

    def _weighed(self, ill: Link, told: Sequence[int], language: Language) -> Evidence:
        """How many of the findings the entry of the illness that has most of them has."""
        model, family = posterior(self.graph), Family(self.graph, kinds=_KINDS)
        ties = {node: {q: model.tie(node, q) for q in told} for node in family.of(ill)}
        best = max(ties, key=lambda node: sum(edge >= 0 for edge in ties[node].values()))
        has: dict[str, Triple] = {}
        lacks = []
        for q, edge in ties[best].items():
            if edge >= 0 and (triple := self.graph.triple(edge)).relation.role is not Role.EXCLUDES:
                has.setdefault(named(triple.object, language), triple)
            else:
                lacks.append(named(self.graph.at(q), language))
        entity = self.graph.at(best) if has else ill.entity
        which = "fits" if has and len(has) >= len(lacks) else "partly" if has else "not"
        said = _SAID[which][language].format(
            named(entity, language), joined(list(has), language), joined(list(dict.fromkeys(lacks)), language)
        )
        said += _LACKS[language].format(joined(lacks, language)) if lacks and which == "fits" else ""
        said += "。" if language else "."
        said += _AT_ONCE[language] if len(has) > 1 and is_emergency(entity.name) else ""
        return Evidence(said, VERDICT, tuple(has.values()), (entity,), 1.0, "yes" if has else "other")


_WHAT = lazily(
    r"\bwhat(?:'s| is| could| might| can| may| do you think)[^.?!]{0,24}"
    r"(?:wrong|problem|going on|happening|caus\w+|be)\b"
    r"|(?:是|得了?|什么)(?:什么|啥)病|怎么回事|什么原因|哪里出了?问题",
    re.IGNORECASE,
)
_ELSE = (Status.PAST, Status.OTHER)
_SUPPOSES = lazily(
    r"\b(?:think|thinks|thought|believe|suspects?|suspected|suspicious|suspicion|afraid|fear|worried|worry|concerned"
    r"|wonder(?:ing)?|convinced|(?:pretty |quite )?sure|rule out|diagnosed|diagnosis|called"
    r"|(?:may|might|could|can) (?:it |this |that |these |i |he |she |we |they |also |just )*(?:be|have)"
    r"|(?:is|was) (?:it|this|that)|(?:do|does) (?:i|he|she|we|they|my \w+) (?:have|has)|have i got"
    r"|(?:told|tells) (?:me|us|him|her|my \w+)|(?:says?|said) (?:that )?(?:i|it|he|she|my)|looks? like|seems? like)\b"
    r"|怀疑|疑似|(?<!判断)(?<!知道)(?<!看出)(?<!确[认定])是不是|会不会|可能|担心|害怕|怕[是得]|诊断|确诊|说是|说[我他她]?[可能]*[是得有]|考虑|[觉感]觉?[是得]|以为|是否"
    r"|难道|[好像]像?是",
    re.IGNORECASE,
)
_IS, _IT = re.compile(r"(?:是|得了|患了|得的是)\W?$"), re.compile(r"\W{0,2}[吗么吧嘛]")  # 是肺炎吗
_ENDS = lazily(
    r"[.!?;。！？；\n]|, (?:and|but|so)\b|\b(?:because|due to|after|with|causes?|leads? to|turns? into)\b"
    r"|\b(?:triggers?|worsens?|affects?)\b"
    r"|因为|由于|引起|导致|造成|变成|转[成为]|诱发|加重|影响|并发",
    re.IGNORECASE,
)
_SAID = {
    "fits": ("{0} would fit: it can show {1}", "{0}可以解释：图谱记载其可有{1}"),
    "partly": (
        "{0} fits in part: it can show {1}; the graph does not list for it: {2}",
        "{0}只部分相符：图谱记载其可有{1}；未载{2}",
    ),
    "not": (
        "Of the findings told the graph lists none for {0}: {2}",
        "图谱未载{0}有所述表现：{2}",
    ),
}
_AT_ONCE = (
    " It can be an emergency: if sudden or severe, call for help at once.",
    "可能是急症：如突然发生或症状严重，请立即求救。",
)
_LACKS = ("; not listed for it: {0}", "；未载{0}")
