"""Phrasers: the evidence as the text that a reader is shown; facts in short sentences, English and Chinese."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

from kgmed.graph.base import KnowledgeGraph
from kgmed.language.relations import in_english
from kgmed.language.text import fold_word, has_cjk, lazily, normalise, one_line, prompt_language
from kgmed.models.base import LLM, Encoder
from kgmed.prompts import prompt
from kgmed.records import Context, Entity, Evidence, Query, Relation, Role, Triple
from kgmed.steps.family import MEDICINES, stated

# Phrasers: the evidence as the text that a reader is shown.

# --- Evidence as numbered lines.


@dataclass(frozen=True, slots=True)
class Numbered:
    """One line a piece of evidence, as in `[1] asthma | treated by | salbutamol`.

    `limit` = the most pieces shown, 0 = all; evidence that warns is shown beyond it.
    """

    limit: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        cited = tuple(e for i, e in enumerate(evidence) if not self.limit or i < self.limit or e.is_safety)
        lines = [f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)]
        return Context("\n".join(lines), cited)


# --- HyKGE's background: chains as arrows, then what the things at their ends are.


_IS = {"en": "{} is defined as: {}", "zh": "{}是：{}"}


@dataclass(frozen=True, slots=True)
class Arrows:
    """A numbered line a chain, then a numbered line a description of the entities at the chains' ends, each once.

    A description is evidence of its own, kind "description", so that it can be cited. With an encoder, one whose
    cosine with the question is below `at_least` is left out. An entity without a description has no line.
    """

    graph: KnowledgeGraph
    descriptions: bool = True
    encoder: Encoder | None = None
    at_least: float = 0.2  # HyKGE's code; the paper shows all

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        ends = (entity for e in evidence for entity in e.about) if self.descriptions else ()
        said = self._fitting(query, definitions(self.graph, query, ends))
        cited = (*evidence, *said)
        return Context("\n".join(f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)), cited)

    def _fitting(self, query: Query, said: list[Evidence]) -> list[Evidence]:
        """The descriptions that have to do with the question."""
        if self.encoder is None or not said:
            return said
        rows = self.encoder([query.text, *(e.text for e in said)])
        cosines = (rows[1:] @ rows[0]).tolist()
        return [e for e, cosine in zip(said, cosines, strict=True) if cosine >= self.at_least]


def definitions(graph: KnowledgeGraph, query: Query, entities: Iterable[Entity]) -> list[Evidence]:
    """What the graph says each of the entities is, each once, in the language of the question."""
    whole = [graph.entity(entity.id) for entity in dict.fromkeys(entities) if entity.id]
    form = _IS["zh" if has_cjk(query.text) else "en"]
    return [_description(entity, form) for entity in whole if entity.description.strip()]


def _description(entity: Entity, form: str) -> Evidence:
    return Evidence(form.format(entity.name, one_line(entity.description)), "description", (), (entity,))


# --- MindMap's evidence as numbered chains: `[1] P1: (cough)<-has symptom-(flu)-test->(PCR)`.
# Names stand in brackets as in Wen et al. 2024, 3.2; arrows, which the paper leaves out, keep the direction of the
# graph.


@dataclass(frozen=True, slots=True)
class NumberedChains:
    """One line a piece of evidence: its number, its label (P1, N1, ...) and its chain."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        from kgmed.models.replies import labels  # read in where a model is to answer by label

        lines = [
            f"[{i}] {label}: {chain(e)}"
            for i, (label, e) in enumerate(zip(labels(evidence), evidence, strict=True), start=1)
        ]
        return Context("\n".join(lines), tuple(evidence))


def chain(evidence: Evidence, named: Callable[[Relation], str] = str) -> str:
    """A piece of evidence as a chain of names in brackets; its text where it has no triples.

    `named` gives the words for a relation: those in the language of the question, unless others are asked for.

    >>> from kgmed.records import Entity, Relation
    >>> flu, a, b = Entity("1", "flu"), Entity("2", "fever"), Entity("3", "cough")
    >>> has = Relation("has_symptom")
    >>> chain(Evidence("", "neighbours", (Triple(flu, has, a), Triple(flu, has, b)), (flu,)))
    '(flu)-has symptom->(fever, cough)'
    >>> chain(Evidence("", "path", (Triple(flu, has, a), Triple(flu, has, b)), (a, b)))
    '(fever)<-has symptom-(flu)-has symptom->(cough)'
    """
    if not evidence.triples:
        return one_line(evidence.text)
    if evidence.kind == "path":
        return _path(evidence, named)
    return "; ".join(_grouped(evidence.triples, named))


def _path(evidence: Evidence, named: Callable[[Relation], str]) -> str:
    """The steps one after the other, from the entity that the path starts at."""
    at = evidence.about[0] if evidence.about else evidence.triples[0].head
    text = f"({_name(at.name)})"
    for t in evidence.triples:
        if t.head == at:
            at, text = t.tail, f"{text}-{_name(named(t.relation))}->({_name(t.tail.name)})"
        else:
            at, text = t.head, f"{text}<-{_name(named(t.relation))}-({_name(t.head.name)})"
    return text


def _grouped(triples: Sequence[Triple], named: Callable[[Relation], str]) -> list[str]:
    """The triples of one head and relation, or of one relation and tail, as one chain."""
    by_head: dict[tuple[str, str, str], list[Triple]] = {}
    by_tail: dict[tuple[str, str, str], list[Triple]] = {}
    for t in triples:
        by_head.setdefault((t.head.id, t.head.name, t.relation.name), []).append(t)
        by_tail.setdefault((t.relation.name, t.tail.id, t.tail.name), []).append(t)
    groups = min((by_head, by_tail), key=len).values()
    return [f"({_names(t.head.name for t in g)})-{_name(named(g[0].relation))}->({_names(t.tail.name for t in g)})"
            for g in groups]  # fmt: skip


def _names(names: Iterable[str]) -> str:
    """Names, each once, between commas."""
    return ", ".join(dict.fromkeys(map(_name, names)))


def _name(text: str) -> str:
    return one_line(text.replace("_", " "))


# --- Evidence put into sentences by a model, one sentence for each label, held against the triples it came from.


_LINE = lazily(r"(?:\d{1,2}[.)]\s+)?(?P<label>[^:：]{1,60})[:：](?P<text>.+)")
_DECORATION = " \t>*-•#"
Style = Literal["mindmap", "declarative"]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Sentences in place of chains.

    `style="mindmap"` keeps all evidence, paths and neighbours asked for apart (two calls); "declarative" is MKG-Rank's
    conversion (one call), which may leave out what has no bearing on the question, but never a warning; what stands on
    no triple is in sentences already. A sentence that lost the entities of its triple is not used: the chain stands in
    its place, and `notes` say so.
    """

    llm: LLM
    style: Style = "mindmap"
    max_tokens: int = 600
    prompts: Path | None = None
    language: str = ""  # of the sentences; "" = that of the question

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The sentences in the order of the evidence, each with its number and label."""
        if not evidence:
            return Context("")
        from kgmed.models.replies import labels

        names = labels(evidence)
        said: dict[str, str] = {}
        for step, group in self._steps(list(zip(names, evidence, strict=True))):
            said |= self._asked(query, step, group)
        return self._context(list(zip(names, evidence, strict=True)), said)

    def _steps(self, rows: list[tuple[str, Evidence]]) -> list[tuple[str, list[tuple[str, Evidence]]]]:
        """The prompts to ask with, and the evidence of each."""
        if self.style == "declarative":
            facts = [row for row in rows if row[1].triples]
            return [("mkg_rank/declarative", facts)] if facts else []
        ordered = sorted(rows, key=lambda row: row[1].kind != "path")
        groups = groupby(ordered, key=lambda row: row[1].kind == "path")
        return [("mindmap/paths" if path else "mindmap/neighbours", list(group)) for path, group in groups]

    def _asked(self, query: Query, step: str, rows: list[tuple[str, Evidence]]) -> dict[str, str]:
        """The model's sentences by label."""
        named = attrgetter("name") if self.language else str  # of the graph, for sentences in another language
        values = {"evidence": "\n".join(f"{label}: {chain(e, named)}" for label, e in rows)}
        values["fence"] = f"=== {blake2b(values['evidence'].encode(), digest_size=6).hexdigest()}"
        values |= {"question": query.text} if self.style == "declarative" else {}
        asked = prompt(step, language=self.language or prompt_language(query.question), folder=self.prompts)
        reply = self.llm(asked.messages(**values), max_tokens=self.max_tokens)
        return sentences_by_label(reply.text, [label for label, _ in rows])

    def _context(self, rows: list[tuple[str, Evidence]], said: dict[str, str]) -> Context:
        """The context, with what was lost or left out."""
        lines: list[str] = []
        cited: list[Evidence] = []
        lost: list[str] = []
        dropped: list[str] = []
        left_out = self.style == "declarative" and bool(said)
        for label, e in rows:
            plain = self.style == "declarative" and not e.triples
            if label not in said and left_out and not (e.is_safety or plain):
                dropped.append(label)
                continue
            text = one_line(e.text) if plain else said.get(label, "")
            if not keeps_entities(text, e):
                lost.append(label)
                text = chain(e)
            cited.append(e)
            shown = label if label[0] in "PN" else f"E{len(cited)}"
            lines.append(f"[{len(cited)}] {shown}: {text}")
        notes = [f"rewritten evidence lost the triple of {', '.join(lost)}; shown as chains"] if lost else []
        notes += [f"left out as not relevant by {self.llm.name}: {', '.join(dropped)}"] if dropped else []
        return Context("\n".join(lines), tuple(cited), tuple(notes))


def sentences_by_label(reply: str, known: Sequence[str]) -> dict[str, str]:
    """The sentence of each known label in a reply; the first of two; other lines are passed over.

    >>> sentences_by_label("**Path-based Evidence 1**: 'a' is b.\\nP1: again\\nN2：甲。\\nP9: x", ["P1", "N2"])
    {'P1': "'a' is b.", 'N2': '甲。'}
    """
    from kgmed.models.replies import cited_labels

    found: dict[str, str] = {}
    for line in reply.splitlines():
        match = _LINE.fullmatch(line.strip(_DECORATION))
        named = cited_labels(match["label"]) if match else ()
        if match and len(named) == 1 and named[0] in known:
            found.setdefault(named[0], one_line(match["text"].strip(_DECORATION)))
    return found


def keeps_entities(sentence: str, evidence: Evidence) -> bool:
    """Whether a sentence still names every entity of the evidence's triples; any sentence keeps what has none.

    >>> from kgmed.records import Entity, Relation, Triple
    >>> gout = Evidence("", "triple", (Triple(Entity("1", "Gout"), Relation("has"), Entity("2", "Toe_pains")),))
    >>> keeps_entities("In 'gout' there is toe pain.", gout), keeps_entities("Gout hurts.", gout)
    (True, False)
    """
    said = f" {_folded(sentence)} "
    names = {_folded(e.name) for t in evidence.triples for e in (t.head, t.tail)}
    return bool(sentence) and all(f" {n} " in said or (not n.isascii() and n in said) for n in names)


def _folded(text: str) -> str:
    """The words of a text, each in the singular and American spelling, in their order."""
    return " ".join(map(fold_word, normalise(text).split()))


# Facts of a graph in short sentences, English and Chinese: one row of a table for each role.

Language = int  # 0 = English, 1 = Chinese: the place in each pair of texts
_SENTENCES: dict[Role, tuple[str, str]] = {  # {0} = the subject of the role, {1} = its object
    Role.FINDING: ("{0} can show {1}", "{0}可有{1}"),
    Role.EXCLUDES: ("{0} does not show {1}", "{0}没有{1}"),
    Role.TREATS: ("{0} is given for {1}", "{0}用于{1}"),
    Role.CONTRAINDICATED: ("{0} must not be used in {1}", "{0}禁用于{1}"),
    Role.ADVERSE: ("{0} can cause {1}", "{0}可引起{1}"),
    Role.INTERACTS: ("{0} interacts with {1}", "{0}与{1}有相互作用"),
    Role.PRECAUTION: ("{0} needs care with {1}", "{0}慎用于{1}"),
    Role.INGREDIENT: ("{0} contains {1}", "{0}含{1}"),
    Role.TESTS: ("{0} is a test for {1}", "{0}可用于检查{1}"),
    Role.CAUSE: ("{1} is a cause of {0}", "{1}是{0}的病因"),
    Role.RISK: ("{1} is a risk factor for {0}", "{1}是{0}的危险因素"),
    Role.COMPLICATION: ("{1} is a complication of {0}", "{1}是{0}的并发症"),
    Role.PREVENTION: ("{1} helps to prevent {0}", "{1}有助于预防{0}"),
    Role.LOCATION: ("{0} affects {1}", "{0}可累及{1}"),
    Role.GENE: ("{0} is tied to the gene {1}", "{0}与基因{1}有关"),
    Role.INHERITANCE: ("{0} has {1}", "{0}为{1}"),
    Role.ONSET: ("{0} begins: {1}", "{0}起病：{1}"),
    Role.CARE: ("{0} is seen by {1}", "{0}就诊于{1}"),
    Role.FOOD: ("{1} is good food in {0}", "{0}宜食{1}"),
    Role.AVOID: ("{1} is to be avoided in {0}", "{0}忌{1}"),
    Role.DIFFERENTIAL: ("{0} is to be told apart from {1}", "{0}应与{1}鉴别"),
    Role.ASSOCIATED: ("{0} goes with {1}", "{0}与{1}有关"),
    Role.IS_A: ("{0} is a kind of {1}", "{0}属于{1}"),
    Role.SAME_AS: ("{0} is also called {1}", "{0}又名{1}"),
}
_TEXT = ("{0}, {2}: {1}", "{0}（{2}）：{1}")  # of a text about an entity; {2} = its relation
_LONGEST = (160, 70)  # characters of a text that is quoted


def language_of(text: str) -> Language:
    """The place of the language of a text in pairs of texts: 1 where it holds a Chinese character, else 0."""
    return int(has_cjk(text))


def named(entity: Entity, language: Language) -> str:
    """The name of an entity in a language, as far as the graph has it or its words are known."""
    return worded(entity.name, language)


def worded(text: str, language: Language) -> str:
    """A name or a short text on one line, in English where it is asked for in English and its words are known.

    >>> worded("皮肤科", 0), worded("皮肤科", 1), worded("清化热痰", 0)
    ('dermatology', '皮肤科', '清化热痰')
    """
    flat = one_line(text)
    if language:
        return flat
    return (in_english(flat) or flat) if has_cjk(flat) else _TITLE.sub("", flat)


def clauses_in(text: str, language: Language) -> str:
    """A text of a graph on one line, clause by clause in English where that is asked for and known."""
    if language or not has_cjk(text):
        return one_line(text)
    clauses = (worded(clause, language) for clause in _CLAUSES.split(one_line(text)) if clause.strip())
    return "; ".join(dict.fromkeys(clauses))


_CLAUSES = lazily(r"[。；;]")
_TITLE = lazily(r", (?:unspecified|site not specified|not elsewhere classified|NOS)$")  # words of a classification


def clipped(text: str, longest: int) -> str:
    """A text of at most so many characters, cut between words or clauses, with "…" where it was cut.

    >>> clipped("Do not use; severe harm", 14), clipped("Short", 14)
    ('Do not use…', 'Short')
    """
    flat = one_line(text)
    if len(flat) <= longest:
        return flat
    cut = flat[:longest]
    ends = [cut.rfind(mark) for mark in "。；;，,、 "]
    best = max(ends)
    return (cut[:best] if best > longest // 2 else cut).rstrip("。；;，,、 ") + "…"


def frequency(triple: Triple) -> str:
    """How often the graph says that it is so; "" where it does not.

    >>> from kgmed.records import Relation, Support
    >>> seen = (Support("PMID:1", (("frequency", "3/7"),)),)
    >>> frequency(Triple(Entity("a", "A"), Relation("has"), Entity("b", "B"), support=seen))
    '3/7'
    """
    said = stated(triple)
    shares = _SHARE.search(said)
    return shares[1] if shares else said


_SHARE = lazily(r"\(([\d.–-]+ ?%)\)")


_NOT_WITH = ("{0} must not be used with {1}", "{0}禁与{1}同用")


def sentence(triple: Triple, language: Language, said: str = "") -> str:
    """A triple in words, with how often it is so; `said` = the part of its text that matters.

    >>> from kgmed.records import Relation
    >>> fact = Triple(Entity("a", "Measles"), Relation("leads to", Role.COMPLICATION), Entity("b", "Pneumonia"))
    >>> sentence(fact, 0), sentence(fact, 1)
    ('Pneumonia is a complication of Measles', 'Pneumonia是Measles的并发症')
    """
    subject, other = named(triple.subject, language), named(triple.object, language)
    if not triple.tail.id:
        text = clipped(worded(said or triple.tail.name, language), _LONGEST[language])
        return _TEXT[language].format(
            named(triple.head, language), text, one_line(str(triple.relation)).replace("_", " ")
        )
    form = _SENTENCES.get(triple.relation.role)
    if form is None:
        return f"{named(triple.head, language)} — {one_line(str(triple.relation))} → {named(triple.tail, language)}"
    if triple.relation.role is Role.CONTRAINDICATED and triple.object.kind in MEDICINES:
        form = _NOT_WITH
    often = frequency(triple)
    return form[language].format(subject, other) + ((f" ({often})", f"（{often}）")[language] if often else "")


def abroad(subject: Entity, role: Role, other: Entity, text: str, language: Language) -> str:
    """What a text in another language comes to, and the text where it does not drown the words that are understood.

    >>> abroad(Entity("d", "Diazepam"), Role.CONTRAINDICATED, Entity("", "pregnancy"), "孕妇禁用", 0)
    'Diazepam must not be used in pregnancy (孕妇禁用)'
    """
    form = _NOT_WITH if role is Role.CONTRAINDICATED and other.kind in MEDICINES else _SENTENCES[role]
    said = form[language].format(named(subject, language), named(other, language))
    return f"{said} ({one_line(text)})" if len(one_line(text)) <= (len(said) // 6, 4 * len(said))[language] else said


def colon(language: Language) -> str:
    """What stands between a heading and what it heads."""
    return "：" if language else ": "


def cited(text: str, numbers: Sequence[int]) -> str:
    """A line with its marks, those of a sentence before its full stop."""
    marks = "".join(f"[{n}]" for n in numbers)
    if not marks:
        return text
    stop = text[-1] if text[-1] in ".。" else ""
    return f"{text.removesuffix(stop)} {marks}{stop}"


def joined(names: Sequence[str], language: Language) -> str:
    """Names between commas."""
    return ("、" if language else ", ").join(names)


# --- Verdicts on two things: how the first sentence begins; {0} = the facts, {1} and {2} = the two things.

_VERDICTS: dict[str, tuple[str, str]] = {
    "no": ("No: {0}.", "不能：{0}。"),
    "service": ("This is no question that a medical graph answers.", "这不是医学知识图谱能回答的问题。"),
    "denied": ("No: the graph says that {0}.", "没有：图谱记载{0}。"),
    "partly": (
        "In part: {0}. Causes from outside are named too: {1}.",
        "部分与遗传有关：{0}。图谱也记载其他病因：{1}。",
    ),
    "caution": ("Only with caution, not freely: {0}.", "慎用：{0}。"),
    "harm": ("Caution: {0}.", "慎用：{0}。"),
    "interacts": ("They interact: {0}.", "有相互作用：{0}。"),
    "reverse": ("No, the other way round: {0}.", "不是，方向相反：{0}。"),
    "other": ("The graph does not say so; what it says is: {0}.", "图谱未如此记载；图谱记载的是：{0}。"),
    "labels": (
        "By their labels not to be taken, or only with care, in {1} (others may not be safe either): {0}.",
        "据说明书，{1}禁用或慎用（未列出者不等于安全）：{0}。",
    ),
    "none": ("The graph has no link between {1} and {2}.", "图谱中没有{1}与{2}之间的联系。"),
    "none, but of others": (
        "The graph has no link between {1} and {2}; of medicines of the same class it says: {0}.",
        "图谱中没有{1}与{2}之间的联系；对同类药物，图谱记载：{0}。",
    ),
    "no warning": (
        "The graph has no warning about {1} and {2}, which is no proof that it may be taken.",
        "图谱中没有{1}与{2}的禁忌或相互作用，但不能据此认为可以使用。",
    ),
    "no warning, but": (
        "The graph has no warning about {1} and {2}, which is no proof that it may be taken; what it says is: {0}.",
        "图谱中没有{1}与{2}的禁忌或相互作用，但不能据此认为可以使用；图谱记载的是：{0}。",
    ),
    "no warning, but of others": (
        "The graph has no warning about {1} and {2}, which is no proof that it may be taken; of medicines of the same "
        "class it says: {0}.",
        "图谱中没有{1}与{2}的禁忌或相互作用，但不能据此认为可以使用；对同类药物，图谱记载：{0}。",
    ),
    "departments": (
        "Who treats {1} the graph does not say; most diseases that show it are seen by: {0}.",
        "图谱未载{1}的就诊科室；有此表现的疾病多由以下科室诊治：{0}。",
    ),
    "food": (
        "The graph has no link between {1} and {2}, which says nothing of whether it may be eaten.",
        "图谱中没有{1}与{2}的联系，不能据此判断能不能吃。",
    ),
    "class": (
        "Caution: of {1} and {2} itself the graph says nothing, but it warns of a medicine of the same class: {0}.",
        "慎用：图谱未直接记载{1}与{2}，但同类药物有警示：{0}。",
    ),
    "class, forbidden": (
        "Caution, better not: of {1} and {2} the graph says nothing, but medicines of the class are forbidden: {0}.",
        "慎用或不用：图谱未直接记载{1}与{2}，但同类药物禁用：{0}。",
    ),
    "unknown": ("“{1}” is not in the graph, so nothing is said about it.", "图谱中没有“{1}”，无法回答。"),
    "lacking": ("The graph has no {2} for {1}.", "图谱中没有{1}的{2}。"),
    "unsaid": ("The graph does not say what is asked of {1}.", "图谱没有记载所问的关于{1}的内容。"),
}


def verdict(which: str, language: Language, facts: Sequence[str] = (), one: str = "", other: str = "") -> str:
    """The first sentence of a verdict.

    >>> verdict("none", 0, (), "gout", "fever")
    'The graph has no link between gout and fever.'
    """
    said = ("；" if language else "; ").join(dict.fromkeys(facts))
    return _VERDICTS[which][language].format(said, one_line(one), one_line(other))


def affirmed(yes: str, language: Language, facts: Sequence[str]) -> str:
    """A yes with its facts, in the word with which the question is affirmed."""
    said = ("；" if language else "; ").join(dict.fromkeys(facts))
    return f"{yes}：{said}。" if language else f"{yes}: {said}."
