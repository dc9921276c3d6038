"""Every reader on damaged input: rows or one line of `BadInput`, whatever the damage, and nothing written."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damaged import ANNOTATIONS, GENES, KINDS, OBO, PIECES, SEEDS, Damage, hurt
from kgmed.errors import BadInput
from kgmed.graph import formats
from kgmed.graph.base import DroppedRow, EdgeRow, NodeRow, TextRow
from kgmed.graph.formats.base import roles_from_toml
from kgmed.records import to_json
from made_wheels import ICD10, WHO, icd10_wheel, who_wheel


@st.composite
def damages(draw: st.DrawFn) -> list[Damage]:
    """Up to four ways to hurt a file: what, where, to where (shares of its length), with what."""
    share = st.floats(0, 1)
    kind = st.sampled_from(KINDS)
    piece = st.one_of(st.sampled_from(PIECES), st.binary(max_size=12))
    return draw(st.lists(st.tuples(kind, share, share, piece), min_size=1, max_size=4))


def said(call: Callable[[], object]) -> str:
    """What a call complains of; "" if it does not. Any other error is the test's failure."""
    try:
        call()
    except BadInput as error:
        return str(error)
    return ""


def read_all(format: str, path: Path, size: int) -> None:
    """Reads and checks every row of a source."""
    for count, row in enumerate(formats.read(format, path).rows()):
        assert isinstance(row, NodeRow | EdgeRow | TextRow | DroppedRow)
        assert count < 40 * size + 1000
        text = json.dumps(to_json(row), ensure_ascii=False)
        text.encode()
        assert "\\u0000" not in text.replace("\\\\", "")
        assert not isinstance(row, EdgeRow) or (row.head and row.relation and row.tail and 0 <= row.weight <= 1)


def survives(format: str, path: Path, size: int) -> None:
    """Holds that reading ends in rows or one line of `BadInput`, and writes nothing."""
    before = sorted(path.parent.rglob("*"))
    message = said(lambda: read_all(format, path, size))
    assert "\n" not in message
    assert len(message) < 1000
    assert sorted(path.parent.rglob("*")) == before


FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("seed", sorted(SEEDS))
@FUZZ
@given(damage=damages())
def test_a_damaged_file_gives_rows_or_one_line_of_error(tmp_path: Path, seed: str, damage: list[Damage]) -> None:
    format, name, data = SEEDS[seed]
    path = tmp_path / name
    path.write_bytes(hurt(data, damage))
    survives(format, path, len(data))


@pytest.mark.parametrize(("format", "name"), [*(("icd10", n) for n in ICD10), *(("who-eml", n) for n in WHO)])
@FUZZ
@given(damage=damages())
def test_a_damaged_file_in_a_wheel_gives_rows_or_one_line_of_error(
    tmp_path: Path, format: str, name: str, damage: list[Damage]
) -> None:
    make, files = {"icd10": (icd10_wheel, ICD10), "who-eml": (who_wheel, WHO)}[format]
    path = make(tmp_path / "a.whl", {**files, name: hurt(files[name].encode(), damage)})
    survives(format, path, sum(map(len, files.values())))


@pytest.mark.parametrize("name", ["hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt"])
@FUZZ
@given(damage=damages())
def test_a_damaged_file_of_hpo_gives_rows_or_one_line_of_error(tmp_path: Path, name: str, damage: list[Damage]) -> None:
    for file, data in (("hp.obo", OBO), ("phenotype.hpoa", ANNOTATIONS), ("genes_to_phenotype.txt", GENES)):
        (tmp_path / file).write_bytes(hurt(data, damage) if file == name else data)
    survives("hpo", tmp_path / "hp.obo", 1000)


@pytest.mark.parametrize("seed", sorted(SEEDS))
@FUZZ
@given(data=st.binary(max_size=300))
def test_random_bytes_give_rows_or_one_line_of_error(tmp_path: Path, seed: str, data: bytes) -> None:
    format, name, _ = SEEDS[seed]
    path = tmp_path / name
    path.write_bytes(data)
    survives(format, path, len(data))


@FUZZ
@given(data=st.binary(max_size=60), name=st.sampled_from(["x", "x.json", "x.csv", "x.txt"]))
def test_looking_at_random_bytes_names_a_format_or_says_that_it_cannot(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    message = said(lambda: formats.reader_of(formats.detect(path)))
    assert "\n" not in message
    assert not message or message.startswith(str(path))


@FUZZ
@given(damage=damages())
def test_a_damaged_table_of_roles_is_read_or_refused(tmp_path: Path, damage: list[Damage]) -> None:
    path = tmp_path / "roles.toml"
    path.write_bytes(
        hurt(b'[r1]\nrole = "treats"\nreverse = true\nhead = "plant"\n[has_symptom]\ntail = "sign"\n', damage)
    )
    assert "\n" not in said(lambda: roles_from_toml(path))


@pytest.mark.parametrize("seed", sorted(SEEDS))
def test_the_undamaged_file_gives_edges_or_names_and_so_does_its_gzip(tmp_path: Path, seed: str) -> None:
    format, name, data = SEEDS[seed]
    path = tmp_path / name
    path.write_bytes(data)
    rows = list(formats.read(format, path).rows())
    assert any(isinstance(row, NodeRow if format == "babelon" else EdgeRow) for row in rows)
    if not name.endswith((".gz", ".whl")):
        path.write_bytes(gzip.compress(data))
        assert list(formats.read(format, path).rows()) == rows
