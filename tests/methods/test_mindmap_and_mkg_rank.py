from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kgmed.errors import BadInput
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.names import Glossary
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.methods.mindmap import PAPER, PRESETS, mindmap
from kgmed.methods.mkg_rank import PAPER as MKG
from kgmed.methods.mkg_rank import mkg_rank
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.models.replies import outputs, tree
from kgmed.prompts import ASSISTED
from kgmed.records import Question, Role, Run
from kgmed.registry import methods
from kgmed.toolkit import Toolkit

EN: tuple[Row, ...] = (
    NodeRow("flu", "influenza", "disease"),
    NodeRow("gout", "gout", "disease"),
    *(NodeRow(n, n, "symptom") for n in ("fever", "cough", "toe pain")),
    NodeRow("pcr", "viral PCR", "test"),
    NodeRow("urate", "serum urate", "test"),
    EdgeRow("flu", "has_symptom", "fever"),
    EdgeRow("flu", "has_symptom", "cough"),
    EdgeRow("flu", "need_medical_test", "pcr"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("gout", "need_medical_test", "urate"),
)
ZH: tuple[Row, ...] = (
    NodeRow("流感", "流感", "disease"),
    *(NodeRow(n, n, "symptom") for n in ("发热", "咳嗽")),
    NodeRow("奥司他韦", "奥司他韦", "drug"),
    EdgeRow("流感", "症状", "发热"),
    EdgeRow("流感", "症状", "咳嗽"),
    EdgeRow("流感", "药物治疗", "奥司他韦"),
)
FLU = "I have a fever and a cough. What is it?"
OUTPUTS = (
    "Output 1: Influenza has the symptoms fever and cough (P1).\n"
    "Output 2: P1('influenza'->'has_symptom'->'fever')->P1('influenza'->'has_symptom'->'rash')->result 1('influenza')\n"
    "Output 3:\nfever (P1)\n└── influenza (P1)\n    └── nonsense (N9)"
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    folder = tmp_path_factory.mktemp("recipes")
    for name, rows in (("en", EN), ("zh", ZH)):
        build(Source(name, partial(iter, rows), language=name), folder / name)
    return {name: open_store(folder / name) for name in ("en", "zh")}


def toolkit(store: Store, *replies: str) -> Toolkit:
    return Toolkit(store, Scripted(replies), TrigramEncoder())


NEAR = replace(PAPER, at_least=0.0)  # the encoder of the tests sees letters, not meaning
SAID = ("fever, cough", "P1: 'influenza' 'has symptom' 'fever' and 'cough'.", "", OUTPUTS)


def test_mindmap_answers_in_english_with_its_steps_checked(stores: dict[str, Store]) -> None:
    run = mindmap(toolkit(stores["en"], *SAID), settings=NEAR)(FLU)
    assert [e.id for e in run.context.cited][:2] == ["P1", "N1"]
    assert "[1] P1: 'influenza' 'has symptom' 'fever' and 'cough'." in run.context.text
    assert run.answer.text == "Influenza has the symptoms fever and cough [1]."
    assert run.answer.citations == (1,)
    assert "lost the triple of N1" in run.answer.limits
    said = {v.sentence: (v.supported, v.reason) for v in run.answer.verdicts}
    assert said["P1: influenza -> has symptom -> fever"] == (True, "evidence P1 says so")
    assert said["P1: influenza -> has symptom -> rash"] == (False, "evidence P1 does not join influenza and rash")
    assert said["tree: N9"] == (False, "cites evidence N9 that does not exist")
    assert tree(outputs(run.answer.reasoning).tree)[0].children[0].text == "influenza"


def test_mindmap_answers_in_chinese(stores: dict[str, Store]) -> None:
    reply = (
        "输出1：发热和咳嗽是流感的症状（P1），可用奥司他韦治疗。\n"
        "输出2：路径证据1(‘流感’→‘症状’→‘发热’)→结果1(‘流感’)\n输出3：\n发热（P1）\n└── 流感（P1）"
    )
    kit_zh = toolkit(stores["zh"], "发热，咳嗽", "P1：‘流感’的‘症状’有‘发热’和‘咳嗽’。", "", reply)
    run = mindmap(kit_zh, settings=replace(PAPER, relevance="all"))("我发热咳嗽，是什么病？")
    assert run.answer.text == "发热和咳嗽是流感的症状[1]，可用奥司他韦治疗。"
    assert [v.supported for v in run.answer.verdicts if v.sentence.startswith("P1")] == [True]
    assert "请" in kit_zh.llm.asked[-1][-1].text  # type: ignore[union-attr]


@pytest.mark.parametrize("reply", ["Influenza.", "Output 1: Influenza.", "Output 1: Influenza.\nOutput 3:\n???"])
def test_missing_outputs_are_tolerated_and_told(stores: dict[str, Store], reply: str) -> None:
    found = mindmap(toolkit(stores["en"], "fever, cough", reply), settings=replace(PAPER, rewrite=False))(FLU).answer
    assert found.text == "Influenza."
    assert "the model wrote no reasoning graph" in found.limits


def test_a_useless_reply_leaves_the_facts_and_the_run_says_so(stores: dict[str, Store]) -> None:
    run = mindmap(toolkit(stores["en"], "fever, cough", ""), settings=replace(PAPER, rewrite=False))(FLU)
    assert run.failures[-1].startswith("scripted said nothing")
    assert run.answer.reader == "facts"


def test_the_example_of_the_prompt_is_no_answer(stores: dict[str, Store]) -> None:
    example = "Output 1: The swollen toe points to gout (P1). Serum urate should be measured (N1)."
    run = mindmap(toolkit(stores["en"], "fever, cough", example), settings=replace(PAPER, rewrite=False))(FLU)
    assert "repeated its instructions" in run.failures[0]
    assert run.answer.reader == "facts"


def test_terms_that_cannot_be_read_leave_the_graphs_names_and_the_run_says_so(stores: dict[str, Store]) -> None:
    options = (("A", "influenza"), ("B", "gout"))
    useless = toolkit(stores["en"], "fever, cough?", "I think so.", "...", "The answer is: A")
    run = mkg_rank(useless, settings=replace(MKG, declarative=False, min_score=0.0))(Question(FLU, options))
    assert "terms by the graph's names" in run.failures[0]
    assert {link.entity.name for link in run.links} >= {"fever", "cough"}


def test_without_rewriting_two_calls_and_with_it_four(stores: dict[str, Store]) -> None:
    for rewrite, calls in ((True, 4), (False, 2)):
        replies = SAID if rewrite else (SAID[0], SAID[3])
        one = toolkit(stores["en"], *replies)
        mindmap(one, settings=replace(NEAR, rewrite=rewrite))(FLU)
        assert len(one.llm.asked) == calls  # type: ignore[union-attr]


def test_an_entity_without_a_neighbour_or_path_is_no_error(stores: dict[str, Store]) -> None:
    settings = replace(PAPER, link="names", rewrite=False)
    run = mindmap(toolkit(stores["en"], "xyzzy"), settings=settings)("What is xyzzy?")
    assert run.answer.abstained
    assert run.context.cited == ()


def names_of(run: Run) -> set[str]:
    return {e.name for piece in run.evidence for t in piece.triples for e in (t.head, t.tail)}


@pytest.mark.parametrize("relevance", ["all", "types", "cosine"])
def test_nothing_of_the_first_question_is_seen_in_the_second(stores: dict[str, Store], relevance: str) -> None:
    settings = replace(PAPER, rewrite=False, relevance=relevance, at_least=0.0)  # type: ignore[arg-type]
    pipeline = mindmap(toolkit(stores["en"], "fever, cough", OUTPUTS, "toe pain", "Output 1: Gout."), settings=settings)
    pipeline(FLU)
    second = pipeline("My toe pain is bad. What is it?")
    assert names_of(second)
    assert names_of(second) <= {"gout", "toe pain", "serum urate"}


def test_presets_differ_where_paper_and_code_differ(stores: dict[str, Store]) -> None:
    assert (PRESETS["paper"].direction, PRESETS["code"].direction) == ("both", "out")
    assert (PRESETS["paper"].relevance, PRESETS["code"].relevance) == ("cosine", "types")
    assert PRESETS["code"].skip == (Role.FINDING,)
    assert mindmap(toolkit(stores["en"], *SAID), preset="code")(FLU).answer.text


@pytest.mark.parametrize("name", ["mindmap", "mkg-rank"])
def test_a_method_without_a_model_is_refused(stores: dict[str, Store], name: str) -> None:
    with pytest.raises(BadInput, match="needs a language model"):
        methods.get(name).build(Toolkit(stores["en"], None, TrigramEncoder()))


OPTIONS = (("A", "痛风"), ("B", "流感"))
WORDS = Glossary(words={"流感": "influenza", "痛风": "gout", "发热": "fever"})
ASKED = Question("患者发热，最可能的是？", OPTIONS, language="zh")


def test_mkg_rank_chooses_a_letter_for_a_chinese_question_on_an_english_graph(stores: dict[str, Store]) -> None:
    replies = ('["发热"]', '["痛风", "流感"]', "E1: influenza has the symptom fever.", "发热见于流感。\n[B]")
    one = toolkit(stores["en"], *replies)
    run = mkg_rank(one, glossary=WORDS)(ASKED)
    assert run.answer.choices == ("B",)
    assert {link.entity.name for link in run.links} == {"fever", "gout", "influenza"}
    assert len(one.llm.asked) == 4  # type: ignore[union-attr]
    assert [e.text for e in run.context.cited] == ["influenza — has_symptom → fever"]


@pytest.mark.parametrize("declarative", [True, False])
def test_without_a_triple_the_model_is_asked_for_what_it_knows(stores: dict[str, Store], declarative: bool) -> None:
    background = "流感常见发热。\n痛风常见关节痛。"
    replies = ('["水痘"]', "[null, null]", "[null]", background, "[B]")  # the model's own words are sentences already
    settings = replace(MKG, declarative=declarative)
    run = mkg_rank(toolkit(stores["en"], *replies), settings=settings, glossary=WORDS)(
        replace(ASKED, text="水痘患者发热，最可能的是？")
    )
    assert [e.kind for e in run.evidence] == ["passage", "passage"]
    assert run.evidence[0].text == "流感常见发热。 (the model's own words)"
    assert run.answer.choices == ("B",)


def test_a_model_that_answers_from_what_it_knows_is_not_asked_for_it_before(stores: dict[str, Store]) -> None:
    replies = ('["水痘"]', "[null, null]", "[null]", "[B]")
    made = replace(mkg_rank(toolkit(stores["en"], *replies), glossary=WORDS), task=ASSISTED)
    run = made(replace(ASKED, text="水痘患者发热，最可能的是？"))
    assert (run.evidence, run.answer.choices) == ((), ("B",))


def test_the_rule_for_useless_evidence_can_be_set(stores: dict[str, Store]) -> None:
    replies = ('["发热"]', '["痛风", "流感"]', "流感常见发热。", "[B]")
    settings = replace(MKG, min_score=2.0, declarative=False)
    run = mkg_rank(toolkit(stores["en"], *replies), settings=settings, glossary=WORDS)(ASKED)
    assert {e.kind for e in run.evidence} == {"passage"}


def test_hedging_is_wrong_and_is_told(stores: dict[str, Store]) -> None:
    replies = ('["发热"]', '["痛风", "流感"]', "可能是A或B。")
    run = mkg_rank(toolkit(stores["en"], *replies), settings=replace(MKG, declarative=False), glossary=WORDS)(ASKED)
    assert (run.answer.choices, run.answer.limits) == ((), "the reply chooses no single option")


def test_an_open_question_is_answered_in_sentences(stores: dict[str, Store]) -> None:
    replies = ('["fever"]', "Influenza has the symptom fever [1].")
    run = mkg_rank(toolkit(stores["en"], *replies), settings=replace(MKG, declarative=False))("What has fever?")
    assert run.answer.text == "Influenza has the symptom fever [1]."
    assert run.answer.verdicts[0].supported


def test_ten_threads_share_nothing(stores: dict[str, Store]) -> None:
    def ask(i: int) -> set[str]:
        symptom = "fever" if i % 2 else "toe pain"
        one = toolkit(stores["en"], symptom, "Output 1: It is so.")
        return names_of(mindmap(one, settings=replace(PAPER, rewrite=False, relevance="all"))(f"I have {symptom}."))

    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(ask, range(20)))
    assert all(("fever" in names) == bool(i % 2) for i, names in enumerate(found))


def test_a_row_whose_facts_stand_in_rows_before_it_takes_no_place(stores: dict[str, Store]) -> None:
    kit = toolkit(stores["en"], "influenza, fever, cough", OUTPUTS)
    run = mindmap(kit, settings=replace(PAPER, rewrite=False, relevance="all", ranked=True))(
        "Has influenza fever and cough?"
    )
    rows = [{(t.head.id, t.tail.id) for t in e.triples} for e in run.evidence if e.kind == "neighbours"]
    assert {("flu", "fever"), ("flu", "cough")} in rows
    assert all(not row <= set().union(*rows[:i]) for i, row in enumerate(rows))


@pytest.mark.data
def test_mindmap_runs_on_its_own_graph(data: Path, tmp_path: Path) -> None:
    path = data / "genmedgpt5k" / "emckg_train.txt"
    build(formats.read("triples", path, name="emckg"), tmp_path / "emckg")
    store = open_store(tmp_path / "emckg")
    llm = Scripted(["Anxiety and nervousness, Depression, Insomnia", "Output 1: Panic disorder (P1)."])
    one = Toolkit(store, llm, TrigramEncoder())
    run = mindmap(one, settings=replace(PAPER, rewrite=False, relevance="types"))(
        "I suffer from anxiety and nervousness, depression and insomnia. What is it?"
    )
    kinds = [e.kind for e in run.evidence]
    assert {link.entity.name for link in run.links} >= {"Anxiety and nervousness", "Depression", "Insomnia"}
    assert 1 <= kinds.count("path") <= 5
    assert kinds.count("neighbours") == 5
    assert "Panic disorder" in names_of(run)
    assert run.answer.citations == (1,)
    assert all(t.source for e in run.evidence for t in e.triples)
