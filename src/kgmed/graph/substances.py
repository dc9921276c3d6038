"""What a medicine is made of, by its name: without its form and its salt."""

import re

from kgmed.language.text import lazily

_FORMS = lazily(
    r"(?:[（(［\[][^）)］\]]*[）)］\]])"
    r"|^(?:注射用|外用|小儿|儿童)"
    r"|(?:(?:肠溶|缓释|控释|分散|咀嚼|泡腾|口腔崩解|薄膜衣|双释放|速释|含|干|软|硬|滴|眼用|外用|鼻用|吸入用?|口服|皮下)*"
    r"(?:片剂?|胶囊剂?|颗粒剂?|注射液|注射剂|口服溶?液|溶液|糖浆|滴剂|滴眼液|眼膏|滴丸|丸|散|膏|乳膏|软膏|凝胶|栓|贴剂?|喷雾剂"
    r"|气雾剂|粉雾剂|混悬液|冲剂|粉针|冻干粉|酊|搽剂|洗剂|霜|水|葡萄糖|氯化钠))+$"
    r"|—|\b(?:tablets?|capsules?|injections?|oral|solution|syrup|cream|ointment|gel|drops|suspension|powder|granules"
    r"|sustained|extended|modified|prolonged|slow|release|enteric|coated|for|dispersible|chewable|\d+ ?m?g)\b",
    re.IGNORECASE,
)
_SALTS = lazily(
    r"^(?:盐酸|硫酸|磷酸|枸橼酸|马来酸|酒石酸|富马酸|甲磺酸|苯磺酸|氢溴酸|琥珀酸|醋酸|乙酸|碳酸|重酒石酸|双氯|门冬氨酸|乳酸|硝酸(?!甘油|异山梨))"
    r"|(?:盐酸盐|钠|钾|钙)$"
    r"|\b(?:hydrochloride|sodium|potassium|calcium|sulfate|sulphate|maleate|tartrate|citrate|acetate|mesylate|besylate"
    r"|phosphate|fumarate|succinate|hcl|hydrobromide|nitrate)\b",
    re.IGNORECASE,
)


def substance(name: str) -> str:
    """The name of a medicine without its form and its salt.

    >>> substance("盐酸二甲双胍缓释片"), substance("Metformin hydrochloride tablets"), substance("硝酸甘油片")
    ('二甲双胍', 'metformin', '硝酸甘油')
    """
    plain = _FORMS.sub("", name.strip()).strip()
    bare = " ".join(_SALTS.sub("", plain).split())
    return (bare if len(bare) > 1 else plain or name).casefold()
