"""What must not be given to a patient leaves an answer and is named; what needs care stays, and its warning too."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from kgmed.facts.plan import PatientGate
from kgmed.facts.safety import NamedAgainst, NotForThisPatient, Warned
from kgmed.frame import Ask, Constraint, Form, Frame, Intent, Named, Patient
from kgmed.graph.store.store import Store
from kgmed.records import (
    CARE,
    NOT_FOR,
    VERDICT,
    WITH_CARE,
    Evidence,
    Link,
    Mention,
    Query,
    Question,
    Relation,
    Role,
    Triple,
)
from role_graph import RoleGraph

RELATIONS = (
    Relation("treats", Role.TREATS),
    Relation("drug of", Role.TREATS, reverse=True),
    Relation("contains", Role.INGREDIENT),
    Relation("must not", Role.CONTRAINDICATED),
    Relation("care with", Role.PRECAUTION),
    Relation("interacts with", Role.INTERACTS),
    Relation("dose", Role.DOSAGE),
    Relation("good food", Role.FOOD),
    Relation("can cause", Role.ADVERSE),
)
FEVER = ["aspirin", "ibuprofen", "cold mix", "zaltoprofen", "herbal tea", "tonic", "rest"]
ROWS = [
    *((name, "treats", "fever") for name in FEVER),
    ("curare", "treats", "myasthenia"),
    ("neostigmine", "treats", "myasthenia"),
    ("cold mix", "contains", "ibuprofen"),
    ("cold mix", "contains", "codeine"),
    ("herbal tea", "interacts with", "warfarin"),
    ("tonic", "must not", "asthma"),
    ("fever", "good food", "soup"),
]
KINDS = {
    "drug": [*FEVER[:-1], "curare", "neostigmine", "warfarin", "codeine", "aspirin injection"],
    "disease": ["fever", "asthma", "myasthenia"],
    "food": ["soup"],
}
TEXTS = [
    ("aspirin", "must not", "Not in children under 12 years; with care in older people"),
    ("aspirin", "must not", "Contraindicated with warfarin"),
    ("ibuprofen", "must not", "对阿司匹林过敏者禁用"),
    ("ibuprofen", "care with", "孕妇慎用"),
    ("zaltoprofen", "must not", "孕妇禁用"),
    ("herbal tea", "must not", "严重哮喘患者禁用"),
    ("curare", "must not", "Not in myasthenia"),
    ("aspirin", "dose", "成人一次1片"),
    ("aspirin", "dose", "儿童一次半片"),
    ("cold mix", "dose", "一次1片"),
    ("aspirin injection", "dose", "肌肉注射一次0.1g"),
]
G = RoleGraph(ROWS, RELATIONS, KINDS, texts=TEXTS, isolated=["aspirin injection", "codeine"])


def thing(name: str) -> Named:
    link = G.link(name)
    return Named((name,), link.entity.kind, links=(link,))


NOBODY = Patient()


def frame(patient: Patient = NOBODY, *, language: str = "en", negative: bool = False, of: str = "fever") -> Frame:
    ask = Ask(Intent.TREATMENT, (thing(of),), negative=negative)
    return Frame((ask,), patient=patient, language=language)


def fact(*said: str) -> Triple:
    rows = map(G.triple, range(G.adjacency.edges))
    return next(t for t in rows if (t.head.name, t.relation.name, t.tail.name) == said)


def about(name: str, *facts: Triple) -> Evidence:
    text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in facts)
    return Evidence(text, "neighbours", facts, (G.entity(name),), 1.0)


def treatments(of: str = "fever", more: str = "") -> Evidence:
    rows = [t for t in map(G.triple, range(G.adjacency.edges)) if t.relation.name == "treats" and t.tail.name == of]
    text = f"{of} ← treats — {', '.join(t.subject.name for t in rows)}{more}"
    return Evidence(text, "neighbours", tuple(rows), (G.entity(of),), 1.0)


def passed(asked: Frame, *evidence: Evidence) -> list[Evidence]:
    return NotForThisPatient(G)(Query(Question("", language=asked.language), frame=asked), evidence)


def taken_out(found: list[Evidence]) -> set[str]:
    return {e.name for piece in found if piece.id == NOT_FOR for e in piece.about}


def left(found: list[Evidence]) -> set[str]:
    return {t.subject.name for e in found for t in e.triples if t.relation.role is Role.TREATS}


@pytest.mark.parametrize(
    ("patient", "out"),
    [
        (Patient(), set()),
        (Patient(groups=("pregnancy",)), {"zaltoprofen", "ibuprofen", "cold mix"}),  # ibuprofen by the vocabulary
        (Patient(groups=("breastfeeding",)), {"cold mix"}),  # for the codeine in it
        (Patient(age=4.0), {"aspirin", "cold mix"}),
        (Patient(groups=("children",)), {"aspirin", "cold mix"}),
        (Patient(age=13.0), {"aspirin"}),  # by the vocabulary, which no label here says
        (Patient(age=17.0), set()),
        (Patient(age=80.0), set()),
        (Patient(has=(thing("asthma"),)), {"tonic"}),
        (Patient(takes=(thing("warfarin"),)), {"aspirin"}),
        (Patient(allergic_to=(thing("ibuprofen"),)), {"ibuprofen", "cold mix", "zaltoprofen"}),
        (Patient(allergic_to=(Named(("阿司匹林",), "drug"),)), {"ibuprofen", "cold mix", "zaltoprofen"}),
        (Patient(age=4.0, has=(thing("asthma"),)), {"aspirin", "cold mix", "tonic"}),
    ],
)
def test_what_a_label_or_the_graph_forbids_leaves_the_list_and_is_named(patient: Patient, out: set[str]) -> None:
    found = passed(frame(patient), treatments())
    assert taken_out(found) == out
    assert left(found) == set(FEVER) - out
    assert len([e for e in found if e.id == NOT_FOR]) == bool(out)


@pytest.mark.parametrize(("has", "out"), [((), set()), ((thing("asthma"),), {"tonic"})])
def test_an_illness_that_is_only_feared_of_a_medicine_bars_none(has: tuple[Named, ...], out: set[str]) -> None:
    treated = frame(Patient(has=has))
    effect = Ask(Intent.RELATION, (thing("aspirin"),), (thing("asthma"),), form=Form.YES_NO)
    asked = replace(treated, asks=(*treated.asks, effect), findings=(thing("asthma"),))
    assert taken_out(passed(asked, treatments())) == out
    assert bool(NamedAgainst(G)(asked, "Take tonic.", G.entity("tonic"))) is bool(out)


def test_the_piece_that_names_them_holds_the_triples_that_forbid_and_is_a_warning() -> None:
    piece = next(e for e in passed(frame(Patient(groups=("pregnancy",))), treatments()) if e.id == NOT_FOR)
    assert piece.kind == "warning"
    said = [t.object.name for t in piece.triples if t.source != "vocabulary"]
    assert said == ["孕妇禁用"]
    assert piece.text.endswith("kgmed's own list: pregnancy: cold mix, ibuprofen, zaltoprofen.")


def test_it_is_said_in_the_language_of_the_frame() -> None:
    found = passed(frame(Patient(groups=("pregnancy",)), language="zh"), treatments())
    assert "孕妇——cold mix、ibuprofen、zaltoprofen" in next(e.text for e in found if e.id == NOT_FOR)


def test_the_text_of_a_list_loses_the_name_and_keeps_the_number_of_those_left_out() -> None:
    found = passed(frame(Patient(age=4.0)), treatments(more=", … (+24)"))
    assert found[0].text == "fever ← treats — herbal tea, ibuprofen, rest, tonic, zaltoprofen, … (+24)"


def test_a_label_that_asks_for_care_in_an_illness_that_is_told_is_a_warning_of_this_patient() -> None:
    asthma = Named(("哮喘",), "disease", links=(G.link("asthma"),))  # "herbal tea" is forbidden in severe asthma alone
    found = passed(frame(Patient(has=(asthma,)), language="zh"), treatments())
    assert "herbal tea" in left(found)
    assert [(e.about[0].name, e.text) for e in found if e.id == CARE] == [
        ("herbal tea", "herbal tea — must not → 严重哮喘患者禁用")
    ]
    assert not [e for e in passed(frame(Patient(), language="zh"), treatments()) if e.id == CARE]


def test_an_interaction_that_does_not_forbid_keeps_the_medicine_and_brings_its_warning() -> None:
    found = passed(frame(Patient(takes=(thing("warfarin"),))), treatments())
    assert "herbal tea" in left(found)
    assert [e.about[0].name for e in found if e.kind == "warning" and e.id != NOT_FOR] == ["herbal tea"]


_OTHERS = ["ibuprofen", "celecoxib", "aminopyrine"]
CLASSES = RoleGraph(
    [
        *((name, "treats", "fever") for name in ("amoxicillin", "ampicillin", "tylosin", "ibuprofen", "celecoxib")),
        *(("aminopyrine", "treats", illness) for illness in ("fever", "gout")),
        ("ibuprofen", "can cause", "asthma"),
        ("aminopyrine", "can cause", "Bronchospasm"),
        ("amoxicillin", "can cause", "gout"),
    ],
    RELATIONS,
    {
        "drug": ["amoxicillin", "ampicillin", "mezlocillin", "azlocillin", "cefaclor", "tylosin", *_OTHERS],
        "disease": ["fever", "asthma", "gout"],
    },
    texts=[
        ("mezlocillin", "must not", "对头孢菌素类过敏者禁用"),
        ("azlocillin", "must not", "Not in allergy to cephalosporins"),
        ("celecoxib", "must not", "对磺胺过敏者禁用"),  # of one of its class alone
        ("ampicillin", "care with", "对头孢菌素类过敏者慎用"),
    ],
    isolated=["mezlocillin", "azlocillin", "cefaclor"],
)


@pytest.mark.parametrize(
    ("patient", "named"),
    [
        ({"allergic_to": ["cefaclor"]}, {"amoxicillin", "ampicillin"}),
        ({"allergic_to": ["sulfonamides"]}, set()),
        ({"has": ["asthma"]}, {"ibuprofen", "aminopyrine"}),
        ({"has": ["gout"]}, {"amoxicillin"}),
        ({}, set()),
    ],
)
def test_what_stays_is_named_where_its_class_is_forbidden_or_it_can_cause_what_the_patient_has(
    patient: dict[str, list[str]], named: set[str]
) -> None:
    has, allergic = (tuple(_in(CLASSES, name) for name in patient.get(key, ())) for key in ("has", "allergic_to"))
    rows = [t for t in map(CLASSES.triple, range(CLASSES.adjacency.edges)) if t.tail.name == "fever"]
    piece = Evidence("fever ← treats", "neighbours", tuple(rows), (CLASSES.entity("fever"),), 1.0)
    asked = Frame((Ask(Intent.TREATMENT, (_in(CLASSES, "fever"),)),), patient=Patient(has=has, allergic_to=allergic))
    found = NotForThisPatient(CLASSES)(Query(Question(""), frame=asked), [piece])
    assert {e.name for piece in found if piece.id == WITH_CARE for e in piece.about} == named
    assert all(piece.triples for piece in found if piece.id == WITH_CARE)
    assert left(found) == {t.subject.name for t in rows} - taken_out(found)


def _in(graph: RoleGraph, name: str) -> Named:
    links = tuple(Link(Mention(name, name, -1, -1), m.entity, 1.0, "exact") for m in graph.lookup(name)[:1])
    return Named((name,), links[0].entity.kind if links else "drug", links=links)


def test_what_is_treated_is_no_reason_unless_the_medicine_itself_is_forbidden_in_it() -> None:
    assert taken_out(passed(frame(Patient(has=(thing("fever"),))), treatments())) == set()
    found = passed(frame(of="myasthenia"), treatments("myasthenia"))
    assert (taken_out(found), left(found)) == ({"curare"}, {"neostigmine"})


def test_a_finding_told_beside_what_is_treated_is_a_circumstance() -> None:
    asked = Frame((Ask(Intent.TREATMENT, (thing("fever"),)),), findings=(thing("asthma"), thing("fever")))
    assert taken_out(passed(asked, treatments())) == {"tonic"}


def test_where_all_is_forbidden_that_is_the_answer() -> None:
    only = about("fever", fact("zaltoprofen", "treats", "fever"))
    found = passed(frame(Patient(groups=("pregnancy",))), only)
    assert (found[0].kind, found[0].id) == ("verdict", "no")


def test_what_a_medicine_is_for_stays_where_it_was_asked_and_is_marked() -> None:
    uses = about("zaltoprofen", fact("zaltoprofen", "treats", "fever"))
    asked = Frame((Ask(Intent.USES, (thing("zaltoprofen"),)),), patient=Patient(groups=("pregnancy",)))
    found = passed(asked, uses)
    assert uses in found
    assert taken_out(found) == {"zaltoprofen"}


@pytest.mark.parametrize(("age", "text", "said"), [
    (4.0, "Give aspirin.", "children of this age: aspirin"), (4.0, "Give tonic.", ""), (None, "Give aspirin.", ""),
    (4.0, "Codeine syrup helps.", "children of this age: codeine"), (4.0, "A cold mix helps.", "cold mix"),
])  # fmt: skip
def test_what_a_text_names_is_held_against_the_patient(age: float | None, text: str, said: str) -> None:
    def found(where: str) -> list[Link]:
        return [G.link(name) for name in (*FEVER, "codeine") if name in where.casefold()]

    told = NamedAgainst(G, found)(frame(Patient(age=age)), text)
    assert said in told
    assert bool(told) is bool(said)
    assert told.count(said) == 1 or not said


def test_a_name_that_no_graph_has_is_held_against_the_vocabulary() -> None:
    ask = Ask(Intent.SAFETY, (Named(("codeine syrup",)),))
    unknown = Evidence("not in the graph", VERDICT, (), (), 1.0, "unknown")
    for age, verdict in ((4.0, "no"), (30.0, "unknown")):
        query = Query(Question(""), frame=Frame((ask,), patient=Patient(age=age)))
        assert [e.id for e in PatientGate(G)(query, [unknown])] == [verdict]


@pytest.mark.parametrize("role", [Role.TREATS, Role.FOOD])
def test_a_refusing_ask_never_gets_what_helps(role: Role) -> None:
    row = fact("aspirin", "treats", "fever") if role is Role.TREATS else fact("fever", "good food", "soup")
    helps = Evidence("helps", "neighbours", (row,), (G.entity("fever"),))
    found = passed(frame(negative=True), helps, Evidence("yes", "verdict", (row,), (), 1.0, "yes"))
    assert [e.id for e in found] == ["lacking"]


def test_of_two_asks_the_one_that_does_not_refuse_keeps_its_list() -> None:
    asks = (Ask(Intent.TREATMENT, (thing("fever"),)), Ask(Intent.DIET, (thing("fever"),), negative=True))
    assert treatments() in passed(Frame(asks), treatments())


def doses(patient: Patient, *of: str, route: str = "") -> list[str]:
    given = [t for name in of for t in G.attributes(name) if t.relation.name == "dose"]
    rows = [Triple(t.head, Relation("dose", Role.DOSAGE), t.tail) for t in given]
    pieces = [Evidence(t.tail.name, "text", (t,), (t.head,), 1.0) for t in rows]
    narrowed = (Constraint("route", route),) if route else ()
    ask = Ask(Intent.DOSAGE, (thing("aspirin"),), constraints=narrowed)
    return [e.text for e in passed(Frame((ask,), patient=patient), *pieces)]


def test_a_child_gets_no_dosage_of_adults() -> None:
    assert doses(Patient(age=17.0), "aspirin") == ["儿童一次半片"]


def test_a_mixture_lends_no_dosage() -> None:
    assert doses(Patient(), "aspirin", "cold mix") == ["成人一次1片", "儿童一次半片"]


def test_an_injection_lends_no_dosage_unless_it_is_asked_for() -> None:
    assert doses(Patient(), "aspirin", "aspirin injection") == ["成人一次1片", "儿童一次半片"]
    assert doses(Patient(), "aspirin", "aspirin injection", route="注射") == ["肌肉注射一次0.1g"]


@pytest.mark.parametrize(("of", "route"), [("aspirin injection", "tablets"), ("aspirin", "注射")])
def test_no_other_way_of_giving_it_stands_in_for_the_one_that_is_asked_for(of: str, route: str) -> None:
    [said] = doses(Patient(), of, route=route)
    assert said == "The graph has no dosage of aspirin alone, given in the way that is asked about."


def test_an_amount_that_does_not_say_for_whom_is_not_told_of_a_child() -> None:
    [said] = doses(Patient(age=17.0), "aspirin injection")
    assert said.startswith("The graph has no dosage of aspirin for children")


def test_a_dosage_of_what_is_forbidden_is_not_told() -> None:
    assert doses(Patient(age=4.0), "aspirin") == [
        "Not suitable for this patient according to a label, the graph or kgmed's own list: "
        "children of this age: aspirin.",
    ]


# --- Adding a circumstance never takes a warning away: on small graphs all pairs, on CMeKG a sample, in bench/ all.


def test_what_the_vocabulary_forbids_is_said_in_place_of_a_verdict_that_leaves_it_open() -> None:
    ask = Ask(Intent.SAFETY, (thing("aspirin"),))
    open_one = Evidence("no warning", VERDICT, (), (thing("aspirin").links[0].entity,), 1.0, "none")
    for age, verdict in ((4.0, "no"), (30.0, "none")):
        query = Query(Question(""), frame=Frame((ask,), patient=Patient(age=age)))
        found = [e for e in PatientGate(G)(query, [open_one]) if e.kind == VERDICT]
        assert [e.id for e in found] == [verdict]
        assert bool(found[0].triples) is (verdict == "no")


TOLD = [
    *(Patient(groups=(g,)) for g in ("pregnancy", "breastfeeding", "children", "older people")),
    *(Patient(age=age) for age in (2.0, 30.0, 80.0)),
    *(Patient(has=(thing(name),)) for name in ("asthma", "myasthenia")),
    *(Patient(takes=(thing(name),)) for name in ("warfarin", "codeine")),
    *(Patient(allergic_to=(thing(name),)) for name in ("aspirin", "ibuprofen")),
]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/safety.py, which is no part of a package."""
    path = Path(__file__).resolve().parents[2] / "bench" / "safety.py"
    spec = importlib.util.spec_from_file_location("bench_safety", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("one", TOLD)
@pytest.mark.parametrize("other", TOLD)
def test_what_is_told_besides_takes_no_warning_away(bench: ModuleType, one: Patient, other: Patient) -> None:
    found = [passed(frame(p), treatments()) for p in (one, bench.together(one, other))]
    query = Query(Question(""), frame=frame(one))
    warned = [bench.warned_of(Warned(G)(query, e)) for e in found]
    assert warned[0] <= warned[1] or None not in {one.age, other.age}  # nobody has two ages
    assert left(found[1]) <= left(found[0]) or other.age is not None


@pytest.mark.starter
def test_on_cmekg_what_is_told_besides_takes_no_warning_away(bench: ModuleType, cmekg: Store) -> None:
    checks = bench.Bench(cmekg)
    lost = [(name, gone) for asked, one, other, name in bench.sample(cmekg, 150)
            if (gone := bench.lost(checks, asked, one, bench.together(one, other)))]  # fmt: skip
    assert lost == []


@pytest.mark.starter
def test_on_cmekg_no_listed_medicine_is_forbidden_by_its_own_label(bench: ModuleType, cmekg: Store) -> None:
    checks = bench.Bench(cmekg)
    checks.patients(bench.illnesses(cmekg, 8))
    checks.polarity(bench.illnesses(cmekg, 8))
    checks.doses(bench.substances(cmekg, 20))
    assert checks.counts["forbidden", "without"] > 0
    assert {kind: n for (kind, part), n in checks.counts.items() if part == "with" and n} == {}


def test_what_a_label_says_of_an_effect_or_of_a_shop_forbids_nothing_to_those_who_have_it() -> None:
    """WHO's remark on two strengths that "would cause confusion" is none on people who are confused."""
    said = "Two strengths on the same market would cause confusion in prescribing and should be avoided."
    rows = [*ROWS, *((name, "treats", "pain") for name in ("tonic", "draught", "rub"))]
    texts = [
        ("tonic", "care with", said),
        ("draught", "must not", "可引起低血压，应避免"),
        ("rub", "must not", "低血压禁用"),
    ]
    kinds = {"drug": ["tonic", "draught", "rub"], "disease": ["pain", "confusion", "低血压"]}
    graph = RoleGraph(rows, RELATIONS, kinds, texts=texts, isolated=["confusion", "低血压"])
    ill = [Named((n,), "disease", links=(graph.link(n),)) for n in ("confusion", "低血压")]
    names = {"tonic", "draught", "rub"}
    triples = tuple(Triple(graph.entity(n), RELATIONS[0], graph.entity("pain")) for n in sorted(names))
    ask = Ask(Intent.TREATMENT, (Named(("pain",), "disease", links=(graph.link("pain"),)),))
    found = NotForThisPatient(graph)(
        Query(Question(""), frame=Frame((ask,), patient=Patient(has=tuple(ill)))),
        [Evidence("", "neighbours", triples, (graph.entity("pain"),))],
    )
    assert {x.name for e in found if e.id == NOT_FOR for x in e.about} == {"rub"}


@pytest.mark.parametrize(
    ("medicine", "beside"),
    [("gentamicin", "myasthenia gravis"), ("呋喃妥因", "蚕豆病"), ("tetracycline", "milk"), ("西地那非", "硝酸甘油")],
)
def test_what_the_vocabulary_says_medicines_are_not_for_may_be_an_illness_or_a_food(medicine: str, beside: str) -> None:
    from kgmed.facts.circumstances import circumstances, not_for, reaches

    asked = Frame((Ask(Intent.SAFETY, (Named((medicine,), "drug"),), (Named((beside,), "disease"),)),))
    told = circumstances(G, asked)
    barred = [group for group, below in not_for(medicine) if reaches(group, below, told.groups)]
    assert [told.called[group] for group in barred] == [beside]
