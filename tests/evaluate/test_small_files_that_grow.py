"""Small files that unpack to, or ask for, far more than they hold are refused in one line, without the memory."""

import bz2
import gzip
import lzma
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kgmed.derived import open_array
from kgmed.errors import SourceError
from kgmed.evaluate.datasets import cases, files
from kgmed.evaluate.linking import read
from kgmed.graph.formats import cmekg
from kgmed.graph.formats.base import lines, open_bytes, whole_text
from kgmed.graph.packed import bearable

MOST = 1 << 20  # kilobytes of memory that a process with such a file may take, with the libraries it loads


def packed(pack: Callable[[bytes], bytes], megabytes: int) -> bytes:
    """As many megabytes of lines, packed in members of 32."""
    return pack(b"[1, 2, 3, 4]   \n" * (1 << 21)) * (megabytes // 32)


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


def peak(code: str, *args: object) -> tuple[str, int]:
    """What a process of its own prints, and the kilobytes it took at most."""
    status = Path("/proc/self/status")  # `ru_maxrss` would count what this process took before the other began
    if not status.exists():
        pytest.skip("the memory of a process is read from /proc")
    ends = "\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    begins = "import sys; from pathlib import Path; from kgmed.errors import SourceError; path = Path(sys.argv[1])\n"
    ran = [sys.executable, "-c", begins + code + ends, *map(str, args)]
    *told, most = subprocess.run(ran, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()
    return "\n".join(told), int(most)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_small_packed_file_is_refused_after_64_mb_however_it_is_packed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.jsonl.{kind}"
    path.write_bytes(packed(PACKERS[kind], 96))
    read_so_far = 0
    with open_bytes(path) as file, pytest.raises(SourceError, match=r"unpacks to more than 64 MB") as error:  # noqa: PT012
        while piece := file.read(1 << 20):
            read_so_far += len(piece)
    assert read_so_far <= 64 << 20
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_file_of_real_size_is_read_whole_in_all_its_members(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.txt.{kind}"
    path.write_bytes(PACKERS[kind](b"one\ntw") + PACKERS[kind](b"o\n"))
    assert [line for _, line in lines(path)] == ["one", "two"]
    path.write_bytes(PACKERS[kind](b"one\n" * 5000)[:-12])
    with pytest.raises(SourceError, match="compressed data is damaged"):
        list(lines(path))


def test_a_file_may_unpack_to_64_mb_or_200_times_its_size_and_to_32_gb_at_most() -> None:
    assert [bearable(size) >> 20 for size in (10, 1 << 20, 1 << 24, 1 << 34)] == [64, 200, 3200, 32768]


@pytest.mark.parametrize(
    "code",
    [
        "from kgmed.evaluate.datasets.cases import packets as f",
        "from kgmed.evaluate.linking import read as f",
        "from kgmed.evaluate.datasets.files import text as f",
        "from kgmed.graph.formats.base import lines as f",
    ],
)
def test_every_reader_refuses_a_packed_file_that_grows_without_taking_the_memory(tmp_path: Path, code: str) -> None:
    path = tmp_path / "a.json.xz"
    path.write_bytes(packed(lzma.compress, 2048))
    told, kilobytes = peak(f"{code}\ntry:\n    list(f(path))\nexcept SourceError as e:\n    print(e)", path)
    assert "unpacks to more than" in told
    assert kilobytes < MOST


def test_a_packed_file_above_what_is_read_whole_is_refused_before_it_is_held(tmp_path: Path) -> None:
    path, member = tmp_path / "a.json.gz", gzip.compress(b"[1, 2, 3, 4]   \n" * (1 << 21))
    with path.open("wb") as file:  # 1,056 MB, packed to a hundredth so that its size is bearable
        for _ in range(33):
            file.write(member + gzip.compress(random.Random(1).randbytes(1 << 18), 0))
    code = "from kgmed.graph.formats.base import whole_text\ntry:\n    whole_text(path)\n"
    told, kilobytes = peak(f"{code}except SourceError as e:\n    print(e)", path)
    assert "is larger than 1,024 MB" in told
    assert kilobytes < MOST // 4


def test_an_xz_file_that_asks_for_a_large_dictionary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    content = bytearray(lzma.compress(b"a", format=lzma.FORMAT_ALONE))
    content[1:5] = (1 << 30).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"[Mm]emory usage limit"):
        whole_text(path)


BOMBS = {
    "memo": b"\x80\x02}r" + (1 << 28).to_bytes(4, "little") + b".",
    "memo of text": b"(dp268435456\n.",
    "text": b"\x80\x04\x8d" + (1 << 40).to_bytes(8, "little") + b"a.",
    "frame": b"\x80\x04\x95" + (1 << 62).to_bytes(8, "little") + b"}.",
    "bytes": b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",
    "key that hashes for ever": b"\x80\x02})" + b"2\x86" * 100 + b"K\x01s.",
    "key too deep to hash": b"\x80\x02}" + b"]" + b"\x85" * 10**6 + b"K\x01s.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_that_declares_more_than_it_holds_is_refused_before_it_is_loaded(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.p"
    path.write_bytes(BOMBS[name])
    code = "from kgmed.evaluate.datasets.cases import read_goals\ntry:\n    read_goals(path)\n"
    told, kilobytes = peak(f"{code}except SourceError as e:\n    print(e)", path)
    assert "no pickle of plain data" in told
    assert kilobytes < MOST


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_of_plain_data_is_read_in_every_protocol(protocol: int) -> None:
    data = {"a": [1, -70000, 2**40, 1.5, True, None], "发热": {"b": "x" * 300, "c": "x" * 70000}, "e": [], "f": {}}
    assert cmekg.plain_data(pickle.dumps(data, protocol)) == data


def test_a_case_that_numbers_itself_with_a_list_of_lists_gets_a_number_of_ours(tmp_path: Path) -> None:
    number: list[object] = []
    for _ in range(60):
        number = [number, number]
    goal = {"explicit_inform_slots": {"fever": True}, "implicit_inform_slots": {}}
    path = tmp_path / "a.p"
    row = {"consult_id": number, "disease_tag": "Flu", "goal": goal}
    path.write_bytes(pickle.dumps({"train": [row], "validate": [row], "test": []}, 2))
    assert cases.read_goals(path).validation[0].id == "validate-1"


def test_a_graph_of_shared_lists_that_fakes_a_million_million_values_is_refused(tmp_path: Path) -> None:
    values, path = ["b"] * 20_000, tmp_path / "a.pkl"
    relations = {f"r{n}": values for n in range(20_000)}
    path.write_bytes(pickle.dumps({f"s{n}": relations for n in range(20_000)}, 0))
    with pytest.raises(SourceError, match="is not dict"):
        cmekg.load(path)


def test_an_excel_file_that_grows_is_refused_by_the_sizes_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (80 << 20))
    with pytest.raises(SourceError, match="unpacks to more than 64 MB"):
        list(files.sheets(path))


def test_an_excel_file_of_empty_rows_without_end_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path, book = tmp_path / "a.xlsx", openpyxl.Workbook()
    book.active["XFD1"], book.active["A1048576"] = 1, 1
    book.save(path)
    with pytest.raises(SourceError, match="more than 10,000,000 cells"):
        list(files.sheets(path))


def test_an_array_whose_head_declares_more_than_the_file_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(10))
    path.write_bytes(path.read_bytes().replace(b"(10,), }" + b" " * 13, b"(99999999999999,), }" + b" "))
    with pytest.raises(ValueError, match="declares more than it holds"):
        open_array(path, mapped=False)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0, np.int32), np.zeros((0, 512), np.float32), np.array(5), np.arange(5, dtype=np.int64),
        np.arange(12, dtype=np.uint16).reshape(3, 4).T, np.array(["痛风", "c"]), np.array([True]), np.zeros((3, 0)),
        np.array([b"a", b"bc"]), np.zeros((2, 2), np.float16), np.ones(1, np.int8),
    ],
    ids=lambda values: f"{values.dtype} {values.shape}",
)  # fmt: skip
def test_an_array_is_opened_as_numpy_does(tmp_path: Path, values: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", values)
    for mapped in (True, False):
        found = open_array(tmp_path / "a.npy", mapped=mapped)
        assert (found.dtype, found.shape, found.tolist()) == (values.dtype, values.shape, values.tolist())
        assert found.flags.f_contiguous == values.flags.f_contiguous
        assert found.flags.writeable is not mapped


@pytest.mark.parametrize("values", [np.array([None]), np.zeros(2, [("a", "i4")]), np.zeros(2, ">i4")])
def test_an_array_of_another_form_than_is_written_here_is_refused(tmp_path: Path, values: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", values, allow_pickle=True)
    with pytest.raises(ValueError, match="another form"):
        open_array(tmp_path / "a.npy")


def test_a_whole_small_file_of_entities_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.json.xz"
    path.write_bytes(lzma.compress(b'\xef\xbb\xbf[{"text": "ab", "entities": []}]'))
    assert read(path)[0].text == "ab"
