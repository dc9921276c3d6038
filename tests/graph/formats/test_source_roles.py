from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph.formats.base import ENDS, infer, kinds_of, roles_from_toml
from kgmed.records import Relation, Role


@pytest.mark.parametrize(
    ("name", "role", "reverse"),
    [
        ("has_symptom", Role.FINDING, False),
        ("possible_disease", Role.FINDING, True),
        ("symptom_of", Role.FINDING, True),
        ("has_phenotype", Role.FINDING, False),
        ("disease_phenotype_negative", Role.EXCLUDES, False),
        ("need_medical_test", Role.TESTS, True),
        ("need_check", Role.TESTS, True),
        ("can_check_disease", Role.TESTS, False),
        ("need_medication", Role.TREATS, True),
        ("possible_cure_disease", Role.TREATS, False),
        ("common_drug", Role.TREATS, True),
        ("recommand_drug", Role.TREATS, True),
        ("may_treat", Role.TREATS, False),
        ("may_be_treated_by", Role.TREATS, True),
        ("treats", Role.TREATS, False),
        ("hasTreatment", Role.TREATS, True),
        ("indication", Role.TREATS, False),
        ("contraindication", Role.CONTRAINDICATED, False),
        ("has_contraindicated_drug", Role.CONTRAINDICATED, True),
        ("side_effect", Role.ADVERSE, False),
        ("drug_drug", Role.INTERACTS, False),
        ("interacts_with", Role.INTERACTS, False),
        ("has_ingredient", Role.INGREDIENT, False),
        ("ingredient_of", Role.INGREDIENT, True),
        ("complication", Role.COMPLICATION, False),
        ("acompany_with", Role.COMPLICATION, False),
        ("caused_by", Role.CAUSE, False),
        ("has_cause", Role.CAUSE, False),
        ("causes", Role.CAUSE, True),
        ("cause_of", Role.CAUSE, True),
        ("risk_factor", Role.RISK, False),
        ("risk_factor_of", Role.RISK, True),
        ("prevents", Role.PREVENTION, True),
        ("prevention", Role.PREVENTION, False),
        ("finding_site_of", Role.LOCATION, True),
        ("has_finding_site", Role.LOCATION, False),
        ("associated_gene", Role.GENE, False),
        ("gene_associated_with_disease", Role.GENE, True),
        ("cure_department", Role.CARE, False),
        ("do_eat", Role.FOOD, False),
        ("no_eat", Role.AVOID, False),
        ("is_a", Role.IS_A, False),
        ("isa", Role.IS_A, False),
        ("inverse_isa", Role.IS_A, True),
        ("subClassOf", Role.IS_A, False),
        ("has_child", Role.IS_A, True),
        ("differential_diagnosis", Role.DIFFERENTIAL, False),
        ("same_as", Role.SAME_AS, False),
        ("not_has_symptom", Role.EXCLUDES, False),
        ("not_treats", Role.OTHER, False),
        ("not_recommended_food", Role.AVOID, False),
        ("常见症状", Role.FINDING, False),
        ("无症状", Role.EXCLUDES, False),
        ("药物治疗", Role.TREATS, True),
        ("推荐药物", Role.TREATS, True),
        ("适应症", Role.TREATS, False),
        ("主治", Role.TREATS, False),
        ("禁忌", Role.CONTRAINDICATED, False),
        ("不良反应", Role.ADVERSE, False),
        ("药物相互作用", Role.INTERACTS, False),
        ("用法用量", Role.DOSAGE, False),
        ("注意事项", Role.PRECAUTION, False),
        ("实验室检查", Role.TESTS, True),
        ("并发症", Role.COMPLICATION, False),
        ("病因", Role.CAUSE, False),
        ("高危因素", Role.RISK, False),
        ("预防措施", Role.PREVENTION, False),
        ("就诊科室", Role.CARE, False),
        ("发病部位", Role.LOCATION, False),
        ("上位关系", Role.IS_A, False),
        ("下位关系", Role.IS_A, True),
        ("鉴别诊断", Role.DIFFERENTIAL, False),
        ("相关疾病", Role.ASSOCIATED, False),
        ("宜吃食物", Role.FOOD, False),
        ("忌吃食物", Role.AVOID, False),
        ("may_diagnose", Role.TESTS, False),
        ("may_be_prevented_by", Role.PREVENTION, False),
        ("may_prevent", Role.PREVENTION, True),
        ("has_tradename", Role.SAME_AS, False),
        ("off-label use", Role.TREATS, False),
        ("drug_effect", Role.ADVERSE, False),
        ("protein_protein", Role.OTHER, False),
        ("drug_protein", Role.OTHER, False),
        ("disease_protein", Role.GENE, False),
        ("disease_disease", Role.ASSOCIATED, False),
        ("disease_phenotype_positive", Role.FINDING, False),
        ("drugs_of", Role.OTHER, False),
        ("part_of", Role.OTHER, False),
        ("wibble", Role.OTHER, False),
        ("", Role.OTHER, False),
    ],
)
def test_the_name_of_a_relation_tells_its_role_and_direction(name: str, role: Role, reverse: bool) -> None:
    assert infer(name) == Relation(name, role, reverse)


def test_kinds_follow_the_direction_of_the_relation() -> None:
    assert kinds_of(infer("can_check_disease")) == ("test", "disease")
    assert kinds_of(infer("need_medical_test")) == ("disease", "test")
    assert kinds_of(infer("possible_disease")) == ("symptom", "disease")
    assert kinds_of(infer("wibble")) == ("", "")


def test_every_role_has_kinds() -> None:
    assert set(ENDS) == set(Role)


def test_a_users_table_overrides_what_the_name_suggests(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_text('[r1]\nrole = "treats"\nreverse = true\nhead = "plant"\n[has_symptom]\ntail = "sign"\n', "utf-8")
    table = roles_from_toml(path)
    assert table.relations["r1"] == Relation("r1", Role.TREATS, reverse=True)
    assert table.kinds == {"r1": ("plant", "drug"), "has_symptom": ("disease", "sign")}
    assert table.relations["has_symptom"].role is Role.FINDING


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a\n", ":1: is no TOML"),
        ('a = 1\nb = "x\n', ":2: is no TOML"),
        ("a = 1", "'a' is not a table"),
        ('[a]\nrole = "cures"', "unknown role 'cures'"),
        ("[a]\nrole = 1", "unknown role 1"),
        ('[a]\nreverse = "yes"', "not true or false"),
        ("[a]\nhead = 3", "kind of 'a' is not text"),
        ("[a]\ncolour = 3", "unknown field 'colour'"),
    ],
)
def test_a_bad_table_is_an_error_that_says_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "roles.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        roles_from_toml(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_number_of_many_digits_in_a_table_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_text(f"[treats]\nrole = {'9' * 5_000}\n", encoding="utf-8")
    with pytest.raises(SourceError, match="is no TOML"):
        roles_from_toml(path)
