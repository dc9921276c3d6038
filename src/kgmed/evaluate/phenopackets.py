"""GA4GH phenopackets (version 2): the patient, and in a solved case the disease and the publication.

One JSON object a file, or one a line (JSON Lines, also xz- or gzip-packed). The patient's findings come from
`phenotypicFeatures` (`excluded` = looked for and absent), sex and age from `subject`, the age of onset from the first
of `diseases`. The diagnosis itself is never part of the patient.
"""

import gzip
import json
import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError
from kgmed.reward.pheno_patient import ONSETS, Patient, years

_OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open}
_HPO = re.compile(r"HP:\d{7}")
_MEND = "give a GA4GH phenopacket of version 2"
_SEXES = {"FEMALE": "female", "MALE": "male"}


@dataclass(frozen=True, slots=True)
class Packet:
    """One phenopacket; disease and reference are "" where it names none."""

    patient: Patient
    disease: str = ""  # OMIM:162200
    reference: str = ""  # PMID:10077612, the report of the case


def packets(path: Path) -> Iterator[Packet]:
    """Every phenopacket of a file; raises `SourceError` naming file, line and mend."""
    for number, text in _objects(path):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise SourceError(path, number, f"is no JSON ({str(e)[:60]})", _MEND) from None
        try:
            yield packet(value)
        except BadInput as e:
            raise SourceError(path, number, str(e), _MEND) from None


def packet(value: object) -> Packet:
    """The phenopacket of a JSON object; raises `BadInput` that says what is wrong in it.

    >>> packet({"id": "a", "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}]}).patient.present
    ('HP:0001250',)
    """
    features = _of(value, "phenotypicFeatures", list, None)
    if features is None:
        raise BadInput("has no phenotypicFeatures")
    subject = _of(value, "subject", dict, {})
    signed: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for feature in features:
        signed[_of(feature, "excluded", bool, False)][_finding(feature)] = None  # noqa: FBT003
    patient = Patient(
        present=tuple(signed[0]),
        absent=tuple(i for i in signed[1] if i not in signed[0]),
        sex=_SEXES.get(_of(subject, "sex", str, ""), ""),
        age=_age(_of(subject, "timeAtLastEncounter", dict, {})),
        onset=_onset(value),
        id=_of(value, "id", str, ""),
    )
    return Packet(patient, _diagnosis(value), _report(value))


def _objects(path: Path) -> Iterator[tuple[int, str]]:
    """Each JSON text of a file with its line: the whole file, or its lines where the name says so."""
    by_line = ".jsonl" in path.suffixes
    opener = _OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rb") as file:
            if not by_line:
                yield 0, file.read().decode("utf-8-sig")
                return
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.decode("utf-8")
    except UnicodeDecodeError as e:
        raise SourceError(path, 0, f"is not UTF-8 text at byte {e.start}", "save it as UTF-8") from None
    except (OSError, EOFError, lzma.LZMAError) as e:
        problem = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise SourceError(path, 0, f"cannot be read ({problem})", "check the path") from None


def _of(value: object, key: str, kind: type, default: Any) -> Any:
    """A member of a JSON object, held to its kind."""
    if not isinstance(value, dict):
        raise BadInput(f"has a {type(value).__name__} where an object with {key} belongs")
    found = value.get(key)
    if found is None:
        return default
    if not isinstance(found, kind):
        raise BadInput(f"{key} is no {kind.__name__}")
    return found


def _first(value: object, key: str) -> Any:
    """The first of a list of objects; {} where there is none."""
    return next(iter(_of(value, key, list, [])), {})


def _finding(feature: object) -> str:
    """The HPO id of a feature."""
    identifier = str(_of(_of(feature, "type", dict, {}), "id", str, ""))
    if not _HPO.fullmatch(identifier):
        raise BadInput(f"the feature {identifier[:30]!r} is no HPO id")
    return identifier


def _age(time: object) -> float | None:
    """The age of a time element in years, the end of a range; None where it gives none."""
    ages = _of(time, "ageRange", dict, {})
    age = _of(time, "age", dict, None) or _of(ages, "end", dict, {})
    age = _of(age, "age", dict, None) or age
    text = _of(age, "iso8601duration", str, "")
    return years(text) if text else None


def _onset(value: object) -> tuple[float, float] | None:
    """From and up to which age the first disease began; None where nothing or no known term is given."""
    time = _of(_first(value, "diseases"), "onset", dict, {})
    if (age := _age(time)) is not None:
        return age, age
    return ONSETS.get(_of(_of(time, "ontologyClass", dict, {}), "id", str, ""))


def _diagnosis(value: object) -> str:
    """The id of the disease that the case was solved with."""
    diagnosis = _of(_first(value, "interpretations"), "diagnosis", dict, {})
    return str(_of(_of(diagnosis, "disease", dict, {}), "id", str, ""))


def _report(value: object) -> str:
    """The publication of the case."""
    references = _of(_of(value, "metaData", dict, {}), "externalReferences", list, [])
    found = (str(_of(reference, "id", str, "")) for reference in references)
    return next((identifier for identifier in found if identifier.startswith("PMID:")), "")
