"""A sentence is read as claims of two places each."""

import pytest

from kgmed.records import Entity, Role
from kgmed.steps.claims import ClaimedPair, Spot, read

NAMES = ("aspirin", "ibuprofen", "fever", "gout", "rash", "ulcer", "阿司匹林", "布洛芬", "发热", "胃溃疡", "皮疹")


def spots(text: str) -> list[Spot]:
    found = [(text.casefold().find(n), n) for n in NAMES if n in text.casefold()]
    return [Spot(at, at + len(n), (Entity(n, n),)) for at, n in sorted(found)]


def said(text: str) -> list[tuple[str, str, bool]]:
    return [(s.left.name, s.right.name, s.denied) for s in read(text, spots(text)).claims]


def claims(text: str) -> tuple[ClaimedPair, ...]:
    return read(text, spots(text)).claims


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Aspirin treats fever.", [("aspirin", "fever", False)]),
        ("Aspirin treats fever, gout and rash.", [("aspirin", x, False) for x in ("fever", "gout", "rash")]),
        ("Fever and rash are signs of gout.", [("fever", "gout", False), ("rash", "gout", False)]),
        ("Aspirin treats fever and causes ulcer.", [("aspirin", "fever", False), ("aspirin", "ulcer", False)]),
        ("Aspirin treats fever, and ibuprofen causes rash.",
         [("aspirin", "fever", False), ("ibuprofen", "rash", False)]),
        ("Aspirin treats fever and ibuprofen causes rash.",
         [("aspirin", "fever", False), ("ibuprofen", "rash", False)]),
        ("Gout has fever but no rash.", [("gout", "fever", False), ("gout", "rash", True)]),
        ("Aspirin does not treat fever or rash.", [("aspirin", "fever", True), ("aspirin", "rash", True)]),
        ("阿司匹林可治疗发热，也可引起胃溃疡。", [("阿司匹林", "发热", False), ("阿司匹林", "胃溃疡", False)]),
        ("阿司匹林的不良反应包括胃溃疡、皮疹。", [("阿司匹林", "胃溃疡", False), ("阿司匹林", "皮疹", False)]),
        ("阿司匹林可治疗发热，布洛芬可引起皮疹。", [("阿司匹林", "发热", False), ("布洛芬", "皮疹", False)]),
        ("阿司匹林不会引起皮疹。", [("阿司匹林", "皮疹", True)]),
        ("Fever.", []),
    ],
)  # fmt: skip
def test_what_is_said_of_whom(text: str, pairs: list[tuple[str, str, bool]]) -> None:
    assert said(text) == pairs


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Aspirin treats fever.", Role.TREATS),
        ("Fever is treated with aspirin.", Role.TREATS),
        ("The side effects of aspirin include rash.", Role.ADVERSE),
        ("Rash is an adverse effect of aspirin.", Role.ADVERSE),
        ("Aspirin can cause rash.", Role.ADVERSE),
        ("Aspirin must not be taken in ulcer.", Role.CONTRAINDICATED),
        ("胃溃疡患者禁用阿司匹林。", Role.CONTRAINDICATED),
        ("发热可用阿司匹林治疗。", Role.TREATS),
        ("皮疹是阿司匹林的不良反应。", Role.ADVERSE),
        ("阿司匹林与布洛芬有相互作用。", Role.INTERACTS),
    ],
)
def test_the_words_tell_the_role(text: str, role: Role) -> None:
    [claim] = claims(text)
    assert role in claim.roles
    assert not (claim.roles & {Role.TREATS, Role.CONTRAINDICATED}) - {role}


def test_who_acts_is_told_by_the_voice() -> None:
    assert [c.agent for c in claims("Aspirin treats fever.")] == ["first"]
    assert [c.agent for c in claims("Fever is treated with aspirin.")] == ["last"]
    assert [c.agent for c in claims("Rash is an effect of aspirin.")] == [""]


def test_an_item_of_a_list_that_names_nothing_known_is_told() -> None:
    text = "Aspirin treats fever, moon sickness and gout."
    assert [item.strip() for item in read(text, spots(text)).unknown] == ["moon sickness"]
    assert len(claims(text)) == 2


def test_to_warn_is_to_claim_and_not_to_deny() -> None:
    [claim] = claims("Do not give aspirin in ulcer.")
    assert claim.warns
    assert not claim.denied
    [claim] = claims("Aspirin is not contraindicated in ulcer.")
    assert claim.warns
    assert claim.denied
