"""A language is one catalogue of sentences; what else it may bring is rows of the vocabulary."""

from string import Formatter

import numpy as np
import pytest

from kgmed.graph.store.store import written_in
from kgmed.language.text import detected
from kgmed.question.model import LANGUAGES, of_network
from kgmed.sentences import catalogue, languages

OTHERS = [language for language in languages() if language != "en"]


def holes(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_the_keys_of_the_english_one(language: str) -> None:
    assert catalogue(language).said.keys() == catalogue("en").said.keys()


@pytest.mark.parametrize("language", OTHERS)
def test_a_sentence_has_the_placeholders_of_the_english_one(language: str) -> None:
    said, english = catalogue(language).said, catalogue("en").said
    assert {key for key, sentence in said.items() if holes(sentence) != holes(english[key])} == set()


def test_sizes_are_numbers_in_every_catalogue() -> None:
    assert all(
        said.isdigit()
        for language in languages()
        for key, said in catalogue(language).said.items()
        if key.startswith("size.")
    )


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("マルファン症候群の症状は？", "ja"),
        ("痛风有什么症状？", "zh"),
        ("통풍의 증상은?", "ko"),
        ("Welche Symptome hat die Gicht?", "de"),
        ("¿Cuáles son los síntomas de la gota?", "es"),
        ("Quels sont les symptômes de la goutte ?", "fr"),
        ("gout symptoms", "en"),
        ("What is a grand mal seizure?", "en"),
        ("Die Another Day: is this a disease?", "en"),
    ],
)
def test_the_language_of_a_question_is_detected(text: str, language: str) -> None:
    assert detected(text) == language


def test_a_name_without_a_language_is_of_those_that_its_script_may_be() -> None:
    found = {language: written_in("痛風", "", language) for language in ("zh", "ja", "en", "de")}
    assert found == {"zh": True, "ja": True, "en": False, "de": False}
    assert written_in("Gicht", "de", "de")
    assert not written_in("Gout", "", "de")
    assert not written_in("くも指", "", "zh")


def test_the_place_of_a_language_without_training_questions_is_between_the_others() -> None:
    vector = np.array([3.0, 4.0], np.float32)
    other, known = of_network(vector, "ja"), [of_network(vector, language) for language in LANGUAGES]
    assert np.allclose(other, np.mean(known, axis=0))
