"""`kgmed diagnose`: a patient's findings in, the diseases of HPO that fit them out, with what each rests on."""

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kgmed.cli import show as screen
from kgmed.cli.show import page
from kgmed.diagnose.engine import DiagnosisEngine, Differential, FindingReason, RankedDisease
from kgmed.diagnose.findings import Diagnosed, described
from kgmed.diagnose.patient import Patient, onset, parse_findings, years
from kgmed.errors import BadInput
from kgmed.language.text import one_line
from kgmed.records import Link
from kgmed.steps.facts import clipped

app = typer.Typer(add_completion=False)
HEADINGS = {
    "exact": "fits",
    "narrower": "fits, by a kind of it",
    "twin": "fits, by the entry of another database",
    "broader": "near",
    "agrees": "absent, and not part of it",
    "unlisted": "not listed",
    "missing": "expected, not mentioned",
    "denied": "against: the disease does not have",
    "excluded": "against: absent, but part of it",
    "sex": "against: the sex",
    "onset": "against: the age",
}
_SIDES = {  # what a screen has of each disease
    "for": ("exact", "narrower", "twin", "broader", "agrees"),
    "against": ("denied", "excluded", "sex", "onset"),
    "not listed": ("unlisted",),
    "missing": ("missing",),
}
_FIRST = 5  # diseases told with their reasons
_LINE = 66  # characters of a reason: with its heading a line of a screen
QUIET = ("missing", "unlisted")
_SIGNED = re.compile(r"\s*(?:(?:-|NOT\b)?\s*HP:\d{7}[\s,;]*)+")
_ONE = re.compile(r"(?:-|NOT\b)?\s*HP:\d{7}")


@app.command(context_settings={"ignore_unknown_options": True})  # so that -HP:0000365 is a finding that is absent
def diagnose(
    findings: Annotated[
        list[str] | None,
        typer.Argument(help="HPO ids, -HP:0000365 or 'NOT HP:0000365' for an absent one; or a description."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="GA4GH phenopackets: .json, or .jsonl.")] = None,
    sex: Annotated[str, typer.Option(help="female or male.")] = "",
    age: Annotated[str, typer.Option(help="The patient's age: 4, 18m, P4Y6M.")] = "",
    began: Annotated[str, typer.Option("--onset", help="When the illness began: an age, or an HPO id of onset.")] = "",
    keep: Annotated[int, typer.Option("--keep", "-k", min=1, help="How many diseases.")] = 10,
    database: Annotated[str, typer.Option(help="OMIM, ORPHA, DECIPHER or all.")] = "OMIM",
    absent_weight: Annotated[float | None, typer.Option(min=0, help="Weight of an absent finding.")] = None,
    graph: Annotated[str, typer.Option("--graph", "-g", help="HPO's graph: its name or folder.")] = "hpo",
    full: Annotated[bool, typer.Option("--full", help="Every reason of every disease, with its publications.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Rank the diseases of HPO by a patient's findings, and say what speaks for and against each.

    Of two that fit alike the one with more publications comes first: that is how much is written, not how common it is.
    """
    from kgmed.evaluate.datasets.cases import packets
    from kgmed.toolkit import Toolkit

    ids, text = _sorted(findings or [])
    if bool(ids or text) == bool(file):
        raise BadInput("give findings or a phenopacket by --file; for example: kgmed diagnose HP:0001166 HP:0001083")
    skipped: list[str] = []
    given = [packet.patient for packet in packets(file, skipped.append)] if file else [_typed(ids)]
    if skipped and not given:
        raise BadInput(f"{file}: no phenopacket has phenotypicFeatures, so there is nothing to rank; give findings")
    screen.warn(f"skipped {what}: it has no phenotypicFeatures" for what in skipped)
    given = [_about(patient, sex, age, began) for patient in given]
    model = _model(graph, absent_weight)
    links: tuple[Link, ...] = ()
    if text:
        given[0], links = described(model, Toolkit(model.graph).linked, given[0], text)
    wanted = "" if database == "all" else database
    results = tuple(model.diagnose(patient, keep=keep, database=wanted) for patient in given)
    if as_json:
        screen.data(Diagnosed(links, results, tuple(skipped)))
        return
    for result in results:
        show(result, model, links, full=full)


def _sorted(words: Sequence[str]) -> tuple[list[str], str]:
    """The ids among the words, with their signs, and the others as one text."""
    ids = [found for word in words if _SIGNED.fullmatch(word) for found in _ONE.findall(word)]
    rest = [word for word in words if not _SIGNED.fullmatch(word)]
    option = next((word for word in rest if word.startswith("-")), "")
    if option:
        raise BadInput(f"{option[:40]!r} is no option and no HPO id; see kgmed diagnose --help")
    wrong = next((word for word in rest if word.upper().startswith("HP:")), "")
    if wrong:
        raise BadInput(f"{wrong[:40]!r} is no HPO id; write HP: and seven digits")
    return ids, " ".join(rest).strip()


def _typed(ids: Sequence[str]) -> Patient:
    present, absent = parse_findings(ids)
    return Patient(tuple(present), tuple(absent))


def _about(patient: Patient, sex: str, age: str, began: str) -> Patient:
    """The patient with what the options say of sex and ages."""
    patient = replace(patient, sex=sex.casefold()) if sex else patient
    patient = replace(patient, age=years(age)) if age else patient
    return replace(patient, onset=onset(began)) if began else patient


def _model(graph: str, absent_weight: float | None) -> DiagnosisEngine:
    """The graph's diseases; HPO is built when it is not there yet."""
    from kgmed.disk import data_folder
    from kgmed.graph import library
    from kgmed.graph.remote.named import open_whole

    remote = library.is_remote(graph) and not library.in_shards(graph)
    with screen.progress("building HPO (first use)", "rows") as progress:
        if graph in library.PACKAGED and graph not in {m.name for m in library.graphs()}:
            library.build_graph(graph, progress=progress)
    with screen.progress("reading the findings of every disease", "") as _:
        found = open_whole(graph, data_folder(), os.environ) if remote else library.load(graph)
        return DiagnosisEngine(found, changed=None if absent_weight is None else {"excluded": -absent_weight})


def show(result: Differential, model: DiagnosisEngine, links: Sequence[Link] = (), *, full: bool = False) -> None:
    """Print the diseases of one patient for a person: a screen of them, or `full`, every reason of each."""
    out = page()
    patient = result.patient
    if patient.id:
        out((one_line(patient.id), "bold"))
    names = {link.entity.id: f"{link.mention.surface} = " for link in links}
    for heading, ids in (("Present", patient.present), ("Absent", patient.absent)):
        known = [f"{names.get(i, '')}{model.graph.entity(i).name} ({i})" for i in ids if i not in result.unknown]
        if known:
            out((f"{heading}:", "green"), f" {one_line('; '.join(known))}")
    if result.unknown:
        out(("Not in the graph:", "yellow"), f" {', '.join(result.unknown)}")
    if not result.ranked:
        out(("No finding that is present is known: nothing to rank.", "bold"))
    if full:
        for place, ranked in enumerate(result.ranked, start=1):
            _show_disease(out, place, ranked)
    else:
        _show_first(out, result.ranked)
    if result.both:
        out(("Likelier than one:", "green"), f" both {one_line(' and '.join(each.name for each in result.both))}")
    out((result.limits if full else _short(result), "dim"))


def _short(result: Differential) -> str:
    """What the list is and is not, in one sentence."""
    return f"A list to think of, not a diagnosis; common ones are not in {result.graph.split()[0]}. More: --full"


def _show_first(out: Callable[..., None], ranked: Sequence[RankedDisease]) -> None:
    """The first diseases with what speaks for and against each and what is missing, the others by name; what to ask."""
    for place, one in enumerate(ranked[:_FIRST], start=1):
        out((f"{place}. {one_line(f'{one.disease.name} ({one.disease.id})')}", "bold"), f"  {one.score:.2f}")
        for heading, kinds in _SIDES.items():
            said = list(dict.fromkeys(_brief(reason) for reason in one.reasons if reason.kind in kinds))
            if said:
                colour = {"for": "green", "against": "yellow"}.get(heading, "dim")
                out("   ", (f"{heading}:", colour), f" {clipped(one_line(', '.join(said)), _LINE)}")
    if ranked[_FIRST:]:
        others = (f"{place}. {one_line(one.disease.name)}" for place, one in enumerate(ranked[_FIRST:], _FIRST + 1))
        out(("Then:", "dim"), f" {clipped('; '.join(others), 3 * _LINE)}")
    if asked := to_ask(ranked[:_FIRST]):
        out(("Ask next:", "green"), f" {', '.join(f'{name} ({places})' for name, places in asked)}")


def to_ask(ranked: Sequence[RankedDisease], *, most: int = 4) -> list[tuple[str, str]]:
    """The findings that tell some diseases apart best, each with the places of the diseases that have it.

    Of a finding that is expected of diseases of together the belief p (the softmax of the scores), p (1 - p).
    """
    top = max((one.score for one in ranked), default=0.0)
    odds = [math.exp(one.score - top) for one in ranked]
    has: dict[str, list[int]] = {}
    for place, one in enumerate(ranked):
        for reason in one.reasons:
            for triple in reason.triples if reason.kind == "missing" else ():
                has.setdefault(triple.object.name, []).append(place)
    belief = {name: sum(odds[p] for p in set(places)) / sum(odds) for name, places in has.items()}
    best = sorted(belief, key=lambda name: -belief[name] * (1 - belief[name]))[:most]
    return [(name, ", ".join(str(p + 1) for p in dict.fromkeys(has[name]))) for name in best]


def _brief(reason: FindingReason) -> str:
    """A reason in a few words: the finding as the disease has it, and how often."""
    name = (
        reason.finding.name if reason.finding else ", ".join(t.object.name for t in reason.triples[:1]) or reason.kind
    )
    name = f"no {name}" if reason.kind == "agrees" else name
    return f"{name} ({reason.frequencies[0]})" if reason.frequencies else name


def _show_disease(out: Callable[..., None], place: int, ranked: RankedDisease) -> None:
    """One disease and its reasons, grouped by what they say."""
    name = one_line(f"{ranked.disease.name} ({ranked.disease.id})")
    out((f"\n{place}. {name}", "bold"), f"  {ranked.score:.2f}")
    for kind, heading in HEADINGS.items():
        said = [_said(reason) for reason in ranked.reasons if reason.kind == kind]
        if said:
            colour = "yellow" if heading.startswith("against") else "dim" if kind in QUIET else "green"
            out("   ", (f"{heading}:", colour), f" {one_line('; '.join(said))}")


def _said(reason: FindingReason) -> str:
    """A reason in words: the finding, what it is matched by, how often, and where it says so."""
    stated = ", ".join(_few([*reason.frequencies, *reason.references], 5))
    objects = ", ".join(t.object.name for t in reason.triples)
    if reason.finding is None:
        name = objects or "see the disease"
    elif objects in ("", reason.finding.name):
        name = reason.finding.name
    else:
        name = f"{reason.finding.name} ~ {objects}"
    through = f", both {reason.through.name}" if reason.kind == "broader" and reason.through else ""
    twin = f", {reason.through.id}" if reason.kind == "twin" and reason.through else ""
    return f"{name}{through}{twin}" + (f" ({stated})" if stated else "")


def _few(texts: Iterable[str], most: int) -> list[str]:
    """The first of some texts, and how many more there are."""
    found = [text for text in texts if text]
    return found if len(found) <= most else [*found[:most], f"and {len(found) - most} more"]
