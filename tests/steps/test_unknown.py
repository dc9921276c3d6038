"""Names that a question asks about and the graph does not have."""

import pytest

from kgmed.records import Mention
from kgmed.steps.strangers import strangers


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Can I take Zolvenprax with ibuprofen?", "Zolvenprax"),
        ("can i drink alcohol with zolvenprax", "zolvenprax"),
        ("Is there a link between Kessler-Bluhm fever and stroke?", "Kessler-Bluhm"),
        ("诺维格林片有什么副作用？", "诺维格林片"),
        ("孕妇可以用司美格鲁肽吗？", "司美格鲁肽"),
    ],
)
def test_a_name_in_the_place_of_what_is_asked_about_is_a_stranger(text: str, name: str) -> None:
    start = text.index(name)
    assert strangers(text, [Mention(name, name, start, start + len(name))], []) == [name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("which symptoms does gout have at night", "night"),
        ("What meds help my dad against gout?", "dad"),
        ("痛风晚上疼怎么办", "晚上"),
        ("what are the warning signs of a stroke", "warning signs"),
        ("which part of the brain is affected in gout", "brain is affected"),
        ("which drugs should someone with gout avoid", "someone"),
    ],
)
def test_plain_words_are_no_names(text: str, words: str) -> None:
    start = text.index(words)
    assert strangers(text, [Mention(words, words, start, start + len(words))], []) == []
