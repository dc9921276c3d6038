"""The reader without a model: the answer is the evidence itself, grouped and cited."""

from collections.abc import Sequence

from kgmed.language.question import OF_THE_SUBJECT, roles_asked
from kgmed.language.text import has_cjk, one_line
from kgmed.records import Answer, Candidate, Context, Evidence, Query, Role

# --- The few words that a reader without a model says, in English and Chinese.


Words = dict[str, str]

_EN: Words = {
    "nothing": "The graph has nothing that answers this question.",
    "diagnosis": "Diseases that fit the findings, best first",
    "option": "Best supported option",
    "tie": "The options are supported alike; none is chosen.",
    "warning": "Warnings",
    "neighbours": "What the graph says",
    "limits": "Read from the knowledge graph alone, which is incomplete and may be wrong; not medical advice.",
    "unknown": "Not in the graph",
    Role.TREATS: "Treatments",
    Role.TESTS: "Tests",
    Role.FINDING: "Findings",
    Role.ADVERSE: "Adverse effects",
    Role.CONTRAINDICATED: "Contraindications",
    Role.INTERACTS: "Interactions",
    Role.DOSAGE: "Dosage",
    Role.CAUSE: "Causes",
    Role.RISK: "Risk factors",
    Role.COMPLICATION: "Complications",
    Role.PREVENTION: "Prevention",
    Role.GENE: "Genes",
    Role.INHERITANCE: "Inheritance",
    Role.ONSET: "Onset",
    Role.LOCATION: "Where in the body",
    Role.CARE: "Who treats it",
    Role.FOOD: "Food",
    Role.AVOID: "To avoid",
    Role.DIFFERENTIAL: "To tell apart from",
}
_ZH: Words = {
    "nothing": "图谱中没有能回答这个问题的内容。",
    "diagnosis": "与所述表现相符的疾病（依次）",
    "option": "证据最支持的选项",
    "tie": "各选项的证据相当，不作选择。",
    "warning": "注意",
    "neighbours": "图谱记载",
    "limits": "仅取自知识图谱，内容不全且可能有误；不构成医疗建议。",
    "unknown": "图谱中没有",
    Role.TREATS: "治疗",
    Role.TESTS: "检查",
    Role.FINDING: "症状与体征",
    Role.ADVERSE: "不良反应",
    Role.CONTRAINDICATED: "禁忌",
    Role.INTERACTS: "相互作用",
    Role.DOSAGE: "用法用量",
    Role.CAUSE: "病因",
    Role.RISK: "危险因素",
    Role.COMPLICATION: "并发症",
    Role.PREVENTION: "预防",
    Role.GENE: "基因",
    Role.INHERITANCE: "遗传方式",
    Role.ONSET: "起病",
    Role.LOCATION: "部位",
    Role.CARE: "就诊科室",
    Role.FOOD: "饮食",
    Role.AVOID: "忌",
    Role.DIFFERENTIAL: "鉴别",
}


def wording_for(text: str) -> Words:
    """The words in the language of a text: Chinese where it holds a Chinese character, else English."""
    return _ZH if has_cjk(text) else _EN


# --- Reader without a model: the answer is the evidence itself, grouped and cited.


Numbered = tuple[int, Evidence]


def facts(query: Query, context: Context) -> Answer:
    """The ranked evidence as an answer: what was asked for first, then what else the graph says, then warnings.

    Every line of evidence ends in its marker [i]. Without evidence it abstains; it also abstains, and says so first,
    where the evidence holds nothing of what was asked for.
    """
    words = wording_for(query.text)
    rows = list(enumerate(context.cited, start=1))
    said = [row for row in rows if row[1].kind != "warning"]
    if not said:
        return Answer(words["nothing"], abstained=True, limits=words["limits"], reader="facts")
    options = [row for row in said if row[1].kind == "option"]
    choices, verdict = _choose(options, query, words) if query.question.options else ((), [])
    lacking = [] if query.question.options else _lacking(query, said)
    blocks = [
        verdict,
        [f"{words['unknown']}{_colon(words['unknown'])} {', '.join(words[role] for role in lacking)}"]
        if lacking
        else [],
        *(_block(heading, group) for heading, group in _by_role([r for r in said if r not in options], query, words)),
        _block(words["warning"], [row for row in rows if row[1].kind == "warning"]),
    ]
    nothing_asked = (
        bool(lacking) and len(lacking) == len(roles_asked(query.text)) and not any(is_diagnosis(e) for _, e in said)
    )
    return Answer(
        "\n\n".join("\n".join(lines) for lines in blocks if lines),
        citations=tuple(i for i, _ in rows),
        candidates=tuple(candidates([row for row in said if row[1].kind in ("candidate", "option")])),
        choices=choices,
        abstained=nothing_asked or (bool(query.question.options) and not choices),
        limits=words["limits"],
        reader="facts",
    )


def _lacking(query: Query, rows: Sequence[Numbered]) -> list[Role]:
    """What the question asks for and no evidence speaks of."""
    return [role for role in roles_asked(query.text) if not any(_speaks_of(e, role) for _, e in rows)]


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


def _by_role(rows: Sequence[Numbered], query: Query, words: Words) -> list[tuple[str, list[Numbered]]]:
    """The evidence under a heading for each role that the question asks for, diagnoses, and the rest, in this order."""
    asked = roles_asked(query.text)
    groups: dict[str, list[Numbered]] = {words[role]: [] for role in asked}
    groups |= {words["diagnosis"]: [], words["neighbours"]: []}
    for i, e in rows:
        named = [words[role] for role in asked if _speaks_of(e, role)]
        heading = words["diagnosis"] if is_diagnosis(e) else named[0] if named else words["neighbours"]
        groups[heading].append((i, e))
    return list(groups.items())


def _colon(heading: str) -> str:
    return "：" if heading[:1] > "\u2e80" else ":"


def _block(heading: str, rows: Sequence[Numbered]) -> list[str]:
    """A heading and a line for each piece of evidence, with its marker."""
    return [heading + _colon(heading), *(f"- {one_line(e.text)} [{i}]" for i, e in rows)] if rows else []


def _choose(rows: Sequence[Numbered], query: Query, words: Words) -> tuple[tuple[str, ...], list[str]]:
    """The letter whose ties weigh most, with its ties; none where two weigh the same."""
    weight: dict[str, float] = {}
    for _, e in rows:
        weight[e.id] = weight.get(e.id, 0.0) + e.score
    top = [letter for letter, w in weight.items() if w == max(weight.values())]
    if len(top) != 1:
        return (), [words["tie"] if top else words["nothing"], *_block(words["neighbours"], rows)]
    text = dict(query.question.options)[top[0]]
    mine = [row for row in rows if row[1].id == top[0]]
    others = [row for row in rows if row[1].id != top[0]]
    lines = _block(one_line(f"{words['option']} {top[0]} ({text})"), mine)
    return (top[0],), [*lines, *_block(words["neighbours"], others)]


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
