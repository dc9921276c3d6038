"""What scoring a patient needs of a graph, kept beside it: findings by column, rarity, twins, prior."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.diagnose.patient import ONSETS
from kgmed.diagnose.table import (
    DiseaseTable,
    Floats,
    Groups,
    Ints,
    Pooled,
    SparseColumns,
    closure,
    columns,
    groups,
    read,
    total,
)
from kgmed.graph.base import ByRole, Hops, LocalGraph, NodeName, Scope, unique_numbers
from kgmed.graph.grown import by_name, owners, texts_of
from kgmed.language import lay
from kgmed.language.particulars import CONDITIONS, conditions, odds
from kgmed.language.text import has_cjk, lazily
from kgmed.question.emergency import is_emergency
from kgmed.records import Role
from kgmed.vocabulary import Predicate

# --- Kinds of a finding that its name tells: 右下腹痛 of 腹痛, "burning abdominal pain" of "abdominal pain".
#
# A graph of several sources ties few of its findings by `is_a`. A kind of a finding is also what is named after it,
# unless what stands before denies it; of a finding in the table of lay words what has another name of its line, or a
# Chinese name that holds one. Broader is what a finding is named after.

NAMED = (Scope.PREFERRED, Scope.TRANSLATION)
FEW = 3  # diseases; what fewer have is not taken for a finding that others are named after or made of
_OFTEN = 20  # diseases; what as many have is a finding that people name
_LONGEST = 40  # characters of a finding's name; longer ones are sentences
_SITE = 5  # ours: a body part that stands among findings is named as a site a fifth as often, or more
_NOT = lazily(  # what may stand before a finding's name without making a kind of it
    r"(?:[无不没未非抗假退防]有?|否认|缺乏|没有|未见|避免|预防)[伴明显出现见]{0,3}$"
    r"|\b(?:non|no|not|of|without|from|to|for|with|in|by|after|absent|anti|pseudo)\W*$"
)


class FindingNames:
    """The names of a graph's findings; `own` = how many diseases have just a finding."""

    COLUMNS = ("tail", "owner")

    def __init__(
        self, graph: LocalGraph, kept: Arrays, own: Callable[[int], int], below: Callable[[int], Ints]
    ) -> None:
        """`kept` = the columns of `finding_names`, `below` = the kinds of a node by the graph's `is_a`."""
        self.graph, self.own, self.below = graph, own, below
        self._tail: NDArray[np.str_] = kept["tail"]
        self._owner: Ints = kept["owner"]
        self.is_place = lru_cache(maxsize=1 << 14)(self._is_place)

    def kinds(self, node: int) -> set[int]:
        """The kinds of a finding by name."""
        names = dict.fromkeys(self._names(node))
        alike = dict.fromkeys(other for name in names for other in lay.others(name))
        same = {self.graph.number(m.entity.id) for other in alike for m in self.graph.lookup(other)[:1]}
        mine = [name[::-1] for name in names] if self.own(node) >= FEW else []
        strict = len(self.below(node)) + len(same) > 1
        named = {n for tail in mine for n in self._named_after(tail, strict=strict)}
        return same | named | {n for core in (alike and [*names, *alike]) for n in self._that_contain(core)}

    def broader(self, node: int) -> list[int]:
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
        return [self.graph.at(node).name.casefold(), *(t[::-1] for t in self._tail[self._owner == node].tolist())]

    def _is_place(self, node: int) -> bool:
        """Whether a node is where something is, and what it has there is not told: 小腿, 两颊, 膝盖 (as 膝)."""
        name = self.graph.at(node).name
        bare = [
            self.graph.number(m.entity.id)
            for m in self.graph.lookup(vocabulary.listed("sides of a part").sub("", name))[:1]
            if has_cjk(name)
        ]
        sites = ByRole(self.graph, Role.LOCATION)
        return any(_SITE * len(sites.subjects([n]).node) > self.own(node) for n in {node, *bare})

    @cached_property
    def _all_names(self) -> tuple[str, Ints, Ints]:
        """The Chinese names of findings in one text, which are kept backwards, where each begins, and whose it is."""
        names = self._tail.tolist()
        rows = [i for i, name in enumerate(names) if not name.isascii()][::-1]
        starts = np.cumsum([0, *(len(names[i]) + 1 for i in rows)])
        return "\n".join([names[i][::-1] for i in rows]), starts, self._owner[rows]

    def _that_contain(self, name: str) -> Iterator[int]:
        """The findings whose Chinese name tells of a finding: 反复咳嗽、咳痰 of 咳嗽."""
        if len(name) < 2 or not has_cjk(name):
            return
        text, starts, owner = self._all_names
        gone = vocabulary.compiled("name_patterns", "findings gone")
        at = text.find(name)
        while at >= 0:
            row = int(np.searchsorted(starts, at, "right")) - 1
            before, after = text[int(starts[row]) : at], text[at + len(name) : int(starts[row + 1]) - 1]
            if not _NOT.search(before) and not gone.match(after):
                yield int(owner[row])
            at = text.find(name, at + 1)

    def _named_after(self, tail: str, *, strict: bool) -> Iterator[int]:
        """The findings whose name ends in a name, written backwards; `strict` = only Chinese ones."""
        if len(tail) < 2 or (strict and not has_cjk(tail)):
            return
        first, last = np.searchsorted(self._tail, [tail, f"{tail}\U0010ffff"]).tolist()
        for text, node in zip(self._tail[first:last].tolist(), self._owner[first:last].tolist(), strict=True):
            before = text[len(tail) :][::-1]
            if (not before or has_cjk(tail) or not before[-1].isalnum()) and not _NOT.search(before):
                yield node


def finding_names(graph: LocalGraph) -> Arrays:
    """The names of the findings written backwards, in order, and whose each is."""
    findings = unique_numbers(ByRole(graph, Role.FINDING).objects(graph.of_kind("disease")).node)
    is_finding = np.zeros(graph.adjacency.nodes, bool)
    is_finding[findings] = True
    node, scope = owners(graph)
    named = np.flatnonzero(is_finding[node] & np.isin(scope, NAMED))
    texts = (text.casefold()[::-1] for text in texts_of(graph, named))
    rows = sorted(set(zip(texts, node[named].tolist(), strict=True)))
    kept = [row for row in rows if 0 < len(row[0]) <= _LONGEST]
    return {
        "tail": np.array([text for text, _ in kept], f"<U{_LONGEST}"),
        "owner": np.array([node for _, node in kept], np.int64),
    }


# --- How likely each disease is before its findings are looked at: how often it is seen, its care, whom it befalls.
#
# How often a disease is seen is data (the table of prevalence). Of a disease that the table does not have, the graph
# tells something: what is seen often is what much is done about, and what many diseases show explains little.


@vocabulary.kept()
def seen_often() -> tuple[dict[str, float], int]:
    """New cases a year of 100,000 people by name, as powers of ten, and a number that changes with the table.

    >>> seen_often()[0]["influenza"] > seen_often()[0]["rabies"]
    True
    """
    rows = vocabulary.pairs("prevalence", Predicate.PREVALENCE)
    return {name: float(power) for name, power in rows}, vocabulary.digest("prevalence")


CARE = (Role.TESTS, Role.TREATS)
PRIOR = ("prevalence", "care", "shown", "breadth", "bound")
_URGENT = 1 << len(CONDITIONS)  # the bit of an emergency among those of the conditions


class Prior(NamedTuple):
    """What is known of each disease besides its findings (d,)."""

    prevalence: Floats  # new cases a year of 100,000 people as a power of ten, NaN = not in the table
    care: Floats  # its tests and treatments
    shown: Floats  # diseases that show it
    breadth: Floats  # findings that it has
    bound: Ints  # what its names say of whom it befalls, and whether one is that of an emergency, as bits

    def features(self) -> dict[str, Floats]:
        """What the score takes of it, by the names of the weights.

        >>> one = Prior(*(np.array([x]) for x in (2.0, 9.0, 4.0, 2.0)), np.array([0]))
        >>> {name: float(value[0].round(2)) for name, value in one.features().items()}
        {'prevalence': 4.61, 'listed': 1.0, 'care': 0.0, 'shown': 0.0}
        """
        listed = ~np.isnan(self.prevalence)
        return {
            "prevalence": np.log(10) * np.where(listed, self.prevalence, 0.0),
            "listed": listed.astype(np.float64),
            "care": np.where(listed, 0.0, np.log1p(self.care)),
            "shown": np.where(listed, 0.0, np.log1p(self.shown / np.maximum(self.breadth, 1))),
        }

    def befalling(self, traits: frozenset[str]) -> Floats:
        """The logarithm of what a patient's traits leave of each disease, by what its names need; 0 at most."""
        left = np.log(np.array(odds(traits)))
        rows = np.arange(1 << len(left))
        return np.asarray((((rows[:, None] >> np.arange(len(left))) & 1) @ left)[self.bound % _URGENT])

    @property
    def urgent(self) -> Ints:
        """Which may kill within hours (d,); 0 = not."""
        return np.asarray(self.bound & _URGENT)


def prior_columns(graph: LocalGraph, diseases: Ints, names: Sequence[str]) -> Arrays:
    """The columns of `Prior`, by node; `diseases` have those `names`."""
    nodes = graph.adjacency.nodes
    hops = ByRole(graph, Role.FINDING).objects(diseases)
    backwards = Hops(hops.node, diseases[hops.origin], hops.edge)
    care = (_different(ByRole(graph, role).subjects(diseases), diseases, nodes) for role in CARE)
    return {
        "prevalence": _prevalence(graph, nodes),
        "care": sum(care, np.zeros(nodes)),
        "shown": _different(backwards, np.arange(nodes), nodes),
        "breadth": _different(hops, diseases, nodes),
        "bound": _bound(graph, diseases, names, nodes),
    }


def _prevalence(graph: LocalGraph, nodes: int) -> Floats:
    """How often each disease is seen, as a power of ten (nodes,); NaN where the table does not say."""
    found = np.full(nodes, np.nan)
    for name, power in seen_often()[0].items():
        for match in graph.lookup(name)[:1]:
            node = graph.number(match.entity.id)
            if match.entity.kind == "disease" and np.isnan(found[node]):
                found[node] = power
    return found


def _bound(graph: LocalGraph, diseases: Ints, names: Sequence[str], nodes: int) -> Ints:
    """What a disease's name, or most of its names, say of whom it befalls, and whether one tells an emergency."""
    known, changed = frozenset(diseases.tolist()), vocabulary.changed("name_patterns", "urgent_signs")
    rows = by_name(
        graph, "diagnosis-names", lambda label: f"{VERSION} {label}{changed}", ("bits",), partial(_said_by_names, known)
    )
    node, bits = owners(graph)[0][rows["of"]], rows["bits"]
    many, found = np.bincount(node, minlength=nodes), np.zeros(nodes, np.int64)
    np.bitwise_or.at(found, node, bits & _URGENT)
    for i in range(len(CONDITIONS)):  # what most of the names say, or the one that it is called by
        found |= (2 * np.bincount(node, bits >> i & 1, nodes) > many).astype(np.int64) << i
    said = dict(zip(texts_of(graph, rows["of"]), (bits & (_URGENT - 1)).tolist(), strict=True))
    for disease, name in zip(diseases.tolist(), names, strict=True):
        found[disease] |= said[name] if name in said else conditions(name)
    return found


def _said_by_names(diseases: Container[int], names: Iterable[tuple[int, NodeName]]) -> Arrays:
    """What each name of a disease says of whom it befalls, and whether it tells an emergency."""
    told = [(i, name.text) for i, name in names if name.scope in NAMED and name.node in diseases]
    bits = [conditions(text) | (_URGENT if is_emergency(text) else 0) for _, text in told]
    return {"of": np.array([i for i, _ in told], np.int32), "bits": np.array(bits, np.int64)}


def _different(hops: Hops, nodes: Ints, size: int) -> Floats:
    """How many different nodes each of some nodes leads to (size,)."""
    pairs = np.sort(nodes[hops.origin].astype(np.int64) * size + hops.node)
    return np.bincount(pairs[np.diff(pairs, prepend=-1) != 0] // size, minlength=size).astype(np.float64)


Bools = NDArray[np.bool_]
Nodes = tuple[int, ...]  # the nodes that are one finding, of all graphs and by all its names

VERSION = 1  # goes up when the columns kept beside a graph change
CERTAIN = 0.95  # no finding is surer than this: annotations err
EXACT, NARROWER, TWIN, BROADER, NONE = range(5)  # how a disease comes to a finding
_MALES = {"HP:0001419", "HP:0001450"}  # X-linked recessive, Y-linked
_COMMON_WORDS = frozenset("autosomal recessive dominant disease disorder syndrome type".split())  # noqa: SIM905
_GROUPS = ("above", "below", "twins", "lenders")
_SPARSE = ("direct", "found", "no")
_OWN = ("diseases", "database", "rarity", "expected", "published", "male", "begins", "ends", "annotated")
_COLUMNS = (
    *_OWN,
    *(f"{name}_{part}" for name in _GROUPS for part in ("indptr", "member")),
    *(f"{name}_{part}" for name in _SPARSE for part in ("indptr", "row", "value")),
    *PRIOR,
    *FindingNames.COLUMNS,
)


class DiseaseKnowledge:
    """The diseases 0..size-1: `originals` of the graph, then the copies without a reference.

    `is_of_cases` = the graph cites publications for findings and lists no care of diseases: it describes patients of
    case reports, as HPO alone. Such an ontology has the kinds of a finding by `is_a`, so that `names`, the kinds that
    a finding's name tells, is None.
    """

    def __init__(self, graph: LocalGraph, kept: Arrays, originals: int) -> None:
        """Take the columns that `computed` makes."""
        self.graph, self.originals, self.diseases = graph, originals, np.asarray(kept["diseases"])
        self.size = len(self.diseases)
        self.database, self.rarity, self.expected = kept["database"], kept["rarity"], kept["expected"]
        self.published, self.male, self.annotated = kept["published"], kept["male"], kept["annotated"]
        self.begins, self.ends = kept["begins"], kept["ends"]
        self.above, self.below, self.twins, self._lenders = (
            Groups(kept[f"{name}_indptr"], kept[f"{name}_member"]) for name in _GROUPS
        )
        self.direct, self.found, self.no = (
            SparseColumns(*(kept[f"{name}_{part}"] for part in ("indptr", "row", "value"))) for name in _SPARSE
        )
        self.prior = Prior(*(kept[name][self.diseases] for name in PRIOR))
        self.knows_common = bool(kept["care"].any())
        self.is_of_cases = not self.knows_common and bool(kept["published"].any())
        self.names = None if self.is_of_cases else FindingNames(graph, kept, self.own, self.below.__getitem__)
        self.place = {node: i for i, node in enumerate(self.diseases[:originals].tolist())}
        self.fit_of_some = lru_cache(maxsize=512)(self._fit)
        self.kinds = lru_cache(maxsize=1 << 12)(self._kinds)

    def own(self, node: int) -> int:
        """How many diseases have just this finding."""
        return len(self.direct[node].row)

    def is_finding(self, node: int) -> bool:
        """Whether a disease has it or a kind of it."""
        return len(self.having((node,))[0]) > 0

    def _kinds(self, node: int) -> Ints:
        """The node and every kind of it, by the graph and by name."""
        named = self.names.kinds(node) if self.names else ()
        return unique_numbers(np.concatenate([self.below[node], np.array([*named], np.int64)]))

    def broader(self, node: int) -> list[int]:
        """The node and what it is a kind of, nearest first, by the graph and then by name."""
        return [
            *ByRole(self.graph, Role.IS_A).closure(node, up=True),
            *(self.names.broader(node) if self.names else ()),
        ]

    def having(self, finding: Nodes) -> tuple[Ints, Floats]:
        """The diseases that have a finding or a kind of it, and how often the most frequent such is seen in each."""
        if len(finding) == 1 and self.names is None:
            return self.found[finding[0]]
        row, frequency = self.direct.of(unique_numbers(np.concatenate([self.kinds(q) for q in finding])))
        most = np.zeros(self.size)
        np.maximum.at(most, row, frequency)
        rows = np.flatnonzero(most)
        return rows, most[rows]

    def fit(self, finding: Nodes) -> tuple[NDArray[np.int8], Floats]:
        """How each disease comes to a finding (EXACT .. NONE), and log (1 + P(q | d) / P(q)), 0 for NONE."""
        kind, value = np.full(self.size, NONE, np.int8), np.zeros(self.size)
        row, kinds, values = self.fit_of_some(finding)
        kind[row], value[row] = kinds, values
        return kind, value

    def _fit(self, finding: Nodes) -> tuple[Ints, NDArray[np.int8], Floats]:
        """The diseases that come to a finding, a few of all, with what `fit` gives of them."""
        value, kind = self.nearest(finding)
        row, frequency = self.having(finding)
        credit = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity_of(frequency[row < self.originals]))
        origin, disease = self.twins.spread(row)
        value[disease] = 0
        np.maximum.at(value, disease, credit[origin])
        kind[disease] = TWIN
        value[row], kind[row] = credit, NARROWER
        kind[self.direct.of(np.array(finding)).row] = EXACT
        refused = self.denied(finding) & (kind >= TWIN)
        value[refused], kind[refused] = 0, NONE
        row = np.flatnonzero((kind != NONE) | (value != 0))
        return row, kind[row], value[row]

    def rarity_of(self, frequency: Floats) -> float:
        """P(q): the mean of P(q | d) over all diseases, from that of those that have q; never 0."""
        return float((frequency.sum() + 0.5) / (self.originals + 1))

    def nearest(self, finding: Nodes) -> tuple[Floats, NDArray[np.int8]]:
        """The credit by the rarest finding of each disease that q is a kind of, or q itself; BROADER or NONE."""
        value, kind = np.zeros(self.size), np.full(self.size, NONE, np.int8)
        named = [a for q in finding for a in (self.names.broader(q) if self.names else ())]
        above = unique_numbers(np.concatenate([*(self.above[q] for q in finding), np.array(named, np.int64)]))
        for a in above[np.argsort(-self.rarity[above], kind="stable")].tolist():
            row, frequency = self.found[a]
            value[row] = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity[a])
            kind[row] = BROADER
        return value, kind

    def lenders(self, disease: int) -> list[int]:
        """The twins that a disease borrows findings from."""
        found: list[int] = self._lenders[disease].tolist()
        return found

    def denied(self, finding: Nodes) -> Bools:
        """Which diseases do not have a finding or what it is a kind of."""
        found = np.zeros(self.size, bool)
        for a in unique_numbers(np.concatenate([self.above[q] for q in finding])).tolist():
            found[self.no[a].row] = True
        return found

    def missing(self, present: Iterable[Nodes]) -> Floats:
        """The sum of the frequencies of what each disease is annotated with and the patient was not said to have.

        Neither what comes above a finding of the patient nor a kind of it is missing.
        """
        near = [kin[q] for finding in present for q in finding for kin in (self.above, self.below)]
        row, frequency = self.direct.of(unique_numbers(np.concatenate([np.empty(0, np.int64), *near])))
        return (self.expected - total(row, frequency, self.size)).clip(0)

    def other_sex(self, sex: str) -> Bools:
        """Which diseases hardly occur in that sex."""
        return np.asarray(self.male) if sex == "female" else np.zeros(self.size, bool)

    def other_age(self, age: float | None, onset: tuple[float, float] | None) -> Bools:
        """Which diseases begin later than the patient's age, or at no age at which the illness began."""
        late = self.begins > (np.inf if age is None else age)
        if onset is None:
            return np.asarray(late, bool)
        return np.asarray(late | (self.begins > onset[1]) | (self.ends < onset[0]))


# --- Made from the graph, and kept beside it.


def open_knowledge(graph: LocalGraph) -> DiseaseKnowledge:
    """What is kept beside a graph; made where it is not there yet."""
    key = f"{VERSION} {seen_often()[1]} {graph.label}{vocabulary.changed('name_patterns', 'urgent_signs')}"
    kept = cached_arrays(graph.folder, "diagnosis", key, _COLUMNS, lambda: computed(graph, read(graph)))
    return DiseaseKnowledge(graph, kept, len(kept["diseases"]))


def with_copies(graph: LocalGraph, table: DiseaseTable, copies: Sequence[tuple[int, str]]) -> DiseaseKnowledge:
    """The same with a copy of a disease for each (place, reference), without what rests on the reference."""
    return DiseaseKnowledge(graph, computed(graph, table, copies), len(table.diseases))


def computed(graph: LocalGraph, table: DiseaseTable, copies: Sequence[tuple[int, str]] = ()) -> Arrays:
    """The columns of a graph's diseases, then of the copies."""
    originals, nodes = table.diseases, graph.adjacency.nodes
    table = table.with_copies(copies)
    size, entities = len(table.diseases), list(map(graph.at, originals.tolist()))
    names = [entity.name for entity in entities]
    database = [entity.id.partition(":")[0] for entity in entities]
    database += [database[place] for place, _ in copies]
    is_a = ByRole(graph, Role.IS_A).objects(np.arange(nodes))
    above = closure(is_a.origin, is_a.node, nodes)
    twins = _twins(graph, originals, names, database, copies)
    begins, ends = _onsets(graph, table)
    found = _findings(table, above, size, nodes)
    kin = {
        "above": above,
        "below": groups(above.member, above.owners, nodes),
        "twins": twins,
        "lenders": groups(twins.member, twins.owners, size),
    }
    own = {
        "diseases": table.diseases,
        "database": np.array(database, np.str_),
        "rarity": (found["found"].sums(len(originals)) + 0.5) / (len(originals) + 1),  # P(q) by node
        "expected": found["direct"].of_rows(size),
        "published": np.log1p(table.publications()),
        "male": _male(graph, table.diseases),
        "begins": begins,
        "ends": ends,
        "annotated": np.bincount(found["direct"].row, minlength=size) > 0,
    }
    sparse = {f"{n}_{part}": getattr(m, part) for n, m in found.items() for part in ("indptr", "row", "value")}
    kinships = {f"{n}_{part}": getattr(g, part) for n, g in kin.items() for part in ("indptr", "member")}
    return {**own, **sparse, **kinships, **prior_columns(graph, originals, names), **finding_names(graph)}


def _findings(table: DiseaseTable, above: Groups, size: int, nodes: int) -> dict[str, SparseColumns]:
    """What each disease is annotated with, the same with what that is a kind of, and what it does not have."""

    def sparse(*pooled: Pooled) -> SparseColumns:
        disease, node = (np.concatenate([column[i] for column in pooled]) for i in (0, 1))
        return columns(disease, node, np.concatenate([p.frequency for p in pooled]), rows=size, width=nodes)

    findings, denied = table.pooled(Role.FINDING), table.pooled(Role.EXCLUDES)
    nobody = findings.frequency == 0
    findings, none = findings.at(np.flatnonzero(~nobody)), findings.at(np.flatnonzero(nobody))
    origin, node = above.spread(findings.node)
    spread = findings.at(origin)._replace(node=node)
    return {"direct": sparse(findings), "found": sparse(spread), "no": sparse(denied, none)}


def _male(graph: LocalGraph, diseases: Ints) -> Bools:
    """Which diseases are inherited only in a way that spares women."""
    ways = ByRole(graph, Role.INHERITANCE).objects(diseases)
    males = {node for node in unique_numbers(ways.node).tolist() if graph.at(node).id in _MALES}
    is_male = np.isin(ways.node, list(males))
    male, other = (np.bincount(ways.origin, which, len(diseases)) for which in (is_male, ~is_male))
    spared: Bools = (male > 0) & (other == 0)
    return spared


def _onsets(graph: LocalGraph, table: DiseaseTable) -> tuple[Floats, Floats]:
    """The earliest and the latest age at which each disease begins; NaN where nothing is said."""
    first, last = np.full(len(table.diseases), np.nan), np.full(len(table.diseases), np.nan)
    at = np.flatnonzero(table.of_role(Role.ONSET))
    for node in unique_numbers(table.node[at]).tolist():
        ages = ONSETS.get(graph.at(node).id)
        disease = table.disease[at[table.node[at] == node]]
        if ages:
            first[disease] = np.fmin(first[disease], ages[0])
            last[disease] = np.fmax(last[disease], ages[1])
    return first, last


def _twins(
    graph: LocalGraph, diseases: Ints, names: Sequence[str], database: Sequence[str], copies: Sequence[tuple[int, str]]
) -> Groups:
    """For each disease those that it lends its findings to: entries of the same disease in other databases.

    Where the copy of a disease borrows from one that has a copy without the same reference, it borrows from that.
    """
    keys: dict[str, list[int]] = defaultdict(list)
    genes = ByRole(graph, Role.GENE).objects(diseases)
    for disease, gene in zip(genes.origin.tolist(), genes.node.tolist(), strict=True):
        keys[f"gene {gene}"].append(disease)
    for disease, name in enumerate(names):
        keys[_wording(name)].append(disease)
    near = ((a, b) for members in keys.values() for a in members for b in members)
    pairs = {(a, b) for a, b in near if database[a] != database[b]}
    copy = {pair: len(diseases) + i for i, pair in enumerate(copies)}
    of: dict[int, list[int]] = defaultdict(list)
    for a, b in pairs:
        of[b].append(a)
    lent = [(copy.get((a, r), a), place) for (b, r), place in copy.items() for a in of[b]]
    every = np.array([*sorted(pairs), *lent], np.int64).reshape(-1, 2)
    return groups(every[:, 0], every[:, 1], len(diseases) + len(copies))


def _wording(name: str) -> str:
    """What is left of a disease's name when the words of every second name are gone."""
    words = set(re.findall(r"\w+", name.partition(";")[0].casefold()))
    return " ".join(sorted(words - _COMMON_WORDS or words))
