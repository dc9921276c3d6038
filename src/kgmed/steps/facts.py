"""The reader without a model: the answer is the evidence itself, grouped and cited."""

from collections.abc import Sequence

from kgmed.frame import Ask
from kgmed.language.relations import in_english
from kgmed.language.text import has_cjk, lazily, one_line, prompt_language
from kgmed.records import Answer, Candidate, Context, Entity, Evidence, Query, Role, Triple
from kgmed.sentences import Catalogue, catalogue
from kgmed.steps.family import MEDICINES, stated
from kgmed.triples import OF_THE_SUBJECT

# --- Names and short texts of a graph as they are shown: on one line, in the language of the answer, cut to fit.


def named(entity: Entity, *, han: bool) -> str:
    """The name of an entity for who reads Han characters (`han`) or does not, as far as its words are known."""
    return worded(entity.name, han=han)


def worded(text: str, *, han: bool) -> str:
    """A name or a short text on one line, in English for who reads no Han, where its words are known.

    >>> [worded(name, han=han) for name, han in (("皮肤科", False), ("皮肤科", True), ("清化热痰", False))]
    ['dermatology', '皮肤科', '清化热痰']
    """
    flat = one_line(text)
    if han:
        return flat
    return (in_english(flat) or flat) if has_cjk(flat) else _TITLE.sub("", flat)


def clauses_in(text: str, *, han: bool) -> str:
    """A text of a graph on one line, clause by clause in English for who reads no Han."""
    if han or not has_cjk(text):
        return one_line(text)
    clauses = (worded(clause, han=han) for clause in _CLAUSES.split(one_line(text)) if clause.strip())
    return "; ".join(dict.fromkeys(clauses))


def clipped(text: str, longest: int) -> str:
    """A text of at most so many characters, cut between words or clauses, with "…" where it was cut.

    >>> clipped("Do not use; severe harm", 14), clipped("Short", 14)
    ('Do not use…', 'Short')
    """
    flat = one_line(text)
    if len(flat) <= longest:
        return flat
    cut = flat[:longest]
    best = max(cut.rfind(mark) for mark in "。；;，,、 ")
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


def cited(text: str, numbers: Sequence[int]) -> str:
    """A line with its marks, those of a sentence before its full stop."""
    marks = "".join(f"[{n}]" for n in numbers)
    if not marks:
        return text
    stop = text[-1] if text[-1] in ".。" else ""
    return f"{text.removesuffix(stop)} {marks}{stop}"


_CLAUSES = lazily(r"[。；;]")
_TITLE = lazily(r", (?:unspecified|site not specified|not elsewhere classified|NOS)$")  # words of a classification
_SHARE = lazily(r"\(([\d.–-]+ ?%)\)")


# --- Triples in words of a catalogue.

_LONGEST, _LONGEST_CJK = 160, 70  # characters of a text that is quoted
_DROWNS, _DROWNS_CJK = 1 / 6, 4  # ours: of a sentence's length, what a quotation in the other script may have


def name_of(entity: Entity, catalogue: Catalogue) -> str:
    """The name of an entity on one line, as far as its words are known in the language."""
    return worded(entity.name, han=catalogue.han)


def in_words(triple: Triple, catalogue: Catalogue, said: str = "") -> str:
    """A triple in words, with how often it is so; `said` = the part of its text that matters.

    >>> from kgmed.sentences import catalogue
    >>> from kgmed.records import Relation
    >>> fact = Triple(Entity("a", "Measles"), Relation("leads to", Role.COMPLICATION), Entity("b", "Pneumonia"))
    >>> in_words(fact, catalogue("en")), in_words(fact, catalogue("zh"))
    ('Pneumonia is a complication of Measles', 'Pneumonia是Measles的并发症')
    """
    subject, relation = name_of(triple.subject, catalogue), one_line(str(triple.relation)).replace("_", " ")
    if not triple.tail.id:
        longest = _LONGEST_CJK if catalogue.han else _LONGEST
        text = clipped(worded(said or triple.tail.name, han=catalogue.han), longest)
        return catalogue("triple.text", subject=name_of(triple.head, catalogue), relation=relation, text=text)
    role = triple.relation.role
    key = "triple.not_with" if role is Role.CONTRAINDICATED and triple.object.kind in MEDICINES else f"triple.{role}"
    key = f"relation.{triple.relation.name}" if f"relation.{triple.relation.name}" in catalogue else key
    key = key if key in catalogue else "triple.other"
    often = frequency(triple)
    told = catalogue(key, subject=subject, object=name_of(triple.object, catalogue), relation=relation)
    return told + (catalogue.said["marks.open"] + often + catalogue.said["marks.close"] if often else "")


def translated(triple: Triple, other: Entity, said: str, key: str, catalogue: Catalogue) -> str:
    """What a text in another script comes to, by the sentence of a key, with the text where it does not drown that."""
    told = catalogue(key, subject=name_of(triple.subject, catalogue), object=name_of(other, catalogue))
    share = _DROWNS_CJK if catalogue.han else _DROWNS
    text = one_line(said)
    quoted = len(text) <= len(told) * share
    return told + (catalogue.said["marks.open"] + text + catalogue.said["marks.close"] if quoted else "")


def is_foreign(text: str, catalogue: Catalogue) -> bool:
    """Whether a text is in another script than the catalogue."""
    return has_cjk(text) != catalogue.han


# --- Reader without a model: the answer is the evidence itself, grouped and cited.


Numbered = tuple[int, Evidence]


def facts(query: Query, context: Context) -> Answer:
    """The ranked evidence as an answer: what was asked for first, then what else the graph says, then warnings.

    Every line of evidence ends in its marker [i]. Without evidence it abstains; it also abstains, and says so first,
    where the evidence holds nothing of what was asked for.
    """
    say = catalogue(prompt_language(query.question))
    rows = list(enumerate(context.cited, start=1))
    said = [row for row in rows if row[1].kind != "warning"]
    if not said:
        return Answer(say("note.nothing"), abstained=True, limits=say("note.limits"), reader="facts")
    options = [row for row in said if row[1].kind == "option"]
    choices, verdict = _choose(options, query, say) if query.question.options else ((), [])
    lacking = [] if query.question.options else _lacking(query, said)
    blocks = [
        verdict,
        [_headed(say("heading.unknown")) + " " + ", ".join(say(f"heading.{role}") for role in lacking)]
        if lacking
        else [],
        *(_block(heading, group) for heading, group in _by_role([r for r in said if r not in options], query, say)),
        _block(say("note.warnings"), [row for row in rows if row[1].kind == "warning"]),
    ]
    nothing_asked = (
        bool(lacking) and len(lacking) == len(query.frame.roles) and not any(is_diagnosis(e) for _, e in said)
    )
    return Answer(
        "\n\n".join("\n".join(lines) for lines in blocks if lines),
        citations=tuple(i for i, _ in rows),
        candidates=tuple(candidates([row for row in said if row[1].kind in ("candidate", "option")])),
        choices=choices,
        abstained=nothing_asked or (bool(query.question.options) and not choices),
        limits=say("note.limits"),
        reader="facts",
    )


def _lacking(query: Query, rows: Sequence[Numbered]) -> list[Role]:
    """What the question asks for and no evidence speaks of."""
    return [role for role in query.frame.roles if not any(_speaks_of(e, role) for _, e in rows)]


def _speaks_of(e: Evidence, role: Role) -> bool:
    """Whether a piece of evidence holds a triple of a role, the right way round where that matters."""
    if is_diagnosis(e) and role is Role.FINDING:
        return False
    roles = [t for t in e.triples if t.relation.role is role]
    return any(role not in OF_THE_SUBJECT or t.subject in e.about for t in roles)


def is_diagnosis(e: Evidence) -> bool:
    """Whether a piece of evidence proposes a disease for its findings."""
    findings = [t for t in e.triples if t.relation.role in (Role.FINDING, Role.EXCLUDES)]
    return e.kind == "candidate" and any(t.subject == e.about[0] for t in findings)


def _by_role(rows: Sequence[Numbered], query: Query, say: Catalogue) -> list[tuple[str, list[Numbered]]]:
    """The evidence under a heading for each role that the question asks for, diagnoses, and the rest, in this order."""
    asked = (*query.frame.roles, "diagnosis", "neighbours")
    groups: dict[str, list[Numbered]] = {say(f"heading.{key}"): [] for key in asked}
    for i, e in rows:
        named = (role for role in query.frame.roles if _speaks_of(e, role))
        key = "diagnosis" if is_diagnosis(e) else next(named, "neighbours")
        groups[say(f"heading.{key}")].append((i, e))
    return list(groups.items())


def _headed(heading: str) -> str:
    return heading + ("：" if heading[:1] > "\u2e80" else ":")


def _block(heading: str, rows: Sequence[Numbered]) -> list[str]:
    """A heading and a line for each piece of evidence, with its marker."""
    return [_headed(heading), *(f"- {one_line(e.text)} [{i}]" for i, e in rows)] if rows else []


def _choose(rows: Sequence[Numbered], query: Query, say: Catalogue) -> tuple[tuple[str, ...], list[str]]:
    """The letter whose ties weigh most, with its ties; none where two weigh the same."""
    weight: dict[str, float] = {}
    for _, e in rows:
        weight[e.id] = weight.get(e.id, 0.0) + e.score
    top = [letter for letter, w in weight.items() if w == max(weight.values())]
    if len(top) != 1:
        return (), [say("heading.tie" if top else "note.nothing"), *_block(say("heading.neighbours"), rows)]
    text = dict(query.question.options)[top[0]]
    mine = [row for row in rows if row[1].id == top[0]]
    others = [row for row in rows if row[1].id != top[0]]
    lines = _block(one_line(f"{say('heading.option')} {top[0]} ({text})"), mine)
    return (top[0],), [*lines, *_block(say("heading.neighbours"), others)]


def candidates(rows: Sequence[Numbered]) -> list[Candidate]:
    """One candidate an entity, in the order of the evidence, or an option, by the weight of its ties."""
    numbers: dict[str, list[int]] = {}
    first: dict[str, Evidence] = {}
    weight: dict[str, float] = {}
    for i, e in rows:
        name = e.id if e.kind == "option" else e.about[0].name
        numbers.setdefault(name, []).append(i)
        weight[name] = weight.get(name, 0.0) + e.score
        first.setdefault(name, e)
    options = sorted((n for n in first if first[n].kind == "option"), key=lambda n: -weight[n])
    entities = [Candidate(n, e.score, e.about[0], tuple(numbers[n])) for n, e in first.items() if e.kind != "option"]
    return [*entities, *(Candidate(n, round(weight[n], 4), None, tuple(numbers[n])) for n in options)]


def called(say: Catalogue, ask: Ask) -> str:
    """How what an ask wants is called; of a refusing one what is to be avoided, where there is a word for it."""
    avoided = f"avoided.{ask.intent}"
    return say(avoided if ask.negative and avoided in say else f"intent.{ask.intent}")
