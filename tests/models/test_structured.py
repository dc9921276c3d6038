"""What can still be read of a reply, what cannot, and that failures are counted."""

from functools import partial

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.fakes import Scripted
from kgmed.models.structured import Malformed, Structured, loads, strings
from kgmed.stages import Message

READABLE = [
    '{"terms": ["gout", "toe pain"]}',
    '```json\n{"terms": ["gout", "toe pain"]}\n```\nI hope this helps {friend}!',
    'Sure, as in [1] and [see above]: {"terms": ["gout", "toe pain"]}',
    '{"terms": ["gout", "toe pain",],}',
    '{"terms": ["gout", "toe pain", ...]}',
    '{"terms": ["gout", "toe pain", "..."]}',
    '{"terms": ["gout",, "toe pain", …]}',
    "｛“terms”：［“gout”，“toe pain”］｝",
    "{'terms': ['gout', 'toe pain']}",
    '["gout", "toe pain"]',
    '{"medical terminologies": ["gout", "Toe  pain", "Gout", " "]}',
    '<think>maybe {"terms": ["asthma"]}</think>{"terms": ["gout", "toe pain"]}',
    '{"note": {"of": {"no": "use"}}, "terms": ["gout", "toe pain"]}',
]
UNREADABLE = [
    ("", "no JSON"),
    ("gout, toe pain", "no JSON"),
    ('{"terms": ["gout", "toe pa', "no JSON"),
    ('{"terms": "gout"}', "key"),
    ('{"a": ["gout"], "b": ["toe pain"]}', "key"),
    ('{"terms": ["gout", {"name": "toe pain"}]}', "strings only"),
    ('{"terms": [1, 2]}', "strings only"),
    ('{"terms" ["gout"]}', "damaged"),
]


@pytest.mark.parametrize("reply", READABLE)
def test_a_wrapped_reply_is_read(reply: str) -> None:
    assert [term.lower() for term in strings(reply, "terms")] == ["gout", "toe pain"]


@pytest.mark.parametrize(("reply", "reason"), UNREADABLE)
def test_an_unusable_reply_is_a_typed_failure_with_its_reason(reply: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        strings(reply, "terms")


def test_what_stands_in_strings_is_left_alone() -> None:
    assert loads('{"a": ["x, ]", "胃，“痛”", "a\\"b", "wait..."]}') == {"a": ["x, ]", "胃，“痛”", 'a"b', "wait..."]}


def test_an_empty_list_is_a_reply() -> None:
    assert strings('{"terms": []}', "terms") == []


def test_the_order_is_that_of_first_mention() -> None:
    assert strings('["a", "b", "A"]', "terms") == ["a", "b"]


def test_an_unusable_reply_is_asked_for_once_more_with_the_reason_and_counted() -> None:
    llm = Scripted(["no idea", '["gout"]', "no", "no"])
    ask = Structured(llm, partial(strings, key="terms"))
    assert ask([Message("user", "Terms?")]) == ["gout"]
    assert [m.role for m in llm.asked[1]] == ["user", "assistant", "user"]
    assert "it holds no JSON object or list" in llm.asked[1][-1].text
    with pytest.raises(Malformed, match="scripted gave no usable reply twice"):
        ask([Message("user", "Terms?")])
    assert (ask.tally.asked, ask.tally.again, ask.tally.failed) == (2, 2, 1)
    assert len(llm.asked) == 4


def test_a_model_that_cannot_be_reached_is_not_asked_again() -> None:
    llm = Scripted([ModelFailed("down")])
    with pytest.raises(ModelFailed, match="down"):
        Structured(llm, partial(strings, key="terms"))([Message("user", "Terms?")])
    assert len(llm.asked) == 1
