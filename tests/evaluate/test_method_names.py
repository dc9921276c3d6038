"""The name of a method says its control and its settings, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.evaluate.controls import Controlled, controlled

WORD = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True)
SETTING = st.tuples(st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), st.from_regex(r"[\w.-]{1,6}", fullmatch=True))


@given(WORD, WORD | st.just(""), st.lists(SETTING, max_size=3, unique_by=lambda pair: pair[0]))
def test_a_name_is_read_as_it_is_written(method: str, control: str, settings: list[tuple[str, str]]) -> None:
    inside = f"[{','.join(f'{k}={v}' for k, v in settings)}]" if settings else ""
    name = f"{method}{inside}{f'+{control}' if control else ''}"
    assert controlled(name) == Controlled(method, control, tuple(settings))


@pytest.mark.parametrize(
    "name", ["hykge[]", "hykge[hops]", "hykge[hops=]", "hykge[hops=1", "hykge[hops=1,hops=2]", "hykge[a=1][b=2]",
             "hykge+random[hops=1]", "[=]"]
)  # fmt: skip
def test_another_form_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is no name of a method"):
        controlled(name)
