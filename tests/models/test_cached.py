"""Replies kept in a file."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.cache import Hits
from kgmed.config import Mode
from kgmed.errors import ModelFailed, StoreError, Unavailable
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import Echo, Scripted
from kgmed.models.named import Absent, CachedLLM, NotRecorded, digest, recorded_models


def asks(text: str) -> list[Message]:
    return [Message("user", text)]


@dataclass
class Counting:
    """Says the number of the call, after a while, and counts the calls."""

    name: str = "counting"
    seconds: float = 0.0
    settings: dict[str, object] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        time.sleep(self.seconds)
        self.calls.append(messages[-1].text)
        return Reply(f"{len(self.calls)}", 3, 1, self.name)


def test_a_second_call_is_answered_from_the_file_with_the_same_reply(tmp_path: Path) -> None:
    llm = Counting()
    first, second = CachedLLM(llm, tmp_path / "c.db"), CachedLLM(llm, tmp_path / "c.db")
    assert [first(asks("a")), first(asks("a")), second(asks("a"))] == [Reply("1", 3, 1, "counting")] * 3
    assert (llm.calls, first.hits, second.hits) == (["a"], Hits(1, 1), Hits(1, 0))
    assert first.hits.rate == 0.5


def test_replaying_needs_no_model(tmp_path: Path) -> None:
    CachedLLM(Counting(settings={"seed": 1}), tmp_path / "c.db")(asks("a"))
    (absent,) = recorded_models(tmp_path / "c.db")
    assert absent == Absent("counting", {"seed": 1})
    replayed = CachedLLM(absent, tmp_path / "c.db", mode="replay")
    assert replayed(asks("a")).text == "1"
    with pytest.raises(Unavailable, match="is not here"):
        absent(asks("a"))


def test_a_missing_reply_names_the_prompt_and_is_not_taken_for_a_model_that_is_down(tmp_path: Path) -> None:
    CachedLLM(Counting(), tmp_path / "c.db")(asks("a"))
    replayed = CachedLLM(Counting(), tmp_path / "c.db", mode=Mode.REPLAY)
    key = digest("counting", "{}", asks("What  helps\nagainst gout? " * 9), 256)
    with pytest.raises(NotRecorded, match=rf"'What helps against gout\?.*…' \(key {key[:12]}\)$") as caught:
        replayed(asks("What  helps\nagainst gout? " * 9))
    assert not isinstance(caught.value, Unavailable)
    assert "\n" not in str(caught.value)


def test_replaying_makes_no_file_and_asks_no_model(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="record them first"):
        CachedLLM(Echo(), tmp_path / "c.db", mode="replay")
    with pytest.raises(StoreError, match="record them first"):
        recorded_models(tmp_path / "c.db")
    assert list(tmp_path.iterdir()) == []


def test_refreshing_asks_again_and_keeps_the_new_reply(tmp_path: Path) -> None:
    llm = Counting()
    CachedLLM(llm, tmp_path / "c.db")(asks("a"))
    assert CachedLLM(llm, tmp_path / "c.db", mode="refresh")(asks("a")).text == "2"
    assert CachedLLM(llm, tmp_path / "c.db")(asks("a")).text == "2"


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    cached = CachedLLM(Scripted([ModelFailed("garbage"), "fine"]), tmp_path / "c.db")
    with pytest.raises(ModelFailed):
        cached(asks("a"))
    assert (cached(asks("a")).text, len(cached.file)) == ("fine", 1)


@pytest.mark.parametrize(
    ("other", "messages", "length"),
    [
        (Counting(name="another"), asks("a"), 256),
        (Counting(settings={"temperature": 1}), asks("a"), 256),
        (Counting(), asks("a "), 256),
        (Counting(), [Message("system", "a")], 256),
        (Counting(), [*asks("a"), *asks("")], 256),
        (Counting(), asks("a"), 255),
    ],
)
def test_another_model_setting_message_or_length_is_another_reply(
    tmp_path: Path, other: Counting, messages: list[Message], length: int
) -> None:
    CachedLLM(Counting(), tmp_path / "c.db")(asks("a"))
    CachedLLM(other, tmp_path / "c.db")(messages, max_tokens=length)
    assert len(other.calls) == 1


texts = st.text(st.characters(exclude_categories=()), max_size=5)


@given(st.lists(st.tuples(texts, texts), max_size=3), st.lists(st.tuples(texts, texts), max_size=3))
def test_keys_are_equal_for_equal_messages_only(a: list[tuple[str, str]], b: list[tuple[str, str]]) -> None:
    keys = [digest("m", "{}", [Message(*m) for m in messages], 8) for messages in (a, b)]
    assert (keys[0] == keys[1]) == (a == b)


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    text = "发热\x00\ud800 🤒\r\n"
    cached = CachedLLM(Scripted([text]), tmp_path / "c.db")
    assert [cached(asks(text)).text, cached(asks(text)).text] == [text, text]


def test_threads_that_ask_the_same_at_once_ask_the_model_once(tmp_path: Path) -> None:
    llm = Counting(seconds=0.05)
    cached = CachedLLM(llm, tmp_path / "c.db")
    with ThreadPoolExecutor(10) as pool:
        replies = list(pool.map(lambda i: cached(asks(f"{i % 2}")).text, range(20)))
    assert len(llm.calls) == 2
    assert replies[0::2] == replies[:1] * 10
    assert cached.hits == Hits(18, 2)


WORKER = """
import sys
from kgmed.models.named import CachedLLM
from kgmed.models.fakes import Scripted
from kgmed.models.base import Message
path, worker = sys.argv[1:]
sys.stdin.read()  # until all are ready
cached = CachedLLM(Scripted(worker for _ in range(1000)), path)
for i in range(50):
    cached([Message("user", f"shared {i}")])
    cached([Message("user", f"{worker}'s {i}")])
cached.close()
"""


def test_processes_that_make_and_write_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path / "c.db")]
    workers = [subprocess.Popen([*command, f"{w}"], stdin=subprocess.PIPE) for w in range(4)]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
    assert [worker.wait() for worker in workers] == [0] * 4
    replayed = CachedLLM(Absent("scripted"), tmp_path / "c.db", mode="replay")
    assert len(replayed.file) == 50 + 4 * 50
    assert all(replayed(asks(f"{w}'s {i}")).text == f"{w}" for w in range(4) for i in range(50))
    assert all(replayed(asks(f"shared {i}")).text in "0123" for i in range(50))


WRITER = """
import sys, itertools
from kgmed.models.named import CachedLLM
from kgmed.models.fakes import Echo
from kgmed.models.base import Message
cached = CachedLLM(Echo(), sys.argv[1])
for i in itertools.count():
    cached([Message("user", str(i))])
    print(i, flush=True)
"""


def test_a_writer_that_is_killed_loses_no_reply_that_it_had_given(tmp_path: Path) -> None:
    said = -1
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "c.db"], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            until = said + 200
            while said < until:
                said = int(writer.stdout.readline())
            os.kill(writer.pid, signal.SIGKILL)
            whole = [line for line in writer.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
            said = int(whole[-1]) if whole else said
        replayed = CachedLLM(Absent("echo"), tmp_path / "c.db", mode="replay")
        assert all(replayed(asks(str(i))).text == str(i) for i in range(said + 1))
        with sqlite3.connect(tmp_path / "c.db") as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_goes_on_with_the_file(tmp_path: Path) -> None:
    cached = CachedLLM(Echo(), tmp_path / "c.db")
    cached(asks("before"))
    child = multiprocessing.get_context("fork").Process(target=cached, args=(asks("in the child"),))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert len(cached.file) == 2


def test_the_file_holds_no_prompt_and_is_nobody_elses(tmp_path: Path) -> None:
    cached = CachedLLM(Scripted(["rest"]), tmp_path / "c.db")
    cached(asks("Mr Smith has gout"))
    assert b"rest" in b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert not any(b"Smith" in p.read_bytes() for p in tmp_path.iterdir())
    assert (tmp_path / "c.db").stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert "gout" not in repr(cached)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_file_that_is_something_else_is_refused_and_stays_as_it_is(tmp_path: Path, mode: Mode) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("my notes, which are long enough to be taken for a header of a database\n" * 20, encoding="utf-8")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=path.name):
            CachedLLM(Echo(), path, mode=mode)
        assert path.read_bytes() == before


def test_a_damaged_row_is_an_error_that_says_so(tmp_path: Path) -> None:
    cached = CachedLLM(Echo(), tmp_path / "c.db")
    cached(asks("a"))
    cached.close()
    with sqlite3.connect(tmp_path / "c.db") as db:
        db.execute("UPDATE replies SET reply = '[1'")
    db.close()
    with pytest.raises(StoreError, match="is damaged at key"):
        cached(asks("a"))


def test_a_file_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be used as a file of replies"):
        CachedLLM(Echo(), tmp_path / "file" / "c.db")


def test_a_reply_of_which_a_letter_was_changed_is_not_given_and_one_of_old_is(tmp_path: Path) -> None:
    cached = CachedLLM(Scripted(["take 10 mg"]), tmp_path / "c.db")
    cached(asks("a"))
    cached.file.write("UPDATE replies SET reply = replace(reply, '10 mg', '90 mg')", ())
    with pytest.raises(StoreError, match="is damaged at key"):
        cached(asks("a"))
    cached.file.write("UPDATE replies SET reply = ?", ('["as before", 1, 2, "m"]',))
    assert cached(asks("a")) == Reply("as before", 1, 2, "m")


def test_a_reply_that_stands_under_the_key_of_another_is_not_given(tmp_path: Path) -> None:
    cached = CachedLLM(Scripted(["take it", "leave it"]), tmp_path / "c.db")
    cached(asks("a"))
    cached(asks("b"))
    cached.file.write("UPDATE replies SET reply = (SELECT min(reply) FROM replies)", ())
    with pytest.raises(StoreError, match="is damaged at key"):
        cached(asks("a"))


def test_a_file_whose_own_words_are_no_text_any_more_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    CachedLLM(Echo(), path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    whole = path.read_bytes()
    place = whole.index(b"CREATE TABLE") + 3
    path.write_bytes(whole[:place] + b"\xce" + whole[place + 1 :])
    with pytest.raises(StoreError, match="cannot be used as a file of replies"):
        CachedLLM(Echo(), path)(asks("a"))
