"""HPO and CMeKG as one: what the English question reaches, and what is never joined."""

from pathlib import Path

import pytest

from kgmed.graph.joining import MOST, Joiner
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.union import merge
from kgmed.models.encoders import NgramEncoder
from kgmed.session import Session

pytestmark = [pytest.mark.starter, pytest.mark.slow]  # both packaged graphs are built and merged
SUBSTANCES = {"drug", "ingredient"}


@pytest.fixture(scope="module")
def whole(hpo: Store, cmekg: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("together")
    merge([hpo, cmekg], folder / "whole")
    return open_store(folder / "whole")


def test_an_english_question_finds_the_treatment_that_the_chinese_graph_has(whole: Store) -> None:
    run = Session(("both",), lambda _: whole, encoder=NgramEncoder()).ask("How is migraine treated?")
    assert run.links[0].entity.name == "Migraine"
    assert "ibuprofen" in run.answer.text
    assert {t.source.split()[0] for e in run.evidence for t in e.triples} == {whole.manifest.parts[1].split()[0]}


def test_no_drug_is_joined_to_another_but_by_the_glossary_and_no_group_is_large(hpo: Store, cmekg: Store) -> None:
    joiner = Joiner([hpo, cmekg])
    joins = joiner.joins()
    assert len(joins) > 1500
    assert max(len(join.records) for join in joins) <= MOST
    drugs = [join for join in joins if SUBSTANCES & {joiner.facts(record).kind for record in join.records}]
    assert not [join for join in drugs if not all(why.startswith("glossary") for why in join.why)]
    assert any({joiner.facts(r).name for r in join.records} >= {"地尔硫卓", "地尔硫䓬"} for join in drugs)


def test_names_of_common_illnesses_in_both_languages_and_their_short_forms_are_one(whole: Store) -> None:
    for names in (("甲亢", "甲状腺功能亢进症", "hyperthyroidism"), ("II型糖尿病", "2型糖尿病", "T2DM"),
                  ("COPD", "慢性阻塞性肺疾病"), ("发烧", "发热", "fever"), ("偏头痛", "migraine")):  # fmt: skip
        assert len({whole.lookup(name)[0].entity.id for name in names}) == 1, names
    assert "心肌梗死" in {m.entity.name for m in whole.speaking("zh").lookup("MI")}


@pytest.mark.parametrize(
    "names",
    [
        ("type 1 diabetes", "I型糖尿病", "T1DM"),
        ("G6PD deficiency", "G6PD缺乏症", "蚕豆病", "葡萄糖-6-磷酸脱氢酶缺乏症"),
        ("肠癌", "大肠癌", "结直肠癌", "bowel cancer"),
        ("croup", "小儿急性喉炎", "儿童急性喉炎"),
        ("neonatal jaundice", "新生儿黄疸"),
        ("bacterial meningitis", "细菌性脑膜炎"),
        ("community acquired pneumonia", "community-acquired pneumonia", "CAP", "社区获得性肺炎"),
        ("Becker型肌营养不良", "BMD", "Becker muscular dystrophy"),
        ("cystic fibrosis", "囊性纤维化"),
        ("carvedilol", "卡维地洛", "Coreg"),
        ("tamsulosin", "坦索罗辛", "Flomax"),
        ("right upper quadrant pain", "RUQ pain", "右上腹痛"),
    ],
)
def test_what_is_one_thing_is_found_under_each_of_its_names(whole: Store, names: tuple[str, ...]) -> None:
    assert len({whole.lookup(name)[0].entity.id for name in names}) == 1


@pytest.mark.parametrize(("one", "other"), [("croup", "喉炎"), ("heartburn", "GERD"), ("T1DM", "T2DM"), ("CAP", "HAP")])
def test_what_are_two_things_stay_two(whole: Store, one: str, other: str) -> None:
    assert whole.lookup(one)[0].entity != whole.lookup(other)[0].entity


def test_an_illness_bears_its_plain_chinese_name(whole: Store) -> None:
    names = [whole.speaking("zh").lookup(name)[0].entity.name for name in ("Huntington disease", "cystic fibrosis")]
    assert names == ["亨廷顿病", "囊性纤维化"]


def test_a_tablet_for_diabetes_is_for_no_ketoacidosis(whole: Store) -> None:
    treated_by = {t.head.name for t in whole.neighbours(whole.lookup("糖尿病酮症酸中毒")[0].entity.id, limit=500)}
    assert "胰岛素注射液" in treated_by
    assert not treated_by & {"沙格列汀片", "格列美脲片", "格列吡嗪片"}
