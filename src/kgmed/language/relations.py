"""What a relation is called in the language of the question, where its graph names it in another."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgmed.language.text import has_cjk
from kgmed.records import Relation, Role

# role | English along it | English against it | Chinese along it | Chinese against it
_TABLE = """
finding | shows | seen in | 表现 | 见于
excludes | does not show | not seen in | 无此表现 | 不见于
treats | treats | treated with | 治疗 | 治疗方法
contraindicated | must not be used in | contraindicated | 禁用于 | 禁用
adverse | can cause | can be caused by | 不良反应 | 可由其引起
interacts | interacts with | interacts with | 相互作用 | 相互作用
precaution | caution | caution with | 注意 | 慎用
dosage | dosage | dosage of | 用法用量 | 用法用量
ingredient | contains | contained in | 成份 | 含于
tests | test for | tested by | 可检查 | 检查
cause | caused by | causes | 病因 | 可导致
risk | risk factor | risk factor for | 危险因素 | 为其危险因素
complication | complication | complication of | 并发症 | 为其并发症
prevention | prevented by | prevents | 预防 | 可预防
location | located in | site of | 部位 | 为其部位
gene | gene | gene of | 基因 | 相关疾病
inheritance | inheritance | inheritance of | 遗传方式 | 遗传方式
onset | onset | onset of | 起病 | 起病
care | treated by department | department for | 就诊科室 | 接诊
food | good food | good in | 宜食 | 宜用于
avoid | to avoid | to be avoided in | 忌 | 忌用于
differential | to be told from | to be told from | 鉴别 | 鉴别
associated | associated with | associated with | 相关 | 相关
is_a | is a kind of | includes | 属于 | 包括
same_as | same as | same as | 同 | 同
"""


def _words() -> Mapping[tuple[Role, bool, str], str]:
    """The words by role, whether it is written against the role, and language."""
    rows = [[cell.strip() for cell in line.split("|")] for line in _TABLE.strip().splitlines()]
    keys = [(False, "en"), (True, "en"), (False, "zh"), (True, "zh")]
    return {(Role(row[0]), *key): word for row in rows for key, word in zip(keys, row[1:], strict=True)}


_WORDS = _words()


@dataclass(frozen=True, slots=True)
class Spoken(Relation):
    """A relation that is written in a language; its name stays that of its graph."""

    words: str = ""

    def __str__(self) -> str:
        """The words for it."""
        return self.words or self.name


def spoken(relation: Relation, language: str) -> Relation:
    """The relation, with words for its role where its name is not in the language.

    >>> relation = spoken(Relation("药物治疗", Role.TREATS, reverse=True), "en")
    >>> str(relation), relation.name, str(spoken(Relation("has_phenotype", Role.FINDING), "en"))
    ('treated with', '药物治疗', 'has_phenotype')
    """
    words = _WORDS.get((relation.role, relation.reverse, language), "")
    if not words or has_cjk(relation.name) == (language == "zh"):
        return relation
    return Spoken(relation.name, relation.role, relation.reverse, words)
