"""Where the name of a drug ends in running text."""

import pytest

from kgmed.language.affixes import beyond, goes_on, is_turning


@pytest.mark.parametrize(
    ("text", "name", "whole"),
    [
        ("牛黄解毒片有什么用", "牛黄", "牛黄解毒片"),
        ("酸枣仁汤好吗", "酸枣仁", "酸枣仁汤"),
        ("小儿止泻灵颗粒怎么吃", "止泻灵颗粒", "小儿止泻灵颗粒"),
        ("L谷氨酰胺胶囊", "谷氨酰胺胶囊", "L谷氨酰胺胶囊"),
        ("维生素 D的用量", "维生素", "维生素 D"),
        ("布洛芬缓释胶囊", "布洛芬", "布洛芬"),
        ("阿司匹林可以配感冒清片吗", "阿司匹林", "阿司匹林"),
        ("布洛芬和阿莫西林胶囊", "布洛芬", "布洛芬"),
        ("头孢喝酒后", "头孢", "头孢"),
    ],
)
def test_a_longer_name_is_seen_and_an_ordinary_word_beside_it_is_none(text: str, name: str, whole: str) -> None:
    start = text.index(name)
    left, right = beyond(text, start, start + len(name), substance=True)
    assert text[start - left : start + len(name) + right] == whole


def test_characters_of_degree_are_no_slip_of_the_pen() -> None:
    assert is_turning("增")
    assert not is_turning("肝")


def test_the_s_of_another_word_is_no_piece_of_a_name() -> None:
    for text, piece in (("it's gout", False), ("my son’s gout", False), ("pseudo-gout", True)):
        at = text.index("gout")
        assert goes_on(text, at, at + 4, substance=False) is piece
