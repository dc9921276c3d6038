"""What a frame tells of a patient that labels may forbid a medicine for, in the form in which labels are searched."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.frame import Frame, Named, Patient
from kgmed.graph.base import LocalGraph, Scope, names_of
from kgmed.graph.contradictions import WARNS, Warning, warnings_of
from kgmed.language.labels import GROUPS, GROWN, OLD, Level, is_local, level_of, readings, route
from kgmed.language.particulars import circumstances_of, people_of
from kgmed.language.text import has_cjk
from kgmed.question.patient import is_allergy
from kgmed.records import Link, Mention, Triple
from kgmed.steps.family import MEDICINES, Family, class_patterns, classes_by_name, medicines_of, substance
from kgmed.stop import check_stop
from kgmed.vocabulary import Predicate

VERSION = 3  # goes up when the columns kept beside a graph change
CHILDREN = GROUPS.index("children")
_NOT_FOR, _ANYHOW, _WITH = "people whom classes are not for", " anyhow", "not with "
_COLUMNS = ("node", "group", "below", "witness")
_SHARE = 4  # ours: a medicine is forbidden by its siblings where at least a fourth of them say so, and two
_MOST = 12.0  # years: "children" without an age are taken to be younger
_SHORT = (3, 2)  # letters and characters that a name must have to be looked for in a text
_WORD = 5  # ours: letters below which a name is a whole word there
Forbidden = tuple[int, float, int]  # group, below which age, the medicine whose label says so


# --- Groups of people: read from all labels once, kept beside the graph.


@lru_cache(maxsize=8)
def forbidden_groups(graph: LocalGraph) -> dict[int, list[Forbidden]]:
    """By node the groups that a medicine is forbidden for, by its own label or by those of its substance."""
    key = f"{VERSION} {graph.label}"
    kept = cached_arrays(graph.folder, "forbidden-groups", key, _COLUMNS, lambda: _arrays(graph))
    found: dict[int, list[Forbidden]] = {}
    for node, *row in zip(*(kept[name].tolist() for name in _COLUMNS), strict=True):
        found.setdefault(node, []).append((int(row[0]), float(row[1]), int(row[2])))
    return found


def _arrays(graph: LocalGraph) -> Arrays:
    own = _own_labels(graph)
    rows = [(n, g, below, n) for n, said in own.items() for g, (level, below) in said.items() if level == Level.FORBIDS]
    rows += [row for nodes in medicines_of(graph).values() for row in _of_siblings(graph, nodes, own)]
    columns = list(zip(*dict.fromkeys(rows), strict=True)) or [()] * len(_COLUMNS)
    kinds = (np.int64, np.int64, np.float64, np.int64)
    return {n: np.array(c, kind) for n, c, kind in zip(_COLUMNS, columns, kinds, strict=True)}


_Own = dict[int, dict[int, tuple[Level, float]]]  # node -> group -> what its label says, below which age


def _own_labels(graph: LocalGraph) -> _Own:
    """What each label says of each group; the gravest, and of equals what reaches the highest age."""
    table, found = warnings_of(graph), _Own()
    for node in table.nodes:
        said = [r for w in table.of(node) for r in readings(w.text, contraindication=w.contraindication)]
        for r in sorted(said, key=lambda r: (r.level, r.below)):
            found.setdefault(node, {})[GROUPS.index(r.group)] = (r.level, r.below)
    return found


def _of_siblings(graph: LocalGraph, nodes: Sequence[int], own: _Own) -> Iterator[tuple[int, int, float, int]]:
    """What medicines of one substance that say nothing of a group are forbidden for by most of those that do."""
    speaking = [node for node in nodes if node in own]
    ways = {node: route(graph.at(node).name) for node in nodes} if len(speaking) > 1 else {}
    for group in {g for node in speaking if ways for g in own[node]}:
        for node in nodes:
            bare = substance(graph.at(node).name) == graph.at(node).name.casefold()
            if not bare and group in own.get(node, {}):
                continue
            like = [n for n in nodes if n != node and (bare or ways[n] == ways[node])]
            said = {n: own[n][group] for n in like if group in own.get(n, {})}
            against = sorted((below, n) for n, (level, below) in said.items() if level == Level.FORBIDS)
            if len(against) > 1 and 2 * len(against) >= len(said) and _SHARE * len(against) >= len(like):
                yield node, group, *against[len(against) // 2]


@lru_cache(maxsize=1 << 14)
def not_for(name: str, product: str = "") -> tuple[tuple[int, float], ...]:
    """The groups that a medicine of a name is not for by the vocabulary, with below which age; of ointments few are.

    Labels of a graph often do not say what everybody knows: their own silence is no leave. `product` = what the
    medicine is a part of, whose form counts.

    >>> not_for("阿司匹林片"), not_for("Lisinopril"), not_for("红霉素软膏"), not_for("四环素", "复方四环素软膏")
    (((2, 16.0), (13, inf), (19, inf)), ((0, inf),), (), ())
    """
    local = is_local(product or name)
    keys = (k for k in vocabulary.members("classes", _NOT_FOR) if not local or k.endswith(_ANYHOW))
    found = (k for k in keys if vocabulary.compiled("classes", k, Predicate.BROAD_MATCH).search(name))
    said = (k.removesuffix(_ANYHOW).split(" ", 2)[1:] for k in found)  # "not in pregnancy", "not under 12", "not with"
    every = (*GROUPS, *beside())
    rows = ((CHILDREN, float(who)) if how == "under" else (every.index(who), np.inf) for how, who in said)
    return tuple(dict.fromkeys(rows))


@vocabulary.kept()
def beside() -> tuple[str, ...]:
    """The illnesses and foods with which the vocabulary says that medicines are not for somebody."""
    keys = (k.removesuffix(_ANYHOW) for k in vocabulary.members("classes", _NOT_FOR) if k.startswith(_WITH))
    return tuple(dict.fromkeys(k[len(_WITH) :] for k in keys))


def _named_of(frame: Frame) -> dict[int, str]:
    """Of those that a frame tells of, by their number behind the groups of people, the name that it has for each."""
    p, asked = frame.patient, [n for ask in frame.asks for n in ask.things]
    told = (n for n in (*frame.findings, *asked) if n not in feared(frame))
    names = [name for n in (*p.has, *p.takes, *told) if not n.negated for name in n.names]
    rows = [(i, vocabulary.compiled("classes", _WITH + key, Predicate.NAMED_BY)) for i, key in enumerate(beside())]
    found = {len(GROUPS) + i: [name for name in names if said.search(name)] for i, said in rows}
    return {group: own[0] for group, own in found.items() if own}


def groups_of(patient: Patient) -> dict[int, float | None]:
    """The groups that a patient is of, with the age where it counts; an age alone makes a child or an old person.

    >>> groups_of(Patient(age=4.0)), groups_of(Patient(groups=("pregnancy",)))
    ({2: 4.0}, {0: None})
    >>> groups_of(Patient(groups=("children",), traits=("infant",)))
    {2: 1.0}
    """
    said = [g for g in patient.groups if g in GROUPS]
    age = patient.age
    if age is None and "children" in said:  # as old as the word for it may mean
        age = next((years for word, years in _AGES.items() if word in patient.traits), None)
    young = age is not None and age < GROWN
    said += ["children"] * young + ["older people"] * (age is not None and age >= OLD)
    return {GROUPS.index(g): age if g == "children" and young else None for g in said}


_AGES = {"newborn": 0.077, "infant": 1.0}  # years: 28 days by WHO; infants are in their first year


def reaches(group: int, below: float, groups: Mapping[int, float | None]) -> bool:
    """Whether what is forbidden for a group, of children below an age, is forbidden for who is of some groups.

    >>> [reaches(CHILDREN, 6.0, {CHILDREN: age}) for age in (6.0, 8.0, None)], reaches(CHILDREN, 18.0, {CHILDREN: None})
    ([True, False, False], True)
    """
    age = groups.get(group)
    return group in groups and (group != CHILDREN or (below >= _MOST if age is None else age <= below))


# --- Illnesses, medicines taken, allergies: looked for by all their names.


@dataclass(frozen=True)
class Told:
    """A thing that a frame tells of: its name for the answer, its nodes, a pattern of what texts call it by.

    `substances` = of a medicine what it is made of; `stems` = patterns of the names of its class.
    """

    name: str
    nodes: frozenset[int]
    pattern: re.Pattern[str]
    substances: frozenset[str] = frozenset()
    stems: tuple[re.Pattern[str], ...] = ()

    def level(self, warning: Warning, ids: frozenset[str], *, allergy: bool = False) -> Level:
        """What a warning says of the thing, or of an allergy to it."""
        if warning.id:
            return (Level.FORBIDS if warning.contraindication else Level.CARE) if warning.id in ids else Level.SILENT
        return level_of(warning.text, self.pattern, contraindication=warning.contraindication, allergy=allergy)


@dataclass(frozen=True)
class Circumstances:
    """All of a frame that may forbid a medicine."""

    groups: dict[int, float | None]
    illnesses: tuple[Told, ...] = ()
    taken: tuple[Told, ...] = ()
    allergens: tuple[Told, ...] = ()
    had: tuple[Told, ...] = ()  # of the illnesses those that the patient is said to have, and no findings
    called: Mapping[int, str] = field(default_factory=dict)  # of the groups those that are no people

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.groups or self.illnesses or self.taken or self.allergens)


_ILL = frozenset({"disease", "phenotype", "symptom", "finding"})
_OF_EFFECTS = "relation side_effects drug_causes causes complications frequency".split()  # noqa: SIM905


def feared(frame: Frame) -> set[Named]:
    """What somebody asks whether a medicine causes, and nobody has."""
    things = [n for ask in frame.asks if ask.intent in _OF_EFFECTS for n in ask.things]
    return {n for n in things if n.kind in _ILL and n not in frame.patient.has}


def circumstances(graph: LocalGraph, frame: Frame) -> Circumstances:
    """What a frame tells of its patient; the things asked about are among the illnesses, each for all but itself.

    What only says of what group the patient is ("27 weeks pregnant") is no illness beside it, nor what is only feared.
    """
    subjects = [n for ask in frame.asks for n in ask.things if n.kind not in MEDICINES]
    told = [n for n in (*frame.findings, *(subjects if len(subjects) > 1 else ())) if n not in feared(frame)]
    ill = [n for n in (*frame.patient.has, *told) if not is_allergy(n.names[0])]  # labels mean those to the medicine
    groups, called = groups_of(frame.patient), _named_of(frame)
    return Circumstances(
        groups | dict.fromkeys(called),
        tuple(things_of(graph, [n for n in ill if n.kind not in MEDICINES and not _is_group(n, groups)])),
        tuple(things_of(graph, [*frame.patient.takes, *(n for n in frame.patient.has if n.kind in MEDICINES)])),
        tuple(things_of(graph, frame.patient.allergic_to)),
        tuple(things_of(graph, [n for n in frame.patient.has if n.kind == "disease" and not _is_group(n, groups)])),
        called,
    )


def _is_group(named: Named, groups: Collection[int]) -> bool:
    """Whether something that is no disease says that the patient is of one of some groups."""
    said = {p.name[0] for name in named.names[:1] for p in people_of(name)} if named.kind != "disease" else set()
    return bool(said & {GROUPS[g] for g in groups})


def things_of(graph: LocalGraph, named: Iterable[Named]) -> Iterator[Told]:
    """Each thing that is not denied, once."""
    for one in dict.fromkeys(n for n in named if not n.negated):
        check_stop()
        links = one.links[:1]
        yield _told(graph, one.names, links[0] if links else None)


@lru_cache(maxsize=1024)
def _told(graph: LocalGraph, names: tuple[str, ...], link: Link | None) -> Told:
    """A thing by the names that a question and a graph have for it; of a medicine with its substance and class."""
    nodes = _nodes(graph, names, link)
    called = [*names, *(text for n in nodes for text, scope in names_of(graph, n) if scope <= Scope.TRANSLATION)]
    medicine = not nodes or any(graph.at(node).kind in MEDICINES for node in nodes)
    made = {substance(name) for name in called} if medicine else set()
    rows = [
        (asked.pattern, stem)
        for asked, _, stem in class_patterns()
        if any(stem.search(name) or asked.fullmatch(name) for name in called)
    ]
    short = [name for name in names[:1] if has_cjk(name)]  # 碘, as it was written
    long = [name for name in dict.fromkeys([*called, *made]) if len(name) >= _SHORT[has_cjk(name)] or name in short]
    words = [_in_text(name) for name in long]
    words += [c.in_text.pattern for name in names for c in circumstances_of(name)]
    words += [asked for asked, _ in rows]
    pattern = re.compile("|".join(words) or r"(?!)", re.IGNORECASE)
    shown = names[0] if names else link.entity.name if link else ""
    return Told(shown, frozenset(nodes), pattern, frozenset(made), tuple(stem for _, stem in rows))


def _in_text(name: str) -> str:
    """The pattern of a name in a text; a short one is a whole word there, and in capitals where it is: ALL is not all.

    Too little or too much of a quantity is another thing than the quantity, and so is what is taken against an illness.
    """
    if has_cjk(name) or len(name) >= _WORD:
        return rf"(?<![低高抗]){re.escape(name)}" if has_cjk(name) else rf"\b{re.escape(name)}"
    return rf"(?-i:\b{re.escape(name)}\b)" if name.isupper() else rf"\b{re.escape(name)}\b"


def _nodes(graph: LocalGraph, names: Sequence[str], link: Link | None) -> list[int]:
    """The entries of a thing: those that are the same, and of what is not linked those of its names."""
    links = (
        [link]
        if link
        else [Link(Mention(n, n, -1, -1), m.entity, 1.0, "exact") for n in names for m in graph.lookup(n)]
    )
    return list(dict.fromkeys(graph.number(e.id) for x in links for e in Family(graph).twins(x)))


# --- Classes of medicines that labels forbid with an allergy to another class.

_SEVERAL = 2  # ours: substances of a class whose labels must say so


@lru_cache(maxsize=256)
def against_classes(graph: LocalGraph, allergen: Told) -> dict[int, list[tuple[int, str]]]:
    """By class, of which the allergen is none, the medicines and texts of labels that forbid it with the allergy.

    Cephalosporins and penicillins: what the labels of several substances of a class say asks for care with the others.
    """
    table, found = warnings_of(graph), dict[int, list[tuple[int, str]]]()
    said = ((n, w) for n in table.nodes for w in table.of(n) if not w.id)
    texts = [(n, w.text) for n, w in said if allergen.level(w, frozenset(), allergy=True) is Level.FORBIDS]
    for node, text in texts:
        for row in classes_by_name(graph.at(node).name):
            if class_patterns()[row][2] not in allergen.stems:
                found.setdefault(row, []).append((node, text))
    named = {row: {substance(graph.at(n).name) for n, _ in said} for row, said in found.items()}
    return {row: said for row, said in found.items() if len(named[row]) >= _SEVERAL}


# --- The triples behind a verdict.


def triples_of(graph: LocalGraph, node: int, said: set[str]) -> list[Triple]:
    """The warnings on a medicine that say one of some texts, or are about a thing of one of those names."""
    around = [*graph.neighbours(graph.at(node).id, limit=1 << 20, roles=WARNS), *graph.attributes(graph.at(node).id)]
    return [t for t in around if t.relation.role in WARNS and t.subject == graph.at(node) and t.object.name in said]


def group_texts(graph: LocalGraph, node: int, group: int) -> set[str]:
    """What on a medicine forbids it for a group."""
    return {
        w.text
        for w in warnings_of(graph).of(node)
        for r in readings(w.text, contraindication=w.contraindication)
        if r.group == GROUPS[group] and r.level is Level.FORBIDS
    }
