"""kgmed attacked: kills, damaged input, hostile servers, damaged files, clocks that go back, users without rights, and
its own service: keys, idle connections, heavy clients, nowhere to write.

    python bench/attack.py                                             # the short form, as `make attack` and .ci/run
    python bench/attack.py --inputs 1000000 --kills 200 --flips 2000 --servers all --service all --json attack.json
    python bench/attack.py --read attack.json --write docs/reliability.md    # the table of the page, from some runs
    python bench/attack.py --only 12345 --seed 0                       # one damaged input again, with its traceback

Each input and each moment of a kill comes from `--seed` alone. Exit code 1 where anything was lost.
"""

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- attack -->", "<!-- /attack -->"
SHORT = {"inputs": 12_000, "kills": 11, "flips": 60}
Row = dict[str, Any]  # what, tried, lost, how


def main() -> None:
    """Attack, and say what was tried, held and lost."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "graph" / "formats")]
    os.environ.update({"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"})
    asked = _asked()
    if asked.only is not None:
        import _fuzz

        print(*_fuzz.repeat(asked.only, asked.seed), sep="\n")
        return
    told = [json.loads(path.read_text(encoding="utf-8")) for path in asked.read or ()] or [attack(asked)]
    if asked.json:
        asked.json.write_text(json.dumps(told[0], ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(table(told))
    if asked.write:
        write(asked.write, told)
    lost = [(row["what"], one) for run in told for row in run["rows"] for one in row["lost"]]
    for what, one in lost:
        print(f"LOST {what}: {one}", file=sys.stderr)
    sys.exit(bool(lost))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in SHORT.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--servers", choices=("all", "each", "none"), default="each", help="each = one client a kind")
    parser.add_argument("--service", choices=("all", "each", "none"), default="each", help="each = fewer of a kind")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes for the inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one damaged input")
    parser.add_argument("--kill-only", default="", help="operations with this in their name")
    parser.add_argument("--json", type=Path, help="write what came of it here")
    parser.add_argument("--read", type=Path, nargs="+", help="attack nothing; take what came of earlier runs")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    return parser.parse_args()


def attack(asked: argparse.Namespace) -> dict[str, Any]:
    """All attacks in turn."""
    import _damage
    import _fuzz
    import _kills
    import _servers
    import _service

    from kgmed.disk import data_folder

    begun, rows, home = time.monotonic(), [], data_folder()
    if asked.inputs:
        rows += _inputs(_fuzz.fuzz(asked.inputs, seed=asked.seed, workers=asked.workers, tell=True))
    if asked.kills:
        rows += [_kill(k) for k in _kills.kill_all(asked.kills, seed=asked.seed, only=asked.kill_only, tell=True)]
    if asked.servers != "none":
        rows.append(_server(_servers.serve(every=asked.servers == "all")))
    if asked.flips:
        trials = [*_damage.damage(asked.flips, seed=asked.seed), _damage.clock()]
        if _damage.may_try_rights():
            trials.append(_damage.rights())
        rows += [_row(f"turned bits in {t.name}" if i < 7 else t.name, t.tried, t.lost) for i, t in enumerate(trials)]
    if asked.service != "none":
        whole = asked.service == "all"
        tried = _service.attack(home, seconds=30.0 if whole else 6.0, every=whole)
        rows += [_row(t.name, t.tried, t.lost, t.how) for t in tried]
    made = {"kgmed": version("kgmed"), "python": platform.python_version(), "system": platform.system()}
    return {"rows": rows, "seconds": round(time.monotonic() - begun), "command": _command(asked), "made with": made}


def _command(asked: argparse.Namespace) -> str:
    words = [f"--{name} {getattr(asked, name)}" for name in (*SHORT, "servers", "service", "seed")]
    return " ".join(["python bench/attack.py", *words])


def _row(what: str, tried: int, lost: list[Any], how: str = "") -> Row:
    return {"what": what, "tried": tried, "lost": lost, "how": how}


def _inputs(found: Any) -> list[Row]:
    areas = sorted({*found.read, *found.refused, *(one["area"] for one in found.lost)})
    rows = []
    for area in areas:
        lost = [f"input {one['input']} ({one['target']}): {one['why']}" for one in found.lost if one["area"] == area]
        read, refused = found.read[area], found.refused[area]
        how = f"{read:,} read, {refused:,} refused in a line"
        rows.append(_row(f"damaged input: {area or 'ended the process'}", read + refused + len(lost), lost, how))
    slow = f"slowest {found.slowest:.1f} s of the processor; at most {max(0, found.memory) >> 20} MB more memory"
    return [*rows, _row("all damaged input", found.tried, [f"input {one['input']}" for one in found.lost], slow)]


def _kill(found: Any) -> Row:
    return _row(f"kill -9: {found.name}", found.kills, found.lost, f"takes {found.seconds:.1f} s undisturbed")


def _server(found: Any) -> Row:
    how = f"slowest {found.slowest:.1f} s; at most {found.memory >> 20} MB more memory"
    return _row(f"hostile servers, {found.kinds} kinds", found.tried, found.lost, how)


def table(told: list[dict[str, Any]]) -> str:
    """The table of some runs in Markdown.

    >>> row = {"what": "kill -9", "tried": 2000, "lost": ["x"], "how": ""}
    >>> table([{"rows": [row]}]).splitlines()[-1]
    '| kill -9 | 2,000 | 1,999 | 1 | |'
    """
    lines = ["| what | tried | held | lost | |", "|---|---:|---:|---:|---|"]
    for row in (row for run in told for row in run["rows"]):
        lost = len(row["lost"])
        cells = (row["what"], f"{row['tried']:,}", f"{row['tried'] - lost:,}", lost, row["how"])
        lines.append("| " + " | ".join(map(str, cells)).rstrip() + " |")
    return "\n".join(lines)


def write(page: Path, told: list[dict[str, Any]]) -> None:
    """Put the table, and how it was made, between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{page} has no place for the table: {BEGIN} and {END}")
    made = ", ".join(f"{name} {what}" for name, what in told[-1]["made with"].items())
    said = "; ".join(f"`{run['command']}`, {run['seconds'] // 60} minutes" for run in told) + f"; {made}."
    page.write_text(f"{before}{BEGIN}\n\n{table(told)}\n\n{said}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
