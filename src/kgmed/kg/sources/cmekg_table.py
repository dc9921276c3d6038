"""What the relations of CMeKG mean. A relation that is not declared here is a text about its subject, nothing more.

CMeKG has 469 relations; most of the rare ones hold fragments of clinical guidelines. Declared are those whose values
name things (edges), those whose values name the subject itself (aliases), and the texts that matter for safety or
tell what kind of thing their subject is.
"""

from collections.abc import Mapping

from kgmed.kg.rows import Scope
from kgmed.types import Relation, Role

_EDGES = """
不良反应 | adverse | drug symptom
成份 组成 | ingredient | drug ingredient
适应症 主治 功能主治 主要适用症 主治病症 用于 | treats | drug disease
药物相互作用 | interacts | drug drug
通用名 商品名 | same_as | drug drug
分类 用途分类 | is_a | drug class
常见症状 临床症状及体征 主要症状 侵及周围组织转移的症状 侵及周围组织或转移的症状 | finding | disease symptom
相关药物 药物治疗 | treats < | disease drug
治疗 辅助治疗 手术治疗 化疗 放射治疗 放化疗治疗 | treats < | disease treatment
检查 影像学检查 实验室检查 辅助检查 组织学检查 内窥镜检查 筛查 其他检查 | tests < | disease test
术前准备_必检项目 住院必检项目 | tests < | disease test
并发症 药物引起的并发症 手术引起的并发症 治疗引起的并发症 术后症状 用药后不良反应 | complication | disease disease
常见病因 病因 主要病因 遗传因素 | cause | disease cause
高危因素 | risk | disease risk_factor
多发群体 发病人群 | risk | disease population
上位关系 | is_a | disease disease
下位关系 病理分型 分类（疾病） | is_a < | disease disease
就诊科室 | care | disease department
鉴别诊断 | differential | disease disease
预防 | prevention | disease prevention
常见发病部位 发病部位 转移部位 外侵部位 | location | disease body_part
禁忌证 | contraindicated | treatment disease
相关疾病 | tests | test disease
相关症状 | tests | test symptom
所属分类 | is_a | test class
相关疾病（疾病） 相关症状（疾病） | associated | disease disease
"""
_TEXTS = """
禁忌 主要用药禁忌 | contraindicated | drug
注意事项 警示语 运动员慎用 毒性 | precaution | drug
用法用量 用量 服药方法 服药时间 | dosage | drug
功效 功用 功能 作用 | treats | drug
规格 性状 贮藏 有效期 药品类型 OTC类型 药品监管分级 | other | drug
特殊药品 剂型 批准文号 是否处方药 是否纳入医保 执行标准 汉语拼音 | other | drug
性味 归经 分布区域 产地 采收时间 采集时间 采收季节 入药部位 出处 科 属 种 界 门 纲 目 | other | drug
传染性 传播途径 多发地区 发病性别倾向 预后状况 标准住院时间 出院标准 治疗方案 病史 | other | disease
药物治疗后症状 | complication | disease
选择治疗方案的依据 诊断依据_手术情况 诊断依据_血培养及药敏试验 | other | disease
"""
_ALIASES = """
英文名 英文名称 英文别名 英文别称 外文名 英文 拉丁学名 学名 二名法 | TRANSLATION
别称 又称 同义词 其他名称 中文名 中文学名 中医病名 药品名称 | EXACT
"""

CODES: Mapping[str, str] = {"ICD10": "ICD10", "ATC编码": "ATC", "CAS号": "CAS"}  # relation -> vocabulary


def _rows(table: str) -> list[tuple[list[str], list[str], list[str]]]:
    """The words of each cell of each line of a table."""
    lines = [line.split("|") for line in table.strip().splitlines()]
    return [(names.split(), what.split(), rest[0].split() if rest else []) for names, what, *rest in lines]


RELATIONS: Mapping[str, Relation] = {
    name: Relation(name, Role(what[0]), "<" in what) for names, what, _ in _rows(_EDGES + _TEXTS[1:]) for name in names
}
ENDS: Mapping[str, tuple[str, str]] = {  # of the edges: kind of head, kind of tail
    name: (ends[0].replace("_", " "), ends[1].replace("_", " ")) for names, _, ends in _rows(_EDGES) for name in names
}
KIND_OF_SUBJECT: Mapping[str, str] = {
    **{name: head for name, (head, _) in ENDS.items()},
    **{name: ends[0] for names, _, ends in _rows(_TEXTS) for name in names},
}
ALIASES: Mapping[str, Scope] = {name: Scope[what[0]] for names, what, _ in _rows(_ALIASES) for name in names}

# A relation that means something else where its subject is of another kind.
UNLESS: Mapping[tuple[str, str], str] = {
    ("相关疾病", "disease"): "相关疾病（疾病）",
    ("相关症状", "disease"): "相关症状（疾病）",
    ("分类", "disease"): "分类（疾病）",
}
