"""Questions made by rule from any graph: is the right triple first, is what is not said denied, is a linker misled.

A true question is made of a triple; a false one of its subject and an object that the same relation leads to from
elsewhere, but that nothing ties to the subject. Every form stands in English and Chinese; a question is made only where
the names are in its language.

A true question about two things is right where the verdict is yes (or warns, of what may not be taken together) and its
triples hold both things. A question for a list is right where the first piece of evidence speaks of the thing in the
role asked for. A false one is denied where the verdict says no, the reverse, another tie or none.

Each case names one thing that the graph does not have, beside or around a name that it has: 左旋氯喹 is not 氯喹,
thrombocytopenia is not thrombocytosis. What may be linked is known from the rule, so no person has to mark anything.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from kgmed import vocabulary
from kgmed.graph.base import Alias, ByRole, LocalGraph, NodeRow, Scope, Source
from kgmed.graph.names import OPPOSITES, OPPOSITES_CJK, canonical_words
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.language.affixes import is_form
from kgmed.language.text import LETTER, has_cjk, normalise
from kgmed.linking.cascade import SUBSTANCES
from kgmed.records import Entity, Evidence, Link, Mention, Question, Role, Run, Triple, is_verdict
from kgmed.reward.cases import draw
from kgmed.steps.family import medicines_of, substance
from kgmed.toolkit import Toolkit

# Questions made of a graph's own triples: is the right triple first, and is what the graph does not say denied?


@dataclass(frozen=True)
class Form:
    """A form of question: {a} = the subject of a triple of the role, {b} = its object, "" = not made in a language."""

    role: Role
    english: str
    chinese: str

    @property
    def is_pair(self) -> bool:
        """Whether it names two things."""
        return "{a}" in self.english and "{b}" in self.english


_WORDS = tomllib.loads((resources.files(__package__) / "generated.toml").read_text(encoding="utf-8"))
FORMS = tuple(Form(Role(role), english, chinese) for role, english, chinese in _WORDS["forms"])


@dataclass(frozen=True)
class Made:
    """A question and the triple that it is made of; `true` = the graph says so."""

    form: Form
    text: str
    subject: Entity
    object: Entity
    true: bool


def made_of(graph: LocalGraph, language: str, each: int, seed: int = 0) -> Iterator[Made]:
    """`each` true questions of each form, and as many false ones of those about two things; fewer where there are none.

    The same seed gives the same questions. `graph` bears its names in the language, "en" or "zh".
    """
    for number, form in enumerate(FORMS):
        chance = random.Random(f"{seed} {language} {number}")  # noqa: S311 - a sample, not a secret
        named = [t for t in _triples(graph, form.role, chance, each * 40) if _names(form, t, language)]
        yield from (_made(form, language, t.subject, t.object, true=True) for t in named[:each])
        if form.is_pair and len(named) > 1:
            yield from _false(graph, form, language, named, each, chance)


def _triples(graph: LocalGraph, role: Role, chance: random.Random, most: int) -> list[Triple]:
    """Some triples of a role at random."""
    wanted = np.array([r.role is role for r in graph.relations], bool)
    edges = np.flatnonzero(wanted[graph.adjacency.out.relation]).tolist() if wanted.any() else []
    return [graph.triple(edge) for edge in chance.sample(edges, min(most, len(edges)))]


def _names(form: Form, triple: Triple, language: str) -> bool:
    """Whether the names that a form says can be said in a language: short, and no sentences."""
    said = [triple.subject] * ("{a}" in form.english) + [triple.object] * ("{b}" in form.english)
    if triple.subject.name.casefold() == triple.object.name.casefold():
        return False
    if language == "zh":
        gene = form.role is Role.GENE
        return all((has_cjk(e.name) or (gene and e.kind == "gene")) and 2 <= len(e.name) <= 12 for e in said)
    return all(e.name.isascii() and 3 <= len(e.name) <= 50 and e.name.count(" ") < 6 for e in said)


def _made(form: Form, language: str, subject: Entity, other: Entity, *, true: bool) -> Made:
    template = form.chinese if language == "zh" else form.english
    return Made(form, template.format(a=subject.name, b=other.name), subject, other, true)


def _false(
    graph: LocalGraph, form: Form, language: str, triples: Sequence[Triple], each: int, chance: random.Random
) -> Iterator[Made]:
    """Questions about subjects and objects that nothing ties."""
    found = 0
    for t in triples:
        other = chance.choice(triples).object
        if found < each and not _tied(graph, t.subject, other):
            found += 1
            yield _made(form, language, t.subject, other, true=False)


def _tied(graph: LocalGraph, one: Entity, other: Entity) -> bool:
    """Whether an edge joins two things, products of the same substance or any kind of them, or their names say so."""
    if one == other or one.name.casefold() in other.name.casefold() or other.name.casefold() in one.name.casefold():
        return True
    is_a, out, into = ByRole(graph, Role.IS_A), graph.adjacency.out, graph.adjacency.into
    same = medicines_of(graph)
    alike = [{graph.number(e.id), *same.get(substance(e.name), ())} for e in (one, other)]
    kinds = [list({n for node in nodes for n in is_a.closure(node, up=False)}) for nodes in alike]
    goal = np.array(kinds[1])
    near = [csr.neighbour[csr.indptr[node] : csr.indptr[node + 1]] for node in kinds[0] for csr in (out, into)]
    return bool(np.isin(np.concatenate(near), goal).any())


def is_right(made: Made, run: Run) -> bool:
    """Whether the first piece of evidence is what the question was made for; see the head of this file."""
    first = run.evidence[0] if run.evidence else None
    if first is None:
        return False
    if not made.true:
        return is_verdict(first, "no", "reverse", "other", "none")
    if made.form.is_pair:
        return is_verdict(first, "yes", "interacts", "no", "caution") and _holds(first, made)
    return any(t.relation.role is made.form.role for t in first.triples)


def _holds(evidence: Evidence, made: Made) -> bool:
    """Whether a verdict stands on triples and is about both things, under their ids or their names."""
    about = [*evidence.about, *(e for t in evidence.triples for e in (t.head, t.tail))]
    ids, names = {e.id for e in about}, {e.name.casefold() for e in about}
    return bool(evidence.triples) and all(
        e.id in ids or e.name.casefold() in names for e in (made.subject, made.object)
    )


@dataclass(frozen=True)
class FormTally:
    """How many questions of a form, a language and a premise there are, and how many of them are right."""

    form: Form
    language: str
    true: bool
    asked: int
    right: int
    wrong: tuple[str, ...]  # some that are not right


def tally(made: Sequence[Made], ask: Callable[[str], Run], language: str, *, shown: int = 3) -> list[FormTally]:
    """The counts by form and premise, in the order of the forms."""
    rows: dict[tuple[Form, bool], list[tuple[Made, bool]]] = {}
    for one in made:
        rows.setdefault((one.form, one.true), []).append((one, is_right(one, ask(one.text))))
    return [
        FormTally(
            form, language, true, len(row), sum(ok for _, ok in row), tuple(m.text for m, ok in row if not ok)[:shown]
        )
        for (form, true), row in rows.items()
    ]


# Questions made by rule from any graph to mislead a linker, and how often it was misled.

Understand = Callable[[str], tuple[Sequence[Mention], Sequence[Link]]]

_EN, _ZH = _WORDS["en"], _WORDS["zh"]
_BEGINNINGS = {"hyper", "hypo", "tachy", "brady", "macro", "micro", "poly", "oligo", "increase", "decrease"}
_SAME = 8  # letters that two forms of a word share
_JOINED = re.compile("[/:]")  # two names in one
_DESCRIBED = re.compile(
    r"^[是为每含其药]|本品|适量|辅[料科]|以外|分为|联用|类|多种|皮下注射|为.*剂|主要|成方|成[份分]|[等和加含或]|治疗|混合|中药|[伴及的与]|联合|[—、/《]|[0-9]|来自|^名称|^有|剂为|^赋[形型]剂|.如.|[a-z]mg$|[，。；：,;:.]|样$|[（(\[]"
)  # no names
_SHORTEST, _SHORTEST_CJK, _LONGEST = 5, 3, 40
_ALIKE = 2  # edits between two names that look alike
_EACH = 24  # names that are compared with one


@dataclass(frozen=True, slots=True)
class TrapCase:
    """A question with a name that the graph lacks.

    Attributes:
        rule: prefix, suffix, bracket, thing, opposite, contained, alike or domain.
        text: The question.
        start: Where the made name begins in it; links that do not touch it are not counted.
        end: Where it ends.
        real: The graph's name that it was made of.
        right: The ids of entities that may be linked to it all the same.
    """

    rule: str
    text: str
    start: int
    end: int
    real: str
    right: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Trapped:
    """What was linked in a trap, and what is wrong with it: "other drug", "opposite", "other entity" or "linked"."""

    case: TrapCase
    link: Link
    wrong: str


def traps(graph: LocalGraph, *, each: int = 40, seed: int = 0) -> list[TrapCase]:
    """The cases made from a graph's names, at most `each` a rule and affix list; none holds a name of the graph."""
    drugs, things = (
        _listed_names(graph, substances=True, seed=seed),
        _listed_names(graph, substances=False, seed=seed),
    )
    made: list[TrapCase] = []
    for rule, affixes, affixes_cjk in (
        ("prefix", _before(_EN["prefixes"]), _before(_ZH["prefixes"])),
        ("suffix", _behind(_EN["suffixes"]), _behind(_ZH["suffixes"])),
        ("bracket", _behind(_EN["brackets"]), _behind(_ZH["brackets"])),
    ):
        made += islice(_with_affixes(rule, drugs, affixes, affixes_cjk, graph), 2 * each)
    made += islice(_with_affixes("thing", things, _EN["things"], _ZH["things"], graph), 2 * each)
    made += islice(_opposites(graph, things), 4 * each)
    return made


def other_domains() -> list[TrapCase]:
    """The questions of other domains (other_domains.txt)."""
    text = resources.files("kgmed.evaluate").joinpath("other_domains.txt").read_text(encoding="utf-8")
    return [TrapCase("domain", q, 0, len(q), "") for q in text.splitlines() if q and not q.startswith("#")]


def without_look_alikes(
    graph: LocalGraph, folder: Path, *, each: int = 60, seed: int = 0
) -> tuple[Store, list[TrapCase]]:
    """The graph's names without substances that hold or look like another's name, in `folder`, and these as cases."""
    names = _listed_names(graph, substances=True, seed=seed)
    hidden = dict(islice(_holding(names), each)) | dict(islice(_alike(names, seed), each))
    nodes = {m.entity.id for name in hidden for m in graph.lookup(name)}
    build(Source("reduced", lambda: _rows(graph, nodes), language=graph.language), folder)
    reduced = open_store(folder)
    made = (_case(rule, name, real, _same(name, names, reduced)) for name, (rule, real) in hidden.items())
    return reduced, [case for case in made if not reduced.lookup(case.text[case.start : case.end])]


def trapped(understand: Understand, cases: Iterable[TrapCase]) -> list[Trapped]:
    """Every wrong link, in the order of the cases."""
    found = []
    for case in cases:
        met = [x for x in understand(case.text)[1] if x.mention.start < case.end and x.mention.end > case.start]
        found += [Trapped(case, x, _wrong(case, x)) for x in met if x.entity.id not in case.right and _counts(case, x)]
    return found


def told(cases: Sequence[TrapCase], wrong: Sequence[Trapped]) -> list[tuple[str, int, int, int, int]]:
    """A row a rule: cases, and those with another drug, with the opposite, with another entity."""
    counted = Counter(c.rule for c in cases)
    kinds = {(id(t.case), t.wrong): t.case.rule for t in wrong}
    by = Counter((rule, kind) for (_, kind), rule in kinds.items())
    return [
        (rule, n, by[rule, "other drug"], by[rule, "opposite"], by[rule, "other entity"]) for rule, n in counted.items()
    ]


def gate(toolkit: Toolkit, *, each: int = 40, seed: int = 0) -> tuple[list[TrapCase], list[Trapped]]:
    """All cases for a toolkit's graph, and every wrong link: its own names, other domains, and its look-alikes hidden.

    For the last a second graph of its names is built, in a folder that is gone afterwards. Which names are taken is
    drawn by the seed.
    """
    cases = [*traps(toolkit.graph, each=each, seed=seed), *other_domains()]
    wrong = trapped(lambda text: toolkit.understood(Question(text)), cases)
    with TemporaryDirectory() as folder:
        reduced, hidden = without_look_alikes(toolkit.graph, Path(folder) / "reduced", each=each, seed=seed)
        other = Toolkit(reduced, encoder=toolkit.encoder)
        wrong += trapped(lambda text: other.understood(Question(text)), hidden)
    return [*cases, *hidden], wrong


def _counts(case: TrapCase, link: Link) -> bool:
    """Whether a link is wrong: a salt or form of a drug is that drug, a disease in a drug's name is named there."""
    made = case.text[case.start : case.end]
    said = {w[:_SAME] for w in canonical_words(made)}
    if case.rule == "opposite" and not has_cjk(made) and {w[:_SAME] for w in canonical_words(link.entity.name)} <= said:
        return False
    rest = made.replace(link.mention.surface, "", 1)
    same = bool(rest) and link.mention.surface in case.text and is_form(rest)
    return not same and (case.rule not in ("contained", "alike") or link.entity.kind in SUBSTANCES)


def _wrong(case: TrapCase, link: Link) -> str:
    if link.entity.kind in SUBSTANCES and case.rule != "domain":
        return "other drug"
    taken_for = normalise(link.entity.name) == normalise(case.real) or normalise(case.real) in normalise(
        link.mention.name
    )
    return "opposite" if case.rule == "opposite" and taken_for else "other entity"


def _listed_names(graph: LocalGraph, *, substances: bool, seed: int) -> list[str]:
    """The names of the substances, or of diseases and findings, in an order drawn by the seed."""
    kinds = SUBSTANCES if substances else {"disease", "symptom", "phenotype"}
    nodes = {int(n) for kind in kinds for n in graph.of_kind(kind)}
    wanted = {n.text for n in graph.names(scopes=(Scope.PREFERRED, Scope.EXACT)) if n.node in nodes and _fits(n.text)}
    return sorted(wanted, key=lambda text: draw(text, seed))


def _fits(name: str) -> bool:
    """Whether a name is long and plain enough that a part of it is no chance."""
    cjk = has_cjk(name)
    plain = sum(map(len, LETTER.findall(name))) >= len(name) - name.count(" ")
    long = (_SHORTEST_CJK if cjk else _SHORTEST) <= len(name) <= _LONGEST
    return long and (plain or not name.isupper()) and not (_DESCRIBED.search(name) if cjk else _JOINED.search(name))


def _ids(graph: LocalGraph, *names: str) -> Iterator[str]:
    return (m.entity.id for name in names if name for m in graph.lookup(name))


def _before(affixes: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((a, "") for a in affixes)


def _behind(affixes: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple(("", a) for a in affixes)


def _with_affixes(
    rule: str,
    names: Sequence[str],
    affixes: Sequence[tuple[str, str]],
    affixes_cjk: Sequence[tuple[str, str]],
    graph: LocalGraph,
) -> Iterator[TrapCase]:
    """A name with the next affix of its script before or behind it; in English only what looks like a word."""
    for i, name in enumerate(names):
        chosen = affixes_cjk if has_cjk(name) else affixes
        before, behind = chosen[i % len(chosen)]
        if before.isalpha() and " " in name:
            continue
        joined = before + (
            name if has_cjk(name) or before.endswith("-") else name[:1].lower() + name[1:] if before else name
        )
        if not graph.lookup(joined + behind):
            yield _case(
                rule, joined + behind, name, frozenset(_ids(graph, before.strip("-"), behind.strip(" -()（）")))
            )


def _case(rule: str, name: str, real: str, right: frozenset[str] = frozenset()) -> TrapCase:
    asked = _ZH["asked"] if has_cjk(name) else _EN["asked"]
    start = asked.index("{")
    return TrapCase(rule, asked.format(name), start, start + len(name), real, right)


def _opposites(graph: LocalGraph, names: Sequence[str]) -> Iterator[TrapCase]:
    """A name turned into its opposite: what the graph has of that name is right, the name it was made of is not.

    So is a name that is one letter from it: Hypoxemia turned by rule is Hyperxemia, for Hyperoxemia.
    """
    known = [n for n in graph.names(scopes=(Scope.PREFERRED, Scope.EXACT)) if not has_cjk(n.text)]
    folded = [n.text.lower() for n in known]
    for name in names:
        if (other := _turned(name)) is None:
            continue
        right = {m.entity.id for m in graph.lookup(other)}
        if right & {m.entity.id for m in graph.lookup(name)}:
            continue
        right |= {m.entity.id for a, b in _parts(other) for m in graph.lookup(other[a:b])}
        if right & (own := {m.entity.id for m in graph.lookup(name)}):
            continue  # a name of the same entity stands in it, unturned
        if not has_cjk(other):
            near = extract(other.lower(), folded, scorer=OSA.distance, score_cutoff=1, limit=_EACH)
            right |= {graph.at(known[i].node).id for _, _, i in near} - own
        yield _case("opposite", other, name, frozenset(right))


def _parts(name: str) -> Iterator[tuple[int, int]]:
    """Every run of characters of a Chinese name, of words of another."""
    starts = range(len(name)) if has_cjk(name) else [m.start() for m in re.finditer(r"\b\w", name)]
    ends = range(1, len(name) + 1) if has_cjk(name) else [m.end() for m in re.finditer(r"\w\b", name)]
    return ((a, b) for a in starts for b in ends if a < b)


def _turned(name: str) -> str | None:
    """The name with its first opposite word turned round; None where it has none.

    >>> _turned("Hypokalemia"), _turned("Left ear pain"), _turned("高血压"), _turned("Gout")
    ('Hyperkalemia', 'Right ear pain', '低血压', None)
    """
    english = [p for p in OPPOSITES if "small" not in p]  # "smalld" is no word
    pairs = [(p[0], p[1]) for p in OPPOSITES_CJK] if has_cjk(name) else english
    for one, other in [*pairs, *((b, a) for a, b in pairs)]:
        pattern = re.escape(one) if has_cjk(name) else rf"\b{one}" + ("" if one in _BEGINNINGS else r"\b")
        if found := re.search(pattern, name, re.IGNORECASE):
            new: str = other.capitalize() if found.group()[:1].isupper() else other
            return name[: found.start()] + new + name[found.end() :]
    return None


def _holding(names: Sequence[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names in which another's name stands, and more than a salt or a form beside it."""
    known = set(names)
    for name in names:
        inner = [name[a:b] for a, b in _parts(name) if (a, b) != (0, len(name)) and name[a:b] in known]
        longest = max(inner, key=len, default="")
        if longest and not is_form(name.replace(longest, "", 1)):
            yield name, ("contained", longest)


def _same(name: str, names: Sequence[str], graph: LocalGraph) -> frozenset[str]:
    """The ids of the drug that a name is a preparation of, where it is made for somebody or its form is misspelled.

    小儿对乙酰氨基酚灌肠液 is a preparation of 对乙酰氨基酚. 联苯苄唑乳斉 differs by one character from 联苯苄唑乳膏, in
    the form alone: no other drug is nearer to it.
    """
    known = set(names)
    inner = max((name[a:b] for a, b in _parts(name) if b - a < len(name) and name[a:b] in known), key=len, default="")
    rest = name.replace(inner, "", 1)
    like = (n.replace(inner, "", 1) for n in names if len(n) == len(name) and inner in n)
    misspelled = (is_form(other) and OSA.distance(other, rest) == 1 for other in like)
    same = inner and (is_form(vocabulary.listed("whom a preparation is for").sub("", rest)) or any(misspelled))
    return frozenset(_ids(graph, inner)) if same else frozenset()


def _alike(names: Sequence[str], seed: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names that are an edit or two from another's: found by equal halves."""
    halves: dict[str, list[str]] = {}
    for name in names:
        for half in {name[: len(name) // 2].lower(), name[-(len(name) // 2) :].lower()}:
            if len(half) > 1:
                halves.setdefault(half, []).append(name)
    for name in sorted(names, key=lambda text: draw(text, seed + 1)):
        near = [
            *halves.get(name[: len(name) // 2].lower(), ())[:_EACH],
            *halves.get(name[-(len(name) // 2) :].lower(), ())[:_EACH],
        ]
        limit = 1 if has_cjk(name) else _ALIKE
        close = [n for n in near if n != name and OSA.distance(n.lower(), name.lower(), score_cutoff=limit) <= limit]
        if close and normalise(close[0]) != normalise(name):
            yield name, ("alike", close[0])


def _rows(graph: LocalGraph, hidden: set[str]) -> Iterator[NodeRow]:
    """The entities of a graph with their names, without those hidden."""
    whole: dict[int, tuple[str, list[Alias]]] = {}
    for n in graph.names():
        name, others = whole.get(n.node, ("", []))
        preferred = n.scope == Scope.PREFERRED and not name
        whole[n.node] = (n.text, others) if preferred else (name, [*others, Alias(n.text, Scope(n.scope))])
    for node, (name, aliases) in whole.items():
        entity = graph.at(node)
        if entity.id not in hidden:
            yield NodeRow(entity.id, name, entity.kind, aliases=tuple(aliases))
