from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from kgmed.models.replies import Node, tree
from kgmed.steps.tree import draw_svg, draw_text

WORD = st.from_regex(r"[a-z]{2,8}", fullmatch=True)
TREES = st.recursive(
    st.builds(Node, WORD, st.sampled_from([(), ("P1",), ("P1", "N2")])),
    lambda inner: st.builds(Node, WORD, st.just(("N1",)), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=12,
)


@given(st.lists(TREES, min_size=1, max_size=3))
def test_a_tree_that_was_drawn_is_read_back_as_it_was(trees: list[Node]) -> None:
    assert list(tree(draw_text(trees))) == trees


def test_an_image_is_well_formed_and_escapes_what_stands_in_it() -> None:
    image = draw_svg([Node('</text><script>alert("1")</script>\x00', ("P1",), (Node("胃" * 60),))], title='a "b" <c>')
    root = ElementTree.fromstring(image)
    assert "<script" not in image
    assert [e.tag.rpartition("}")[2] for e in root.iter()].count("rect") == 2
    shown = [e.text or "" for e in root.iter() if e.tag.endswith("}text")]
    assert shown[1] == "胃" * 15 + "…"


def test_very_deep_and_empty_trees_are_drawn() -> None:
    deep = Node("end")
    for _ in range(3000):
        deep = Node("x", (), (deep,))
    assert len(draw_text([deep]).splitlines()) == 3001
    assert draw_svg([deep]).count("<rect") == 3001
    assert ElementTree.fromstring(draw_svg([])).tag.endswith("svg")
