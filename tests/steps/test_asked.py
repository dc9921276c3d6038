"""What a question asks for, from the entities it names."""

from dataclasses import replace

from kgmed.records import Link, Mention, Relation, Role, Support, Triple
from kgmed.steps.asked import AskedFor, meant
from kgmed.steps.diagnosis import Consult
from kgmed.steps.family import Family
from kgmed.steps.retrieve import Overview
from role_graph import RoleGraph, query

RELATIONS = (
    Relation("has symptom", Role.FINDING),
    Relation("treats", Role.TREATS),
    Relation("treated by", Role.TREATS, reverse=True),
    Relation("side effect", Role.ADVERSE),
    Relation("contains", Role.INGREDIENT),
    Relation("brand of", Role.SAME_AS),
    Relation("must not", Role.CONTRAINDICATED),
    Relation("shows", Role.TESTS),
    Relation("caused by", Role.CAUSE),
)
ROWS = [
    ("gout", "has symptom", "toe pain"),
    ("gout", "has symptom", "redness"),
    ("cellulitis", "has symptom", "redness"),
    ("gout", "treated by", "colchicine"),
    ("cure-all", "treats", "gout"),
    *[("cure-all", "treats", f"disease {i}") for i in range(20)],
    ("uric acid test", "shows", "gout"),
    ("colchicine", "side effect", "nausea"),
    ("stroke", "caused by", "gout"),
    ("pure tablet", "contains", "aspirin"),
    ("mixed tablet", "contains", "aspirin"),
    ("mixed tablet", "contains", "caffeine"),
    ("pure tablet", "side effect", "bleeding"),
    ("mixed tablet", "side effect", "tremor"),
    ("Brandname", "brand of", "genericum"),
    ("Brandname", "side effect", "rash"),
]
KINDS = {
    "disease": ["gout", "cellulitis", "stroke", *(f"disease {i}" for i in range(20))],
    "symptom": ["toe pain", "redness"],
    "drug": ["colchicine", "cure-all", "pure tablet", "mixed tablet", "aspirin", "genericum", "Brandname"],
}
G = RoleGraph(
    ROWS, RELATIONS, KINDS, texts=[("colchicine", "must not", "severe renal failure")], isolated=["GOUT twin"]
)


def texts(question: str, *names: str, graph: RoleGraph = G) -> list[str]:
    return [e.text for e in AskedFor(graph)(query(question), [graph.link(n) for n in names])]


def test_a_role_is_followed_from_either_end_and_whichever_way_it_is_written() -> None:
    assert texts("What drugs treat gout?", "gout") == ["gout — treated by → colchicine; ← treats — cure-all"]
    assert texts("What does colchicine treat?", "colchicine") == ["colchicine ← treated by — gout"]


def test_a_finding_with_medicines_of_its_own_is_treated_by_these_and_not_by_those_of_its_diseases() -> None:
    g = RoleGraph([*ROWS, ("balm", "treats", "toe pain")], RELATIONS, {**KINDS, "drug": [*KINDS["drug"], "balm"]})
    assert texts("What can I take for toe pain?", "toe pain", graph=g) == ["toe pain ← treats — balm"]
    assert "colchicine" in texts("What can I take for redness?", "redness", graph=g)[0]


def test_a_chinese_complaint_is_treated_as_the_illness_that_is_named_after_it() -> None:
    rows = [("佐匹克隆", "treats", "失眠症"), ("抑郁", "has symptom", "失眠")]
    g = RoleGraph(rows, RELATIONS, {"disease": ["失眠症", "抑郁"], "symptom": ["失眠"], "drug": ["佐匹克隆"]})
    assert texts("失眠吃什么药", "失眠", graph=g) == ["失眠症 ← treats — 佐匹克隆"]


def test_what_an_entity_has_is_not_what_has_it() -> None:
    assert texts("What are the causes of gout?", "gout") == []
    assert texts("What are the causes of stroke?", "stroke") == ["stroke — caused by → gout"]


def test_texts_are_answers_too() -> None:
    assert texts("contraindications of colchicine", "colchicine") == ["colchicine — must not → severe renal failure"]


def test_a_substance_without_an_answer_gives_that_of_products_of_it_alone_with_both_triples() -> None:
    [piece] = AskedFor(G)(query("side effects of aspirin"), [G.link("aspirin")])
    assert piece.text == "pure tablet — side effect → bleeding; pure tablet — contains → aspirin"
    assert [t.relation.name for t in piece.triples] == ["side effect", "contains"]


def test_a_substance_without_an_answer_gives_that_of_its_brands() -> None:
    assert texts("side effects of genericum", "genericum") == [
        "Brandname — side effect → rash; Brandname — brand of → genericum"
    ]


def test_an_entity_that_has_nothing_gives_way_to_one_of_the_same_name() -> None:
    twin = replace(G.link("GOUT twin"), entity=replace(G.entity("gout twin"), kind="disease"))
    linked = replace(twin, ties=(G.entity("gout"),))
    assert [e.text for e in AskedFor(G)(query("symptoms of gout"), [linked])] == [
        "gout — has symptom → redness, toe pain"
    ]


def test_a_drug_for_everything_comes_after_a_drug_for_this() -> None:
    found = AskedFor(G, listed=1)(query("What drugs treat gout?"), [G.link("gout")])
    assert [t.subject.name for e in found for t in e.triples] == ["colchicine", "cure-all"]


def test_findings_lead_to_the_treatment_of_the_disease_that_explains_them_and_the_reason_is_shown() -> None:
    found = AskedFor(G)(query("which tests?"), [G.link("toe pain"), G.link("redness")])
    assert found[0].about[0].name == "uric acid test"
    assert "gout — has symptom → " in found[0].text
    assert AskedFor(G, through=False)(query("which tests?"), [G.link("toe pain")]) == []


def test_a_denied_entity_asks_for_nothing() -> None:
    assert AskedFor(G)(query("What drugs treat gout?"), [G.link("gout", no=True)]) == []


def test_an_overview_lists_each_neighbour_once_with_the_number_left_out() -> None:
    rows = [("d", "has symptom", f"s{i}") for i in range(5)]
    g = RoleGraph(rows, RELATIONS, {"disease": ["d"]}, descriptions={"d": "A disease."})
    one = [e.text for e in Overview(g, listed=2)(query("d"), [g.link("d")])]
    assert one == ["d: A disease.", "d — has symptom → s0, s1, … (+3)"]
    chunks = Overview(g, listed=2, pieces=2, roles=(Role.FINDING,)).of(g.entity("d"))
    assert [e.text for e in chunks] == ["d — has symptom → s0, s1", "d — has symptom → s2, s3, … (+1)"]
    assert [len(e.triples) for e in chunks] == [2, 2]


def test_a_consultation_gives_the_disease_then_its_care() -> None:
    found = Consult(G)(query("What is it?"), [G.link("toe pain")])
    assert [e.text for e in found] == [
        "gout: toe pain; ← shows — uric acid test; — treated by → colchicine; ← treats — cure-all"
    ]
    assert found[0].kind == "candidate"
    assert [e.name for e in found[0].about] == ["gout", "toe pain"]


def test_a_card_says_how_much_it_leaves_out_and_what_is_asked_for_first() -> None:
    [card] = Consult(G, listed=1, care=(Role.TREATS, Role.TESTS))(query("What helps?"), [G.link("toe pain")])
    assert card.text == "gout: toe pain; — treated by → colchicine, … (+1); ← shows — uric acid test"


def test_a_disease_that_is_named_comes_first_in_a_consultation() -> None:
    found = Consult(G)(query("What is it?"), [G.link("redness"), G.link("gout")])
    assert found[0].about == (G.entity("gout"),)
    assert found[0].kind == "neighbours"
    assert [e.about[0].name for e in found if e.kind == "candidate"] == ["cellulitis"]


LABEL, ENTRY = Relation("indication", Role.TREATS), Relation("therapy", Role.TREATS, reverse=True)


def test_what_the_entry_of_a_disease_names_comes_before_what_labels_say_and_the_specific_before_the_broad() -> None:
    rows = [
        *(("broad capsules", "indication", name) for name in ("gout", *(f"d{i}" for i in range(30)))),
        *(("special capsules", "indication", "gout"), ("gout", "therapy", "broad"), ("gout", "therapy", "special")),
        *((f"label {form}", "indication", "gout") for form in ("tablets", "capsules", "injection")),
    ]
    drugs = sorted({row[0] for row in rows} - {"gout"} | {"broad", "special"})
    g = RoleGraph(rows, (LABEL, ENTRY), {"disease": ["gout"], "drug": drugs})
    [piece] = AskedFor(g)(query("What drugs treat gout?"), [g.link("gout")])
    said = [t.subject.name.split()[0] for t in piece.triples]
    assert list(dict.fromkeys(said)) == ["special", "broad", "label"]


def test_where_medicines_are_asked_for_they_come_before_operations() -> None:
    pill = [("pill", "indication", name) for name in ("gout", *(f"d{i}" for i in range(9)))]
    kinds = {"disease": ["gout"], "drug": ["pill"], "surgery": ["cut"]}
    g = RoleGraph([*pill, ("gout", "therapy", "cut")], (LABEL, ENTRY), kinds)

    def order(question: str) -> list[str]:
        return [t.subject.name for e in AskedFor(g)(query(question), [g.link("gout")]) for t in e.triples]

    assert order("Which drugs treat gout?") == ["pill", "cut"]
    assert order("How is gout treated?") == ["cut", "pill"]


def test_of_two_entries_of_one_name_the_one_that_says_most_answers() -> None:
    rows = [("test a", "shows", "sprue"), ("test b", "shows", "sprue twin"), ("test c", "shows", "sprue twin")]
    rows.append(("sprue twin", "brand of", "sprue"))
    g = RoleGraph(rows, RELATIONS, {"disease": ["sprue", "sprue twin"], "test": ["test a", "test b", "test c"]})
    [piece] = AskedFor(g)(query("What tests are done for sprue?"), [g.link("sprue")])
    assert [t.subject.name for t in piece.triples[:2]] == ["test b", "test c"]


def test_a_disease_without_a_mode_is_inherited_as_its_forms_that_bear_its_name() -> None:
    mode, shows = Relation("mode", Role.INHERITANCE), Relation("shows", Role.FINDING)
    rows = [
        *(("Gaucher type 1", "mode", "recessive"), ("Ocular albinism", "mode", "X-linked")),
        *(("Ocular albinism", "shows", "albinism"), ("Other", "shows", "albinism"), ("Other", "mode", "dominant")),
    ]
    forms = ["Gaucher type 1", "Gaucher", "Ocular albinism", "Other", "albinism"]
    g = RoleGraph(rows, (mode, shows), {"disease": forms}, isolated=["Gaucher"])

    def told(name: str) -> list[tuple[str, str]]:
        found = AskedFor(g)(query(f"How is {name} inherited?"), [g.link(name)])
        return [(e.triples[0].subject.name, e.triples[0].object.name) for e in found]

    assert told("Gaucher") == [("Gaucher type 1", "recessive")]
    assert told("albinism") == [("Ocular albinism", "X-linked")]


def test_a_thing_with_few_complications_tells_those_of_its_kinds_too() -> None:
    leads, is_a = Relation("leads to", Role.COMPLICATION), Relation("is_a", Role.IS_A)
    rows = [
        *(("diabetes", "leads to", "one"), ("type 2 diabetes", "is_a", "diabetes")),
        *(("type 2 diabetes", "leads to", f"more {i}") for i in range(3)),
    ]
    g = RoleGraph(rows, (leads, is_a), {"disease": ["diabetes", "type 2 diabetes"]})
    found = AskedFor(g)(query("complications of diabetes"), [g.link("diabetes")])
    assert [e.about[0].name for e in found] == ["diabetes", "type 2 diabetes"]
    assert found[1].triples[-1].relation.role is Role.IS_A  # why it is told


def test_what_is_much_for_women_comes_last_for_a_complaint_that_anybody_may_have() -> None:
    rows = [
        *(("a remedy", "treats", name) for name in ("belly ache", "dysmenorrhea")),
        *(("spasmolytic", "treats", name) for name in ("belly ache", "colic", "cramp")),
        *(("painkiller", "treats", name) for name in ("belly ache", "dysmenorrhea", "colic", "cramp", "headache")),
        ("妇女丸", "treats", "belly ache"),
    ]
    diseases = ["belly ache", "dysmenorrhea", "colic", "cramp", "headache"]
    drugs = ["a remedy", "spasmolytic", "painkiller", "妇女丸"]
    g = RoleGraph(rows, RELATIONS, {"disease": diseases, "drug": drugs})
    [piece] = AskedFor(g)(query("What treats a belly ache?"), [g.link("belly ache")])
    assert [t.subject.name for t in piece.triples] == ["spasmolytic", "painkiller", "妇女丸", "a remedy"]
    [piece] = AskedFor(g)(query("What treats dysmenorrhea?"), [g.link("dysmenorrhea")])
    assert [t.subject.name for t in piece.triples] == ["a remedy", "painkiller"]


def test_the_gene_that_diseases_of_that_name_are_tied_to_comes_before_one_of_other_diseases() -> None:
    gene = Relation("tied to", Role.GENE)
    rows = [
        *(("Hypercholesterolemia, familial, 1", "tied to", name) for name in ("GHR", "LDLR")),
        ("Homozygous familial hypercholesterolemia", "tied to", "LDLR"),
        *((f"Growth failure {i}", "tied to", "GHR") for i in range(3)),
    ]
    graph = RoleGraph(rows, (gene,), {"disease": [row[0] for row in rows], "gene": ["GHR", "LDLR"]})
    disease = graph.link("Hypercholesterolemia, familial, 1").entity
    assert [t.tail.name for t in Family(graph).ordered(disease, Role.GENE, own=True)] == ["LDLR", "GHR"]


class Said(RoleGraph):
    """A graph each of whose findings is seen as often as two graphs that were joined say."""

    often: dict[str, tuple[str, ...]]

    def triple(self, edge: int, /) -> Triple:
        """The triple with its frequencies and, as joined graphs have it, the largest weight."""
        bare = super().triple(edge)
        said = self.often[bare.tail.name]
        return replace(
            bare, support=tuple(Support(f"PMID:{i}", (("frequency", s),) if s else ()) for i, s in enumerate(said))
        )


def test_findings_are_ordered_by_the_frequency_that_is_shown_of_them() -> None:
    often = {
        "counted seldom": ("10/100", "very frequent (80-99%)"),
        "counted once": ("1/1", "frequent (30-79%)"),
        "counted often": ("90/100",),
        "of a class": ("very frequent (80-99%)", ""),
        "said without": ("",),
    }
    rows = [("marfan", "has symptom", name) for name in often]
    graph = Said(rows, RELATIONS, {"disease": ["marfan"]}, weights=dict.fromkeys(rows[:-1], 0.895))
    graph.often = often
    ordered = Family(graph).ordered(graph.link("marfan").entity, Role.FINDING, own=True)
    assert [t.tail.name for t in ordered] == [
        "of a class",
        "counted often",
        "counted once",
        "said without",
        "counted seldom",
    ]


def test_who_sees_an_illness_is_not_told_by_the_illnesses_that_show_it_but_of_a_symptom_it_is() -> None:
    relations = (RELATIONS[0], Relation("seen by", Role.CARE))
    rows = [*((d, "has symptom", s) for d in ("flu", "rabies") for s in ("low mood", "depression"))]
    kinds = {"disease": ["flu", "rabies", "depression"], "symptom": ["low mood"]}
    graph = RoleGraph([*rows, ("rabies", "seen by", "emergency room")], relations, kinds)
    assert texts("Which doctor treats depression?", "depression", graph=graph) == []
    assert texts("Which doctor treats low mood?", "low mood", graph=graph) != []


def test_which_drugs_cause_a_thing_asks_for_the_medicines_of_which_it_is_a_side_effect() -> None:
    for question in ("Which drugs cause bleeding?", "drugs that can cause bleeding", "哪些药会引起bleeding"):
        assert texts(question, "bleeding") == ["bleeding ← side effect — pure tablet"]
    assert texts("Which drugs treat bleeding?", "bleeding") == []


def test_what_comes_of_a_medicine_is_its_side_effects_and_why_it_is_taken_what_it_is_for() -> None:
    taken = [G.link("colchicine")]
    assert meant(Role.FINDING, taken) is meant(Role.COMPLICATION, taken) is Role.ADVERSE
    assert meant(Role.CAUSE, taken) is Role.TREATS
    assert meant(Role.CAUSE, [*taken, G.link("gout")]) is Role.CAUSE
    asked = AskedFor(G)(query("What happens if you take colchicine for years?"), taken)
    assert [t.object.name for e in asked for t in e.triples] == ["nausea"]


def test_what_a_gene_causes_are_diseases_tied_to_it() -> None:
    genes = RoleGraph(
        [("cystic fibrosis", "gene", "CFTR")],
        (Relation("gene", Role.GENE),),
        {"gene": ["CFTR"], "disease": ["cystic fibrosis"]},
    )
    link = Link(Mention("CFTR", "CFTR", 10, 14), genes.entity("cftr"), 1.0, "exact")
    asked = AskedFor(genes)(query("What does CFTR cause?"), [link])
    assert [t.subject.name for e in asked for t in e.triples] == ["cystic fibrosis"]
