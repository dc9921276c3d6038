"""What an evaluation depends on, as a table, and the command that makes it again."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from kgmed.evaluate.log import digest
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.report.table import Table
from kgmed.evaluate.report.text import visible

_OPTIONS = {
    "preset": "--preset", "llm": "--llm", "encoder": "--encoder", "scorer": "--scorer", "tagger": "--tagger",
    "prompts": "--prompts", "glossary": "--glossary", "evidence_tokens": "--evidence-tokens",
    "abstain_below": "--abstain-below", "reply_tokens": "--reply-tokens", "choose": "--choose", "batch": "--batch",
    "precision": "--precision",
}  # fmt: skip
_UNSET: tuple[object, ...] = (None, "", 0, {}, [])


def command(study: Study) -> str:
    """The command line that this evaluation is made with, in one line; paths of that machine are cut to their names.

    What a manifest does not hold, because no answer depends on it, is not in it: a server's address, limits, caches.
    """
    return " ".join(shlex.quote(visible(word)).replace("\n", " ") for word in _words(study))


def _words(study: Study) -> Iterator[str]:
    """The words of the command."""
    told, of = study.manifest, _of(study.manifest, "dataset")
    yield from ("kgmed", "eval", "run", study.name, "--set", _short(of.get("name", "")))
    for method in study.plan.methods:
        yield from ("--method", method)
    setup = _of(told, "setup")
    yield from ("--graph", _short(setup.get("graph", "")))
    yield from ("--part", str(of.get("part") or ""))
    if of.get("limit"):
        yield from ("--number", str(of["limit"]), "--sample", str(of.get("sample", 0)))
    for seed in study.plan.seeds if tuple(study.plan.seeds) != (0,) else ():
        yield from ("--seed", str(seed))
    for name, option in _OPTIONS.items():
        if setup.get(name) not in _UNSET:
            yield from (option, _short(setup[name]))


def _of(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the manifest, empty where it has none."""
    found = told.get(name)
    return found if isinstance(found, Mapping) else {}


def _short(value: object) -> str:
    """A path of some machine cut to its last name; anything else as it is.

    >>> _short("/home/x/q.jsonl"), _short("hf//home/x/tiny"), _short("https://a.org/b"), _short(3)
    ('q.jsonl', 'hf/tiny', 'https://a.org/b', '3')
    """
    if "://" in str(value):
        return str(value)
    kind, _, place = str(value).partition("/")
    if PurePath(place).is_absolute():
        return f"{kind}/{PurePath(place).name}"
    path = PurePath(str(value))
    return path.name if path.is_absolute() else str(value)


def facts(study: Study) -> Table:
    """All that the manifest says, and the hash of what the log holds."""
    told, of, setup = study.manifest, _of(study.manifest, "dataset"), _of(study.manifest, "setup")
    n = len(study.plan.items)
    rows = {
        "data set": f"{study.dataset.title} ({study.dataset.name}), {study.dataset.citation or 'no citation'}",
        "from": _short(study.dataset.source),
        "licence": study.dataset.licence,
        "revision, sha256": f"{of.get('revision', '')}, {of.get('sha256', '')}",
        "questions": f"{n} of {study.of}{', a sample' if study.sampled else ''}, part {of.get('part') or 'all'}",
        "seeds": ", ".join(map(str, study.plan.seeds)),
        "graph": str(told.get("graph", "")),
        "prompts": str(told.get("prompts", "")),
        **{f"setup: {k}": _short(v) for k, v in setup.items() if v not in _UNSET},
        **{f"version: {k}": str(v) for k, v in _of(told, "versions").items()},
        "answers": f"{len(study.found)} in the log, sha256 without seconds {digest(dict(study.found))}",
        "made by": command(study),
    }
    return Table("manifest", "What this depends on", ("what", "value"), tuple(rows.items()))
