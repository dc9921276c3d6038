import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.models.replies import (
    Outputs,
    Step,
    bracketed_labels,
    cited_labels,
    labels,
    outputs,
    reasoning_graph,
    tree,
    with_marks,
)
from kgmed.records import Evidence

FULL = Outputs("It is flu (P1).", "P1('fever'->'sign of'->'flu')", "fever (P1)\n└── flu")


@pytest.mark.parametrize(
    "reply",
    [
        "Output 1: It is flu (P1).\nOutput 2: P1('fever'->'sign of'->'flu')\nOutput 3:\nfever (P1)\n└── flu",
        "Here you go.\n\n**Output 1**: It is flu (P1).\n\n**Output 2**:\nP1('fever'->'sign of'->'flu')\n\n"
        "**Output 3**:\nfever (P1)\n└── flu\n",
        "### OUTPUT 1\nIt is flu (P1).\n### OUTPUT 2\nP1('fever'->'sign of'->'flu')\n### OUTPUT 3\nfever (P1)\n└── flu",
        "输出1：It is flu (P1).\n输出2：P1('fever'->'sign of'->'flu')\n输出3：\nfever (P1)\n└── flu",
        "输出一: It is flu (P1).\n【输出二】：P1('fever'->'sign of'->'flu')\n输出三\nfever (P1)\n└── flu",
        "Output 3:\nfever (P1)\n└── flu\nOutput 2: P1('fever'->'sign of'->'flu')\nOutput 1: It is flu (P1).",
    ],
)
def test_three_outputs_are_found_under_every_form_of_their_headings(reply: str) -> None:
    assert outputs(reply) == FULL


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("It is flu.", Outputs("It is flu.")),
        ("Output 1: It is flu.", Outputs("It is flu.")),
        ("It is flu.\nOutput 2: P1('a'->'b')", Outputs("It is flu.", "P1('a'->'b')")),
        ("Output 3:\nflu", Outputs("", "", "flu")),
        ("", Outputs("")),
        ("Output 1: one\nOutput 1: two", Outputs("one")),
    ],
)
def test_missing_parts_stay_empty(reply: str, parts: Outputs) -> None:
    assert outputs(reply) == parts


@pytest.mark.parametrize(
    "chain",
    [
        "P1('fever'->'sign of'->'flu')",
        "Path-based Evidence 1('fever' -> 'sign of' -> 'flu')",
        "路径证据1（‘fever’→‘sign of’→‘flu’）",
        'P1("fever"-->"sign of"-->"flu")->result 1(\'flu\')',
        "1. P1 (fever -> sign_of -> flu)",
        "P1('flu'<-'sign of'<-'fever')",
    ],
)
def test_a_step_is_read_from_every_form_of_the_grammar(chain: str) -> None:
    assert reasoning_graph(chain).steps == (Step("P1", "fever", "sign of", "flu"),)


def test_a_chain_ends_in_results_and_names_may_hold_brackets() -> None:
    found = reasoning_graph("N2('Anxiety'->'drug'->'Alprazolam (Xanax)')->result 1('Anxiety')->结果2('Xanax')")
    assert found.steps == (Step("N2", "Anxiety", "drug", "Alprazolam (Xanax)"),)
    assert found.results == ("Anxiety", "Xanax")


def test_a_long_group_is_a_step_for_each_relation_and_two_names_are_one_without() -> None:
    assert [s.end for s in reasoning_graph("P1('a'->'r'->'b'->'s'->'c')").steps] == ["b", "c"]
    assert reasoning_graph("P1('a'->'b')").steps == (Step("P1", "a", "", "b"),)


@pytest.mark.parametrize("text", ["", "no steps", "P1()", "P1('a')", "P1('a'->", "(((((", "->->->", "P1('a'->'r'->'b'"])
def test_what_is_no_chain_has_no_steps(text: str) -> None:
    assert reasoning_graph(text).steps == ()


@pytest.mark.parametrize(
    "text",
    [
        "flu (P1)\n├── fever (N1)\n│   └── PCR\n└── rest",
        "flu (P1)\n  fever (N1)\n    PCR\n  rest",
        "- flu (P1)\n  - fever (N1)\n    - PCR\n  - rest",
        "flu（P1）\n|-- fever（N1）\n|   |-- PCR\n|-- rest",
        "flu (Path-based Evidence 1)\n+--> fever (Neighbor-based Evidence 1)\n     +--> PCR\n+--> rest",
    ],
)
def test_a_tree_is_read_from_every_way_of_drawing_it(text: str) -> None:
    [root] = tree(text)
    assert (root.text, root.labels, [c.text for c in root.children]) == ("flu", ("P1",), ["fever", "rest"])
    assert (root.children[0].labels, root.children[0].children[0].text) == (("N1",), "PCR")


def test_labels_outside_brackets_are_no_citations_of_an_answer() -> None:
    assert bracketed_labels("A loud P2 is heard; wear an N95 (N3, P1).") == ("N3", "P1")
    assert cited_labels("vitamin B12 and P1") == ("P1",)


def test_marks_take_the_place_of_known_labels_only() -> None:
    assert with_marks("Flu (P1)(N1), gout (P9), 发热（P1，N1）", {"P1": 1, "N1": 2}) == (
        "Flu [1][2], gout (P9), 发热[1][2]"
    )


def test_every_piece_of_evidence_has_a_label_of_its_own() -> None:
    given_ids = ["P1", "N1", "", "P1", "hello", "E1"]
    found = labels([Evidence("x", "path", id=i) for i in given_ids])
    assert found == ["P1", "N1", "E3", "E4", "E5", "E6"]


@given(st.text(alphabet="P1N2()'->→ \n│├└─a输出：:Output ", max_size=80))
def test_nothing_that_a_model_writes_breaks_the_parsers(text: str) -> None:
    parts = outputs(text)
    reasoning_graph(parts.inference)
    assert sum(1 for _ in tree(parts.tree)) <= len(text.splitlines())
