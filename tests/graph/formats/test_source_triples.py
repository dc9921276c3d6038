import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Scope
from kgmed.graph.formats.base import lines
from kgmed.graph.formats.triples import bracketed, read_triples
from kgmed.graph.store.build import build
from kgmed.records import Role, Support

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(text: str | bytes, name: str = "graph.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to


def test_tab_separated_triples_without_a_header_are_edges_with_spaces_for_underscores(write: Write) -> None:
    path = write('Panic_disorder\thas_symptom\tFast_heart\nA "b"\tr\tc d\n', "mind.map.txt")
    source = read_triples(path)
    assert (source.name, source.prefix, source.inputs) == ("mind", "mind", (path,))
    assert list(source.rows()) == [
        EdgeRow("Panic disorder", "has_symptom", "Fast heart"),
        EdgeRow('A "b"', "r", "c d"),
    ]


def test_rows_start_again_from_the_first(write: Write) -> None:
    source = read_triples(write("a\tr\tb\n"))
    assert list(source.rows()) == list(source.rows()) == [EdgeRow("a", "r", "b")]


def test_underscores_stay_where_asked(write: Write) -> None:
    assert list(read_triples(write("a_b\tr\tc\n"), underscores=True).rows()) == [EdgeRow("a_b", "r", "c")]


def test_a_header_names_the_columns_in_any_order(write: Write) -> None:
    text = "tail,weight,head,note,relation,pmid,source\r\n恶心,0.25,胃炎,x,症状,PMID:1; PMID:2,book\r\n"
    support = (Support("PMID:1", (("source", "book"),)), Support("PMID:2", (("source", "book"),)))
    assert list(read_triples(write(text)).rows()) == [EdgeRow("胃炎", "症状", "恶心", 0.25, support)]


def test_a_quoted_cell_may_hold_separators_quotes_and_line_breaks(write: Write) -> None:
    rows = list(read_triples(write('head,relation,tail\n"a, ""b""",r,"c\nd"\nnan,r,x\n')).rows())
    assert rows == [EdgeRow('a, "b"', "r", "c\nd"), DroppedRow("an empty field", 4)]


def test_json_lines_may_carry_weight_and_references(write: Write) -> None:
    text = (
        '\ufeff{"head": "a", "relation": "r", "tail": "b", "weight": 0.5, "references": ["PMID:1"]}\n\n'
        '{"head": NaN, "relation": "r", "tail": "b"}\n{"head": "a", "relation": "r", "tail": null}\n'
    )
    assert list(read_triples(write(text)).rows()) == [
        EdgeRow("a", "r", "b", 0.5, (Support("PMID:1"),)),
        DroppedRow("an empty field", 3),
        DroppedRow("an empty field", 4),
    ]


@pytest.mark.parametrize("missing", ["", "NaN", "nan", "None", "_"])
def test_a_missing_field_drops_the_row_and_names_its_line(write: Write, missing: str) -> None:
    rows = list(read_triples(write(f"a\tr\tb\n{missing}\tr\tb\na\tr\t{missing}\n")).rows())
    assert rows == [EdgeRow("a", "r", "b"), DroppedRow("an empty field", 2), DroppedRow("an empty field", 3)]


def test_brackets_at_the_end_of_a_name_give_other_names_once(write: Write) -> None:
    text = "Flu\tneed_medication\tA (Xanax)\nFlu\tneed_medication\tA (Xanax)\nFlu\thas_symptom\tPain (leg)\n"
    nodes = [row for row in read_triples(write(text)).rows() if isinstance(row, NodeRow)]
    assert nodes == [
        NodeRow("A (Xanax)", aliases=(Alias("A", Scope.EXACT), Alias("Xanax", Scope.BRAND))),
        NodeRow("Pain (leg)", aliases=(Alias("Pain", Scope.RELATED), Alias("leg", Scope.RELATED))),
    ]


@pytest.mark.parametrize("name", ["a", "(a)", "a ()", "a (b", "a(b)", "a (b) c", " (b)", "a (b (c))"])
def test_a_name_without_brackets_at_its_end_has_no_other_names(name: str) -> None:
    assert bracketed(name) == ()


def test_gzip_is_unpacked_whatever_the_suffix(write: Write) -> None:
    assert list(read_triples(write(gzip.compress(b"a\tr\tb\n"))).rows()) == [EdgeRow("a", "r", "b")]


def test_a_users_table_decides_the_roles(write: Write) -> None:
    roles = write('[r]\nrole = "treats"\n', "roles.toml")
    source = read_triples(write("a\tr\tb\n"), roles=roles)
    assert source.relations["r"].role is Role.TREATS
    assert source.kinds["r"] == ("drug", "disease")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", ": is empty"),
        (b"\n \n", ": is empty"),
        (b"hello world\n", ":1: is no triple"),
        (b"a\tr\tb\na\tb\n", ":2: has 2 columns, not 3"),
        (b"a\tr\tb\n\na\tb\tc\td\n", ":3: has 4 columns, not 3"),
        (b"a\tr\tb\n\xff\tr\tb\n", ":2: is not UTF-8"),
        (b"a\tr\tb\n\n\n\0\tr\tb\n", ":4: holds a NUL"),
        (b'head,relation,tail\n"a,r,b\nx\n', ":2: quotes in the wrong place"),
        (b'head,relation,tail\n"a"x,r,b\n', ":2: quotes in the wrong place"),
        (b"head,relation,tail\na,b\n", ":2: has 2 columns, not 3"),
        (b'{"head": "a", "relation": "r", "tail": "b"}\n{"head": \n', ":2: is no JSON"),
        (b'{"head": ["a"], "relation": {}, "tail": "b"}\n', ":1: the field 'relation' is neither"),
        (b'{"head": "\\ud800", "relation": "r", "tail": "b"}\n', ":1: holds half a character"),
        (b'{"a": 1}\n[1]\n', ":2: is no JSON object"),
        (b'{"a":' + b"[" * 100_000 + b"\n", ":1: is nested too deeply"),
        (b'{"a":' + b"9" * 10_000 + b"}\n", ":1: holds a number that is too long"),
        (gzip.compress(b"a\tr\tb\n" * 99, mtime=0)[:-12], ": the compressed data is damaged"),
    ],
)
def test_damage_is_one_line_that_names_file_and_line(write: Write, data: bytes, said: str) -> None:
    path = write(data)
    with pytest.raises(SourceError) as caught:
        build(replace(read_triples(path), strict=True), path.parent / "built")
    message = str(caught.value)
    assert message.startswith(str(path))
    assert said in message
    assert "\n" not in message


def test_a_folder_a_missing_file_and_no_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder"):
        read_triples(tmp_path)
    with pytest.raises(SourceError, match="no such file"):
        read_triples(tmp_path / "none")
    with pytest.raises(BadInput, match="needs a file"):
        read_triples(None)


def test_a_pipe_is_refused_instead_of_waited_for() -> None:
    with pytest.raises(SourceError, match="pipe or a device"):
        read_triples(Path("/dev/null"))


def test_lines_are_those_of_a_plain_split_across_blocks(write: Write) -> None:
    text = "".join(f"{'é' * (i % 900)}{i}\n" for i in range(9000))
    assert list(lines(write(text))) == list(enumerate(text.splitlines(), start=1))


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0\ufeff", exclude_categories=["Cs"]))))
def test_every_line_comes_back_with_its_number(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "x"
    path.write_bytes("".join(t + "\n" for t in texts).encode())
    assert list(lines(path)) == list(enumerate(texts, start=1))


def test_a_line_without_an_end_is_an_error_before_it_fills_the_memory(write: Write) -> None:
    path = write(gzip.compress(b"a" * (80 << 20), 1))
    with pytest.raises(SourceError, match=r":1: is longer than 16 MB"):
        list(read_triples(path).rows())
