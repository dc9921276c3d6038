"""What closes a story and asks nothing of its own is told from what is asked."""

import pytest

from kgmed.language.closing import closed
from kgmed.language.question import tells_only

STORY = "My leg is red and swollen"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (". What should I do?", "do"),
        (". what can we do about it", "do"),
        (", any advice?", "do"),
        (". I don't know what to do.", "do"),
        (". Please help me.", "do"),
        (". Is that dangerous?", "danger"),
        (", should i worry", "danger"),
        (" and should I be worried?", "danger"),
        (". Could it be something serious?", "danger"),
        (". Should I go to the ER?", "danger"),
        (". How serious is this?", "danger"),
        (". Is it normal? Thank you!", "danger"),
        (". What should we expect?", "expect"),
        (". What happens next?", "expect"),
        (": differential?", "tell"),
        (". DDx?", "tell"),
    ],
)
def test_a_closing_phrase_is_taken_off_the_story(said: str, kind: str) -> None:
    found = closed(STORY + said)
    assert found.kind == kind
    assert found.told.startswith(STORY)
    assert len(found.told) == len(STORY + said)
    assert not found.told[len(STORY) :].strip(" .,:and")


def test_of_two_closing_phrases_the_first_says_what_is_asked() -> None:
    found = closed(f"{STORY}. Is it serious? What should I do?")
    assert (found.told.strip(), found.kind) == (f"{STORY}.", "danger")


@pytest.mark.parametrize(
    "opening", ["Should I worry about", "Is it dangerous if", "is it normal when", "Should we be concerned that"]
)
def test_a_phrase_that_opens_a_story_is_taken_off_it(opening: str) -> None:
    found = closed(f"{opening} my leg is red and swollen?")
    assert found.kind == "danger"
    assert found.told.strip() == "my leg is red and swollen"


@pytest.mark.parametrize(
    "text",
    [
        "What should I do?",
        "Is that dangerous?",
        "I have gout. What can I take?",
        "What can I do for gout?",
        "My mum has gout. Is it contagious?",
        "I have gout. Should I see a rheumatologist or take colchicine?",
        "Does it help?",
        "What is the differential of gout?",
    ],
)
def test_what_is_asked_in_words_of_its_own_is_left_as_it_stands(text: str) -> None:
    assert closed(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("It burns when I pee and I have to go every ten minutes.", True),
        ("My son is 4 and has a barking cough", True),
        ("I have gout. What helps?", False),
        ("is my gout inherited", False),
        ("sertraline side effects", False),
    ],
)
def test_a_text_that_tells_of_someone_asks_nothing(text: str, tells: bool) -> None:
    assert tells_only(text) is tells
