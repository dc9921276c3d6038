"""The records: what JSON makes of a run and back, its id, and what the docstrings promise."""

import inspect
import json
import math
import time
from dataclasses import asdict, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kgmed
from eval_makers import items, run
from kgmed import records
from kgmed.errors import BadInput
from kgmed.frame import Ask, Frame, Named, Patient
from kgmed.records import Evidence, Link, Mention, Query, Question, Run, Spent, from_json, to_json

RUN = run(items(1)[0].question, "flu [1]")
PUBLIC = [v for v in vars(records).values() if inspect.isclass(v) and v.__module__ == "kgmed.records"]
TEXTS = st.text(max_size=8)
SETTINGS = st.lists(
    st.tuples(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.sampled_from(records.Role)), max_size=3
).map(tuple)
NAMED = st.builds(Named, names=st.tuples(TEXTS), links=st.lists(st.builds(Link), max_size=1).map(tuple))
ASKS = st.builds(Ask, subject=st.lists(NAMED, max_size=1).map(tuple), object=st.just(()))
FRAMES = st.builds(
    Frame,
    asks=st.lists(ASKS, max_size=1).map(tuple),
    alternatives=st.just(()),
    findings=st.lists(NAMED, max_size=1).map(tuple),
    patient=st.builds(Patient, takes=st.lists(NAMED, max_size=1).map(tuple), has=st.just(()), allergic_to=st.just(())),
)
QUERIES = st.builds(Query, question=st.builds(Question), frame=FRAMES)
RUNS = st.builds(Run, settings=SETTINGS, query=QUERIES)
few = settings(max_examples=20, suppress_health_check=[HealthCheck.data_too_large])  # a run has many parts


@few
@given(RUNS)
def test_json_says_of_any_run_what_the_standard_library_makes_of_it(made: Run) -> None:
    assert json.dumps(made.to_json()) == json.dumps(to_json(made)) == json.dumps(asdict(made))


def test_the_keys_are_the_fields_in_their_order_and_the_id_the_last() -> None:
    assert list(RUN.to_json()) == [f.name for f in fields(Run)]
    assert list(RUN.to_json())[-1] == "id"


@few
@given(RUNS.map(lambda made: replace(made, settings=())))
def test_a_run_read_back_is_the_same_with_the_same_id(made: Run) -> None:
    again = Run.from_json(json.loads(json.dumps(made.to_json())))
    assert json.dumps(asdict(again)) == json.dumps(asdict(made))
    assert again == made or "NaN" in json.dumps(made.to_json())


@settings(max_examples=20)
@given(RUNS)
def test_the_schema_holds_for_any_run(made: Run) -> None:
    jsonschema.Draft202012Validator(Run.json_schema()).validate(made.to_json())


def test_the_schema_describes_each_record_without_its_example_and_refuses_what_is_no_run() -> None:
    schema = Run.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert {"Answer", "Evidence", "Triple", "Spent"} <= schema["$defs"].keys()
    assert ">>>" not in json.dumps(schema)
    assert "US dollars" in schema["$defs"]["Spent"]["description"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"answer": "flu"}, schema)


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        (replace(RUN, settings=(("table", MappingProxyType({1: (2, 3)})),)), ("settings", [["table", {"1": [2, 3]}]])),
        (replace(RUN, settings=(("share", np.float32(0.5)),)), ("settings", [["share", 0.5]])),
        (replace(RUN, notes=["a list"]), ("notes", ["a list"])),  # type: ignore[arg-type]
        (replace(RUN, graph="not \udce9 Unicode"), ("graph", "not \udce9 Unicode")),
    ],
)
def test_values_of_other_types_than_the_fields_promise_are_written_all_the_same(odd: Run, plain: Any) -> None:
    assert odd.to_json()[plain[0]] == plain[1]


def test_numbers_that_are_none_are_written_as_they_were() -> None:
    [score] = [
        e["score"] for e in replace(RUN, evidence=(Evidence("a", "b", score=float("nan")),)).to_json()["evidence"]
    ]
    assert math.isnan(score)


def test_a_text_that_is_not_unicode_is_read_back() -> None:
    odd = replace(RUN, graph="not \udce9 Unicode")
    assert Run.from_json(odd.to_json()) == odd


def test_lists_and_dicts_of_records_are_plain_data_too() -> None:
    assert to_json({"spent": [Spent(calls=1)], "none": None})["spent"][0]["calls"] == 1
    with pytest.raises(TypeError, match="object"):
        to_json({"what": object()})


def test_fields_that_are_missing_take_their_defaults_and_others_are_not_looked_at() -> None:
    data = RUN.to_json() | {"of a later version": 1}
    del data["id"], data["spent"]
    again = Run.from_json(data)
    assert again == RUN
    assert again.id != RUN.id


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "Run: query"),
        ([], "Run: all of it"),
        (RUN.to_json() | {"links": [{"mention": 3}]}, "links.0.mention"),
        (RUN.to_json() | {"spent": {"calls": "many"}}, "spent.calls"),
    ],
)
def test_data_that_is_no_run_is_refused_in_one_line_that_names_the_place(data: object, message: str) -> None:
    with pytest.raises(BadInput, match=message) as problem:
        Run.from_json(data)
    assert "\n" not in str(problem.value)


def test_any_record_can_be_read() -> None:
    mention = Mention("flu", "flu", 0, 3)
    assert from_json(Mention, to_json(mention)) == mention


def test_each_run_has_an_id_of_its_own_that_does_not_count_when_two_are_compared() -> None:
    one, other = run(RUN.question, "x"), RUN
    first = replace(one, id="a")
    assert (first, hash(first)) == (one, hash(one))
    assert one.id != other.id
    assert replace(one, method="other").id == one.id


def test_ids_sort_by_the_time_of_their_making() -> None:
    made = []
    for _ in range(5):
        made.append(records.new_id())
        time.sleep(0.002)
    assert made == sorted(made)
    assert all(one[14] == "7" and one[19] in "89ab" for one in made)


@pytest.mark.parametrize("record", PUBLIC, ids=lambda r: r.__name__)
def test_every_record_has_an_example_and_tells_of_each_field(record: type) -> None:
    text = inspect.cleandoc(record.__doc__ or "")  # Python 3.13 has taken the indentation off
    assert ">>> " in text
    for one in fields(record) if is_dataclass(record) else ():
        assert f"\n    {one.name}: " in text, one.name


def test_the_records_of_the_front_door_are_among_them() -> None:
    assert {getattr(kgmed, name) for name in kgmed.__all__ if inspect.isclass(getattr(kgmed, name))} & set(PUBLIC)
