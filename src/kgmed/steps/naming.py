"""What ties two things: edges, entries that are named after one, an illness and the findings told with it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.graph.base import ByRole, Csr, LocalGraph
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Link, Role, Triple
from kgmed.steps.family import Family
from kgmed.steps.posterior import posterior
from kgmed.steps.things import A_DISEASE

_ROLES = (
    *(Role.ADVERSE, Role.FINDING, Role.COMPLICATION, Role.CAUSE, Role.RISK, Role.LOCATION),
    *(Role.ASSOCIATED, Role.AVOID, Role.FOOD),
)
_DENIED = lazily(r"(?:[无不没未非抗防]有?|没有|预防|除外)[伴明显出现见]{0,3}$")
_ORGANS = frozenset("肝肾心肺胃眼脑耳骨")
_LEAST = 2  # characters of a name that is looked for in others
_MOST = 2000  # neighbours of an entry that are looked at
_EDGES = 400  # edges looked at between two families
CONDITIONS = frozenset({"disease", "phenotype", "symptom", "finding"})  # what one may have
Ways = Mapping[int, tuple[Triple, ...]]


@dataclass(frozen=True)
class Tie:
    """One triple that ties two things.

    Attributes:
        triple: The tie.
        why: The triples that lead from the two things to its ends (product and ingredient, class).
        along: Whether the thing named first is the subject of its role.
        cost: The smaller the nearer.
        said: Of a text about one, the part that names the other.
        of_kinds: Whether it is said of a kind of one of the two, and not of that itself.
    """

    triple: Triple
    why: tuple[Triple, ...]
    along: bool
    cost: float
    said: str = ""
    of_kinds: bool = False

    @property
    def text(self) -> str:
        """What it says in words of the graph."""
        return self.said or ("" if self.triple.tail.id else self.triple.tail.name)


def naming(graph: LocalGraph, entries: Ways, names: Iterable[str]) -> Iterator[tuple[Triple, tuple[Triple, ...]]]:
    """The triples of some entries whose other end's name holds a Chinese name, each with what leads to its entry."""
    wanted = [n for n in names if len(n) >= _LEAST and has_cjk(n)] or [n for n in names if n in _ORGANS]
    if not wanted:
        return
    written = getattr(graph, "aliases", None)
    for node, why in entries.items():
        entity = graph.at(node)
        for t in graph.neighbours(entity.id, limit=_MOST, roles=_ROLES):
            other = t.tail if t.head == entity else t.head
            said = [
                other.name,
                *(text for text, _ in (written(graph.number(other.id)) if written and other.id else ())),
            ]
            if any(_holds(text, name) for text in said if has_cjk(text) for name in wanted):
                yield t, why


def _holds(other: str, name: str) -> bool:
    """Whether a name holds another that is not denied in it."""
    at = other.find(name)
    return at >= 0 and len(other) > len(name) and not _DENIED.search(other[:at])


def joining(out: Csr, left: list[int], right: list[int]) -> list[int]:
    """The numbers of at most `_EDGES` edges from nodes to nodes."""
    goal = np.unique(np.array(right, np.int64), return_index=True)[0]  # see AskedFor: numpy.ma is not read in
    spans = [np.arange(out.indptr[node], out.indptr[node + 1]) for node in left]
    places = np.concatenate(spans) if spans else np.empty(0, np.int64)
    places = places[np.isin(out.neighbour[places], goal)][:_EDGES]
    joining: list[int] = (places if out.edge is None else out.edge[places]).tolist()
    return joining


def with_its_findings(graph: LocalGraph, links: Sequence[Link]) -> Sequence[Link]:
    """The links without the findings that are told of the one illness that is named: it is asked of that.

    "My eyelids droop and the doctor says myasthenia gravis: which tests?" is no question about droopy eyelids.
    """
    model, family = posterior(graph), Family(graph)
    told = [x for x in links if not x.mention.negated and x.entity.kind in CONDITIONS]
    nodes = {x: [graph.number(e.id) for e in family.twins(x)] for x in told}

    def explains(one: Link) -> bool:
        rest = [graph.number(x.entity.id) for x in told if x.entity != one.entity]
        return bool(rest and is_an_illness(graph, one)) and all(
            any(model.tie(n, q) >= 0 for n in nodes[one]) for q in rest
        )

    named = {x.entity: x for x in told if x.entity.kind == "disease" and explains(x)}
    if len(named) != 1:
        return links
    (own,) = named
    return [x for x in links if x.entity == own or x not in told]


def is_an_illness(graph: LocalGraph, link: Link) -> bool:
    """Whether a link is to an illness, by its name or by what the graph says of it, and not to what is felt."""
    if A_DISEASE.search(link.mention.surface) or not Family(graph).is_symptom(link.entity):
        return True
    return _treated(graph, [graph.number(e.id) for e in Family(graph).twins(link)])


def _treated(graph: LocalGraph, nodes: Sequence[int]) -> bool:
    """Whether more is done about a thing than there are diseases which show it: a migraine, and no cough."""
    done = len(ByRole(graph, Role.TREATS).subjects(nodes).node)
    return done > len(ByRole(graph, Role.FINDING).subjects(nodes).node)
