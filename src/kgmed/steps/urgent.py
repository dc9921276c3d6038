"""Which diseases may kill within hours, by their names, and which of them the signs of an emergency mean."""

import re
from functools import lru_cache

_EMERGENCY = (  # what may kill or maim within hours
    r"myocardial infarct|heart attack|coronary syndrome|\bstroke|cerebral infarct"
    r"|(?:cerebral|subarachnoid) ha?emorrhage|\b(?:encephalo)?meningitis|\bsepsis|pulmonary embol|aortic dissection"
    r"|appendicitis|ectopic pregnan|epiglottitis"
    r"|testicular torsion|ketoacidosis|status epilepticus|\bperforation|intestinal obstruction|pneumothorax"
    r"|anaphyla(?:xis|ctic ?(?:shock|reaction))|acute pancreatitis|angle.closure|gastrointestinal ha?emorrhage|suicid"
    r"|心肌梗[死塞]|急性冠|脑卒中|中风$|脑梗[死塞]|脑出血|蛛网膜下|(?<!膜)(?<!膜—)脑膜炎|急性胰腺炎|败血症|脓毒|肺栓塞|主动脉夹层|过敏性休克"
    r"|阑尾炎|异位妊娠|宫外孕|输卵管妊娠|睾丸扭转|酮症酸中毒|癫痫持续|穿孔|肠梗阻|气胸|会厌炎|闭角型青光眼|消化道(?:大)?出血|自杀"
)


@lru_cache(maxsize=1)
def _emergency() -> re.Pattern[str]:
    """The pattern, compiled where diseases are ranked."""
    return re.compile(_EMERGENCY, re.IGNORECASE)


def is_emergency(name: str) -> bool:
    """Whether a disease or finding of that name may kill within hours, so that it is not to be missed.

    >>> is_emergency("Acute myocardial infarction"), is_emergency("肺栓塞"), is_emergency("Angina pectoris")
    (True, True, False)
    """
    return _emergency().search(name) is not None


_HEART = r"心肌梗[死塞]|急性冠|心绞痛|myocardial infarct|coronary syndrome|^angina"
MEANT = {  # what is meant by the signs of an emergency that is told
    "stroke": r"脑卒中|中风|脑梗[死塞]|脑血管意外|脑出血|\bstroke\b|cerebral infarct|intracerebral ha?emorrhage",
    "face": r"面神经麻痹|贝尔|\bstroke\b|脑卒中|脑梗[死塞]|bell('s)? palsy",
    "head": r"蛛网膜下|subarachnoid",
    "heart": _HEART,
    "angina": _HEART,
    "clot": r"(?:静脉|肺).{0,4}(?:血栓|栓塞)|thrombo(?:sis|embolism|phlebitis)|pulmonary embol",
    "lung": r"肺栓塞|肺结核|支气管扩张|肺癌|pulmonary embol|pulmonary tubercul|bronchiectasis|lung cancer",
    "allergy": r"过敏性休克|严重过敏反应|速发型?过敏|\banaphyla",
    "bowel": r"肠梗阻|bowel obstruct|intestinal obstruct|\bileus",
    "purple": r"脑膜炎球菌|流行性脑|meningococc",
}

_MALIGNANT = (
    r"\b(?:cancer|malignan\w*|leuk(?:a)?emia|melanoma)|(?:carcin|sarc|lymph|blast|myel)oma\b"
    r"|癌|恶性|肉瘤|白血病|淋巴瘤|骨髓瘤"
)


@lru_cache(maxsize=1)
def _malignant() -> re.Pattern[str]:
    return re.compile(_MALIGNANT, re.IGNORECASE)


def is_malignant(name: str) -> bool:
    """Whether a disease of that name may be malignant, so that a doctor should see it soon.

    >>> is_malignant("Breast cancer"), is_malignant("肺腺癌"), is_malignant("Breast cyst")
    (True, True, False)
    """
    return _malignant().search(name) is not None
