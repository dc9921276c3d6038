"""The reader of the method `facts`: a direct first sentence, then the facts in groups, each once, counted and cited."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kgmed.language import lay
from kgmed.language.pair import is_yes_no
from kgmed.language.particulars import People, forbids, people_of
from kgmed.language.question import compares, defines, texts_asked, types_asked
from kgmed.language.text import fold, has_cjk, lazily, one_line
from kgmed.language.types import CULPRIT
from kgmed.records import Answer, Context, Entity, Evidence, Query, Role, Triple
from kgmed.steps.cautions import IN, of_people, says_nothing, warning_lines
from kgmed.steps.diagnosis import EMERGENCY
from kgmed.steps.facts import candidates, facts, is_diagnosis, wording_for
from kgmed.steps.family import MEDICINES, is_itself, is_vague, same_test, substance
from kgmed.steps.pairs import is_verdict
from kgmed.steps.phrase import (
    Language,
    cited,
    clauses_in,
    clipped,
    colon,
    frequency,
    joined,
    language_of,
    named,
)
from kgmed.steps.posterior import CARE
from kgmed.steps.proposed import Numbered, readable, told_diseases, urgent_line
from kgmed.steps.retrieve import DEFINITION

ITSELF = "itself"  # the id of pieces on the one finding whose diseases are told
LINES = 9  # ours: a dozen on a screen of 80 columns, wrapped
_GRAVE = 2  # ours: emergencies among the best five diseases
LISTED = 12  # ours: names in a list of medicines
CHARACTERS = (640, 300)  # ours: of an answer, English and Chinese
_HEADS: dict[Role, tuple[str, str, str, str]] = {  # of what a thing has; of what has the thing
    Role.TREATS: ("What {} is given for", "{}的适应症", "Treatments of {}", "{}的治疗"),
    Role.TESTS: ("What {} is a test for", "{}可检查", "Tests for {}", "{}的检查"),
    Role.FINDING: ("Findings of {}", "{}的症状与体征", "{} is seen in", "{}见于"),
    Role.EXCLUDES: ("Not found in {}", "{}不应有", "{} is not seen in", "{}不见于"),
    Role.ADVERSE: ("Side effects of {}", "{}的不良反应", "What can cause {}", "可引起{}的药物"),
    Role.CONTRAINDICATED: ("Contraindications of {}", "{}的禁忌", "Not to be used in {}", "{}禁用"),
    Role.PRECAUTION: ("Precautions with {}", "{}的注意事项", "To be used with care in {}", "{}慎用"),
    Role.INTERACTS: ("Interactions of {}", "{}的相互作用", "Interactions of {}", "{}的相互作用"),
    Role.DOSAGE: ("Dosage of {}", "{}的用法用量", "Dosage: {}", "用法用量：{}"),
    Role.INGREDIENT: ("Ingredients of {}", "{}的成份", "What contains {}", "含{}的药物"),
    Role.CAUSE: ("Causes of {}", "{}的病因", "What {} causes", "{}可引起"),
    Role.RISK: ("Risk factors for {}", "{}的危险因素", "What {} is a risk for", "{}易致"),
    Role.COMPLICATION: ("Complications of {}", "{}的并发症", "What {} is a complication of", "{}可为其并发症"),
    Role.PREVENTION: ("Prevention of {}", "{}的预防", "What {} prevents", "{}可预防"),
    Role.LOCATION: ("Where in the body {} is", "{}的部位", "Diseases of {}", "{}的疾病"),
    Role.GENE: ("Genes of {}", "{}的基因", "Diseases tied to the gene {}", "与基因{}有关的疾病"),
    Role.INHERITANCE: ("Inheritance of {}", "{}的遗传方式", "Diseases with {}", "{}的疾病"),
    Role.ONSET: ("Onset of {}", "{}的起病", "Diseases that begin: {}", "起病于{}的疾病"),
    Role.CARE: ("Who treats {}", "{}的就诊科室", "What {} treats", "{}诊治"),
    Role.FOOD: ("Food for {}", "{}宜食", "What {} is good food for", "宜食{}的疾病"),
    Role.AVOID: ("To avoid in {}", "{}忌", "What {} is to be avoided in", "忌{}的疾病"),
    Role.DIFFERENTIAL: ("To tell {} apart from", "{}应鉴别", "To tell {} apart from", "{}应鉴别"),
    Role.ASSOCIATED: ("What goes with {}", "与{}有关", "What goes with {}", "与{}有关"),
    Role.IS_A: ("{} is a kind of", "{}属于", "Kinds of {}", "{}的种类"),
    Role.SAME_AS: ("Other names of {}", "{}的别名", "Other names of {}", "{}的别名"),
}
_USEFUL = (  # what is told of a thing where nothing in particular is asked
    *(Role.FINDING, Role.CAUSE, Role.TREATS, Role.TESTS, Role.GENE, Role.INHERITANCE, Role.COMPLICATION, Role.ADVERSE),
    *(Role.CONTRAINDICATED, Role.CARE, Role.IS_A),
)
_MORE, _MANY_MORE = (" and {} more", "等，另有{}项"), (" and many more", "等")
_COUNTED = 50  # ours: of more it helps nobody to know how many
_ETC = (" …", "……")
_LEFT_OUT = lazily(r"… \(\+(\d+)\)")


@dataclass
class _Group:
    """The facts of one role and direction of one or a few things, gathered from several pieces of evidence."""

    role: Role
    own: bool
    relation: str
    subjects: dict[str, None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # name -> how often
    texts: dict[str, None] = field(default_factory=dict)
    numbers: dict[int, None] = field(default_factory=dict)
    more: int = 0


def brief(query: Query, context: Context) -> Answer:
    """The ranked evidence as an answer that fits a screen; all of it stays in the context.

    Verdicts on two things come first, then diseases that fit, then what was asked for, then warnings. Without evidence
    it abstains, as where the evidence says only that the graph has nothing of what was asked for.
    """
    if query.question.options:
        return facts(query, context)
    words, language = wording_for(query.text), language_of(query.text)
    rows = list(enumerate(context.cited, start=1))
    said = [row for row in rows if row[1].kind != "warning"]
    if not said:
        return Answer(words["nothing"], abstained=True, limits=words["limits"], reader="facts")
    verdicts = [row for row in rows if is_verdict(row[1])]
    nothing = bool(verdicts) and all(is_verdict(e, "none", "unknown", "lacking") for _, e in verdicts)
    lines = [cited(e.text, [i] if e.triples else []) for i, e in verdicts]
    others = [row for row in rows if row not in verdicts]
    short = any(not is_verdict(e, "heads") for _, e in verdicts)
    if short:  # what is said of two things is no reason to warn of all that is given for one
        told = {t.subject for _, e in verdicts for t in e.triples} | {thing for _, e in verdicts for thing in e.about}
        others = [row for row in others if row[1].kind != "warning" or told & {*row[1].about}]
    if not nothing:
        lines += _within(list(_body(query, others, language, short=short)), lines, language)
    elif any(is_verdict(e, "none") for _, e in verdicts):
        lines += [_list(group, language, CHARACTERS[language] // 4, 1) for group in _groups(others, language)[:1]]
    text = "\n".join(lines)
    return Answer(
        text,
        citations=tuple(dict.fromkeys(int(n) for n in re.findall(r"\[(\d+)\]", text))),
        candidates=() if nothing else tuple(candidates([row for row in said if row[1].kind == "candidate"])),
        abstained=nothing,
        limits=words["limits"],
        reader="facts",
    )


def _within(lines: list[str], before: Sequence[str], language: Language) -> list[str]:
    """The lines that fit, the first in any case."""
    kept: list[str] = []
    left, most = CHARACTERS[language] - sum(map(len, before)), LINES - len(before)
    for line in lines:
        if (kept or before) and (len(line) > left or len(kept) >= most):
            continue
        kept.append(line)
        left -= len(line)
    return kept


def _body(query: Query, rows: Sequence[Numbered], language: Language, *, short: bool) -> Iterator[str]:
    """The lines below the verdicts; of these, with a verdict, only the first that was asked for, and the warnings."""
    rows_asked = [row for row in types_asked(query.text) if row.role and (row is CULPRIT or not row.of_what)]
    asked = [role for row in rows_asked if row.role for role in (row.role, *row.also)]
    diagnoses = [row for row in rows if is_diagnosis(row[1])]
    warnings = [row for row in rows if row[1].kind == "warning"]
    rest = [row for row in rows if row not in diagnoses and row not in warnings]
    grave = sum(e.id == EMERGENCY for _, e in diagnoses[:5]) >= _GRAVE  # no time for medicines
    each = [
        r for r in rest if diagnoses and r[0] < diagnoses[0][0] and Role.TREATS in asked and _treats(r[1]) and not grave
    ]
    people = people_of(query.text) if Role.TREATS in asked else ()
    if each:
        yield from _at_once(query.text, each, diagnoses, people)
        yield from warning_lines(warnings, query.text, people)
    elif diagnoses:
        itself = [row for row in rest if row[1].id == ITSELF]
        if language and itself and (whole := _what_it_is(_groups(itself, language))):
            yield whole
        cared = any(t.relation.role in CARE for _, e in _care(diagnoses, asked, language) for t in e.triples)
        yield from told_diseases(diagnoses, query.text, others=short, care=cared)
        rest = [row for row in rest if row not in itself]
    rest = [] if each else [*_care(diagnoses, asked, language), *rest]
    groups = _groups(rest, language, apart=compares(query.text))
    plain = language and not (asked or short or diagnoses) and defines(query.text)
    if plain and (whole := _what_it_is(groups)):
        yield whole
        return
    shown = [] if short else _asked_for(query, groups, asked, language, proposed=bool(diagnoses))
    room = CHARACTERS[language] * (2 if language else 3) // 4 // max(min(len(shown), 4), 1)
    room = room * 3 // 4 if compares(query.text) else room  # what is said of one must leave room for the other
    yield from _not_said(query, shown, language)
    if asked[:1] == [Role.TREATS] and shown and _FIRST_CHOICE.search(query.text):
        yield _NOT_RANKED[language]
    for group in shown[:6]:
        mine = 2 * room if compares(query.text) and group.role is Role.FINDING else room  # what tells two apart
        yield _list(_made_for(group, people_of(query.text)), language, mine // 2 if short else mine)
    if not each:
        yield from warning_lines(warnings, query.text, people)
    treats = any(group.role is Role.TREATS for group in shown)
    if shown and people and (treats or not any(of_people(e, people) for _, e in warnings)):
        yield _NOT_SAID[language].format(people[0].name[language])


def _not_said(query: Query, shown: Sequence[_Group], language: Language) -> Iterator[str]:
    """What is asked and not said by the lists that follow: that something is forbidden, that something cures."""
    mild = shown and all(g.role is Role.PRECAUTION and not any(map(forbids, g.texts)) for g in shown)
    if mild and _FORBIDDEN.search(query.text):
        yield _NONE_NAMED[language]
    if _CURES.search(query.text) and is_yes_no(query.text) and any(g.role is Role.TREATS for g in shown):
        yield _NO_CURE[language]
    if compares(query.text) and _BETTER.search(query.text) and shown:
        yield _NOT_WEIGHED[language]
    if _SURGERY.search(query.text) and any(g.role is Role.TREATS for g in shown):
        yield _NOT_NEEDED[language]


_NONE_NAMED = (
    "The graph names no contraindications, only what care is needed with:",
    "图谱未列禁忌，仅有注意事项：",
)
_FORBIDDEN = lazily(r"contra-?indicat|禁忌|禁用", re.IGNORECASE)
_CURES = lazily(r"\bcur(?:e[sd]?|able)\b|治愈|根治|治好", re.IGNORECASE)
_BETTER = lazily(
    r"\b(?:stronger|weaker|safer|faster|milder|more effective) than\b|"
    r"\bbetter\b|(?:哪个|哪种|哪一种|谁)更?(?:好|强|管用|有效|安全)|还是.{1,14}(?:更?好|合适|管用|有效|安全)",
    re.I,
)
_NOT_WEIGHED = (
    "Which is better the graph does not say; what it has of each:",
    "图谱未比较孰优孰劣；各自所载如下：",
)
_SURGERY = lazily(
    r"\b(?:need|have|require|avoid)s? (?:\w+ )?(?:surgery|(?:an )?operation)\b|(?:手术|开刀|动刀)(?:吗|么|不|治)",
    re.IGNORECASE,
)
_NOT_NEEDED = (
    "Whether an operation is needed the graph does not say; the treatments that it names:",
    "是否需要手术图谱未说明；所载治疗如下：",
)
_NO_CURE = ("The graph names treatments, and does not say of any that it cures.", "图谱记有治疗，但未说能治愈。")


def _asked_for(
    query: Query, groups: list[_Group], asked: Sequence[Role], language: Language, *, proposed: bool
) -> list[_Group]:
    """The groups that are told: those of the roles asked for, in their order, or the usual; of two things what differs.

    `proposed` = whether diseases that fit are told already.
    """
    shown = sorted((g for g in groups if g.role in asked), key=lambda g: asked.index(g.role))
    if shown and texts_asked(query.text):  # "what causes it and is it contagious"
        shown = [*(g for g in groups if g.role is Role.OTHER and g.texts), *shown]
    if not shown and not proposed:
        shown = _usual(groups, language)[: 3 if defines(query.text) else None]
    if compares(query.text):
        shown = _unlike(groups)
    if is_yes_no(query.text):
        shown.sort(key=lambda g: not YES_OR_NO.keys() & g.texts.keys())
    return shown


_PARTS = (  # of what a thing is, in Chinese, where no graph has a definition in it: role, how it is said, names
    (Role.IS_A, "属于{}", 3),
    (Role.CARE, "就诊科室：{}", 2),
    (Role.CAUSE, "病因：{}", 5),
    (Role.FINDING, "主要表现：{}", 10),
    (Role.INHERITANCE, "遗传方式：{}", 2),
    (Role.COMPLICATION, "并发症：{}", 5),
)


def _what_it_is(groups: Sequence[_Group]) -> str:
    """What a thing is, in one Chinese sentence from its kind, department, causes and findings; "" of too little.

    A definition in Chinese is an answer by itself.
    """
    if any(g.relation == DEFINITION.name and not _foreign(g, 1) for g in groups):
        return ""
    own = {g.role: g for g in reversed(groups) if g.own and g.names}
    said, numbers = [], dict[int, None]()
    for role, form, most in _PARTS:
        names = [n for n in _readable(own[role].names) if has_cjk(n)] if role in own else []
        if names:
            said.append(form.format(joined(names[:most], 1)))
            numbers |= own[role].numbers
    if len(said) < 2:
        return ""
    subject = next(iter(next(g for g in groups if g.role in own).subjects))
    return cited(f"{subject}：{'；'.join(said)}。", list(numbers)[:4])


_FRAGMENT = lazily(  # cut out of sentences: 亦可发生, 致死病例常有肺
    r"^(?:亦|也|但|且|则|均|若|并可|其(?!他)|致死|少数|重者|而|还|从而|以及|及(?!时)|或|和|与(?!.*[关触]$)|可发生|常有)"
    r"|(?:可发生|常有|时有|所致的|引起的|等|为主|不能|可以|可能|如|为|于|的|与|及|和|或|其|而|有)$"
)


def _readable(names: Iterable[str]) -> list[str]:
    """Names without fragments of sentences and headings (治疗原则); all where nothing else is there."""
    kept = [name for name in names if not _FRAGMENT.search(name) and not is_vague(name)]
    return kept or list(names)


def _at_once(
    text: str, each: Sequence[Numbered], diagnoses: Sequence[Numbered], people: Sequence[People]
) -> Iterator[str]:
    """An emergency that it may be, what is taken against each finding, and in a line what it may be."""
    language = language_of(text)
    yield from urgent_line(diagnoses[:5], text)
    groups = _groups(each, language, apart=True)
    for group in groups:
        yield _list(_made_for(group, people), language, CHARACTERS[language] // (3 * len(groups)), 2)
    names = [named(e.about[0], language) for _, e in diagnoses[:3]]
    head = ("Diseases that fit the findings", "与所述表现相符的疾病")[language]
    more = _and_more(len(diagnoses) - 3, language)
    yield cited(f"{head}{colon(language)}{joined(names, language)}{more}", [i for i, _ in diagnoses[:3]])


def _treats(e: Evidence) -> bool:
    """Whether a piece tells what is taken against a finding and nothing else."""
    return e.kind == "neighbours" and all(t.relation.role is Role.TREATS for t in e.triples)


def _made_for(group: _Group, groups: Sequence[People]) -> _Group:
    """The group, treatments that are made for the people whom the question names first."""
    if group.role is not Role.TREATS or not groups:
        return group
    names = sorted(group.names, key=lambda name: not any(g.in_text.search(name) for g in groups))
    return replace(group, names={name: group.names[name] for name in names})


_NOT_SAID = (
    "Which of these suit {}, and how much, the graph does not say: ask a doctor.",
    "其中哪些适合{}、用量多少，图谱没有说明，请询问医生。",
)


_FIRST_CHOICE = lazily(
    r"首选|最好的药|哪种药最好|第一选择|[一二三]线(?:用?药|治疗)|\b(?:first|second|third|last).?(?:line|choice)\b"
    r"|\bof choice\b|\bgold standard\b|\bbest (?:\w+ )?(?:drug|medic\w+|treatment|therapy|antibiotic)",
    re.IGNORECASE,
)
_NOT_RANKED = (
    "The graph does not say which treatment comes first or second; what it has, the best borne out first:",
    "图谱没有说明何者为首选、何者次选；所载治疗如下，来源多者在前：",
)


def _care(diagnoses: Sequence[Numbered], asked: Sequence[Role], language: Language) -> list[Numbered]:
    """What the card of the disease that is told first has in the roles asked for."""
    return [
        (i, replace(e, text="", kind="neighbours", triples=mine, about=e.about[:1]))
        for i, e in readable(diagnoses, language)[:1]
        if (mine := tuple(t for t in e.triples if t.relation.role in asked))
    ]


_WHOLE = (Role.GENE, Role.INHERITANCE)  # that two illnesses have one gene is a part of how they differ


def _unlike(groups: Sequence[_Group]) -> list[_Group]:
    """The groups of two things, those of a role side by side, without what both have."""
    found = []
    for group in groups:
        others = [g for g in groups if g.role is group.role and g is not group]
        shared = {n for g in others for n in g.names} if group.role not in _WHOLE else set()
        names = {n: often for n, often in group.names.items() if n not in shared}
        if names or group.texts:
            found.append(replace(group, names=names))
    return found


def _usual(groups: list[_Group], language: Language) -> list[_Group]:
    """The groups that say what a thing is: a definition that can be read, then the roles that matter, the rest.

    Of a medicine what it is and what it is given for come before warnings, and forms and strengths last.
    """
    medicine = any(g.own and g.role is Role.TREATS for g in groups)
    groups = [g for g in groups if not medicine or g.own or g.role not in (Role.CAUSE, Role.ADVERSE)]  # of no medicine
    readable = [g for g in groups if not g.texts or not _foreign(g, language)]
    if not any(g.relation in _RELATIONS for g in readable):
        readable += [g for g in groups if g.relation in _RELATIONS]
    return sorted(
        readable or groups,
        key=lambda g: (
            g.relation != "definition",
            medicine and not (g.own and g.role in (Role.IS_A, Role.TREATS)),
            medicine and g.role is Role.DOSAGE,
            not g.texts.keys() - YES_OR_NO,
            _USEFUL.index(g.role) if g.role in _USEFUL else len(_USEFUL),
        ),
    )


def _foreign(group: _Group, language: Language) -> bool:
    """Whether the texts of a group are in the other language alone."""
    return all(has_cjk(text) != bool(language) and text not in YES_OR_NO for text in group.texts)


# --- groups


def _groups(rows: Sequence[Numbered], language: Language, *, apart: bool = False) -> list[_Group]:
    """The facts by role and direction, `apart` also by what they are about, in the order of the evidence."""
    groups: dict[tuple[Role, bool, str], _Group] = {}
    for i, e in rows:
        main = [t for t in e.triples if _is_main(t, e) and not (t.relation.role in IN and says_nothing(t))]
        made_of = _substance_of(e)
        for t in main:
            own = _is_own(t, e)
            said_of = own or t.relation.role is Role.INTERACTS  # which of the two is the subject tells nothing
            relation = one_line(str(t.relation)) if t.relation.role in (Role.OTHER, Role.SAME_AS) else ""
            key = f"{e.about[0].id} {relation}" if apart else relation
            group = groups.setdefault((t.relation.role, said_of, key), _Group(t.relation.role, said_of, relation))
            _add(group, t, i, language, own=own, called=made_of if own else None)
        left = _LEFT_OUT.search(e.text)
        if main and left:
            group.more = max(group.more, int(left[1]))
    return list(groups.values())


def _is_main(triple: Triple, e: Evidence) -> bool:
    """Whether a triple is what the evidence says, and not what leads there (product and ingredient)."""
    return triple.relation.role is e.triples[0].relation.role


def _is_own(triple: Triple, e: Evidence) -> bool:
    """Whether the thing asked about is the subject of a triple; of a candidate, the thing is what it is tied to."""
    about = e.about[1:] if e.kind == "candidate" else e.about[:1]
    return triple.subject in about


def _substance_of(e: Evidence) -> Entity | None:
    """What the product that a piece is about was asked for as."""
    return e.about[1] if e.kind != "candidate" and len(e.about) > 1 and e.about[1].kind in MEDICINES else None


def _add(group: _Group, t: Triple, number: int, language: Language, *, own: bool, called: Entity | None = None) -> None:
    """One more fact of a group, of the subject of its triple or of the object; the thing under another name."""
    thing, other = (t.subject, t.object) if own else (t.object, t.subject)
    thing = called if called and not language and group.role is not Role.INGREDIENT else thing
    group.subjects.setdefault(named(thing, language))
    group.numbers.setdefault(number)
    if not t.tail.id:
        group.texts.setdefault(clauses_in(t.tail.name, language))
    else:
        group.names.setdefault(named(other, language), frequency(t))


def _varied(names: dict[str, str]) -> dict[str, str]:
    """Findings, each once however it is spelled or called, and none that is made of others in the list.

    A Chinese one that ends in another before it (面色苍白, 苍白) stands behind the others.

    >>> list(_varied({"苍白": "", "面色苍白": "", "乏力": "", "pallor": "", "Pallor": "", "苍白、乏力": ""}))
    ['苍白', '乏力', '面色苍白']
    >>> list(_varied({"peripheral oedema": "", "Peripheral edema": "", "nausea and vomiting": "", "nausea": ""}))
    ['peripheral oedema', 'nausea and vomiting']
    """
    first, later, seen = dict[str, str](), dict[str, str](), set[str]()
    for name, often in names.items():
        parts = [fold(part) for part in _TOGETHER.split(name)]
        if {fold(name), *map(fold, lay.others(name))} & seen or seen.issuperset(parts):
            continue
        seen |= {fold(name), *parts}
        again = not often and has_cjk(name) and any(name.endswith(n) for n in first)
        (later if again else first)[name] = often
    return first | later


_TOGETHER = lazily(r"\s*(?:[、，,/]|\band\b|及|和|伴)\s*")
_OF_FINDINGS = (Role.FINDING, Role.ADVERSE, Role.COMPLICATION)


def _and_more(count: int, language: Language) -> str:
    """How many more there are, where it is few enough to matter."""
    return (_MORE[language].format(count) if count <= _COUNTED else _MANY_MORE[language]) if count > 0 else ""


def _list(group: _Group, language: Language, room: int, marks: int = 4) -> str:
    """A heading and its facts on one line, with how many are not shown and the first numbers of its evidence."""
    head = _heading(group, language)
    told = next((text for text in group.texts if text in YES_OR_NO), "")
    if told and group.relation.endswith("传染性"):
        said = _CONTAGIOUS[YES_OR_NO[told][0]][language].format(joined(list(group.subjects)[:2], language))
        return cited(said, list(group.numbers)[:marks])
    if told:
        return cited(f"{YES_OR_NO[told][language]}{colon(language)}{head}", list(group.numbers)[:marks])
    if group.texts and not group.names:
        foreign = _foreign(group, language)
        whole = ("；" if language else "; ").join(group.texts)
        head += _ORIGINAL[language] if foreign else ""
        wide = 2 if foreign and language else 1  # a Chinese character is as wide as two Latin letters, and says more
        return cited(f"{head}{colon(language)}{clipped(whole, wide * room)}", list(group.numbers)[:marks])
    kept = _once(group, substance) if group.role in _OF_MEDICINES else group.names
    kept = _once(group, same_test) if group.role is Role.TESTS else kept
    apart = kept
    if group.role is Role.TREATS and not group.own:
        apart = {name: often for name, often in kept.items() if not is_itself(name, group.subjects)}
    kept = {name: kept[name] for name in (_readable(apart or kept) if language else list(apart or kept))}
    if (group.role is Role.TREATS or (group.role is Role.ADVERSE and not group.own)) and not language:
        kept = {_without_form(n): often for n, often in kept.items()}
    kept = _varied(kept) if group.role in _OF_FINDINGS and group.own else kept
    names = [n + ((f" ({often})", f"（{often}）")[language] if often else "") for n, often in kept.items()]
    shown = _fitting(names, language, room)[: LISTED if group.role in (*_OF_MEDICINES, Role.TESTS) else None]
    end = _and_more(len(kept) - len(shown) + group.more, language)
    if not language and shown and all(map(has_cjk, shown)):
        head += _ORIGINAL[language]
    end += _labels(group, language, room // 2)
    return cited(f"{head}{colon(language)}{joined(shown, language)}{end}", list(group.numbers)[:marks])


def _labels(group: _Group, language: Language, room: int) -> str:
    """What labels warn of in their own words, behind the names of what is warned of: what forbids first."""
    said = [text for text in group.texts if has_cjk(text) == bool(language)] if group.role in IN else []
    mark = ("; ", "；")[language]
    whole = mark.join(sorted(said, key=lambda text: not forbids(text)))
    return f"{mark}{clipped(whole, room)}" if whole else ""


YES_OR_NO = {
    **dict.fromkeys(("有", "是", "能", "会", "yes", "Yes"), ("Yes", "有")),
    **dict.fromkeys(("无", "否", "不能", "没有", "no", "No"), ("No", "无")),
}
_CONTAGIOUS = {
    "Yes": ("Yes: {} is contagious", "会传染：{}有传染性"),
    "No": ("No: {} is not contagious", "不会传染：{}没有传染性"),
}
_RELATIONS = {
    "definition": ("definition", "定义"),
    "without_warning_in": ("no warning is stated for", "未载警示的情形"),
    "unclassified_in": ("not classified for", "未分级的情形"),
    "forms_and_strengths": ("forms and strengths", "剂型与规格"),
    "传染性": ("contagious", "传染性"),
    "传播途径": ("way of spreading", "传播途径"),
}
_ORIGINAL = (" (in Chinese)", "（原文为英文）")
_OF_A_PRODUCT = (
    Role.ADVERSE,
    Role.CONTRAINDICATED,
    Role.PRECAUTION,
    Role.INTERACTS,
    Role.DOSAGE,
    Role.INGREDIENT,
    Role.IS_A,
)
_OF_MEDICINES = (Role.TREATS, Role.INTERACTS, Role.ADVERSE)


def _once(group: _Group, key: Callable[[str], str]) -> dict[str, str]:
    """The names of a group, of those that a key makes one the shortest; those said in more ways first."""
    once: dict[str, list[str]] = {}
    for name in group.names:
        once.setdefault(key(name), []).append(name)
    rows = list(once.values())
    if group.role is Role.TESTS:
        rows.sort(key=lambda names: -len(names))
        return {(name := min(names, key=len)): group.names[name] for names in rows}
    return {names[0]: group.names[names[0]] for names in rows}


def _fitting(names: Sequence[str], language: Language, room: int) -> list[str]:
    """The first names that fit; in English those that can be read, and what stands in Chinese only where none can."""
    foreign = [name for name in names if not language and has_cjk(name)]
    return _first([name for name in names if name not in foreign], room) or _first(foreign, room)


def _first(names: Sequence[str], room: int) -> list[str]:
    """The first names that have together at most so many characters."""
    kept: list[str] = []
    for name in names:
        if sum(map(len, kept)) + len(name) <= room:
            kept.append(name)
        elif len(name) <= _WIDE:  # a sentence among names is left out, and the names behind it are not
            break
    return kept or [clipped(name, room) for name in names[:1] if room > 20]


_WIDE = 40  # characters; a longer name is a sentence


_PRODUCT = lazily(
    r"(?:[\s,—-]*\b(?:enteric|coated|sustained|extended|prolonged|modified|slow|release|dispersible|chewable|for|oral"
    r"|injection|tablets?|capsules?|granules|suspension|solution|syrup)\b)+\W*$",
    re.IGNORECASE,
)


def _without_form(name: str) -> str:
    """A medicine by what is in it, not by how it is made up.

    >>> _without_form("Oxaprozin Enteric—coated Tablets"), _without_form("gold"), _without_form("Oral solution")
    ('Oxaprozin', 'gold', 'Oral solution')
    """
    return _PRODUCT.sub("", name) or name


def _heading(group: _Group, language: Language) -> str:
    subjects = list(group.subjects)
    if group.role in _OF_A_PRODUCT and len(subjects) > 1:
        said, count = Counter(map(substance, subjects)).most_common(1)[0]
        if 2 * count >= len(subjects):  # products are told by their substance
            subjects = [next((s for s in subjects if s.casefold() == said), said)]
    thing = joined(subjects[:2], language) + (_ETC[language] if len(subjects) > 2 else "")
    if group.role not in _HEADS:
        relation = _RELATIONS.get(group.relation, (group.relation,) * 2)[language].replace("_", " ")
        return f"{thing}，{relation}" if language else f"{thing}, {relation}"
    own, own_zh, other, other_zh = _HEADS[group.role]
    form = ((own, own_zh) if group.own else (other, other_zh))[language]
    return form.format(thing)
