import pytest

from kgmed.graph.base import Alias, NodeRow, Scope, Source
from kgmed.graph.names import Fuzzy, Glossary
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store
from kgmed.linking.cascade import Cascade, Misspelled, Spelled
from kgmed.methods.mindmap import Listed, Unique
from kgmed.methods.mkg_rank import Translated
from kgmed.models.asking import Malformed
from kgmed.models.fakes import Scripted
from kgmed.records import Mention, Query, Question
from memory_graph import MemoryGraph

GRAPH = MemoryGraph([("hypertension", "has", "headache"), ("gout", "has", "toe pain")])
OPTIONS = (("A", "痛风"), ("B", "以上都不是"))
ASKED = Query(Question("高血压患者头痛，原因是？", OPTIONS))
WORDS = Glossary(words={"高血压": "hypertension"})


def names(llm: Scripted, query: Query = ASKED) -> list[tuple[str, str]]:
    return [(m.surface, m.name) for m in Translated(llm, GRAPH, WORDS)(query)]


def test_terms_go_by_graph_and_glossary_first_and_by_model_for_the_rest() -> None:
    llm = Scripted(['{"medical entities": ["高血压", "头痛"]}', '["痛风", null]', '["headache", "gout"]'])
    assert names(llm) == [("痛风", "gout"), ("高血压", "hypertension"), ("头痛", "headache")]
    assert llm.asked[2][-1].text.endswith("头痛\n痛风")
    assert " 英文 " in llm.asked[2][-1].text


def test_nothing_is_translated_that_the_graph_knows_and_at_most_three_terms_are_taken() -> None:
    llm = Scripted(['["gout", "headache", "toe pain", "hypertension"]'])
    assert names(llm, Query(Question("gout, headache, toe pain or hypertension?"))) == [
        ("gout", "gout"),
        ("headache", "headache"),
        ("toe pain", "toe pain"),
    ]
    assert len(llm.asked) == 1


@pytest.mark.parametrize("reply", ["", "痛风", '["痛风"]', '["痛风", null, null]', '{"A": "痛风", "B": "无"}', '["痛'])
def test_option_terms_of_another_number_are_asked_for_again_and_then_a_failure(reply: str) -> None:
    good = Scripted(['["高血压"]', reply, '["gout", null]'])
    assert [name for _, name in names(good)] == ["gout", "hypertension"]
    recognise = Translated(Scripted(['["高血压"]', reply, reply]), GRAPH, WORDS)
    with pytest.raises(Malformed, match="twice"):
        recognise(ASKED)
    assert recognise.tally.failed == 1


@pytest.mark.parametrize("reply", ["headache", '["headache", "gout", "more"]', "[]", '["headache"', '{"x": 1}'])
def test_a_translation_of_another_length_is_never_taken(reply: str) -> None:
    llm = Scripted(['["头痛"]', '["痛风", null]', reply, reply])
    with pytest.raises(Malformed):
        names(llm)


def test_a_term_that_nobody_translates_keeps_its_name() -> None:
    assert names(Scripted(['["头痛"]', "[null, null]", "[null]"])) == [("头痛", "头痛")]


def test_a_bilingual_graph_is_a_glossary(tmp_path: object) -> None:
    rows = [NodeRow("肺炎", "肺炎", "disease", aliases=(Alias("pneumonia", Scope.TRANSLATION),)), NodeRow("痛", "痛")]
    build(Source("zh", lambda: iter(rows), language="zh"), tmp_path / "zh")  # type: ignore[operator]
    glossary = Glossary(open_store(tmp_path / "zh"))  # type: ignore[operator]
    assert (glossary("肺炎"), glossary("痛"), glossary("unknown")) == (("pneumonia",), (), ())


def test_what_a_model_lists_stands_where_the_text_has_it_and_knows_negation() -> None:
    found = Listed(Scripted(["gout, Fever, sepsis"]))(Query(Question("No fever, but gout.")))
    assert [(m.name, m.start, m.negated) for m in found] == [
        ("sepsis", -1, False),
        ("Fever", 3, True),
        ("gout", 14, False),
    ]


def test_no_two_names_share_an_entity_but_one_name_twice_does() -> None:
    graph = MemoryGraph([("headache", "r", "headaches")])
    link = Unique(Cascade((Spelled(graph), Misspelled(graph, Fuzzy(graph)))))
    mentions = [Mention(n, n, -1, -1) for n in ("headache", "headachee", "headache", "gout")]
    assert [(x.mention.name, x.entity.name) for x in link(mentions)] == [
        ("headache", "headache"),
        ("headachee", "headaches"),
        ("headache", "headache"),
    ]
