"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgmed.errors import BadInput
from kgmed.graph.base import ByRole, Hops, KnowledgeGraph, LocalGraph
from kgmed.language.question import OF_THE_SUBJECT, asking_part, asks_diagnosis, roles_asked
from kgmed.pipeline import Pipeline
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.diagnosis import Consult, Diagnosis, Rarity, first
from kgmed.steps.facts import facts as read_facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.rank import First
from kgmed.steps.retrieve import Overview
from kgmed.toolkit import Toolkit

# --- Ranker: adds what the graph warns of to the drugs that the evidence speaks of.


_DRUG_ROLES = (Role.TREATS, Role.DOSAGE, Role.ADVERSE, Role.INTERACTS)
_MANY = 1 << 20  # all of them: a contraindication is never left out


@dataclass(frozen=True)
class Warned:
    """The evidence, then a warning for each drug that a piece of it is about: all its contraindications.

    Where the question asks what to take, so does each drug in a list.
    A drug without contraindications brings its first `cautions` precautions.
    """

    graph: KnowledgeGraph
    cautions: int = 2

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence and, kind "warning", what it must not be read without."""
        said = {t for e in evidence for t in e.triples}
        listed = Role.TREATS in roles_asked(query.text)
        about = (t.subject for e in evidence for t in e.triples if _is_about(e, t, listed=listed))
        drugs = dict.fromkeys(drug for drug in about if drug.id)  # a treatment that is only a text has no warnings
        return [*evidence, *(w for drug in drugs for w in self._warning(drug, said))]

    def _warning(self, drug: Entity, said: set[Triple]) -> Iterator[Evidence]:
        """One piece with what is not said already."""
        mine = [t for t in self._of(drug, Role.CONTRAINDICATED) if t not in said]
        if not mine and not any(t.subject == drug and t.relation.role is Role.CONTRAINDICATED for t in said):
            mine = [t for t in self._of(drug, Role.PRECAUTION) if t not in said][: self.cautions]
        if mine:
            names = "; ".join(dict.fromkeys(t.object.name for t in mine))
            yield Evidence(f"{drug.name} — {mine[0].relation} → {names}", "warning", tuple(mine), (drug,))

    def _of(self, drug: Entity, role: Role) -> list[Triple]:
        around = self.graph.neighbours(drug.id, limit=_MANY, roles=(role,))
        said = [*around, *self.graph.attributes(drug.id)]
        return [t for t in said if t.relation.role is role and t.subject == drug]


def _is_about(evidence: Evidence, triple: Triple, *, listed: bool) -> bool:
    """Whether a piece of evidence speaks of the drug of a triple, or `listed` and it names it as a treatment."""
    role = triple.relation.role
    return (listed and role is Role.TREATS) or (role in _DRUG_ROLES and triple.subject in evidence.about)


# --- Retriever: for a question with options, the shortest ties between what it names and what each option names.


Links = Callable[[str], Sequence[Link]]  # the entities named in a text


@dataclass(frozen=True)
class OptionPaths:
    """Ties of one or two edges to each option. Evidence: kind "option", id = its letter, about = (entity, option).

    The score of a tie is 1 / log2(2 + degree) of what it passes through, and of the ends for a single edge: a tie
    through a hub says little. A tie of one edge counts double.
    """

    graph: LocalGraph
    link: Links
    keep: int = 3  # ties an option

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The ties of each option, best first; an option without one has no evidence."""
        stem = [self.graph.number(link.entity.id) for link in links if not link.mention.negated]
        found: list[Evidence] = []
        for letter, text in query.question.options:
            nodes = [self.graph.number(link.entity.id) for link in self.link(text)]
            ties = [tie for a in stem for b in nodes if a != b for tie in self._ties(a, b, letter)]
            found += sorted(ties, key=lambda e: -e.score)[: self.keep]
        return sorted(found, key=lambda e: -e.score)

    def _ties(self, a: int, b: int, letter: str) -> list[Evidence]:
        near, far = self._around(a), self._around(b)
        ties: list[tuple[tuple[int, ...], float]] = [((edge,), 2 * self._worth(b)) for edge in near.get(b, [])]
        middles = sorted((near.keys() & far.keys()) - {a, b}, key=lambda n: (self._degree(n), n))[: self.keep]
        ties += [((near[n][0], far[n][0]), self._worth(n)) for n in middles]
        return [self._evidence(a, b, letter, edges, worth) for edges, worth in ties[: self.keep]]

    def _around(self, node: int) -> dict[int, list[int]]:
        """The neighbours of a node with the edges to them."""
        out, into = self.graph.adjacency
        rows: dict[int, list[int]] = {}
        for csr in (out, into):
            span = slice(int(csr.indptr[node]), int(csr.indptr[node + 1]))
            edges = np.arange(span.start, span.stop) if csr.edge is None else csr.edge[span]
            for near, edge in zip(csr.neighbour[span].tolist(), edges.tolist(), strict=True):
                rows.setdefault(near, []).append(edge)
        return rows

    def _degree(self, node: int) -> int:
        out, into = self.graph.adjacency
        return int(out.indptr[node + 1] - out.indptr[node] + into.indptr[node + 1] - into.indptr[node])

    def _worth(self, node: int) -> float:
        return float(1 / np.log2(2 + self._degree(node)))

    def _evidence(self, a: int, b: int, letter: str, edges: Sequence[int], worth: float) -> Evidence:
        triples: list[Triple] = [self.graph.triple(edge) for edge in edges]
        text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in triples)
        about = (self.graph.at(a), self.graph.at(b))
        return Evidence(f"{letter}: {text}", "option", tuple(triples), about, round(worth, 4), letter)


# --- Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.
# An asked role leads from an entity of the question to its other end: from a disease to the drugs that treat it, from
# a drug to its side effects. An entity that the graph says nothing of in that role is replaced by one of the same name,
# or, a substance, by its brands and the products of it alone. A list of what an entity has (its findings, its genes) is
# given heaviest first; long lists of treatments and tests are ranked. Where the question names findings only, the
# diseases that explain them stand between: the best is believed by `via`, each other by its odds against the best.
#
# The score of a candidate is the sum over those entities of (belief in the entity) * (weight of the edge), divided by
# 1 + log10 of the number of things the candidate is said to treat (test, ...): a drug for everything is evidence for
# nothing.


PATIENT = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # asked of a patient
RANKED = (Role.TREATS, Role.TESTS)  # long lists, of which the most specific come first
OF_A_DRUG = (Role.ADVERSE, Role.CONTRAINDICATED, Role.INTERACTS, Role.PRECAUTION, Role.DOSAGE, Role.TREATS)
Believed = dict[int, tuple[float, Evidence]]  # a disease that explains the findings -> belief in it, and why


@dataclass(frozen=True)
class AskedFor:
    """The answers to each role asked for: kind "neighbours" for a list, "text" for a text, "candidate" for one of many.

    A candidate is about (answer, entities it is tied to). `through` = whether diseases that explain the findings may
    answer where nothing that is named has an answer of its own.
    """

    graph: LocalGraph
    keep: int = 10
    via: float = 0.5
    diseases: int = 10
    listed: int = 12
    pieces: int = 3
    products: int = 3
    through: bool = True

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The answers and the texts the graph holds for those roles, in the order of the roles asked for."""
        stated = [link for link in links if not link.mention.negated]
        return [piece for role in roles_asked(query.text) for piece in self._about(query, links, stated, role)]

    def _about(self, query: Query, links: Sequence[Link], stated: Sequence[Link], role: Role) -> list[Evidence]:
        """The evidence for one role."""
        speaking: dict[Entity, tuple[Triple, ...]] = {}
        for link in stated:
            speaking |= self._speaking(link, role)
        pieces = [piece for entity, why in speaking.items() for piece in self._listed(entity, role, why)]
        if role not in RANKED:
            return pieces
        named = {self.graph.number(entity.id): 1.0 for entity in speaking}
        sure = any(entity.kind == "disease" for entity in speaking)
        implied = self._implied(query, links) if not sure and (speaking or self.through) else {}
        if not implied and all(len(piece.triples) < self.listed for piece in pieces):
            return pieces
        texts = [piece for piece in pieces if piece.kind == "text"]
        believed = {n: belief for n, (belief, _) in implied.items()} | named
        return texts + self._candidates(believed, role, {n: i for n, i in implied.items() if n not in named})

    def _speaking(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """What the graph speaks of in a role, the linked entity or others in its place, and what leads there."""
        alike = (link.entity, *(tie for tie in link.ties if tie.kind == link.entity.kind))
        for entity in alike:
            if self._speaks(entity, role):
                return {entity: ()}
        return self._products(link.entity, role) if role in OF_A_DRUG else {}

    def _speaks(self, entity: Entity, role: Role) -> bool:
        """Whether the graph has a triple or a text of a role for an entity, as its subject where that matters."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        if len(steps.objects(node).node) or (role not in OF_THE_SUBJECT and len(steps.subjects(node).node)):
            return True
        return any(t.relation.role is role for t in self.graph.attributes(entity.id))

    def _products(self, substance: Entity, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """A few products of a substance alone, or its brands, of which the graph speaks, those named after it first."""
        contains = ByRole(self.graph, Role.INGREDIENT)
        node = [self.graph.number(substance.id)]
        hops = contains.subjects(node)
        parts = np.bincount(contains.objects(hops.node).origin, minlength=len(hops.node))
        same = ByRole(self.graph, Role.SAME_AS)
        ways = [Hops(*(c[parts == 1] for c in hops)), same.objects(node), same.subjects(node)]
        alone = [
            (self.graph.at(n), e) for way in ways for n, e in zip(way.node.tolist(), way.edge.tolist(), strict=True)
        ]
        alone.sort(key=lambda row: (substance.name not in row[0].name, row[0].name))
        found: dict[Entity, tuple[Triple, ...]] = {}
        for product, edge in alone:
            if len(found) < self.products and self._speaks(product, role):
                found[product] = (self.graph.triple(edge),)
        return found

    def _listed(self, entity: Entity, role: Role, why: tuple[Triple, ...]) -> Iterator[Evidence]:
        """What an entity has in a role, heaviest first, a text a piece."""
        around = Overview(self.graph, listed=self.listed, roles=(role,), pieces=self.pieces)
        reason = "".join(f"; {_written(t)}" for t in why)
        for piece in around.of(entity):
            mine = piece.triples[0].subject == entity
            if piece.triples[0].tail.id and (mine or role not in OF_THE_SUBJECT):
                yield Evidence(piece.text + reason, "neighbours", (*piece.triples, *why), (entity,), piece.score)
        for t in self.graph.attributes(entity.id):
            if t.relation.role is role:
                yield Evidence(_written(t) + reason, "text", (t, *why), (entity,), 1.0)

    def _implied(self, query: Query, links: Sequence[Link]) -> Believed:
        """The diseases that explain the findings, with a belief (`via` for the best, less by odds) and why."""
        cases = Diagnosis(self.graph, keep=self.diseases)(query, links)
        if not cases:
            return {}
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score)
        belief = self.via * odds
        return {self.graph.number(e.about[0].id): (float(b), e) for e, b in zip(cases, belief, strict=True)}

    def _candidates(self, belief: dict[int, float], role: Role, implied: Believed) -> list[Evidence]:
        """The best of all that are tied to those entities by a role."""
        steps, nodes = ByRole(self.graph, role), list(belief)
        ties: dict[int, dict[int, tuple[float, int]]] = {}  # candidate -> entity -> worth and edge of its best tie
        for hops, back in ((steps.objects(nodes), steps.subjects), (steps.subjects(nodes), steps.objects)):
            candidates, at = np.unique(hops.node, return_inverse=True)
            breadth = np.bincount(back(candidates).origin, minlength=len(candidates))
            worth = np.array(list(belief.values()))[hops.origin] * self._weights(hops) / (1 + np.log10(breadth[at]))
            for node, origin, value, edge in zip(*(c.tolist() for c in (*hops[1::-1], worth, hops.edge)), strict=True):
                mine = ties.setdefault(node, {})
                mine[nodes[origin]] = max(mine.get(nodes[origin], (0.0, edge)), (value, edge))
        score = {node: sum(value for value, _ in mine.values()) for node, mine in ties.items()}
        best = sorted(score, key=lambda n: (-score[n], n))[: self.keep]
        return [self._evidence(node, score[node], ties[node], implied) for node in best]

    def _weights(self, hops: Hops) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        weight = self.graph.weight
        return np.ones(len(hops.edge)) if weight is None else weight[hops.edge].astype(np.float64)

    def _evidence(self, node: int, score: float, ties: dict[int, tuple[float, int]], implied: Believed) -> Evidence:
        """The candidate with its strongest triples; a disease that no word of the question names brings its reason."""
        strongest = sorted(ties, key=lambda origin: (-ties[origin][0], origin))[:3]
        facts = [self.graph.triple(ties[origin][1]) for origin in strongest]
        reasons = [t for origin in strongest if origin in implied for t in implied[origin][1].triples[:1]]
        shown = tuple(dict.fromkeys([*facts, *reasons]))
        about = (self.graph.at(node), *(self.graph.at(origin) for origin in strongest))
        return Evidence(_joined(shown), "candidate", shown, about, round(score, 4))


def _written(triple: Triple) -> str:
    return f"{triple.head.name} — {triple.relation} → {triple.tail.name}"


def _joined(triples: Sequence[Triple]) -> str:
    """The triples in words, those of one head and relation together.

    >>> from kgmed.records import Relation
    >>> a, b, c = (Entity(n, n) for n in "abc")
    >>> _joined([Triple(a, Relation("treats"), b), Triple(a, Relation("treats"), c)])
    'a — treats → b, c'
    """
    rows: dict[tuple[str, str], list[str]] = {}
    for t in triples:
        rows.setdefault((t.head.name, t.relation.name), []).append(t.tail.name)
    return "; ".join(f"{head} — {relation} → {', '.join(tails)}" for (head, relation), tails in rows.items())


# --- The method without a language model: what the graph says, chosen by what the question asks, cited line by line.


@dataclass(frozen=True)
class Fitting:
    """The retriever that fits the question.

    A question with options gets the ties to each; one that asks for drugs, tests, causes, ... those; one that
    describes a patient the diseases that fit, each with its care, before them; any other, or one for which these find
    nothing, what the graph says of the entities it names.
    """

    graph: LocalGraph
    link: Links

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The evidence of the first that has any; of two where a question asks for a diagnosis and for more."""
        if query.question.options:
            return OptionPaths(self.graph, self.link)(query, links)
        asked = roles_asked(query.text)
        patient = _describes_a_patient(query.text, links) and (not asked or any(role in PATIENT for role in asked))
        found = AskedFor(self.graph, through=not patient)(query, links) if asked else []
        if asks_diagnosis(query.text) or patient:
            found = [*Consult(self.graph, care=first(asked))(query, links), *found]
        return found or Overview(self.graph)(query, links)


def _describes_a_patient(text: str, links: Sequence[Link]) -> bool:
    """Whether a text tells of someone and does not only ask, or names several things that are there.

    >>> _describes_a_patient("What is gout?", []), _describes_a_patient("My toe hurts. What helps?", [])
    (False, True)
    """
    stated = {link.entity for link in links if not link.mention.negated}
    return len(stated) > 1 or asking_part(text).strip() != text.strip()


# --- Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers of `facts`."""

    keep: int = 12  # ours: pieces of evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounded:
    """The numbers of `grounded`."""

    keep: int = 8  # ours: pieces of evidence
    answer_tokens: int = 256  # ours; a small model here is asked for 64


_SMALL = 64  # tokens of an answer by a model in this process


@methods.register(
    "facts",
    about=About(
        does="the evidence that fits the question, grouped and cited; no model is asked",
        calls=Calls.always(0, "no step asks a model"),
        needs=frozenset({"local_graph"}),
    ),
    presets={"": Facts()},
)
def facts(toolkit: Toolkit, *, settings: Facts | None = None) -> Pipeline:
    """The evidence is the answer; no model is asked."""
    s = settings or Facts()
    return Pipeline(
        recognize=toolkit.recognize,
        link=toolkit.link,
        retrieve=(Fitting(toolkit.graph, toolkit.linked),),
        rank=(First(s.keep), Warned(toolkit.graph), Rarity(toolkit.graph)),
        phrase=Numbered(),
        read=read_facts,
        name="facts",
        graph=toolkit.graph.label,
    )


@methods.register(
    "llm",
    about=About(
        does="a model answers from the evidence of `facts`; what the evidence does not bear out is marked as its own",
        calls=Calls.always(1, "the answer"),
    ),
    presets={"": Grounded()},
)
def grounded(toolkit: Toolkit, *, settings: Grounded | None = None) -> Pipeline:
    """A language model answers from the evidence; sentences that the evidence does not bear out are marked as its own.

    Where the model cannot be reached, or nothing that it writes stands, the facts are read instead, and the run says
    so. Raises `BadInput` without a model in the toolkit.
    """
    if toolkit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s = settings or Grounded()
    small = not toolkit.llm.name.startswith(("openai/", "anthropic/"))
    name, most = ("ask/reader", min(_SMALL, s.answer_tokens)) if small else ("ask/detailed", s.answer_tokens)
    from kgmed.steps.check import Checked  # not read in where no model is asked
    from kgmed.steps.read import LLMReader

    reader = LLMReader(toolkit.llm, name=name, max_tokens=most, prompts=toolkit.prompts)
    base = facts(toolkit, settings=Facts(keep=s.keep))
    return replace(base, read=Checked(reader, toolkit.check), otherwise=read_facts, name="llm")
