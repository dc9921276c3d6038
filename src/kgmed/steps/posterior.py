"""How well each disease of a graph explains some findings: a posterior over diseases."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import ByRole, Hops, LocalGraph, Scope
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.language import lay as lay
from kgmed.language.commonness import seen_often
from kgmed.language.particulars import CONDITIONS, conditions, odds
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Role
from kgmed.steps.telling import is_illness, telling
from kgmed.steps.urgent import is_emergency

# --- How well each disease of a graph explains some findings.
# A disease d is scored by log P(d) plus the sum over the findings q of log P(q | d) / P(q), where P(q | d) is
#
# - the frequency that the graph states of q in d, or of the most frequent finding of d that is a kind of q;
# - where it states none (a weight of 1), `told` / (`told` + number of findings of d): of a long list few are there;
# - else, by back-off, that of the nearest broader finding a that d is annotated with, times P(q) / P(a), at most
#   `share` of it: some of those with "muscle weakness" have a progressive one; of a word that few diseases list at
#   least `worded`, since most list it under what it means (水样便 under 腹泻);
# - else P(q) * `elsewhere`, at most `unlisted`; P(q) * `left_out` where no frequency of d is stated, since what is
#   listed and not counted is listed in part; a finding that d excludes has `excluded`;
# - never above `certain`.
#
# P(q) is the share of diseases annotated with q or a kind of it. A finding that the patient does not have counts
# log (1 - P(q | d)) / (1 - P(q)). A kind of q is what comes below it, and what is named after it ("burning abdominal
# pain" is one of "abdominal pain", 转移性右下腹痛 one of 右下腹痛); of a finding in the table of lay words also
# what has another name of its line, or a Chinese name that holds one. Broader is what it is a kind of or named after.
# P(d) is, of a disease that the table language/common.txt has, 10 to the power of `seen` times how often it is seen and
# times e to the power of `listed`; of any other, to the power of `common`,
#
# - 1 + its tests and treatments: what is seen often is what much is done about;
# - over 1 + diseases that show it / findings that it has: what many diseases show explains little.
#
# and times what a patient of whom its name's needs are not told leaves of it (`particulars.odds`). What may kill within
# hours, and has several of the findings and as many as the best has, counts e to the power of `urgent`; what the
# signs of an emergency that is told mean (a stroke), e to the power of `meant`.
#
# Nothing is fitted; docs/diagnose.md says on what each number was chosen.


Scores = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
CARE = (Role.TESTS, Role.TREATS)
VERSION = 9  # goes up when the columns kept beside a graph change
_COLUMNS = ("breadth", "counted", "shown", "care", "bound", "seen", "tail", "owner")
_LONGEST = 40  # characters of a finding's name; longer ones are sentences
_NAMES = (Scope.PREFERRED, Scope.TRANSLATION)
_URGENT = 1 << len(CONDITIONS)  # the bit of an emergency among those of the conditions
_OFTEN = 20  # diseases; what as many have is a finding that people name
_ASKABLE = (10, 300)  # ours: diseases that have a finding which is worth asking for: else it is odd, or of anything
_STRONG = 0.25  # ours: how telling it must be, of what tells most (`steps.telling`)
FEW = 3  # diseases; what fewer have is not taken for a finding that others are named after or made of
_NOT = lazily(  # what may stand before a finding's name without making a kind of it
    r"(?:[无不没未非抗假退防]有?|否认|缺乏|没有|未见|避免|预防)[伴明显出现见]{0,3}$"
    r"|\b(?:non|no|not|of|without|from|to|for|with|in|by|after|absent|anti|pseudo)\W*$"
)
_SITE = 5  # ours: a body part that stands among findings is named as a site a fifth as often, or more
_SIDE = lazily("(?<=.)[部处侧盖上里内]$")
_GONE = lazily("消失|缓解|减轻|好转|正常|不明显|消退|停止|减少|除外|病$|症$|综合征|炎")


@dataclass(frozen=True)
class PosteriorNumbers:
    """The numbers of the ranking; ours, chosen on development parts."""

    told: float = 100.0
    share: float = 0.5
    worded: float = 0.05  # ours: of those with a finding, the share that a word which few diseases list tells of
    elsewhere: float = 0.5
    left_out: float = 5.0
    unlisted: float = 0.01
    excluded: float = 0.001
    certain: float = 0.9
    common: float = 0.5
    seen: float = 0.5
    listed: float = 1.0
    befalls: float = 1.1  # ours: log 3; of people whom the graph names as befallen, on stories of our own
    urgent: float = 1.0
    meant: float = 3.0  # ours: of what the signs of an emergency mean, where they are told: a stroke


class Posterior:
    """The ranking of a graph's diseases by findings; made once a graph."""

    def __init__(self, graph: LocalGraph, numbers: PosteriorNumbers) -> None:
        """Read what is kept beside the graph, or count it."""
        self.graph, self.numbers = graph, numbers
        self.found, self.is_a = ByRole(graph, Role.FINDING), ByRole(graph, Role.IS_A)
        self.excludes = ByRole(graph, Role.EXCLUDES)
        diseases = graph.of_kind("disease")
        self.is_disease = np.zeros(graph.adjacency.nodes, bool)
        self.is_disease[diseases] = True
        self.count = max(len(diseases), 1)
        key = f"{VERSION} {seen_often()[1]} {graph.label}"
        kept = cached_arrays(graph.folder, "findings", key, _COLUMNS, lambda: _counted(graph, diseases))
        self.breadth, self.counted, self.shown, self.care, self.bound, seen = (kept[n] for n in _COLUMNS[:6])
        self._tail, self._owner = kept["tail"], kept["owner"]
        self.is_counted = np.asarray(self.counted > 0)
        self.unstated = numbers.told / (numbers.told + self.breadth)
        cared = numbers.common * (np.log1p(self.care) - np.log1p(self.shown / np.maximum(self.breadth, 1)))
        self.prior = np.where(np.isnan(seen), cared, numbers.listed + numbers.seen * np.log(10) * seen)
        self._own_below = lru_cache(maxsize=1 << 14)(self._kinds)
        self.share_of = lru_cache(maxsize=1 << 14)(self._share_of)
        self.is_place = lru_cache(maxsize=1 << 14)(self._is_place)

    @property
    def knows_common(self) -> bool:
        """Whether the graph says of any disease what is done about it; one that does not lists rare ones alone."""
        return bool(self.care.any())

    def scores(
        self, findings: Mapping[int, bool], told: frozenset[str] | None = None, own: Sequence[int] = ()
    ) -> Scores:
        """The score of each node, -inf where it is no disease or has none of the findings; True = it is denied.

        `told` is what is known of the patient besides findings (`about`). What is found explains itself, which says
        nothing, but for the findings that are an illness by the words of the patient (`own`): who is sad for months.
        """
        total, matched = self.prior.copy(), np.zeros(self.graph.adjacency.nodes, bool)
        if told is not None:
            total += self._fitting(told)
        for q, denied in findings.items():
            p, direct = self.probability(q)
            base = self.share_of(q)
            total += np.log((1 - p) / (1 - base)) if denied else np.log(p / base)
            if not denied:
                matched |= direct
        matched[list(findings)] = False
        for q in own:
            matched[q] = True
            total[q] += np.log(self.numbers.certain / self.probability(q)[0][q])
        return np.where(matched & self.is_disease, total, -np.inf)

    def _fitting(self, told: frozenset[str]) -> Scores:
        """How likely each disease is by what its name says of whom it befalls: a logarithm, 0 at most."""
        left = np.log(np.array(odds(told)))
        rows = np.arange(1 << len(left))
        of_bits = ((rows[:, None] >> np.arange(len(left))) & 1) @ left
        return np.asarray(of_bits[self.bound % _URGENT])

    def is_urgent(self, disease: int) -> bool:
        """Whether a disease may kill within hours."""
        return bool(self.bound[disease] & _URGENT)

    def probability(self, q: int) -> tuple[Scores, Bools]:
        """P(q | d) for every node d, and which d are annotated with q or a kind of it."""
        n, base = self.numbers, self.share_of(q)
        p = np.minimum(n.unlisted, base * np.where(self.is_counted, n.elsewhere, n.left_out))
        up = self.above(q)
        for broader in up[1:]:
            hops = self.found.subjects([broader])
            if len(hops.node):  # the broadest have thousands of kinds and no disease of their own
                part = max(base / self.share_of(broader), n.worded if self.own(q) < _OFTEN else 0.0)
                np.maximum.at(p, hops.node, self._weights(hops) * min(part, n.share))
        hops = self.found.subjects(self._own_below(q))
        direct = np.zeros(len(p), bool)
        direct[hops.node] = True
        np.maximum.at(p, hops.node, self._weights(hops))
        p[self.excludes.subjects(up).node] = n.excluded
        return p.clip(1e-6, n.certain), direct

    def alike(self, one: int, other: int) -> bool:
        """Whether two findings are one, each a kind of the other."""
        return one in self._own_below(other) and other in self._own_below(one)

    def telling(self, one: int, other: int, known: Container[int]) -> list[int]:
        """The findings that tell strongly of one disease and that another does not have, the most telling first.

        None that is known already, that few or hundreds of diseases have, or that is an illness or in the name.
        """
        told = telling(self.graph, one, np.unique(self.found.objects([one]).node))
        score = {q: much for q, much in told.items() if q not in known and self.tie(other, q) < 0}
        least, (few, many) = _STRONG * max(score.values(), default=0.0), _ASKABLE
        strong = [q for q, much in score.items() if much >= least and few <= self.own(q) <= many]
        name = self.graph.at(one).name.casefold()
        said = {q: self.graph.at(q).name for q in strong}
        asked = [q for q in strong if not is_illness(said[q]) and said[q].casefold() not in name]
        return sorted(asked, key=lambda q: (-score[q], q))

    def is_finding(self, node: int) -> bool:
        """Whether some disease has it, or a kind of it."""
        return self._diseases(node) > 0

    def _is_place(self, node: int) -> bool:
        """Whether a node is where something is, and what it has there is not told: 小腿, 两颊, 膝盖 (as 膝)."""
        name = self.graph.at(node).name
        bare = [self.graph.number(m.entity.id) for m in self.graph.lookup(_SIDE.sub("", name))[:1] if has_cjk(name)]
        sites = ByRole(self.graph, Role.LOCATION)
        return any(_SITE * len(sites.subjects([n]).node) > self.own(node) for n in {node, *bare})

    def above(self, node: int) -> list[int]:
        """The node, then what it is a kind of, nearest first."""
        return [*self.is_a.closure(node, up=True), *self._broader_by_name(node)]

    def _broader_by_name(self, node: int) -> list[int]:
        """What a Chinese finding is named after: 头痛 of 搏动性头痛, the longest first."""
        found: dict[int, None] = {}
        for name in self._names(node):
            cuts = range(1, len(name) - 1) if has_cjk(name) else ()
            nodes = [self.graph.number(m.entity.id) for cut in cuts for m in self.graph.lookup(name[cut:])[:1]]
            found |= dict.fromkeys(n for n in nodes if n != node and self.own(n) >= FEW)
        return list(found | dict.fromkeys(self._meant_by(node)))

    def _meant_by(self, node: int) -> Iterator[int]:
        """What a finding that few diseases list means where it is a patient's word for it: 腹泻 of 水样便."""
        name = self.graph.at(node).name
        if not has_cjk(name) or self.own(node) >= _OFTEN:
            return
        for one in lay.said(name):
            if name in one.names or one.span != (0, len(name)):
                continue
            nodes = (self.graph.number(m.entity.id) for n in one.names for m in self.graph.lookup(n)[:1])
            yield from (n for n in nodes if n != node and self.own(n) >= FEW)

    def _names(self, node: int) -> list[str]:
        """The names of a finding."""
        return [self.graph.at(node).name.casefold(), *(t[::-1] for t in self._tail[self._owner == node].tolist())]

    def tie(self, disease: int, finding: int) -> int:
        """The edge that ties a disease to a finding, by itself, a kind of it or what it is a kind of; -1 = none."""
        ends: dict[int, int] = {}
        for steps in (self.excludes, self.found):
            hops = steps.objects([disease])
            ends |= dict(zip(hops.node.tolist(), hops.edge.tolist(), strict=True))
        below = self.is_a.closure(finding, up=False)
        near = [*below, *self._own_below(finding).tolist(), *self._broader(finding)]
        near += self._broader_by_name(finding)
        return next((ends[node] for node in near if node in ends), -1)

    def _broader(self, node: int) -> list[int]:
        """What a finding is a kind of, at most two steps up."""
        return [above for above, steps in self.is_a.closure(node, up=True).items() if 0 < steps <= 2]

    def _weights(self, hops: Hops) -> Scores:
        """The frequency that each edge from a finding to a disease states, or what stands for one."""
        unstated = self.unstated[hops.node]
        if self.graph.weight is None:
            return np.asarray(unstated, np.float64)
        stated = self.graph.weight[hops.edge].astype(np.float64)
        return np.where(stated < 1, stated, unstated)

    def own(self, q: int) -> int:
        """How many diseases have just this finding."""
        return len(np.unique(self.found.subjects([q]).node))

    def _diseases(self, q: int) -> int:
        return len(np.unique(self.found.subjects(self._own_below(q)).node))

    def _share_of(self, q: int) -> float:
        """P(q): the share of diseases annotated with a finding or a kind of it, never 0 or 1."""
        return (self._diseases(q) + 0.5) / (self.count + 1)

    def kinds(self, q: int) -> list[int]:
        """The node of a finding, and every kind of it."""
        return [int(node) for node in self._own_below(q)]

    def _kinds(self, q: int) -> Ints:
        """The node and every kind of it, by the graph and by name."""
        below = list(self.is_a.closure(q, up=False))
        names = dict.fromkeys(self._names(q))
        alike = dict.fromkeys(other for name in names for other in lay.others(name))
        below += [self.graph.number(m.entity.id) for other in alike for m in self.graph.lookup(other)[:1]]
        mine = [n[::-1] for n in names] if self.own(q) >= FEW else []
        named = {node for tail in mine for node in self._named_after(tail, strict=len(below) > 1)}
        named |= {node for core in (alike and [*names, *alike]) for node in self._that_contain(core)}
        return np.unique(np.array([*below, *named], np.int64))

    @cached_property
    def _all_names(self) -> tuple[str, Ints, Ints]:
        """The Chinese names of findings in one text, where each begins, and whose it is."""
        rows = [(t[::-1], n) for t, n in zip(self._tail.tolist(), self._owner.tolist(), strict=True) if has_cjk(t)]
        starts = np.cumsum([0, *(len(text) + 1 for text, _ in rows)])
        return "\n".join(text for text, _ in rows), starts, np.array([n for _, n in rows], np.int64)

    def _that_contain(self, name: str) -> Iterator[int]:
        """The findings whose Chinese name tells of a finding: 反复咳嗽、咳痰 of 咳嗽."""
        if len(name) < 2 or not has_cjk(name):
            return
        text, starts, owner = self._all_names
        at = text.find(name)
        while at >= 0:
            row = int(np.searchsorted(starts, at, "right")) - 1
            before, after = text[int(starts[row]) : at], text[at + len(name) : int(starts[row + 1]) - 1]
            if not _NOT.search(before) and not _GONE.match(after):
                yield int(owner[row])
            at = text.find(name, at + 1)

    def _named_after(self, tail: str, *, strict: bool) -> Iterator[int]:
        """The findings whose name ends in a name, written backwards; `strict` = only Chinese ones."""
        if len(tail) < 2 or (strict and not has_cjk(tail)):
            return
        first, last = np.searchsorted(self._tail, [tail, f"{tail}\U0010ffff"]).tolist()
        for text, node in zip(self._tail[first:last].tolist(), self._owner[first:last].tolist(), strict=True):
            before = text[len(tail) :][::-1]
            whole = not before or has_cjk(tail) or not before[-1].isalnum()
            if whole and not _NOT.search(before):
                yield node


def _counted(graph: LocalGraph, diseases: Ints) -> Arrays:
    """How many findings each node has, how many diseases show it, its care, and the findings' names backwards."""
    nodes = graph.adjacency.nodes
    hops = ByRole(graph, Role.FINDING).objects(diseases)
    less = np.zeros(len(hops.edge), bool) if graph.weight is None else graph.weight[hops.edge] < 1
    stated = Hops(*(column[less] for column in hops))
    care = sum((_different(ByRole(graph, role).subjects(diseases), diseases, nodes) for role in CARE), np.zeros(nodes))
    is_finding = np.zeros(nodes, bool)
    is_finding[hops.node] = True
    rows = sorted(
        {(n.text.casefold()[::-1], n.node) for n in graph.names(scopes=_NAMES) if is_finding[n.node]},
    )
    kept = [row for row in rows if 0 < len(row[0]) <= _LONGEST]
    return {
        "breadth": _different(hops, diseases, nodes),
        "counted": _different(stated, diseases, nodes),
        "shown": _different(Hops(hops.node, diseases[hops.origin], hops.edge), np.arange(nodes), nodes),
        "care": care,
        "bound": _bound(graph, diseases, nodes),
        "seen": _seen(graph, nodes),
        "tail": np.array([text for text, _ in kept], f"<U{_LONGEST}"),
        "owner": np.array([node for _, node in kept], np.int64),
    }


def _bound(graph: LocalGraph, diseases: Ints, nodes: int) -> Ints:
    """What a disease's name, or most of its names, say of whom it befalls, and whether one tells an emergency."""
    names: dict[int, list[int]] = {node: [] for node in diseases.tolist()}
    urgent = np.zeros(nodes, bool)
    for name in graph.names(scopes=_NAMES):
        if name.node in names:
            names[name.node].append(conditions(name.text))
            urgent[name.node] |= is_emergency(name.text)
    found = np.where(urgent, _URGENT, 0)
    for node, said in names.items():
        found[node] |= conditions(graph.at(node).name)
        most = (i for i in range(len(CONDITIONS)) if 2 * sum(bits >> i & 1 for bits in said) > len(said))
        found[node] |= sum(1 << i for i in most)
    return found


def _seen(graph: LocalGraph, nodes: int) -> Scores:
    """How often each disease is seen, as a power of ten (nodes,); nan where the table does not say."""
    found = np.full(nodes, np.nan)
    for name, power in seen_often()[0].items():
        for match in graph.lookup(name)[:1]:
            node = graph.number(match.entity.id)
            if match.entity.kind == "disease" and np.isnan(found[node]):
                found[node] = power
    return found


def _different(hops: Hops, nodes: Ints, size: int) -> Scores:
    """How many different nodes each of some nodes leads to (size,)."""
    pairs = np.sort(nodes[hops.origin].astype(np.int64) * size + hops.node)
    return np.bincount(pairs[np.diff(pairs, prepend=-1) != 0] // size, minlength=size).astype(np.float64)


@lru_cache(maxsize=8)
def posterior(graph: LocalGraph, numbers: PosteriorNumbers | None = None) -> Posterior:
    """The ranking on a graph, made once."""
    return Posterior(graph, numbers or PosteriorNumbers())
