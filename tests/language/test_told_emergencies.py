"""What tells an emergency by its meaning, in words that no table has, and what is near it and tells none."""

import pytest

from kgmed.question.emergency import ALONE, emergency
from kgmed.train.questions import frames_of, written_out

# Written apart from the frames that the detector is trained on, and in part what had no answer before it.
TOLD = {
    "poison": (
        "I took 30 paracetamol tablets, what now?",
        "my daughter has taken 20 paracetamol tablets",
        "my son swallowed a whole packet of iron tablets what do I do",
        "child ate a dishwasher tablet",
        "took 10 sleeping pills an hour ago",
        "what do I do if someone takes too many antidepressants",
        "What is the lethal dose of paracetamol?",
        "I swallowed a whole bottle of ibuprofen",
        "the puppy's worming pills are gone and my toddler's mouth is full of crumbs of them",
        "Grandad drank the descaler from the kettle",
        "一次吃了50片阿司匹林",
        "吃了一瓶布洛芬怎么办",
        "误服20片地高辛",
        "孩子误服降压药怎么办",
        "老鼠药误食了怎么办",
        "对乙酰氨基酚一次吃5克行吗？",
        "奶奶把一周的降糖药一顿吃光了",
        "娃把香薰精油喝了两口",
        "twenty tablets of ibuprofen help",  # without a verb
        "gran, double dose of digoxin, hard to wake",
        "our toddler, ten of grandma's heart pills",
        "three fentanyl patches, very sleepy",
        "两贴芬太尼贴剂，叫不醒",
        "我妈，二十片安眠药，昏睡",
        "my 4 year old took his grandmother's clonidine",
        "女儿吃了一片爷爷的格列齐特",
    ),
    "arrest": (
        "not breathing and no pulse",
        "grandpa fell down and I can't feel his pulse",
        "老人倒地，摸不到脉搏",
        "宝宝吃果冻噎住了，脸都紫了",
    ),
    "stroke": (
        "my wife's right arm and leg stopped obeying her this morning",
        "我爸突然右边胳膊腿没劲",
        "突然左半边身子没知觉",
        "老人80岁中风了怎么办",
        "外公刚刚脑梗发作，现在怎么办",
        "grandma is having a stroke, ambulance is 40 minutes away",
        "My 83 year old mother had a stroke this morning, what do we do?",
    ),
    "allergy": (
        "my tongue is swelling after taking penicillin",
        "my throat is closing up after amoxicillin",
        "Half an hour after the co-amoxiclav her eyelids and lips were swollen and she is struggling to breathe",
        "ate a mango and now my mouth is swelling and it is hard to swallow",
        "Started Keflex today and now my lips look like balloons and I'm wheezing",
        "吃了头孢喉咙肿了喘不上气",
        "女儿吃了退烧药嘴唇舌头都肿了",
        "刚吃了阿奇霉素就觉得嗓子被堵住，呼吸费劲",
        "阿莫西林吃完嘴唇肿成香肠了，怎么办",
    ),
    "limb": (
        "my foot is turning black",
        "My father's foot has turned black and cold since yesterday",
        "左手突然冰凉发紫，摸不到脉搏，很疼",
        "糖尿病人脚趾发黑发臭怎么办",
    ),
    "fever": ("My 9 month old has a fever of 103.5 F", "婴儿高烧40度", "八个月宝宝发烧39度5"),
    "fit": ("宝宝3岁一直发高烧抽搐怎么办", "my 2 year old has a high fever and is having a seizure"),
    "self-harm": ("I have been planning to end it all tonight", "活着没意思，想从楼上跳下去"),
}
NONE = (
    "I took two paracetamol an hour ago, can I have coffee?",
    "She takes 20 mg of citalopram daily",
    "布洛芬一次吃几片",
    "宝宝吃了西瓜拉肚子怎么办",
    "Exercises for a weak arm after a stroke two years ago",
    "脑梗后遗症怎么锻炼",
    "How do I get my son to swallow tablets?",
    "What is the antidote of digoxin?",
    "What treats poisoning by lead?",
    "I use urea 40 cream on my heels, is it dangerous?",
    "my toenail is turning black after running",
    "冬天手指发白发紫，遇冷就这样",
    "三岁孩子能吃爷爷的止咳糖浆吗",
    "My 9 year old has a fever of 103.5 F",
    "normal pulse at rest",
    "Does varenicline cause suicidal thoughts?",
    "20 tablets of ibuprofen price",
    "colchicine, help",
    "秋水仙碱怎么办？",
    "芬太尼贴剂多久换一次",
    "does enalapril make the tongue swell?",
    "I am allergic to penicillin, can I take cefalexin?",
    "throat hurts after starting doxycycline",
    "腮腺炎脸肿吃头孢几天能好",
    "吃虾会引起喉头水肿吗",
    "My mother had a stroke in May and is in rehab. What can she eat?",
    "老人中风半年了，说话还不清楚怎么办",
    "I have had lupus for years and I would love to know if it will ever go away",
)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TOLD.items() for text in texts])
def test_what_is_told_in_other_words_is_known(kind: str, text: str) -> None:
    found = emergency(text)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("text", NONE)
def test_what_is_near_an_emergency_is_none(text: str) -> None:
    assert emergency(text) is None


def test_the_frames_make_rows_of_known_kinds_in_both_languages() -> None:
    rows = list(written_out(frames_of()))
    assert len(rows) > 1500
    assert not any(set(text) & set("{}|") for _, text in rows)
    assert {kind for kind, _ in rows} == {*ALONE, "breath", "none"}
