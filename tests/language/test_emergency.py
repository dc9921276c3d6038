"""What is an emergency in a question, and what is not."""

import pytest

from kgmed.question.emergency import emergency, helped

TOLD = {
    "self-harm": (
        "I want to die",
        "I am thinking of killing myself",
        "I don't want to live anymore",
        "My son talks about killing himself",
        "我不想活了",
        "想自杀怎么办",
    ),
    "heart": (
        "Chest pain going down my left arm with sweating",
        "胸口痛，放射到左臂，出冷汗，是什么病",
        "He has a crushing chest pain",
        "胸口像压着石头一样痛",
    ),
    "stroke": (
        "sudden weakness on one side and slurred speech",
        "突然半边身子没力气，说话不清",
        "突然说话不清、右边手脚没力气",
        "my grandma's mouth is crooked and she can't move her left arm",
        "刚才我爸突然半边身子不能动，嘴也歪了，说话含含糊糊的，怎么办？",
    ),
    "angina": ("My chest feels tight when I climb stairs", "胸口发紧，爬楼时加重"),
    "chest": ("I have chest pain since yesterday", "胸痛两天了"),
    "face": ("My face is drooping on one side", "早上起来嘴歪了"),
    "lung": ("I am coughing up blood", "咳血两天了"),
    "clot": ("My calf is swollen and hurts after a long flight", "一条腿肿了，刚做完手术"),
    "head": ("sudden worst headache of my life", "突然剧烈头痛，从来没这么痛过"),
    "breath": ("I can't breathe", "孩子喘不上气，嘴唇发紫"),
    "poison": ("my child swallowed bleach", "I took a whole bottle of pills", "孩子喝了漂白水怎么办"),
    "bleeding": ("The bleeding won't stop", "he threw up blood this morning", "伤口血流不止"),
    "allergy": (
        "throat swelling after a bee sting",
        "after eating cashews my daughter is wheezing and has hives",
        "被蜂蜇后喉咙肿",
    ),
    "fit": ("My son is having a seizure that won't stop", "孩子一直抽搐停不下来"),
    "meninges": (
        "For two days I have a stiff neck, high fever and light hurts my eyes.",
        "脖子僵硬，发高烧，怕光，怎么办",
    ),
    "pregnancy": (
        "I'm 34 weeks pregnant with headache, blurred vision and swollen hands",
        "怀孕32周，头疼，眼花，脸肿",
    ),
    "testis": ("My son suddenly has terrible pain in one testicle", "睾丸突然疼得厉害"),
    "infant": ("my 6 week old has a fever of 38.5", "刚满月的宝宝发烧38.5度"),
    "sight": ("I suddenly can't see in my left eye", "眼睛突然看不清，眼胀头疼"),
    "spine": ("I have back pain and can't pee", "腰疼，排不出尿"),
    "knock": ("My toddler hit his head and now he is vomiting", "孩子从床上摔下来头着地，吐了两次"),
    "bite": ("A dog bit me yesterday on the leg", "被邻居家的狗咬了一口，要打什么针"),
    "unconscious": ("She won't wake up", "他叫不醒了"),
}
NONE = (
    "What are the risk factors of suicide?",
    "自杀的危险因素有哪些",
    "Which drugs cause suicidal ideation?",
    "What is the treatment of anaphylaxis?",
    "What is the antidote for paracetamol overdose?",
    "阿司匹林过量服用有什么表现",
    "He has no suicidal thoughts",
    "I do not want to die",
    "他没有自杀想法",
    "No chest pain, no sweating",
    "What is the differential of chest pain?",
    "I have chest pain when I cough",
    "胸痛的鉴别诊断",
    "I can't breathe through my nose",
    "爬楼就喘不上气",
    "I can't sleep and wake up at four",
    "痒得想死",
    "What helps against headaches?",
    "My neck is stiff after sleeping badly",
    "I have a headache, my face is swollen",
    "怀孕可以吃头疼药吗",
    "What is the treatment of testicular torsion?",
    "My baby is 10 months old and has a fever",
    "I have had a fever for two weeks",
    "My cat is ill, can I catch something?",
    "I was bitten by a mosquito",
    "腰疼尿频是什么病",
    "头痛得厉害，吃什么药",
)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TOLD.items() for text in texts])
def test_an_emergency_that_is_told_is_known_by_its_kind(kind: str, text: str) -> None:
    found = emergency(text)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("text", NONE)
def test_what_is_denied_harmless_or_asked_by_a_textbook_is_no_emergency(text: str) -> None:
    assert emergency(text) is None


def test_the_call_for_help_is_in_the_language_of_the_question_and_names_no_number() -> None:
    assert "emergency number" in helped("I want to die")
    assert "急救电话" in helped("我不想活了")
    assert not any(c.isdigit() for text in ("I want to die", "我不想活了") for c in helped(text))


def test_a_wish_to_die_is_answered_before_any_other_emergency() -> None:
    found = emergency("I took an overdose, I want to die")
    assert found is not None
    assert found.kind == "self-harm"
