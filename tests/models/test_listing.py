import pytest

from kgmed.models.asking import Malformed
from kgmed.models.replies import names, slots


@pytest.mark.parametrize(
    "reply",
    [
        "fever, gout",
        "The extracted entities are fever, gout<EOS>",
        "Medical entities: fever, gout.",
        "1. fever\n2. gout",
        "- fever\n- gout",
        "Sure, here they are:\n* fever\n* gout\nHope that helps",
        "```\nfever, gout\n```",
        '["fever", "gout"]',
        "fever，gout、fever",
    ],
)
def test_names_are_read_from_every_form_of_a_list(reply: str) -> None:
    assert names(reply) == ["fever", "gout"]


@pytest.mark.parametrize("reply", ["none", "None.", "无", "", "I am sorry but as a language model I cannot " * 3])
def test_a_reply_that_lists_nothing_has_no_names(reply: str) -> None:
    assert names(reply) == []


def test_semicolons_and_brackets_belong_to_a_name() -> None:
    assert names("exercises; manipulation; and other procedures, Alprazolam (Xanax, oral)") == [
        "exercises; manipulation; and other procedures",
        "Alprazolam (Xanax, oral)",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        '["fever", null]',
        'Here: {"medical entities": ["fever", "none"]} Good luck',
        '```json\n["fever", null,]\n```',
        "［“fever”，null］",
        '<think>["x"]</think>["fever", "N/A"]',
    ],
)
def test_a_list_of_the_right_length_is_read_however_wrapped(reply: str) -> None:
    assert slots(reply, 2) == ["fever", None]


@pytest.mark.parametrize("reply", ["", "fever", '["fever"]', '["a", "b", "c"]', '["a", {"b": 1}]', '["a", "b"', "{}"])
def test_any_other_reply_is_malformed(reply: str) -> None:
    with pytest.raises(Malformed):
        slots(reply, 2)
