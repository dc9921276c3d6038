"""Questions, names in answers, wordings and rewards of a task; the test cases stay closed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.reward.cases import Case, CauseGraph, Wording, question
from kgmed.reward.criticality import Criticality
from kgmed.train.task import FLOOR, graph_reward, read, task, wording
from made_cases import DISEASES, made_split


def test_a_question_in_chinese_names_what_is_there_and_what_is_not() -> None:
    text = question(Case("1", ("发烧", "咳嗽"), ("皮疹",), ("头痛",)), ("肺炎",), "zh")
    assert text == "疾病：肺炎。\n症状：发烧、咳嗽。无皮疹。\n诊断："


def test_a_question_over_a_closed_list_does_not_repeat_the_list() -> None:
    made = task(made_split(), listed=False)
    asked = made.question(made.train[0])
    assert not any(disease in asked for disease in DISEASES)
    assert all(disease in task(made_split()).question(made.train[0]) for disease in DISEASES)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("gout", "gout"),
        ("It is Gout, surely gout.", "gout"),
        ("gout or flu", None),
        ("not gout but flu", "flu"),
        ("influenza", None),
        ("", None),
    ],
)
def test_an_answer_counts_when_it_names_one_disease(answer: str, named: str | None) -> None:
    assert task(made_split()).named(answer) == named


def test_listing_all_diseases_or_padding_never_pays_more_than_one_name() -> None:
    made = task(made_split())
    reward = graph_reward(made, Criticality(CauseGraph.counted(made.train), temperature=0.05), made.train)
    asked = made.question(made.train[0])
    each = reward([asked] * 3, DISEASES)
    listing, twice, padded, none = reward([asked] * 4, [", ".join(DISEASES), "flu flu flu", "flu " + "x " * 50, "?"])
    assert (listing, none) == (FLOOR, FLOOR)
    assert twice == padded == each[0]
    assert max(v for v in each if v is not None) > 0.5


def test_the_wording_goes_there_and_back() -> None:
    words = wording("DXY", "zh")
    assert words.language == "en"
    assert words(["肺炎", "发烧", "unknown"]) == ("pneumonia", "fever", "unknown")

    def predict(cases: Sequence[Case]) -> list[str | None]:
        return [None if not c.positive else "pneumonia" if "fever" in c.positive else "other" for c in cases]

    cases = [Case("1", ("发烧",)), Case("2", ("咳嗽",)), Case("3", ())]
    assert words.back(predict)(cases) == ["肺炎", "other", None]


def test_only_dxy_is_worded_in_english() -> None:
    assert wording("MZ-4", "zh") == Wording("zh")


def test_two_names_in_the_same_words_are_refused() -> None:
    with pytest.raises(BadInput, match="read alike"):
        Wording("en", {"a": "fever", "b": "fever"})


def test_a_line_without_two_cells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("发烧\tfever\n咳嗽\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"words\.tsv:2: not two cells"):
        read(path)


@pytest.mark.data
def test_every_name_of_dxy_has_its_own_english_words(data: Path) -> None:
    from kgmed.evaluate.datasets import patients as split_of

    split = split_of("DXY", data)
    words = wording("DXY", "zh")
    assert {*split.diseases, *split.symptoms} <= words.words.keys()
    assert len(words.words) == 46
    made = task(split)
    assert all(text.isascii() for text in made.questions(made.train + made.validation))


def test_a_predictor_answers_the_closed_cases_without_their_diseases() -> None:
    made = task(made_split())
    seen: list[str] = []

    class Cheat:
        """Would give the disease of a case if it were told."""

        def answer(self, prompts: Sequence[str], /, generator: Any = None) -> Any:
            pytest.importorskip("torch")
            import torch

            from kgmed.train.base import Answers

            seen.extend(prompts)
            return Answers(tuple(prompts), ("gout",) * len(prompts), torch.zeros(len(prompts), 1), torch.ones(1, 1))

    report = made.split.test.report(made.predict(Cheat()))  # type: ignore[arg-type]
    assert report.n == 60
    assert report.accuracy == pytest.approx(1 / 3)
    assert len(seen) == 60


def test_a_task_of_another_language_keeps_its_names() -> None:
    assert task(replace(made_split(), language="fr")).diseases == DISEASES
