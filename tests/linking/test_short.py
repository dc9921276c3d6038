"""Short forms of the clinic: what the words beside them make of them, and what they are no part of."""

import pytest

from kgmed.graph.joining import glossary, is_abbreviation
from kgmed.language.affixes import beyond
from kgmed.linking.scattered import in_short


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("58M with CP and SOB", "chest pain"),
        ("CP radiating to the jaw", "chest pain"),
        ("A child with CP cannot walk", ""),
        ("worst HA of her life with vomiting", "headache"),
        ("HA level of the serum", ""),
        ("loud murmur, MS suspected", "mitral stenosis"),
        ("new drugs for MS", ""),
        ("PE at 34 weeks of pregnancy", "preeclampsia"),
        ("relapsed ALL after chemotherapy", "acute lymphoblastic leukemia"),
        ("ALL my joints hurt", ""),
        ("falling platelet count on heparin, HIT?", "heparin-induced thrombocytopenia"),
        ("I HIT my head", ""),
        ("itchy skin of AD", "atopic dermatitis"),
    ],
)
def test_a_short_form_of_several_meanings_is_told_by_the_words_beside_it(text: str, meant: str) -> None:
    assert next((m.name for m in in_short(text, bool)), "") == meant


def test_a_short_form_is_under_a_name_that_the_graph_has() -> None:
    assert not list(in_short("CP and SOB", lambda name: name == "headache"))


@pytest.mark.parametrize("text", ["PD-1", "PD-L1 inhibitors", "AF-2"])
def test_a_short_form_is_no_part_of_a_longer_sign(text: str) -> None:
    assert beyond(text, 0, 2, substance=False)[1] > 0


def test_no_short_form_of_the_glossary_stands_in_many_lines() -> None:
    lines = [{name for name in names if is_abbreviation(name)} for names in glossary()]
    twice = {name for i, names in enumerate(lines) for name in names if any(name in more for more in lines[:i])}
    assert twice <= {"AFib"}, twice
