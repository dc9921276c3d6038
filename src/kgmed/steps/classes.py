"""Classes of medicines that a question names by what they are for (止痛药, a painkiller), and those set aside."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgmed.language.pair import asks_what
from kgmed.language.question import asking_part, compares, roles_asked
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Role
from kgmed.steps.family import CLASSES, MEDICINES, class_named
from kgmed.steps.phrase import language_of, named


def asked_of(links: Sequence[Link], text: str) -> list[Link]:
    """The links without those to what is but asked for of the others: a class of medicines (止痛药 for 头疼), tests."""
    if len(links) < 2:
        return list(links)
    ends = {x.mention.end for x in links if x.entity.kind in MEDICINES}
    rest = [x for x in links if not (x.mention.surface in _POISONED and x.mention.start in ends)]
    rest = [x for x in rest if not _GENERIC.fullmatch(x.mention.surface)] or list(links)
    if compares(text):
        return rest
    rest = _the_one_named(rest, text)
    if Role.TREATS not in roles_asked(text):
        return rest
    allergies = [m.span() for m in _ALLERGIC.finditer(text)]
    rest = [x for x in rest if not any(a < x.mention.end and x.mention.start < b for a, b in allergies)]
    for row in _FOR_THIS if asks_what(text) or "首选" in text else ():
        others = [x for x in rest if not row.is_named(x.mention.surface)]
        rest = others if row.is_for(_names(others)) or row.is_asked_for(text) else rest
    return rest or list(links)


def _the_one_named(links: list[Link], text: str) -> list[Link]:
    """The links without those to a class of which it is said which medicine it is: 降压药 … 吃的是卡托普利."""
    if not any(
        x.entity.kind in MEDICINES and _IT_IS.search(text[max(0, x.mention.start - _NEAR) : x.mention.start])
        for x in links
    ):
        return links
    return [x for x in links if x.entity.kind != "class" and not _is_class(x.mention.surface)]


def _is_class(name: str) -> bool:
    """Whether a name is of a class of medicines."""
    return asks_for_class(name) or any(m[0] == f"{name}类" for m in class_named(f"{name}类"))


_NEAR = 12  # characters before a name that are looked at
_IT_IS = lazily(
    r"(?:[吃用服打][的了]?药?(?:是|叫)|[，,。](?:就|它)?(?:是|叫)|名字[是叫])$"
    r"|\b(?:it(?:'s| is)|called|named|namely|taking) $",
    re.IGNORECASE,
)


def _is_for(said: str, links: Sequence[Link]) -> bool:
    """Whether a class of medicines that is named is for something that is linked."""
    named = _names(links)
    return any(row.is_named(said) and row.is_for(named) for row in _FOR_THIS)


def _names(links: Sequence[Link]) -> str:
    """What is linked, as it is said and as it is called."""
    return " ".join(f"{x.mention.surface} {x.entity.name}" for x in links)


def sections_named(text: str) -> list[str]:
    """Patterns of the names that graphs have for the classes which a text names."""
    return [row.sections for row in _FOR_THIS if row.sections and row.is_named(text)]


def asks_for_class(text: str) -> bool:
    """Whether a question names a class of medicines by what they are for: painkillers, 止痛药."""
    return any(row.is_named(text) for row in _FOR_THIS)


def asks_who_may(text: str, links: Sequence[Link]) -> bool:
    """Whether it is asked which of a class people with an illness may take, which the class is not for.

    >>> asks_who_may("Which painkiller is good for someone with an ulcer?", [])
    True
    """
    return asks_for_class(text) and bool(_FOR_PEOPLE_WITH.search(text)) and not _is_for(text, links)


_GENERIC = lazily(  # entries of a graph that are but words for what is asked of something
    r"(?:实验室|辅助|影像学?|相关|常规|特殊|化验室?)检查|鉴别诊断|急[诊救]处理|紧急处理|病理(?:改变|变化)?|[发致]病机[制理]"
    r"|(?:治疗|用药)方案|临床表现|处理|表型|禁忌症|预后"
)
_POISONED = ("中毒", "过量", "过量中毒")  # right behind a medicine: what it does then
_FOR_PEOPLE_WITH = lazily(
    r"\bsafe (?:with|in|for|during|if)\b|\b(?:take|use|have) with\b|[吃服用].{1,8}(?:能|可以)[吃服用](?:什么|哪)"
    r"|\b(?:for|in) (?:someone|somebody|people|anyone|those|patients?|an? \w+) (?:with|who ha)"
    r"|(?:病人|患者).{0,6}[吃用]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wanted:
    """Which of the treatments of an illness are asked for: those of a class or a form, or those of no class."""

    only: str = ""
    but: str = ""
    sections: str = ""

    @property
    def narrows(self) -> bool:
        """Whether a class or a form is asked for."""
        return bool(self.only or self.sections)

    def holds(self, *names: str, classes: Sequence[str] = ()) -> bool:
        """Whether a treatment of some names, which stands in some classes, is asked for."""
        if self.but and any(re.search(self.but, n, re.IGNORECASE) for n in names):
            return False
        named = bool(self.only) and any(re.search(self.only, n, re.IGNORECASE) for n in names)
        within = bool(self.sections) and any(re.search(self.sections, c, re.IGNORECASE) for c in classes)
        return named or within or not self.narrows


def wanted(text: str, links: Sequence[Link]) -> Wanted:
    """Which treatments a question asks for, of what is linked.

    >>> wanted("湿疹擦什么药膏", []).holds("糠酸莫米松乳膏"), wanted("青霉素过敏用什么药", []).holds("阿莫西林胶囊")
    (True, False)
    """
    said = asking_part(text)
    rows = [row for row in _FOR_THIS if (row.members or row.sections) and row.is_named(said)]
    rest = {row: f"{re.sub(row.called, '', text, flags=re.IGNORECASE)} {_names(links)}" for row in rows}
    classes = [row for row in rows if row.is_for(rest[row]) or row.is_asked_for(said)][:1]
    forms = [] if classes else [names for asked, names in _FORMS if re.search(asked, said, re.IGNORECASE)]
    allergies = (m["zh"] or m["to"] or m["first"] for m in _ALLERGIC.finditer(text))
    only = "".join([*(row.members for row in classes), *forms[:1]])
    return Wanted(only, "|".join(_stem(name) for name in allergies), "".join(row.sections for row in classes))


def class_in(text: str) -> Wanted:
    """The medicines of a class that a text names, whatever it asks of them.

    >>> class_in("降压药里哪些会引起咳嗽").holds("卡托普利"), class_in("降压药里哪些会引起咳嗽").holds("布洛芬")
    (True, False)
    """
    row = next((row for row in _FOR_THIS if row.members and row.is_named(text)), None)
    return Wanted(row.members, sections=row.sections) if row else Wanted()


def _stem(name: str) -> str:
    """By which the names of the class of a medicine are known, else the name."""
    forms = (f"(?:{called})(?:类.*|s)?" for called, _ in CLASSES)
    rows = zip(forms, (stem for _, stem in CLASSES), strict=True)
    of_class = (stem for form, stem in rows if re.fullmatch(form, name, re.I) or re.search(stem, name, re.I))
    return next(of_class, re.escape(name))


_ALLERGIC = lazily(
    r"(?P<zh>青霉素|[一-鿿]{2}西林|头孢(?:菌素)?|磺胺|[一-鿿]{0,2}沙星|喹诺酮|阿司匹林|布洛芬|[红链四阿克]霉素|四环素|[甲奥替]硝唑)(?:类)?(?:药物?|抗生素)?过敏"
    r"|\b(?:allergic to|allergy to) (?P<to>[a-z]{4,})|\b(?P<first>[a-z]{4,})[- ]allerg",
    re.IGNORECASE,
)


def none_of_class(query: Query, about: Sequence[Entity]) -> Evidence:
    """The verdict that of the treatments of a thing none is known as one of the class or form that is asked for."""
    language = language_of(query.text)
    said = _NONE_OF_IT[language].format(named(about[0], language))
    return Evidence(said, "verdict", (), tuple(about[:1]), 1.0, "heads")


_NONE_OF_IT = (
    "The graph does not say which treatments of {} are of the kind that is asked for; all that it has:",
    "图谱没有说明{}的治疗中哪些属于所问的这一类；所载全部治疗如下：",
)


class ClassFor(NamedTuple):
    """A class of medicines: how it is called, what it is for, and by which names its members and classes are known."""

    called: str
    ill: str
    members: str = ""
    sections: str = ""  # as graphs call the class, and those within it

    def is_named(self, text: str) -> bool:
        """Whether a text names the class."""
        return bool(re.search(self.called, text, re.IGNORECASE))

    def is_asked_for(self, text: str) -> bool:
        """Whether an English text asks for it against something: diuretics for gout."""
        return bool(re.search(rf"\b(?:{self.called})\w*\W+(?:for|in|against)\b", text, re.IGNORECASE))

    def is_for(self, names: str) -> bool:
        """Whether one of some names is of what the class is for."""
        return bool(re.search(self.ill, names, re.IGNORECASE))


_FOR_THIS = (
    ClassFor(
        r"[止镇]痛药|pain ?killer|\banalgesic",
        r"[疼痛]|pain|ache",
        "洛芬(?!啶)|双氯芬酸|对乙酰氨基酚|阿司匹林|萘普生|吲哚美辛|昔康|昔布|曲马多|吗啡|可待因|芬太尼|羟考酮"
        "|ibuprofen|paracetamol|acetaminophen|aspirin|naproxen|diclofenac|codeine|morphine|tramadol",
        "Opioid analgesics|Non-opioids|镇痛",
    ),
    ClassFor(r"感冒药|cold (?:remed|medic)", r"感冒|流感|cold|flu"),
    ClassFor(
        r"(?:退烧|退热|解热)药",
        r"发[烧热]|高烧|fever",
        "布洛芬|对乙酰氨基酚|阿司匹林|双氯芬酸|赖氨匹林|退热|ibuprofen|paracetamol|aspirin",
    ),
    ClassFor(
        r"消炎药|抗生素|抗菌药|antibiotic|\banti-?(?:bacterial|microbial)",
        r"炎|感染|结核|梅毒|淋病|百日咳|猩红热|伤寒|痢疾|丹毒|霍乱|鼠疫|脓|螺杆菌|itis|infect|pneumonia",
        "西林|青霉素|头孢|(?<!丝裂)(?<!博来)(?<!平阳)(?<!阿)(?<!柔红)霉素|沙星|环素|硝唑|培南|氨曲南|磺胺|唑胺|替考拉宁|呋喃妥因"
        "|阿米卡星|庆大|依替米星|cillin|\\bcef|mycin|micin|floxacin|cycline|penem|nidazole|sulfa(?!t)",
        "Antibacterials|Beta Lactam|^抗生素|头[孢胞]|青霉素|碳青[霉酶]烯|大环内酯|喹诺酮|氨基糖苷|四环素|糖肽|酰胺醇",
    ),
    ClassFor(
        r"抗凝(?:血)?药?|anti-?coagulant|blood thinner",
        r"房颤|心房颤动|栓|瓣|心肌梗|卒中|脑梗|atrial|thromb|embol|valve|stroke",
        "华法林|肝素|沙班|达比加群|阿加曲班|比伐[卢芦]定|香豆素|warfarin|heparin|xaban|dabigatran|coumarol|coumon",
    ),
    ClassFor(
        r"降压药|\banti-?hypertensive|\bblood pressure (?:medic|tablet|pill|drug)",
        r"高血压|hypertens",
        "普利|沙坦|地平|洛尔|噻嗪|吲达帕胺|唑嗪|利血平|可乐定|螺内酯|呋塞米|甲基多巴|肼屈嗪|阿利吉仑|乌拉地尔"
        "|pril\\b|sartan|dipine|olol\\b|thiazide",
        "Antihypertensive|降压药|抗高血压|血管紧张素",
    ),
    ClassFor(
        r"降糖药|\banti-?diabetic|\bhypoglyca?emics?\b",
        r"糖尿病|血糖|diabet",
        "双胍|格列|列汀|列净|胰岛素|阿卡波糖|伏格列波糖|米格列醇|鲁肽|那肽",
        "used for diabetes",
    ),
    ClassFor(r"(?:止咳|化痰|镇咳)药", r"咳|痰|cough"),
    ClassFor(r"止泻药", r"腹泻|diarrh"),
    ClassFor(r"安眠药|助眠药", r"失眠|insomn", "西泮|唑仑|唑吡坦|佐匹克隆|扎来普隆"),
    ClassFor(
        r"抗过敏药|anti-?histamine",
        r"过敏|荨麻疹|湿疹|allerg|hives|itch",
        "雷他定|替利嗪|氯苯那敏|苯海拉明|非索非那定|依巴斯汀|依匹斯汀|异丙嗪|赛庚啶|酮替芬|咪唑斯汀|奥洛他定|loratadine|tirizine|ramine",
        "抗组胺|H1受体",
    ),
    ClassFor(
        r"抗病毒药|anti-?viral",
        r"流感|疱|痘|腮|肝炎|艾滋|病毒|flu|herpes|hepat|hiv|virus",
        "韦|干扰素|利巴韦林|夫定|阿比多尔|vir\\b",
        "Antiviral|Other antivirals|Antiherpes|抗病毒",
    ),
    ClassFor(r"\banti-?retroviral", r"hiv|aids", "", "retroviral|transcriptase|Protease Inhibitors|HIV"),
    ClassFor(
        r"利尿药|利尿剂|\bdiuretic|\bwater (?:tablet|pill)",
        r"水肿|高血压|心衰|腹水|edema|heart failure|hypertens|cirrho|ascites|nephro",
        "噻嗪|塞米|螺内酯|thiazide|semide|spironolactone|amiloride|metolazone",
        "Diuretics|利尿",
    ),
    ClassFor(
        r"抗真菌药|\banti-?fungal",
        r"真菌|癣|念珠菌|fung|candid|tinea|thrush|mycosis|ringworm|asperg|cryptococ",
        "康唑|芬净|特比萘芬|conazole|fungin|terbinafine",
        "antifungal|抗真菌|杀真菌",
    ),
    ClassFor(
        r"抗癫痫药|\banti-?(?:epileptic|convulsant|seizure)|\baeds?\b",
        r"癫痫|惊厥|epilep|seizure|convuls",
        "",
        "antiepileptics|抗癫痫|抗惊厥",
    ),
    ClassFor(r"抗抑郁药|\banti-?depressant", r"抑郁|depress", "西汀|oxetine|triptyline", "depressive disorders|抗抑郁"),
    ClassFor(r"\banti-?psychotic|\bneuroleptic", r"schizo|psycho|bipolar|mania", "", "psychotic disorders|抗精神病"),
    ClassFor(r"抗疟药|\banti-?malarial", r"疟|malaria", "", "Antimalarial|抗疟"),
    ClassFor(r"止吐药|\banti-?emetic", r"恶心|呕吐|nause|vomit", "", "Antiemetic|止吐"),
    ClassFor(r"泻药|\blaxative", r"便秘|constipat", "", "Laxatives|泻药"),
    ClassFor(
        r"\b(?:cortico)?steroid",
        r"asthma|eczema|dermat|arthrit|lupus|allerg|sarcoid|croup|adrenal|nephro|pemphig",
        "松龙|米松|泼尼松|可的松|nisolone|nisone|metasone|cortisone",
        "Adrenal hormones|皮质激素",
    ),
    ClassFor(
        r"\bnsaid", r"pain|ache|arthr|gout|fever", "洛芬(?!啶)|昔康|昔布|profen|diclofenac|naproxen|oxicam", "非甾体"
    ),
    ClassFor(r"\bdmard", r"arthr", "", "DMARD|治疗类风湿"),
    ClassFor(r"\bimmunosuppress", r"transplant|lupus|arthr|nephr", "", "Immunosuppressive|免疫抑制"),
    ClassFor(
        r"\bbronchodilator",
        r"asthma|copd|pulmonary|bronch",
        "沙丁胺醇|特罗|buterol|terol\\b|tropium",
        "chronic obstructive|平喘|β2肾上腺素能受体激动",
    ),
    ClassFor(
        r"\bopioid", r"pain|ache", "吗啡|可待因|芬太尼|曲马多|morphine|codeine|fentanyl|tramadol", "Opioid analgesics"
    ),
    ClassFor(r"\b(?:tb|anti-?tubercul\w+) (?:drug|medic|agent)", r"tubercul", "", "Antituberculosis|抗结核"),
    ClassFor(r"\bvaccine", r"(?!)", "", "^Vaccines$"),
    ClassFor(r"\bcontraceptive", r"(?!)", "", "contraceptives$"),
)
_FORMS = (  # what is put on, or given by a needle: how it is asked for, and what the names of products have
    (
        r"药膏|软膏|乳膏|(?:擦|抹|涂|敷)(?:点|些)?(?:什么|啥|哪)|\b(?:cream|ointment)s?\b",
        "软膏|乳膏|凝胶|洗剂|搽剂|霜|[^贴]膏$|cream|ointment|lotion",
    ),
    (r"眼药水|滴眼液|eye ?drops", "滴眼|眼膏|眼用|眼药"),
    (r"喷(?:剂|雾)|吸入剂|inhaler", "喷|气雾|吸入|inhal"),
)
