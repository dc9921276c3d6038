"""What patients say, by the table of lay words."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgmed.language.lay import others, porter2, said


def told(text: str) -> list[str]:
    """The findings of a text by their first names."""
    return [one.names[0] for one in said(text)]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("I can't sleep and I have no appetite", ["Insomnia", "Poor appetite"]),
        ("her ankles were swollen", ["Pedal edema"]),
        ("her ankles were fine; her belly was swollen", ["Abdominal distention"]),
        ("burns when she pees", ["Dysuria"]),
        ("she burns the toast and her dog pees", []),
        ("the room spins, but not when I rest", ["Vertigo"]),
        ("夜里起来小便好几次", ["Nocturia"]),
        ("肚子一阵一阵绞痛", ["Abdominal colic", "Abdominal pain"]),
        ("小便正常，肚子疼", ["Abdominal pain"]),
        ("no hearing impairment", []),
        ("宝宝软趴趴的，还抬不起头", ["Hypotonia", "Poor head control"]),
        ("面条软趴趴的不好吃，老板抬不起头", []),
        ("眼白发蓝，骨折过三次", ["Blue sclerae", "Recurrent fractures"]),
        ("大便后滴鲜血", ["Hematochezia", "大便出鲜血"]),
        ("血检正常，小便后滴眼药水", []),
        ("孩子发烧，做了检查抽血", []),
    ],
)
def test_a_finding_is_told_where_all_words_of_a_way_stand_in_one_clause(text: str, findings: list[str]) -> None:
    assert told(text) == findings


def test_what_is_told_in_some_of_the_words_of_another_is_left_out_unless_that_is_not_known() -> None:
    text = "chest pain when I walk"
    assert told(text) == ["Exertional chest pain"]
    assert [one.names for one in said(text, {"Chest pain"}.__contains__)] == [("Chest pain",)]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("he is a floppy baby and can't hold his head up", ["Hypotonia", "Poor head control"]),
        ("the whites of her eyes are blue", ["Blue sclerae"]),
        ("has broken 4 bones before the age of 5", ["Recurrent fractures"]),
        ("coffee coloured birthmarks, freckles in the armpits", ["Cafe-au-lait spot", "Axillary freckling"]),
        ("the skin of my fingers is tight", ["Sclerodactyly"]),
        (
            "still not walking at 20 months, lost the words she had",
            ["Delayed ability to walk", "Developmental regression"],
        ),
        ("she bruises at the slightest touch, cuts bleed for hours", ["Bruising susceptibility", "Abnormal bleeding"]),
        ("a white reflection in her pupil", ["Leukocoria"]),
        ("one pupil is bigger than the other", ["Anisocoria"]),
        ("my hands won't let go of a grip", ["Myotonia"]),
    ],
)
def test_what_a_parent_tells_of_a_child_is_found_by_the_name_of_the_ontology(text: str, findings: list[str]) -> None:
    assert told(text) == findings


@pytest.mark.parametrize(
    "text",
    [
        "I broke my wrist two weeks ago, can I take ibuprofen?",
        "can I chew this tablet?",
        "low dose aspirin and blood pressure",
        "amoxicillin for an ear infection",
        "my last menstrual period was 2 weeks ago",
        "is early breast cancer curable?",
        "vaccines for a trip to Kenya",
        "do not let it go untreated",
    ],
)
def test_words_that_tell_of_something_else_are_no_finding(text: str) -> None:
    assert not told(text)


def test_a_word_that_a_way_has_twice_must_be_said_twice() -> None:
    assert "Recurrent otitis media" in told("ear infection after ear infection")
    assert "Recurrent otitis media" not in told("an ear infection after swimming")


def test_where_the_words_stand_is_told() -> None:
    text = "I have blood in my dark poo"
    [one] = said(text)
    assert [text[a:b] for a, b in one.words] == ["blood", "poo"]
    assert text[slice(*one.span)] == "blood in my dark poo"


def test_the_names_of_a_line_are_one_finding_in_either_language() -> None:
    assert "Painful urination" in others("尿痛")
    assert "尿痛" not in others("尿痛")
    assert not list(others("gout"))


def test_pain_in_the_leg_on_walking_is_claudication_in_both_languages() -> None:
    assert [s.names[0] for s in said("My calf hurts when I walk.")] == ["Intermittent claudication"]
    assert "Intermittent claudication" in [s.names[0] for s in said("走路几百米小腿就疼")]


def test_stems_are_those_of_porter() -> None:
    import snowballstemmer

    words = ["dying", "injuries", "swollen", "aching", "generously", "skies", "tired", "vomited", "ulcerative", "sores"]
    assert [porter2(w) for w in words] == snowballstemmer.stemmer("english").stemWords(words)


def test_threads_that_take_stems_at_once_get_those_that_one_gets() -> None:
    words = [
        f"{head}{end}"
        for head in ("nation", "gener", "organ", "oper", "hope")
        for end in ("alities", "ization", "fulness")
    ]
    words = [f"{chr(97 + i % 26)}{word}" for i in range(200) for word in words]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        porter2.cache_clear()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(porter2.__wrapped__, words))
    finally:
        sys.setswitchinterval(before)
    assert found == [porter2(word) for word in words]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("runny nose and itchy eyes", ["Rhinorrhea", "Ocular pruritus"]),
        ("cracked lips, swollen hands", ["Lip fissure", "Palmar edema"]),
        ("sticky yellow eye discharge", ["Eye discharge"]),
        ("itchy rash", ["Pruritus", "Skin rash"]),
        ("a tight feeling in the middle of my chest when I walk uphill", ["Exertional chest pain"]),
    ],
)
def test_words_of_findings_that_are_told_side_by_side_tell_no_third(text: str, findings: list[str]) -> None:
    assert told(text) == findings


def test_what_is_denied_of_a_finding_is_no_part_of_it() -> None:
    assert [one.names[0] for one in said("blood in urine without pain")] == ["Hematuria"]
    assert "Dysuria" not in [one.names[0] for one in said("小便带血但是不疼")]
    assert "Dysuria" in [one.names[0] for one in said("no pain when I pee")]  # denied as a whole: known to be so later


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("肚子像石头一样疼", "头痛"),
        ("拳头打得疼", "头痛"),
        ("眼睛突然看不清", "突眼"),
        ("大便带血好几天", "便秘"),
        ("脸上湿疹", "皮疹"),
        ("I can't put weight on my ankle", "Weight gain"),
        ("it does not fit me", "Seizure"),
        ("I had a cold and feel tired", "Cold intolerance"),
        ("my eyes itch and noticed red spots", "Red eye"),
    ],
)
def test_words_across_other_words_tell_no_finding(text: str, wrong: str) -> None:
    assert wrong not in {name for one in said(text) for name in one.names}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("上厕所特别勤", "尿频"),
        ("一天喝好几壶水", "多饮"),
        ("好几天没有大便", "便秘"),
        ("my sinuses are blocked", "Sinusitis"),
        ("a bulge in the lower abdomen", "Inguinal hernia"),
        ("something is blocking my ear", "耳闷"),
        ("a bead is stuck in his ear", "外耳道异物"),
        ("my tooth hurts with sweet food", "Carious teeth"),
        ("heavy bleeding after giving birth", "Postpartum hemorrhage"),
        ("I see spots", "Vitreous floaters"),
        ("there is an open wound on my leg", "外伤"),
        ("the wound on my leg is infected", "伤口感染"),
        ("my eyes are irritated", "刺激感"),
        ("his fits are back, he has fits", "Seizure"),
    ],
)
def test_what_patients_say_is_the_finding(text: str, finding: str) -> None:
    assert finding in {name for one in said(text) for name in one.names}


def test_signs_that_no_encoding_has_are_looked_up_and_not_found() -> None:
    assert [one.names for one in said("\udc97 low blood sugar \udc8e")] == [
        one.names for one in said("low blood sugar")
    ]
    assert [*others("\udc97痛")] == []
