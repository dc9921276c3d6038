"""What a relation means, from its name: the only place where names of relations are matched.

Readers of one certain graph declare their relations; the readers of files that anybody may write (triples, RDF, OBO)
leave it to `infer`, and a user who knows better says so in a TOML table (`roles_from_toml`).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import check_file
from kgmed.types import Relation, Role

Kinds = tuple[str, str]  # of the head, of the tail

# the kinds at the two ends of a role in its canonical direction; "" = it does not say
ENDS: Mapping[Role, Kinds] = {
    Role.FINDING: ("disease", "symptom"),
    Role.EXCLUDES: ("disease", "symptom"),
    Role.TREATS: ("drug", "disease"),
    Role.CONTRAINDICATED: ("drug", "disease"),
    Role.ADVERSE: ("drug", "symptom"),
    Role.INTERACTS: ("drug", "drug"),
    Role.PRECAUTION: ("drug", ""),
    Role.DOSAGE: ("drug", ""),
    Role.INGREDIENT: ("drug", "ingredient"),
    Role.TESTS: ("test", "disease"),
    Role.CAUSE: ("disease", "cause"),
    Role.RISK: ("disease", "risk factor"),
    Role.COMPLICATION: ("disease", "disease"),
    Role.PREVENTION: ("disease", "prevention"),
    Role.LOCATION: ("disease", "body part"),
    Role.GENE: ("disease", "gene"),
    Role.INHERITANCE: ("disease", "inheritance"),
    Role.ONSET: ("disease", "onset"),
    Role.CARE: ("disease", "department"),
    Role.FOOD: ("disease", "food"),
    Role.AVOID: ("disease", "food"),
    Role.DIFFERENTIAL: ("disease", "disease"),
    Role.ASSOCIATED: ("disease", "disease"),
    Role.IS_A: ("", ""),
    Role.SAME_AS: ("", ""),
    Role.OTHER: ("", ""),
}

_NOT = re.compile(r"\b(?:not|non?|without|absen(?:t|ce)|lacks?)\b|^(?:不(?!良)|无|非|没有|未(?!病))")
_NEGATED = {Role.FINDING: Role.EXCLUDES, Role.FOOD: Role.AVOID, Role.EXCLUDES: Role.EXCLUDES, Role.AVOID: Role.AVOID}

# In this order; the first that matches decides. `<` = against the canonical direction of the role.
_RULES: tuple[tuple[str, str], ...] = (
    ("other", r"drugs of\b|生产药品|produce"),
    ("other", r"^(?!drug|disease)(\w+) \1$|^(?!disease)\w+ protein$"),
    ("same_as", r"same as|synonym|equivalent|exact match|also known|alias|trade ?name|brand"),
    ("same_as", r"通用名|商品名|同义|别名|别称|又称|俗称"),
    ("contraindicated <", r"has contraindicated|contraindicated (?:drug|medication)|contraindicated by"),
    ("contraindicated", r"contra ?indicat|禁忌|禁用|忌用|忌服|禁服"),
    ("interacts", r"interact|drug drug|相互作用|配伍"),
    ("adverse <", r"(?:side effect|adverse (?:effect|reaction|event)) of|induced by drug|药物引起"),
    ("adverse", r"side effect|adverse|drug effect|不良反应|副作用|毒副"),
    ("precaution", r"precaution|caution|warning|注意事项|慎用|警示"),
    ("dosage", r"dosage|\bdose\b|posology|用法|用量|剂量|服药"),
    ("ingredient <", r"ingredient of|component of drug"),
    ("ingredient", r"ingredient|composition|成份|成分|组成"),
    ("inheritance", r"inherit|遗传方式|遗传模式"),
    ("onset", r"\bonset\b|age of|发病年龄|起病|病程"),
    ("differential", r"differential|distinguish|鉴别"),
    ("complication <", r"complication of|manifests? as complication|是.*并发症"),
    ("complication", r"complicat|ac?company|sequela|并发|合并症|后遗症"),
    ("avoid", r"(?:not?|avoid)\s?(?:to )?(?:eat|food)|avoid|忌口|忌食|不宜|忌吃|不可以吃|不能吃|避免"),
    ("food", r"\beat\b|food|diet|recipe|nutrition|宜吃|宜食|可以吃|推荐吃|食物|饮食|食谱|食疗"),
    ("care", r"department|special(?:i?ty|ist)|clinic to|科室|专科"),
    ("prevention <", r"\bprevents?\b.*(?:disease)?$(?<!prevention)"),
    ("prevention", r"prevent|prophyla|预防"),
    ("risk <", r"risk factor (?:of|for)|increases risk|predispos(?:es|ing)"),
    ("risk", r"\brisk|susceptib|高危|风险|危险因素|易感|诱因|诱发"),
    ("excludes", r"exclud|phenotype negative|phenotype absent|排除"),
    ("tests", r"(?:can )?(?:check|test|detect|diagnos|screen|measur)\w*(?: for| the)? disease|diagnos(?:e\b|es|tic of)|"
     r"tests? for|检查出|可检|诊断疾病"),
    ("tests <", r"\b(?:check|test)s?\b|diagnos|examination|laborator|imaging|screening|检查|检验|化验|筛查|检测|必检"),
    ("treats", r"cure disease|\btreats?\b|\bcures?\b|indicat(?:ion|ed)|off label|therap(?:y|eutic) for|(?:drug|"
     r"medication|medicine|treatment|therapy|remedy) (?:of|for)|适应症|适应证|主治|适用|用于|可治|治疗疾病"),
    ("treats <", r"treat|drug|medicat|medicine|therap|cure|remedy|surgery|药|治疗|治法|疗法|疗程|手术|化疗|放疗"),
    ("gene <", r"gene (?:associated )?(?:with|of|to|for) disease|gene (?:of|for)|gene disease|causes? disease gene"),
    ("gene", r"\bgenes?\b|protein|基因"),
    ("location <", r"(?:site|location) of\b"),
    ("location", r"location|located|finding site|body ?part|anatom|affected (?:organ|site)|部位|侵犯|器官"),
    ("finding <", r"(?:symptom|sign|finding|manifestation|phenotype) of|possible disease|indicates? disease|"
     r"phenotype disease|症状对应疾病|可能疾病|可能患"),
    ("finding", r"symptom|\bsigns?\b|finding|manifest|phenotype|presents? with|症状|体征|表现|症候|征象"),
    ("cause <", r"\bcauses?\b(?!d| of)\s?\w+|^causes$|cause of|causative agent of|leads? to|induces|导致|引起|致病$"),
    ("cause", r"\bcaused?\b|causative|etiology|aetiology|due to|induced by|病因|原因|起因"),
    ("is_a <", r"inverse is ?a|has child|\bchild(?:ren)?\b|narrower|has sub|superclass of|parent of|下位|子类|包括"),
    ("is_a", r"\bis ?a\b|sub ?class|broader|parent|belongs? to|category|type of|\btype$|上位|父类|属于|分类|类别"),
    ("associated", r"related|associat|disease disease|co ?occur|comorbid|相关疾病|相关|伴随|关联"),
)  # fmt: skip
_COMPILED = tuple((Role(what.split()[0]), what.endswith("<"), re.compile(pattern)) for what, pattern in _RULES)


@lru_cache(maxsize=4096)
def infer(relation_name: str) -> Relation:
    """The relation with the role and direction that its English or Chinese name suggests; `Role.OTHER` if none.

    >>> [(r.role.value, r.reverse) for r in map(infer, ("has_symptom", "possible_disease", "need_medical_test"))]
    [('finding', False), ('finding', True), ('tests', True)]
    >>> infer("not_has_symptom").role.value, infer("药物治疗").reverse
    ('excludes', True)
    """
    words = _words(relation_name)
    for role, reverse, pattern in _COMPILED:
        if pattern.search(words):
            role = _NEGATED.get(role, _unless_warning(role)) if _NOT.search(words) else role
            return Relation(relation_name, role, reverse and role is not Role.OTHER)
    return Relation(relation_name)


def _unless_warning(role: Role) -> Role:
    """What is left of a role under a negation: a warning stays one, of the rest nothing is known."""
    return role if role.is_safety or role in (Role.ADVERSE, Role.PRECAUTION) else Role.OTHER


def _words(name: str) -> str:
    """The name in lower case with single spaces; camelCase is taken apart.

    >>> _words("hasSymptom"), _words("may_be_treated_by"), _words("诊断依据_鉴别诊断")
    ('has symptom', 'may be treated by', '鉴别诊断')
    """
    last = re.sub(r"^[^\x00-\x7f]+_", "", name)
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", last)
    return " ".join(re.sub(r"[\W_]+", " ", apart).casefold().split())


def kinds_of(relation: Relation) -> Kinds:
    """The kinds of head and tail that a relation's role and direction imply; "" where they do not say.

    >>> kinds_of(Relation("need_medication", Role.TREATS, reverse=True))
    ('disease', 'drug')
    """
    subject, object_ = ENDS[relation.role]
    return (object_, subject) if relation.reverse else (subject, object_)


@dataclass(frozen=True, slots=True)
class RoleTable:
    """What a user says of the relations of a graph."""

    relations: Mapping[str, Relation]
    kinds: Mapping[str, Kinds]


def roles_from_toml(path: Path) -> RoleTable:
    """The user's own table: one `[relation-name]` each, with `role`, `reverse`, `head`, `tail` (kinds).

    All fields are optional; one that is not there keeps what its name suggests. Raises `SourceError`.
    """
    check_file(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise SourceError(path, 0, "is not UTF-8 text", "save the table as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(path, _line_of(str(error)), f"is no TOML: {_first(error)}", "mend that line") from error
    read = {name: _relation(path, name, entry) for name, entry in table.items()}
    return RoleTable({n: r for n, (r, _) in read.items()}, {n: k for n, (_, k) in read.items()})


def _line_of(message: str) -> int:
    found = re.search(r"line (\d+)", message)
    return int(found.group(1)) if found else 0


def _first(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _relation(path: Path, name: str, entry: Any) -> tuple[Relation, Kinds]:
    """One entry of the table, checked."""
    mend = f'write [{name!r}] with role = "...", reverse = true or false, head = "...", tail = "..."'
    if not isinstance(entry, dict):
        raise SourceError(path, 0, f"{name!r} is not a table", mend)
    guess = infer(name)
    role, reverse = (
        entry.get("role", guess.role.value),
        entry.get("reverse", guess.reverse if "role" not in entry else False),
    )
    unknown = set(entry) - {"role", "reverse", "head", "tail"}
    if unknown:
        raise SourceError(path, 0, f"{name!r} has the unknown field {min(unknown)!r}", mend)
    if role not in list(Role):
        raise SourceError(path, 0, f"{name!r} has the unknown role {role!r}", f"choose from {', '.join(Role)}")
    if not isinstance(reverse, bool):
        raise SourceError(path, 0, f"reverse of {name!r} is not true or false", mend)
    relation = Relation(name, Role(role), reverse)
    head, tail = kinds_of(relation)
    kinds = entry.get("head", head), entry.get("tail", tail)
    if not all(isinstance(kind, str) for kind in kinds):
        raise SourceError(path, 0, f"a kind of {name!r} is not text", mend)
    return relation, kinds
