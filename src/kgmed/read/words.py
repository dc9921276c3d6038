"""The few words that a reader without a model says, in English and Chinese."""

from kgmed.kg.text import has_cjk
from kgmed.types import Role

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


def words_for(text: str) -> Words:
    """The words in the language of a text: Chinese where it holds a Chinese character, else English."""
    return _ZH if has_cjk(text) else _EN
