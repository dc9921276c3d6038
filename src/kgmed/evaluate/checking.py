"""How often the check of sentences is right: true sentences of a graph, and the same made false in known ways.

Each case is a sentence and the evidence that a method would have shown beside it: the piece that the sentence is made
from, and pieces about other things. The sentences are made from forms (`check_forms.toml`), those of the part `test`
written after the check was done; some make one claim, some a list, some two claims. A case is made false by

- `entity`: another entity of the same kind, which the graph does not tie to the subject;
- `other evidence`: what another piece of the same evidence says of something else;
- `relation`: a form of another role, which the graph does not have between the two;
- `negated`: a form that denies it;
- `number`, `unit`: another number or unit in a dose or a frequency.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from typing import Any

from kgmed.disk import packaged_toml
from kgmed.errors import BadInput
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.quantities import Quantity, quantities
from kgmed.language.text import fold
from kgmed.pipeline import Checker
from kgmed.records import Answer, Context, Entity, Evidence, Query, Question, Role, Triple

KINDS = ("true", "entity", "other evidence", "relation", "negated", "number", "unit")
LABELS = ("supported", "contradicted", "unsupported")
PARTS = ("dev", "dev2", "test", "held", "third", "fourth")
_PIECES = 4  # other pieces in the evidence of a case
_LISTED = 3  # names in a list
_LONGEST = 30  # characters of a name; 60 in scripts with spaces
_MOST = 200  # siblings looked at around one entity
_OPPOSED = {Role.CONTRAINDICATED: Role.TREATS, Role.EXCLUDES: Role.FINDING}  # said in place of the first: contradicted


@dataclass(frozen=True, slots=True)
class CheckCase:
    """A sentence, its evidence, what was done to it and the label that is right."""

    sentence: str
    evidence: tuple[Evidence, ...]
    kind: str
    want: str
    role: str
    shape: str  # one, list, two


@dataclass(frozen=True, slots=True)
class Share:
    """A share of n, with Wilson's interval of 95 %."""

    right: int
    n: int

    @property
    def share(self) -> float:
        """The share itself; nan of none."""
        return self.right / self.n if self.n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Its bounds (Wilson 1927).

        >>> [round(x, 3) for x in Share(95, 100).interval]
        [0.888, 0.978]
        """
        if not self.n:
            return float("nan"), float("nan")
        z, p, n = 1.959964, self.share, self.n
        middle, wide = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - wide) / (1 + z * z / n), (middle + wide) / (1 + z * z / n)


# --- Forms.


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of one language and part."""

    true: Mapping[str, tuple[str, ...]]
    denied: Mapping[str, tuple[str, ...]]
    joint: tuple[str, str]
    together: tuple[str, ...]

    def joined(self, names: Sequence[str]) -> str:
        """Names as a list."""
        return self.joint[0].join(names[:-1]) + self.joint[1] + names[-1] if len(names) > 1 else names[0]


def forms(language: str, part: str) -> Forms:
    """The forms of a part, in Chinese or else in English; raises `BadInput` for no such part."""
    if part not in PARTS:
        raise BadInput(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    told = packaged_toml("kgmed.evaluate.check_forms")["zh" if language == "zh" else "en"]
    parts = {role: p[part] for role, p in told.items() if isinstance(p, dict) and part in p}
    true = {role: tuple(p["true"]) for role, p in parts.items()}
    denied = {role: tuple(p["not"]) for role, p in parts.items() if "not" in p}
    return Forms(true, denied, tuple(told["and"]), tuple(told["together"]))


# --- Sentences.


class Maker:
    """Makes cases of a graph, by a seed."""

    def __init__(self, graph: LocalGraph, part: str = "test", *, seed: int = 0) -> None:
        """`part` = of the forms; raises `BadInput` where the graph has no triple that they can say."""
        self.graph, self.draw = graph, random.Random(seed)  # noqa: S311
        self.forms = forms(graph.language, part)
        self.edges = {role: edges for role in Role if role.value in self.forms.true and (edges := self._edges(role))}
        if not self.edges:
            raise BadInput(f"{graph.label} has no relation that a sentence could be made of")
        self.up = ByRole(graph, Role.IS_A)

    def _edges(self, role: Role) -> list[int]:
        """A sample of the edges of a role."""
        import numpy as np

        wanted = np.array([r.role is role for r in self.graph.relations], bool)
        found = np.flatnonzero(wanted[self.graph.adjacency.out.relation])
        return self.draw.sample(found.tolist(), min(len(found), 5_000))

    def cases(self, number: int) -> Iterator[CheckCase]:
        """So many triples, each said truly and falsely in every way that it can be; of every role alike many."""
        roles = list(self.edges)
        numbers = islice(self._numbers(), number)
        for i in range(number):
            yield from self._of(self._triple(roles[i % len(roles)]), ("one", "one", "list", "two")[i // len(roles) % 4])
            yield from next(numbers, ())

    def _triple(self, role: Role) -> Triple:
        """A triple of a role whose names can stand in a sentence."""
        for _ in range(200):
            triple = self.graph.triple(self.draw.choice(self.edges[role]))
            plain = _sayable(triple.subject) and _sayable(triple.object)
            if plain and fold(triple.head.name) != fold(triple.tail.name) and not self._is_disputed(triple):
                return triple
        return self.graph.triple(self.draw.choice(self.edges[role]))

    def _is_disputed(self, triple: Triple) -> bool:
        """Whether the graph says both that a disease has a finding and that it has not."""
        if triple.relation.role is not Role.EXCLUDES:
            return False
        stated = self.graph.neighbours(triple.subject.id, limit=1 << 20, roles=(Role.FINDING,))
        return any(t.object == triple.object for t in stated)

    def _siblings(self, triple: Triple) -> list[Triple]:
        """The triple, and others of its subject and relation."""
        around = self.graph.neighbours(triple.subject.id, limit=_MOST, roles=(triple.relation.role,))
        same = [t for t in around if t.subject == triple.subject and t.relation == triple.relation]
        rest = [t for t in same if t.object != triple.object and _sayable(t.object)]
        return [triple, *self.draw.sample(rest, min(len(rest), 5))]

    def _of(self, triple: Triple, shape: str) -> Iterator[CheckCase]:
        role, siblings = triple.relation.role, self._siblings(triple)
        others = [self._siblings(self._triple(self._role())) for _ in range(_PIECES)]
        evidence = self._evidence([siblings, *others])
        said = siblings[:_LISTED] if shape == "list" else siblings[:1]
        second = others[0][0]
        tail = self._say(second.relation.role, second.subject, [second.object]) if shape == "two" else ""

        def case(kind: str, want: str, text: str) -> CheckCase:
            first, last = (text, tail) if self.draw.random() < 0.5 or kind == "true" else (tail, text)
            return CheckCase(self._together(first, last) if tail else text, evidence, kind, want, role.value, shape)

        objects = [t.object for t in said]
        yield case("true", "supported", self._say(role, triple.subject, objects))
        if strange := self._strange(triple, role):
            false = "supported" if role is Role.EXCLUDES and not strange else "unsupported"
            yield case("entity", false, self._say(role, triple.subject, self._with(objects, strange)))
        if moved := next((g[0].object for g in others if self._is_free(triple, g[0], g)), None):
            yield case("other evidence", "unsupported", self._say(role, triple.subject, self._with(objects, moved)))
        if other := self._other_role(triple, said):
            want = "contradicted" if _OPPOSED.get(role) is other else "unsupported"
            yield case("relation", want, self._say(other, triple.subject, objects))
        if role.value in self.forms.denied:
            yield case("negated", "contradicted", self._say(role, triple.subject, objects, denied=True))

    def _role(self) -> Role:
        return self.draw.choice(list(self.edges))

    def _with(self, objects: Sequence[Entity], strange: Entity) -> list[Entity]:
        """The objects, one of them another."""
        at = self.draw.randrange(len(objects))
        return [*objects[:at], strange, *objects[at + 1 :]]

    def _strange(self, triple: Triple, role: Role) -> Entity | None:
        """Another object of the same role and kind that the graph does not tie to the subject."""
        for _ in range(50):
            found = self._triple(role).object
            if found.kind == triple.object.kind and self._is_strange(triple, found):
                return found
        return None

    def _is_strange(self, triple: Triple, found: Entity) -> bool:
        """Whether no edge joins an entity to a subject, or to what is of its kind, and no name is within another."""
        mine = [t.object for t in self._all(triple.subject)]
        names = [fold(e.name) for e in (*mine, triple.subject)]
        name = fold(found.name)
        if found in mine or found == triple.subject or any(name in n or n in name for n in names):
            return False
        broader = {n for e in mine if e.id for n in self.up.closure(self.graph.number(e.id), up=True)}
        return self.graph.number(found.id) not in broader

    def _all(self, entity: Entity) -> list[Triple]:
        """All that the graph says of an entity, the other end as object."""
        from dataclasses import replace

        found = [*self.graph.neighbours(entity.id, limit=1 << 20), *self.graph.attributes(entity.id)]
        plain = (replace(t, relation=replace(t.relation, reverse=False)) for t in found)
        return [t if t.head == entity else replace(t, head=t.tail, tail=t.head) for t in plain]

    def _is_free(self, triple: Triple, other: Triple, group: Sequence[Triple]) -> bool:
        """Whether what another piece is about can be put into a sentence falsely."""
        return bool(other.object.id) and other.subject != triple.subject and self._is_strange(triple, other.object)

    def _other_role(self, triple: Triple, said: Sequence[Triple]) -> Role | None:
        """A role that the graph does not have between the two, opposed to that of the triple where there is one."""
        role = triple.relation.role
        told = {t.relation.role for t in self._all(triple.subject) for s in said if t.object == s.object}
        if opposed := _OPPOSED.get(role):
            return opposed if opposed.value in self.forms.true and opposed not in told else None
        near = _ALIKE.get(role, frozenset())
        free = [r for r in self.edges if r not in told and r not in near and r is not Role.EXCLUDES]
        return self.draw.choice(free) if free else None

    def _say(self, role: Role, subject: Entity, objects: Sequence[Entity], *, denied: bool = False) -> str:
        form = self.draw.choice((self.forms.denied if denied else self.forms.true)[role.value])
        names = [e.name for e in objects]
        return form.format(a=subject.name, b="\n- ".join(names) if "\n- {b}" in form else self.forms.joined(names))

    def _together(self, first: str, second: str) -> str:
        if _ANSWERED.search(first + second):  # nobody goes on behind a question's answer or a list
            return f"{first}\n{second}"
        x, y = (text.rstrip(".。") for text in (first, second))
        return self.draw.choice(self.forms.together).format(x=x, y=y)

    def _evidence(self, groups: Sequence[Sequence[Triple]]) -> tuple[Evidence, ...]:
        """A piece for each group, as retrieval writes them, in any order."""
        pieces = [_piece(group) for group in groups]
        self.draw.shuffle(pieces)
        return tuple(pieces)

    # --- Doses and frequencies.

    def _numbers(self) -> Iterator[list[CheckCase]]:
        """The cases with numbers: of doses where the graph has such texts, else of how often something is found."""
        yield from self._doses()
        yield from self._shares()

    def _doses(self) -> Iterator[list[CheckCase]]:
        subjects = self.graph.of_kind("drug").tolist() if "dosage" in self.forms.true else []
        self.draw.shuffle(subjects)
        for node in subjects:
            texts = [t for t in self.graph.attributes(self.graph.at(node).id) if t.relation.role is Role.DOSAGE]
            texts = [t for t in texts if quantities(t.tail.name) and len(t.tail.name) < 2 * _LONGEST]
            if texts and _sayable(texts[0].head):
                yield list(self._dose(self.draw.choice(texts), texts))

    def _dose(self, triple: Triple, texts: Sequence[Triple]) -> Iterator[CheckCase]:
        evidence = self._evidence([texts, *[self._siblings(self._triple(self._role())) for _ in range(_PIECES)]])

        def case(kind: str, want: str, text: str) -> CheckCase:
            return CheckCase(form.format(a=triple.head.name, b=text), evidence, kind, want, "dosage", "one")

        form = self.draw.choice(self.forms.true["dosage"])
        yield case("true", "supported", triple.tail.name)
        known = [q for t in texts for q in quantities(t.tail.name)]
        for kind, change in (("number", self._other_number), ("unit", self._other_unit)):
            if (text := change(triple.tail.name, known)) is not None:
                yield case(kind, "contradicted", text)

    def _other_number(self, text: str, known: Sequence[Quantity]) -> str | None:
        """The text with one number changed to one that is nowhere told."""
        found = list(_DIGITS.finditer(text))
        self.draw.shuffle(found)
        for match in found:
            for factor in self.draw.sample((2, 3, 5, 0.5, 10, 4), 6):
                changed = text[: match.start()] + f"{float(match[0]) * factor:g}" + text[match.end() :]
                if _is_strange_dose(changed, text, known):
                    return changed
        return None

    def _other_unit(self, text: str, known: Sequence[Quantity]) -> str | None:
        """The text with one unit changed to one that is nowhere told."""
        found = list(_UNITS.finditer(text))
        self.draw.shuffle(found)
        for match in found:
            for unit in self.draw.sample(_OTHER_UNITS[match[0].lower()], len(_OTHER_UNITS[match[0].lower()])):
                changed = text[: match.start()] + unit + text[match.end() :]
                if _is_strange_dose(changed, text, known):
                    return changed
        return None

    def _shares(self) -> Iterator[list[CheckCase]]:
        """How often a finding is seen, where the graph has a weight for it."""
        if "share" not in self.forms.true or Role.FINDING not in self.edges:
            return
        for _ in range(100 * _MOST):
            triple = self._triple(Role.FINDING)
            if 0.02 < triple.weight < 0.98:
                yield list(self._share(triple))

    def _share(self, triple: Triple) -> Iterator[CheckCase]:
        others = [self._siblings(self._triple(self._role())) for _ in range(_PIECES)]
        evidence = self._evidence([self._siblings(triple), *others])
        form = self.draw.choice(self.forms.true["share"])
        percent = round(100 * triple.weight)

        def case(kind: str, want: str, number: int) -> CheckCase:
            text = form.format(a=triple.subject.name, b=triple.object.name, n=number)
            return CheckCase(text, evidence, kind, want, "share", "one")

        yield case("true", "supported", percent)
        told = [q for s in triple.support for _, value in s.qualifiers for q in quantities(value)]
        far = [n for n in range(1, 100) if abs(n - percent) > 15 and not any(_holds(q, n) for q in told)]
        if far:
            yield case("number", "contradicted", self.draw.choice(far))


_ALIKE: Mapping[Role, frozenset[Role]] = {
    Role.CAUSE: frozenset({Role.RISK, Role.GENE, Role.ADVERSE, Role.COMPLICATION, Role.FINDING}),
    Role.RISK: frozenset({Role.CAUSE, Role.LOCATION}),
    Role.GENE: frozenset({Role.CAUSE, Role.RISK}),
    Role.INHERITANCE: frozenset({Role.FINDING, Role.ONSET}),
    Role.ONSET: frozenset({Role.FINDING, Role.INHERITANCE}),
    Role.ADVERSE: frozenset({Role.COMPLICATION, Role.CAUSE, Role.FINDING}),
    Role.COMPLICATION: frozenset({Role.FINDING, Role.ADVERSE, Role.CAUSE}),
    Role.FINDING: frozenset({Role.COMPLICATION, Role.ADVERSE, Role.CAUSE, Role.INHERITANCE, Role.ONSET}),
    Role.LOCATION: frozenset({Role.RISK}),
}  # roles that one word may mean: 引起, "can cause"
_ANSWERED = re.compile(r"[?？]|\n- ")
_DIGITS = re.compile(r"(?<![A-Za-z\d.])\d+(?:\.\d+)?")
_OTHER_UNITS: Mapping[str, tuple[str, ...]] = {
    "mg": ("g", "ml"), "g": ("mg", "kg"), "ml": ("l", "mg"), "片": ("粒", "袋"), "粒": ("片", "袋"), "袋": ("片", "支"),
    "丸": ("片", "袋"), "克": ("毫克", "毫升"), "毫克": ("克", "毫升"), "毫升": ("升", "毫克"), "支": ("袋", "片"),
    "次": ("周",), "包": ("片", "支"), "滴": ("毫升", "片"), "tablets": ("capsules", "ml"), "tablet": ("capsule", "ml"),
}  # fmt: skip
_UNITS = re.compile(
    rf"(?<=\d)\s*(?:{'|'.join(sorted(_OTHER_UNITS, key=len, reverse=True))})(?![A-Za-z])", re.IGNORECASE
)


def _is_strange_dose(changed: str, text: str, known: Sequence[Quantity]) -> bool:
    """Whether a changed dose says what no text of it says."""
    said, was = quantities(changed), quantities(text)
    if len(said) != len(was) or any(q.low > q.high for q in said):
        return False
    if any(now.low == now.high and before.low < before.high for now, before in zip(said, was, strict=True)):
        return False
    return any(not any(k.holds(q) for k in known) for q in said)


def _holds(quantity: Quantity, percent: int) -> bool:
    return quantity.unit == "%" and quantity.low - 2 <= percent <= quantity.high + 2


def _sayable(entity: Entity) -> bool:
    """Whether a name can stand in a sentence and is no sentence itself."""
    name = entity.name
    return 1 < len(name) <= _LONGEST * (2 if name.isascii() else 1) and not re.search(
        r"[;；。，:：\n]|,\s|\band\b|、", name
    )


def _piece(group: Sequence[Triple]) -> Evidence:
    """A piece of evidence, as retrieval writes it."""
    head, about = group[0].head, group[0].subject
    if all(t.head == head for t in group):
        text = f"{head.name} — {group[0].relation} → {', '.join(t.tail.name for t in group)}"
    else:
        text = f"{group[0].tail.name} ← {group[0].relation} — {', '.join(t.head.name for t in group)}"
    return Evidence(text, "neighbours", tuple(group), (about,))


# --- How the check did.


@dataclass(frozen=True, slots=True)
class Checking:
    """How a check did on cases."""

    rows: tuple[tuple[CheckCase, str, str], ...]  # case, label, reason

    def right(self, kind: str, role: str = "", shape: str = "") -> Share:
        """Of true sentences those supported, of false ones those that are flagged."""
        mine = [(c, label) for c, label, _ in self.rows
                if c.kind == kind and role in ("", c.role) and shape in ("", c.shape)]  # fmt: skip
        return Share(sum((label == "supported") == (kind == "true") for _, label in mine), len(mine))

    @property
    def false(self) -> Share:
        """Of all false sentences those that are flagged."""
        each = [self.right(kind) for kind in KINDS[1:]]
        return Share(sum(s.right for s in each), sum(s.n for s in each))

    @property
    def confusion(self) -> dict[str, dict[str, int]]:
        """How often each label was given where another was right."""
        counted = Counter((c.want, label) for c, label, _ in self.rows)
        return {want: {label: counted[want, label] for label in LABELS} for want in LABELS}

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        kinds = {kind: _told(self.right(kind)) for kind in KINDS if self.right(kind).n}
        return {"sentences": len(self.rows), "kinds": kinds, "false": _told(self.false), "confusion": self.confusion}


def _told(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"n": share.n, "share": share.share, "low": low, "high": high}


def checked(check: Checker, cases: Sequence[CheckCase], *, each: Callable[[int], object] = int) -> Checking:
    """How a check does on cases, one at a time."""
    rows = []
    for number, case in enumerate(cases, start=1):
        answer = check(Query(Question("")), Context("", case.evidence), Answer(case.sentence))
        labels = [v.label for v in answer.verdicts]
        label = next((w for w in ("contradicted", "unsupported") if w in labels or not labels), "supported")
        rows.append((case, label, "; ".join(v.reason for v in answer.verdicts)))
        each(number)
    return Checking(tuple(rows))
