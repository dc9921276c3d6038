"""What diagnosing from findings needs of a graph, computed once, and a patient as it takes one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.graph.formats.obo import FREQUENCIES, UNSTATED
from kgmed.records import Role, Triple

# --- Sparse columns over diseases, and the broader terms of each term, in plain numpy.


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Column(NamedTuple):
    """The entries of one column."""

    row: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class SparseColumns:
    """A sparse matrix by columns."""

    indptr: Ints  # (columns + 1,)
    row: Ints
    value: Floats

    def __getitem__(self, column: int) -> Column:
        """The entries of a column, by row."""
        at = slice(int(self.indptr[column]), int(self.indptr[column + 1]))
        return Column(self.row[at], self.value[at])

    def of(self, columns: Ints) -> Column:
        """The entries of several columns, one after the other."""
        begin = self.indptr[columns]
        counts = self.indptr[columns + 1] - begin
        at = np.arange(int(counts.sum())) + np.repeat(begin - np.cumsum(counts) + counts, counts)
        return Column(self.row[at], self.value[at])

    def sums(self, rows: int) -> Floats:
        """The sum of each column over the first `rows` rows."""
        column = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return total(column, np.where(self.row < rows, self.value, 0.0), len(self.indptr) - 1)


def columns(row: Ints, column: Ints, value: Floats, *, rows: int, width: int) -> SparseColumns:
    """The matrix of some entries; of several for one place the largest stays.

    >>> m = columns(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([0.2, 0.5, 0.7]), rows=2, width=2)
    >>> m[1].row.tolist(), m[1].value.tolist()
    ([0], [0.7])
    """
    key = column * rows + row
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    value = np.maximum.reduceat(value, first) if len(first) else value
    column, row = np.divmod(key[first], rows)
    return SparseColumns(starts(column, width), row, value.astype(np.float64))


def total(group: Ints, value: NDArray[Any], size: int) -> Floats:
    """The sum of the values of each of `size` groups (size,)."""
    return np.bincount(group, value, size).astype(np.float64)


def starts(column: Ints, width: int) -> Ints:
    """Where each of `width` groups begins (width + 1,), from the group of each entry."""
    return np.concatenate([[0], np.cumsum(np.bincount(column, minlength=width))]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Groups:
    """For each of some numbers, other numbers."""

    indptr: Ints
    member: Ints

    def __getitem__(self, number: int) -> Ints:
        """The members of a group."""
        return self.member[self.indptr[number] : self.indptr[number + 1]]

    @property
    def owners(self) -> Ints:
        """For each member, the number whose group it is in."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def spread(self, numbers: Ints) -> tuple[Ints, Ints]:
        """For each member of the groups of `numbers`: the place in `numbers` it comes from, and the member.

        >>> Groups(np.array([0, 2, 3]), np.array([5, 6, 7])).spread(np.array([1, 0]))[1].tolist()
        [7, 5, 6]
        """
        begin = self.indptr[numbers]
        counts = self.indptr[numbers + 1] - begin
        origin = np.repeat(np.arange(len(numbers)), counts)
        before = np.cumsum(counts) - counts
        return origin, self.member[np.arange(int(counts.sum())) + np.repeat(begin - before, counts)]


def groups(number: Ints, member: Ints, size: int) -> Groups:
    """The groups of some pairs; equal pairs are kept once, a group's members ascend."""
    pairs = np.unique(np.stack([number, member]), axis=1)
    return Groups(starts(pairs[0], size), pairs[1])


def closure(child: Ints, parent: Ints, size: int) -> Groups:
    """For each of `size` nodes itself and all that is reached from it by steps from child to parent; cycles are fine.

    >>> closure(np.array([0, 1]), np.array([1, 2]), 3)[0].tolist()
    [0, 1, 2]
    """
    up = groups(child, parent, size)
    parents = [up[i].tolist() for i in range(size)]
    reached = [sorted(_reached(i, parents)) for i in range(size)]
    sizes = [len(found) for found in reached]
    return Groups(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.concatenate(reached).astype(np.int64))


def _reached(node: int, parents: list[list[int]]) -> set[int]:
    """The node and everything above it."""
    reached, open_ends = {node}, [node]
    while open_ends:
        for above in parents[open_ends.pop()]:
            if above not in reached:
                reached.add(above)
                open_ends.append(above)
    return reached


# --- A patient as `diagnose` takes one: findings that are there, findings looked for and absent, sex and ages.


SEXES = ("", "female", "male")
HPO_ID = re.compile(r"HP:\d{7}")
ONSETS: dict[str, tuple[float, float]] = {  # HPO's terms of onset: from and up to which age, in years
    "HP:0030674": (-0.75, 0),  # antenatal
    "HP:0011460": (-0.75, 0),  # embryonal
    "HP:0011461": (-0.75, 0),  # fetal
    "HP:0034197": (-0.75, 0),  # third trimester
    "HP:0034198": (-0.75, 0),  # second trimester
    "HP:0034199": (-0.75, 0),  # late first trimester
    "HP:0003577": (0, 0),  # congenital
    "HP:0003623": (0, 28 / 365),  # neonatal
    "HP:0003593": (28 / 365, 1),  # infantile
    "HP:0011463": (1, 5),  # childhood
    "HP:0003621": (5, 15),  # juvenile
    "HP:0410280": (0, 16),  # paediatric
    "HP:0011462": (16, 40),  # young adult
    "HP:0025708": (16, 19),  # early young adult
    "HP:0025709": (19, 25),  # intermediate young adult
    "HP:0025710": (25, 40),  # late young adult
    "HP:0003581": (16, 120),  # adult
    "HP:0003596": (40, 60),  # middle age
    "HP:0003584": (60, 120),  # late
}
_ISO = re.compile(r"P(?:(\d{1,3})Y)?(?:(\d{1,4})M)?(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T[\dHMS.]*)?")
_PLAIN = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?(y|m|w|d|years?|months?|weeks?|days?)?")
_UNITS = (1, 1 / 12, 7 / 365.25, 1 / 365.25)  # years, months, weeks, days


@dataclass(frozen=True, slots=True)
class Patient:
    """What is known of a patient. Findings are HPO ids; ages are in years, None = not known."""

    present: tuple[str, ...]
    absent: tuple[str, ...] = ()
    sex: str = ""  # female, male or "" = not known
    age: float | None = None  # now, or when last seen
    onset: tuple[float, float] | None = None  # the illness began at an age from .. to
    id: str = ""

    def __post_init__(self) -> None:
        """Refuse a sex that is none of `SEXES`."""
        if self.sex not in SEXES:
            raise BadInput(f"the sex {self.sex!r} is not known; write female or male, or leave it out")


def years(text: str) -> float:
    """An age in years from ISO 8601 (P4Y6M) or in words (4, 4.5y, 6 months); raises `BadInput`.

    >>> years("P1Y6M"), years("18 months"), years("40")
    (1.5, 1.5, 40.0)
    """
    said = text.strip()
    if said.startswith("P") and (iso := _ISO.fullmatch(said)) and len(said) > 1:
        return sum(int(n or 0) * unit for n, unit in zip(iso.groups(), _UNITS, strict=True))
    if plain := _PLAIN.fullmatch(said.casefold()):
        return float(plain[1]) * _UNITS["ymwd".index((plain[2] or "y")[0])]
    raise BadInput(f"the age {text[:30]!r} cannot be read; write 4, 4y, 18m or P4Y6M")


def onset(text: str) -> tuple[float, float]:
    """From and up to which age an illness began: an HPO id of onset, or an age; raises `BadInput`.

    >>> onset("HP:0011463"), onset("3y")
    ((1, 5), (3.0, 3.0))
    """
    if HPO_ID.fullmatch(text.strip()):
        if text.strip() not in ONSETS:
            raise BadInput(f"{text} is no age of onset; give one such as HP:0011463 (childhood), or an age")
        return ONSETS[text.strip()]
    age = years(text)
    return age, age


def parse_findings(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ids as typed: those present, and those with a leading - or NOT, which are absent; each once; raises `BadInput`.

    >>> parse_findings(["HP:0001250", "-HP:0000365", "NOT HP:0000252"])
    (['HP:0001250'], ['HP:0000365', 'HP:0000252'])
    """
    found: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for text in texts:
        sign = re.fullmatch(r"\s*(-|NOT\b)?\s*(HP:\d{7})\s*", text)
        if sign is None:
            raise BadInput(f"{text[:40]!r} is no HPO id; write HP:0001250, or -HP:0001250 for one that is absent")
        found[sign[1] is not None][sign[2]] = None
    both = [identifier for identifier in found[0] if identifier in found[1]]
    if both:
        raise BadInput(f"{both[0]} is given as present and as absent; leave one out")
    return list(found[0]), list(found[1])


# --- What a graph says of its diseases as columns: one row for each disease, finding and reference.
# The rows are those of the graph's support, so that whatever rests on one publication can be left out and the rest
# pooled again. A row that names several references stands here once for each of them, and its count with it.


VERSION = 2  # goes up when the columns kept beside a graph change
ROLES = (Role.FINDING, Role.EXCLUDES, Role.ONSET)
PSEUDO = 1.0  # patients added to every count, half of them with the finding: 1/1 is not "always"
_COLUMNS = ("disease", "node", "role", "reference", "counted", "patients", "stated", "references")
_CLASSES = dict(FREQUENCIES.values())
_COUNT = re.compile(r"(\d{1,9})/(\d{1,9})$")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)%$")


class Pooled(NamedTuple):
    """What the rows of each disease and finding say together, by disease, then finding."""

    disease: Ints
    node: Ints
    frequency: Floats  # 0 = found in nobody, or denied
    patients: Floats  # those counted

    def at(self, rows: Ints) -> "Pooled":
        """Some of them, in that order."""
        return Pooled(self.disease[rows], self.node[rows], self.frequency[rows], self.patients[rows])


@dataclass(frozen=True, slots=True)
class DiseaseTable:
    """The rows. `disease` is a place in `diseases`, `role` one in `ROLES`, `reference` one in `references`."""

    diseases: Ints  # (d,) node numbers, ascending
    disease: Ints  # (r,)
    node: Ints  # (r,) the finding, or the onset
    role: Ints  # (r,)
    reference: Ints  # (r,)
    counted: Floats  # (r,) n of n/m, else 0
    patients: Floats  # (r,) m of n/m, else 0
    stated: Floats  # (r,) a share without a count, else NaN
    references: NDArray[np.str_]  # (n,) "" = none

    def of_role(self, role: Role) -> NDArray[np.bool_]:
        """Which rows have that role (r,)."""
        return np.equal(self.role, ROLES.index(role))

    def with_copies(self, copies: Sequence[tuple[int, str]]) -> "DiseaseTable":
        """The table with one more disease for each (disease, reference): a copy without what rests on the reference.

        A row that rests on another reference stays. It loses its count, though, where the reference left out gives
        the same count for the same finding: the graph does not tell whether the two are one count.
        """
        rows, disease, counted = [np.arange(len(self.disease))], [self.disease], [self.patients > 0]
        order = np.argsort(self.disease, kind="stable")
        starts = np.searchsorted(self.disease[order], np.arange(len(self.diseases) + 1))
        for i, (d, reference) in enumerate(copies):
            mine = order[starts[d] : starts[d + 1]]
            own = self.references[self.reference[mine]] == reference
            key = np.stack([self.node[mine], self.counted[mine], self.patients[mine]])
            same = (key[:, :, None] == key[:, None, own]).all(0).any(1)
            rows.append(mine[~own])
            disease.append(np.full(len(rows[-1]), len(self.diseases) + i))
            counted.append((self.patients[mine] > 0)[~own] & ~same[~own])
        at, keep = np.concatenate(rows), np.concatenate(counted)
        return DiseaseTable(
            diseases=np.concatenate([self.diseases, self.diseases[[d for d, _ in copies]]]).astype(np.int64),
            disease=np.concatenate(disease),
            node=self.node[at],
            role=self.role[at],
            reference=self.reference[at],
            counted=np.where(keep, self.counted[at], 0),
            patients=np.where(keep, self.patients[at], 0),
            stated=self.stated[at],
            references=self.references,
        )

    def pooled(self, role: Role) -> Pooled:
        """The findings of each disease under a role (`FINDING` or `EXCLUDES`), their rows taken together.

        A count n/m over all rows gives (n + 0.5) / (m + 1), or 0 where n is 0; without a count the mean of the
        stated shares; without either `UNSTATED`.
        """
        at = np.flatnonzero(self.of_role(role))
        key = self.disease[at] * (int(self.node.max(initial=0)) + 1) + self.node[at]
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        size = len(first)
        n, m = (total(group, column[at], size) for column in (self.counted, self.patients))
        told = np.isfinite(self.stated[at])
        shares, times = total(group, np.where(told, self.stated[at], 0), size), total(group, told, size)
        stated = np.where(times > 0, shares / np.maximum(times, 1), UNSTATED)
        counted = np.where(n > 0, (n + PSEUDO / 2) / (m + PSEUDO), 0)
        return Pooled(self.disease[at][first], self.node[at][first], np.where(m > 0, counted, stated), m)

    def publications(self) -> Ints:
        """How many publications (PMID) the findings of each disease rest on (d,)."""
        at = np.flatnonzero(self.of_role(Role.FINDING) & np.char.startswith(self.references, "PMID:")[self.reference])
        pairs = np.unique(np.stack([self.disease[at], self.reference[at]]), axis=1)
        return np.bincount(pairs[0], minlength=len(self.diseases)).astype(np.int64)


def read(graph: LocalGraph) -> DiseaseTable:
    """The table of a graph, kept beside it once it has been made."""
    key = f"{VERSION} {graph.label}"
    columns = cached_arrays(graph.folder, "phenotypes", key, _COLUMNS, lambda: _columns(graph))
    diseases = np.sort(graph.of_kind("disease")).astype(np.int64)
    return DiseaseTable(diseases, **{name: np.asarray(columns[name]) for name in _COLUMNS})


def _columns(graph: LocalGraph) -> Arrays:
    """The columns, read from the graph's triples."""
    diseases = np.sort(graph.of_kind("disease"))
    references: dict[str, int] = {"": 0}
    rows = [row for role in ROLES for row in _rows(graph, diseases, role, references)]
    whole = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4).T
    parts = np.array([row[4:] for row in rows], np.float64).reshape(-1, 3).T
    names = np.array(list(references), np.str_)
    return dict(zip(_COLUMNS, (*whole.copy(), *parts.copy(), names), strict=True))


def _rows(
    graph: LocalGraph, diseases: Ints, role: Role, references: dict[str, int]
) -> Iterator[tuple[int, int, int, int, float, float, float]]:
    """The rows of one role: disease, node, role, reference, n, m, share."""
    hops, weighted = ByRole(graph, role).objects(diseases), _weighted(graph)
    for disease, node, edge in zip(hops.origin.tolist(), hops.node.tolist(), hops.edge.tolist(), strict=True):
        triple = graph.triple(edge)
        for reference, said in _said(triple, weighted=bool(weighted[graph.adjacency.out.relation[edge]])):
            number = references.setdefault(reference, len(references))
            yield (disease, node, ROLES.index(role), number, *frequency(said))


def _weighted(graph: LocalGraph) -> NDArray[np.bool_]:
    """Which relations tell how often (r,): those with a weight that is not 1; one of several graphs may not."""
    if graph.weight is None:
        return np.zeros(len(graph.relations), bool)
    relation = graph.adjacency.out.relation[np.asarray(graph.weight) != 1]
    return np.bincount(relation, minlength=len(graph.relations)) > 0


def _said(triple: Triple, *, weighted: bool) -> Iterator[tuple[str, str]]:
    """Each reference of a triple with the frequency it states; the triple's weight where it has no support."""
    if not triple.support:
        yield "", f"{100 * triple.weight:.6f}%" if weighted else ""
    for support in triple.support:
        yield support.reference, dict(support.qualifiers).get("frequency", "")


def frequency(text: str) -> tuple[float, float, float]:
    """The count and the share that a frequency states: (n, m, NaN) or (0, 0, share), NaN where it states none.

    >>> frequency("3/7"), frequency("very frequent (80-99%)")
    ((3.0, 7.0, nan), (0.0, 0.0, 0.895))
    """
    if found := _COUNT.match(text):
        return float(found[1]), float(found[2]), float("nan")
    if found := _PERCENT.match(text):
        return 0.0, 0.0, min(float(found[1]) / 100, 1.0)
    return 0.0, 0.0, _CLASSES.get(text, float("nan"))


# --- What scoring a patient needs of a graph, computed once: findings by column, rarity, kin, sex and onset.


Bools = NDArray[np.bool_]

CERTAIN = 0.95  # no finding is surer than this: annotations err
EXACT, NARROWER, TWIN, BROADER, NONE = range(5)  # how a disease comes to a finding
FEATURES = ("exact", "narrower", "twin", "broader", "denied", "excluded", "missing", "sex", "onset", "published")
_MALES = {"HP:0001419", "HP:0001450"}  # X-linked recessive, Y-linked
_COMMON_WORDS = frozenset("autosomal recessive dominant disease disorder syndrome type".split())  # noqa: SIM905


class World:
    """The diseases 0..size-1: `originals` of the graph, then the copies without a reference."""

    def __init__(
        self, graph: LocalGraph, table: DiseaseTable, originals: int, copies: Sequence[tuple[int, str]]
    ) -> None:
        """Compute it from a table that has the copies."""
        self.graph, self.originals, self.size = graph, originals, len(table.diseases)
        self.diseases = table.diseases
        self.database = np.array([graph.at(d).id.partition(":")[0] for d in table.diseases.tolist()], np.str_)
        is_a = ByRole(graph, Role.IS_A).objects(np.arange(graph.adjacency.nodes))
        self.above = closure(is_a.origin, is_a.node, graph.adjacency.nodes)
        self.below = groups(self.above.member, self.above.owners, graph.adjacency.nodes)
        findings, denied = table.pooled(Role.FINDING), table.pooled(Role.EXCLUDES)
        nobody = findings.frequency == 0
        findings, none = findings.at(np.flatnonzero(~nobody)), findings.at(np.flatnonzero(nobody))
        self.direct = self._columns(findings)
        origin, node = self.above.spread(findings.node)
        self.found = self._columns(findings.at(origin)._replace(node=node))
        self.no = self._columns(denied, none)
        self.rarity = (self.found.sums(originals) + 0.5) / (originals + 1)  # P(q) by node
        self.expected = total(findings.disease, findings.frequency, self.size)
        self.published = np.log1p(table.publications())
        self.male = _male(graph, self.diseases)
        self.begins, self.ends = _onsets(graph, table)
        self.annotated = np.bincount(findings.disease, minlength=self.size) > 0
        self.twins = _twins(graph, self.diseases[:originals], self.database.tolist(), copies)
        self._lenders = groups(self.twins.member, self.twins.owners, self.size)
        self.fit = lru_cache(maxsize=512)(self._fit)

    def _columns(self, *pooled: Pooled) -> SparseColumns:
        disease, node = (np.concatenate([column[i] for column in pooled]) for i in (0, 1))
        frequency = np.concatenate([p.frequency for p in pooled])
        return columns(disease, node, frequency, rows=self.size, width=self.graph.adjacency.nodes)

    def _fit(self, q: int) -> tuple[NDArray[np.int8], Floats]:
        """How each disease comes to a finding (EXACT .. NONE), and log (1 + P(q | d) / P(q)), 0 for NONE."""
        value, kind = self.nearest(q)
        row, frequency = self.found[q]
        credit = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity[q])
        origin, disease = self.twins.spread(row)
        value[disease] = 0
        np.maximum.at(value, disease, credit[origin])
        kind[disease] = TWIN
        value[row], kind[row] = credit, NARROWER
        kind[self.direct[q].row] = EXACT
        refused = self.denied(q) & (kind >= TWIN)
        value[refused], kind[refused] = 0, NONE
        return kind, value

    def nearest(self, q: int) -> tuple[Floats, NDArray[np.int8]]:
        """The credit by the rarest finding of each disease that q is a kind of, or q itself; BROADER or NONE."""
        value, kind = np.zeros(self.size), np.full(self.size, NONE, np.int8)
        above = self.above[q]
        for a in above[np.argsort(-self.rarity[above], kind="stable")].tolist():
            row, frequency = self.found[a]
            value[row] = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity[a])
            kind[row] = BROADER
        return value, kind

    def lenders(self, disease: int) -> list[int]:
        """The twins that a disease borrows findings from."""
        found: list[int] = self._lenders[disease].tolist()
        return found

    def denied(self, q: int) -> Bools:
        """Which diseases do not have q or what it is a kind of."""
        found = np.zeros(self.size, bool)
        for a in self.above[q].tolist():
            found[self.no[a].row] = True
        return found

    def missing(self, present: Iterable[int]) -> Floats:
        """The sum of the frequencies of what each disease is annotated with and the patient was not said to have.

        Neither what comes above a finding of the patient nor a kind of it is missing.
        """
        near = [kin[q] for q in present for kin in (self.above, self.below)]
        row, frequency = self.direct.of(np.unique(np.concatenate([np.empty(0, np.int64), *near])))
        return (self.expected - total(row, frequency, self.size)).clip(0)

    def other_sex(self, sex: str) -> Bools:
        """Which diseases hardly occur in that sex."""
        return self.male if sex == "female" else np.zeros(self.size, bool)

    def other_age(self, age: float | None, onset: tuple[float, float] | None) -> Bools:
        """Which diseases begin later than the patient's age, or at no age at which the illness began."""
        late = self.begins > (np.inf if age is None else age)
        if onset is None:
            return np.asarray(late, bool)
        return np.asarray(late | (self.begins > onset[1]) | (self.ends < onset[0]))


def _male(graph: LocalGraph, diseases: Ints) -> Bools:
    """Which diseases are inherited only in a way that spares women."""
    ways = ByRole(graph, Role.INHERITANCE).objects(diseases)
    males = {node for node in np.unique(ways.node).tolist() if graph.at(node).id in _MALES}
    is_male = np.isin(ways.node, list(males))
    male, other = (np.bincount(ways.origin, which, len(diseases)) for which in (is_male, ~is_male))
    spared: Bools = (male > 0) & (other == 0)
    return spared


def _onsets(graph: LocalGraph, table: DiseaseTable) -> tuple[Floats, Floats]:
    """The earliest and the latest age at which each disease begins; NaN where nothing is said."""
    first, last = np.full(len(table.diseases), np.nan), np.full(len(table.diseases), np.nan)
    at = np.flatnonzero(table.of_role(Role.ONSET))
    for node in np.unique(table.node[at]).tolist():
        ages = ONSETS.get(graph.at(node).id)
        disease = table.disease[at[table.node[at] == node]]
        if ages:
            first[disease] = np.fmin(first[disease], ages[0])
            last[disease] = np.fmax(last[disease], ages[1])
    return first, last


def _twins(graph: LocalGraph, diseases: Ints, database: Sequence[str], copies: Sequence[tuple[int, str]]) -> Groups:
    """For each disease those that it lends its findings to: entries of the same disease in other databases.

    Where the copy of a disease borrows from one that has a copy without the same reference, it borrows from that.
    """
    keys: dict[str, list[int]] = defaultdict(list)
    genes = ByRole(graph, Role.GENE).objects(diseases)
    for disease, gene in zip(genes.origin.tolist(), genes.node.tolist(), strict=True):
        keys[f"gene {gene}"].append(disease)
    for disease, node in enumerate(diseases.tolist()):
        keys[_wording(graph.at(node).name)].append(disease)
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
