"""The scorer that decides between candidates, or for none of them."""

from pathlib import Path

import numpy as np
import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.linking import LinkingCase, mention
from kgmed.graph.base import Match
from kgmed.linking.align import align
from kgmed.linking.decide import (
    FEATURES,
    OWN,
    Decided,
    Finder,
    Guessed,
    LinkCandidate,
    LinkScorer,
    may_link,
    open_scorer,
)
from kgmed.models.fakes import TrigramEncoder
from kgmed.records import Entity
from kgmed.toolkit import Toolkit
from named_graph import paired


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    """The parts over a graph whose map is trained."""
    graph = paired(tmp_path_factory.mktemp("paired"))
    align(graph, TrigramEncoder(256))
    return Toolkit(graph, encoder=TrigramEncoder(256))


def test_a_name_in_other_words_is_linked_where_a_map_is_trained(toolkit: Toolkit) -> None:
    links = toolkit.link([mention("Inflamation of hepato"), mention("hepatoitis"), mention("football match")])
    assert [(link.entity.id, link.how) for link in links] == [("X:hepatoitis", "meaning"), ("X:hepatoitis", "exact")]


def test_candidates_come_likeliest_first_and_each_entity_once(toolkit: Toolkit) -> None:
    assert toolkit.decided is not None
    found = Guessed(toolkit.decided).topk([mention("tumours of dermal")], 5)[0]
    assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)
    assert len({m.entity.id for m in found}) == len(found)


def test_what_is_not_sure_enough_is_asked_about_and_not_linked(toolkit: Toolkit) -> None:
    decided = toolkit.decided
    assert decided is not None
    name = "tumour dermal"
    score = decided.ranked([name])[0][0].score
    strict = Decided(
        decided.find, LinkScorer({**decided.scorer.arrays, "link": np.array(score + 0.001), "ask": np.array(score)})
    )
    assert strict.topk([mention(name)], 5) == [[]]
    assert strict.asked(name) == [decided.ranked([name])[0][0].entity.name]
    silent = Decided(decided.find, LinkScorer({**decided.scorer.arrays, "ask": np.array(score + 0.001)}))
    assert silent.asked(name) == []


def test_candidates_are_given_that_another_thread_forgets(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered may be dropped while a name is looked up, as it is once too much is remembered."""
    assert toolkit.decided is not None
    decided = Decided(toolkit.decided.find, toolkit.decided.scorer)
    (before,) = decided.ranked(["tumours of dermal"])
    find = Finder.__call__

    def forgetful(finder: Finder, names: list[str]) -> list[list[LinkCandidate]]:
        decided._found.clear()
        return find(finder, names)

    monkeypatch.setattr(Finder, "__call__", forgetful)
    assert decided.ranked(["tumours of dermal", "hepatoitis"])[0] == before


def test_candidates_are_those_of_a_graph_without_the_node(toolkit: Toolkit) -> None:
    assert toolkit.decided is not None
    find = toolkit.decided.find
    node = find.graph.number("X:hepatoitis")
    (found,) = find.without([("hepatoitis", frozenset({node}))])
    assert found
    assert all(c.node != node for c in found)
    assert all(c.features.shape == (len(FEATURES),) for c in found)


@pytest.mark.parametrize(
    ("written", "name", "kind", "allowed"),
    [
        ("low potassium level", "High potassium level", "phenotype", False),
        ("type 1 sickness", "type 2 sickness", "disease", False),
        ("HLB", "HLB syndrome", "disease", False),
        ("methanol", "ethanol", "drug", False),
        ("asprin", "aspirin", "drug", True),
        ("throwing up", "vomiting", "phenotype", True),
    ],
)
def test_rules_forbid_links_whatever_the_score(written: str, name: str, kind: str, *, allowed: bool) -> None:
    assert may_link(written, Match(Entity("X:1", name, kind), name, "meaning", 1.0)) is allowed


def test_the_scorer_that_is_shipped_asks_about_more_than_it_links() -> None:
    scorer = open_scorer()
    assert 0 < scorer.ask < scorer.link < 1


def test_a_file_that_holds_no_scorer_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(SourceError, match=r"a\.npz.*kgmed train linker"):
        open_scorer(tmp_path / "a.npz")


def test_trees_as_arrays_say_what_the_model_says() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    from kgmed.train.linker import arrays

    draw = np.random.default_rng(0)
    x = draw.random((400, len(FEATURES)), np.float32)
    model = ensemble.HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=6).fit(
        x, x[:, 0] + x[:, 1] * x[:, 2] > 0.7
    )
    assert np.allclose(LinkScorer(arrays(model))(x), model.predict_proba(x)[:, 1], atol=1e-5)


def test_a_fitted_scorer_links_at_the_stated_precision(toolkit: Toolkit) -> None:
    pytest.importorskip("sklearn")
    from kgmed.train.linker import fit, judge

    assert toolkit.decided is not None
    graph, find = toolkit.graph, toolkit.decided.find
    cases = [LinkingCase(graph.at(n).name.replace("o", "oo", 1), frozenset({graph.at(n).id})) for n in range(250)]
    made, figures = fit(list(judge(find, cases)))
    assert figures.precision >= 0.95
    assert figures.linked > 0.5
    found = Decided(find, LinkScorer(made)).topk([mention("hepatooitis")], 1)[0]
    assert [m.entity.id for m in found] == ["X:hepatoitis"]


def test_too_few_names_to_train_on_are_refused(toolkit: Toolkit) -> None:
    from kgmed.train.linker import fit

    with pytest.raises(BadInput, match="too few"):
        fit([])


def test_candidates_of_nothing_are_none(toolkit: Toolkit) -> None:
    assert toolkit.decided is not None
    assert Finder(toolkit.graph, toolkit.decided.find.vectors)([]) == []
    assert toolkit.link([]) == []


def test_a_scorer_of_the_users_own_is_used_in_place_of_the_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = open_scorer()
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    np.savez(tmp_path / OWN, allow_pickle=False, **{**shipped.arrays, "link": np.array(0.5)})
    assert open_scorer().link == 0.5
