"""What can still be read of a reply, what cannot, and that failures are counted."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.asking import Malformed, Structured, loads, strings, strings_schema
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import Scripted
from kgmed.models.limits import Metered
from kgmed.models.named import CachedLLM

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


@dataclass
class Shaped:
    """Says its replies in turn and keeps the schemas that it was asked with."""

    says: list[str]
    name: str = "shaped"
    asked: list[object] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        self.asked.append(None)
        return Reply(self.says.pop(0))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        self.asked.append(schema)
        return Reply(self.says.pop(0), 1, 1)


SCHEMA = strings_schema("terms", most=3)
PARSE = partial(strings, key="terms")


def test_a_model_that_can_is_held_to_the_schema_both_times_and_parsed_all_the_same() -> None:
    llm = Shaped(['{"terms": ["gou', '{"terms": ["gout"]}'])
    assert Structured(llm, PARSE, schema=SCHEMA)([Message("user", "Terms?")]) == ["gout"]
    assert llm.asked == [SCHEMA, SCHEMA]


def test_without_a_schema_or_without_the_means_a_model_is_asked_as_ever() -> None:
    llm = Shaped(['["gout"]'])
    assert Structured(llm, PARSE)([Message("user", "Terms?")]) == ["gout"]
    assert llm.asked == [None]
    assert Structured(Scripted(['["gout"]']), PARSE, schema=SCHEMA)([Message("user", "Terms?")]) == ["gout"]


def test_a_schema_goes_through_meter_and_cache_and_keeps_its_replies_apart(tmp_path: Path) -> None:
    llm = Shaped(['{"terms": ["a"]}', "free", '{"terms": ["b"]}'])
    outer = CachedLLM(Metered(llm, price={}), tmp_path / "c.db")
    hello = [Message("user", "Hello")]
    assert [outer.as_json(hello, SCHEMA).text, outer(hello).text] == ['{"terms": ["a"]}', "free"]
    assert outer.as_json(hello, strings_schema("terms")).text == '{"terms": ["b"]}'
    assert outer.as_json(hello, SCHEMA).text == '{"terms": ["a"]}'
    assert llm.asked == [SCHEMA, None, strings_schema("terms")]


@pytest.mark.parametrize("deep", [400, 2_000, 100_000])
def test_a_reply_that_is_nested_too_deeply_is_read_or_a_typed_failure(deep: int) -> None:
    for reply in ("[" * deep + "]" * deep, '{"terms": ' * deep + "1" + "}" * deep):
        with suppress(Malformed):
            loads(reply)
