"""`kgmed diagnose`: a patient's findings in, the diseases of HPO that fit them out, with what each rests on."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from kgmed.cli import show as screen
from kgmed.errors import BadInput
from kgmed.language.text import one_line
from kgmed.records import Link
from kgmed.reward.phenotype import WEIGHTS, Differential, FindingReason, Phenotypes, RankedDisease
from kgmed.reward.phenotype_table import Patient, onset, parse_findings, years

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
ABSENT = -WEIGHTS["excluded"]
QUIET = ("missing", "unlisted")
_SIGNED = re.compile(r"\s*(?:(?:-|NOT\b)?\s*HP:\d{7}[\s,;]*)+")
_ONE = re.compile(r"(?:-|NOT\b)?\s*HP:\d{7}")


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """What `--json` prints: how a description was understood, and the diseases of each patient."""

    understood: tuple[Link, ...]
    patients: tuple[Differential, ...]
    skipped: tuple[str, ...] = ()  # patients of whom a file gives no findings, and where


@app.command(context_settings={"ignore_unknown_options": True})  # so that -HP:0000365 is a finding that is absent
def diagnose(
    findings: Annotated[
        list[str] | None,
        typer.Argument(help="HPO ids, -HP:0000365 or 'NOT HP:0000365' for one that is absent; or a description."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="GA4GH phenopackets: .json, or .jsonl.")] = None,
    sex: Annotated[str, typer.Option(help="female or male.")] = "",
    age: Annotated[str, typer.Option(help="The patient's age: 4, 18m, P4Y6M.")] = "",
    began: Annotated[str, typer.Option("--onset", help="When the illness began: an age, or an HPO id of onset.")] = "",
    keep: Annotated[int, typer.Option("--keep", "-k", min=1, help="How many diseases.")] = 10,
    database: Annotated[str, typer.Option(help="OMIM, ORPHA, DECIPHER or all.")] = "OMIM",
    absent_weight: Annotated[float, typer.Option(min=0, help="What an absent finding counts.")] = ABSENT,
    graph: Annotated[str, typer.Option("--graph", "-g", help="HPO's graph: its name or folder.")] = "hpo",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Rank the diseases of HPO by a patient's findings, and say what speaks for and against each.

    Of two that fit alike the one with more publications comes first: that is how much is written, not how common it is.
    """
    from kgmed.evaluate.datasets.cases import packets

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
        given[0], links = _described(model, given[0], text)
    wanted = "" if database == "all" else database
    results = tuple(model.diagnose(patient, keep=keep, database=wanted) for patient in given)
    if as_json:
        screen.data(Diagnosed(links, results, tuple(skipped)))
        return
    for result in results:
        show(result, model, links)


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


def _model(graph: str, absent_weight: float) -> Phenotypes:
    """The graph's diseases; HPO is built when it is not there yet."""
    from kgmed.graph import library

    with screen.progress("building HPO (first use)", "rows") as progress:
        if graph in library.PACKAGED and graph not in {m.name for m in library.graphs()}:
            library.build_graph(graph, progress=progress)
    with screen.progress("reading the findings of every disease", "") as _:
        return Phenotypes(library.load(graph), weights={**WEIGHTS, "excluded": -absent_weight})


def _described(model: Phenotypes, patient: Patient, text: str) -> tuple[Patient, tuple[Link, ...]]:
    """The patient with the findings of a description; raises `BadInput` where it names none."""
    from kgmed.reward.phenotype import findings_in_text as described
    from kgmed.toolkit import Toolkit

    said = described(Toolkit(model.graph), text)
    present = tuple(dict.fromkeys((*patient.present, *said.present)))
    absent = tuple(i for i in dict.fromkeys((*patient.absent, *said.absent)) if i not in present)
    if not present:
        raise BadInput(f"no finding of {model.graph.label} is named in {one_line(text)[:60]!r}; give HPO ids")
    return replace(patient, present=present, absent=absent), said.links


def show(result: Differential, model: Phenotypes, links: Sequence[Link] = ()) -> None:
    """Print the diseases of one patient for a person."""
    out = screen.printer()
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
    for place, ranked in enumerate(result.ranked, start=1):
        _show_disease(out, place, ranked)
    out((result.limits, "dim"))


def _show_disease(out: Callable[..., None], place: int, ranked: RankedDisease) -> None:
    """One disease and its reasons, grouped by what they say."""
    name = one_line(f"{ranked.disease.name} ({ranked.disease.id})")
    out((f"\n{place}. {name}", "bold"), f"  {ranked.score:.2f}")
    for kind, heading in HEADINGS.items():
        said = [_said(reason) for reason in ranked.reasons if reason.kind == kind]
        if said:
            colour = (
                "yellow" if heading.startswith("against") else "dim" if kind in ("missing", "unlisted") else "green"
            )
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
