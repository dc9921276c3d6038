"""Patients to diagnose: MZ, DXY, GMD, DDXPlus, published cases as phenopackets, and cases of one's own."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from kgmed.diagnose.patient import ONSETS, Patient, years
from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import KnowledgeGraph
from kgmed.graph.formats.base import check_file, empty, lines, parse_json, reading, whole_text
from kgmed.graph.formats.cmekg import DAMAGE, plain_data
from kgmed.language.text import one_line
from kgmed.reward.cases import Case, Split, split

# --- One case out of the plain data of a file, checked.


R = TypeVar("R")
U = TypeVar("U")
_BAD = 0.01  # of the rows of a published file may be left out; a file with more is not what it is taken for


def sound(rows: Iterable[R], make: Callable[[R], U], dropped: list[str]) -> list[U]:
    """What is made of the rows of a published file; single ones that cannot be read are left out and told in `dropped`.

    Raises the first `SourceError` where they are more than one in a hundred.
    """
    found, bad = [], []
    for row in rows:
        try:
            found.append(make(row))
        except SourceError as why:
            bad.append(why)
    if len(bad) > _BAD * (len(found) + len(bad)):
        raise bad[0]
    dropped += [f"{why.path.name}:{why.line}: {why.problem}" for why in bad]
    return found


_SHOWN = 60  # characters of what is not understood
_SIGNS: dict[object, str] = {True: "positive", False: "negative", "1": "positive", "0": "negative", "2": "unsure"}
_SIGNS |= {"True": "positive", "False": "negative", "UNK": "unsure", "dont_know": "unsure"}


def case(path: Path, line: int, row_id: str, disease: object, explicit: object, implicit: object) -> Case:
    """The case of two maps symptom -> sign (true/1, false/0, 2 = unsure); raises `SourceError` with the place.

    A symptom in both maps has the sign of the first. `line` is the number of the record where there are no lines.
    """
    if not isinstance(disease, str) or not disease:
        raise SourceError(path, line, "has a case without a disease", "give each case the name of its disease")
    first, asked = _slots(path, line, explicit), _slots(path, line, implicit)
    signs = asked | first
    order = [*first, *(s for s in asked if s not in first)]
    positive, negative, unsure = (tuple(s for s in order if signs[s] == k) for k in ("positive", "negative", "unsure"))
    return Case(row_id, positive, negative, unsure, disease, tuple(first))


def _slots(path: Path, line: int, slots: object) -> dict[str, str]:
    """Symptom -> sign as a word."""
    if not isinstance(slots, Mapping) or not all(isinstance(s, str) for s in slots):
        raise SourceError(path, line, "has symptoms that are no map from name to sign", 'write {"fever": true, ...}')
    for symptom, sign in slots.items():
        if not isinstance(sign, bool | str) or sign not in _SIGNS:
            mend = 'use true, false, "1", "0", or "2" for unsure'
            raise SourceError(path, line, f"has the sign {repr(sign)[:_SHOWN]} for {repr(symptom)[:_SHOWN]}", mend)
    return {symptom: _SIGNS[sign] for symptom, sign in slots.items()}


# --- The JSON of DXY, MZ-4 and MZ-10 as DxFormer publishes them: a list of {pid, exp_sxs, imp_sxs, label} a part.
# The signs are "1", "0" and "2" (unsure).


_DXFORMER_MEND = "give a JSON list of objects with pid, exp_sxs, imp_sxs and label"


def part(path: Path, dropped: list[str]) -> list[Case]:
    """The cases of one file, as `sound` gives them; raises `SourceError`."""
    check_file(path)
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(path, getattr(error, "lineno", 0), f"is no JSON ({error})", _DXFORMER_MEND) from error
    if not isinstance(rows, list) or not rows:
        raise SourceError(path, 0, "is no list of cases", _DXFORMER_MEND)
    return sound(enumerate(rows, start=1), lambda row: _case(path, *row), dropped)


def _case(path: Path, number: int, row: object) -> Case:
    if not isinstance(row, dict) or not {"exp_sxs", "imp_sxs", "label"} <= row.keys():
        raise SourceError(path, number, f"is no case (record {number} of the list)", _DXFORMER_MEND)
    return case(path, number, str(row.get("pid", number)), row["label"], row["exp_sxs"], row["imp_sxs"])


# --- DDXPlus: synthetic patients as CSV, 49 diseases, in English.
# A patient's evidences are codes, `E_55_@_V_29` for a value of a question with several. They become the question and
# the value in English where `release_evidences.json` knows the code, else they stay codes. Diseases become English by
# `release_conditions.json`, whether the patients' file has them in English or in French. Age and sex are left out. All
# that is listed is there; nothing is denied.


_COLUMNS = {"PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE"}
_DDXPLUS_MEND = "give a release_*_patients.csv of DDXPlus with PATHOLOGY, EVIDENCES and INITIAL_EVIDENCE"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_LIST = re.compile(r"""\s*\[\s*(?:(?:'[^']*'|"[^"]*")\s*(?:,\s*|(?=\])))*\]\s*""")
Name = Callable[[str], str]


def patients(path: Path, disease: Name, finding: Name, dropped: list[str]) -> list[Case]:
    """The cases of one file as `sound` gives them, names changed by the two functions; raises `SourceError`."""
    check_file(path)
    with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            if not set(rows.fieldnames or ()) >= _COLUMNS:
                raise SourceError(path, 1, "lacks columns of DDXPlus", _DDXPLUS_MEND)
            return sound(
                enumerate(rows, start=1),
                lambda one: _patient(path, rows.line_num, f"{path.stem}-{one[0]}", one[1], disease, finding),
                dropped,
            )
        except (csv.Error, UnicodeError) as error:
            raise SourceError(path, rows.line_num, f"is no CSV in UTF-8 ({error})", _DDXPLUS_MEND) from error


def _patient(path: Path, line: int, case_id: str, row: dict[str, str | None], disease: Name, finding: Name) -> Case:
    codes, name = _codes(path, line, row["EVIDENCES"]), row["PATHOLOGY"]
    if not name:
        raise SourceError(path, line, "has a case without a disease", _DDXPLUS_MEND)
    first = tuple(finding(c) for c in [row["INITIAL_EVIDENCE"]] if c)
    return Case(case_id, tuple(dict.fromkeys(map(finding, codes))), disease=disease(name), explicit=first)


def _codes(path: Path, line: int, text: str | None) -> list[str]:
    """The quoted strings of a list literal.

    >>> _codes(Path("a.csv"), 1, "['E_91', 'E_55_@_V_29']")
    ['E_91', 'E_55_@_V_29']
    """
    if not text or not _LIST.fullmatch(text):
        raise SourceError(path, line, "has EVIDENCES that are no list of codes", _DDXPLUS_MEND)
    return [a or b for a, b in _QUOTED.findall(text)]


def diseases(path: Path | None) -> Name:
    """A function from a disease's English or French name to its English one; without a file it changes nothing."""
    rows = _json(path, "cond-name-eng").values() if path else []
    table = {str(r.get(key)): str(r["cond-name-eng"]) for r in rows for key in ("cond-name-fr", "condition_name")}
    return lambda name: table.get(name, name)


def findings(path: Path | None) -> Name:
    """A function from an evidence's code to its question and value in English; a code it does not know stays."""
    table = _json(path, "question_en") if path else {}

    def name(code: str) -> str:
        question, _, value = code.partition("_@_")
        known = table.get(question)
        if not known:
            return code
        meanings = known.get("value_meaning")
        meaning = meanings.get(value) if isinstance(meanings, dict) else None
        english = meaning.get("en", value) if isinstance(meaning, dict) else value
        return f"{known['question_en']} {english}".strip()

    return name


def _json(path: Path, needed: str) -> dict[str, dict[str, Any]]:
    """The objects of a release file, each with the key `needed`."""
    check_file(path)
    mend = f"give the release_*.json of DDXPlus with {needed}"
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(path, getattr(error, "lineno", 0), f"is no JSON ({error})", mend) from error
    if not isinstance(rows, dict) or not all(isinstance(r, dict) and needed in r for r in rows.values()):
        raise SourceError(path, 0, "is no such release file of DDXPlus", mend)
    return rows


# --- The pickle of MZ, DXY and GMD: {"train": [...], "test": [...]} of {explicit_inform_slots, implicit_inform_slots,
# disease_tag}.
# The slots may stand one deeper, under "goal", and "validate", or "dev" as in GMD, may be a third part; a part of any
# other name is refused. Nothing but plain data is unpickled: no class can be named.


GOALS = (".p", ".pk", ".pkl", ".pickle")
_LARGEST = 1 << 25  # bytes; those of the papers have less than one megabyte
_CHOSEN_ON = ("validate", "validation", "dev")  # what settings are chosen on, as different releases call it
_GOAL_PARTS = ("train", "test", *_CHOSEN_ON)
_NAMED = ", ".join(_GOAL_PARTS)
_GOALS_MEND = "give the pickle with train and test of explicit_inform_slots, implicit_inform_slots and disease_tag"


def read_goals(path: Path, *, name: str = "", language: str = "zh", seed: int = 0) -> Split:
    """The split of the file; train gives a validation part where the file has none. Raises `SourceError`."""
    dropped: list[str] = []
    cases = goal_cases(path, dropped)
    if not cases["train"]:
        raise SourceError(path, 0, "has no train cases", _GOALS_MEND)
    made = {"validation": cases["dev"], "language": language, "seed": seed, "dropped": dropped}
    return split(name or path.stem, cases["train"], cases["test"], **made)  # type: ignore[arg-type]


def goal_cases(path: Path, dropped: list[str]) -> dict[str, list[Case]]:
    """The cases of the parts train, dev and test, as `sound` gives them; raises `SourceError`."""
    parts = _parts(path)
    if unknown := [str(part) for part, rows in parts.items() if part not in _GOAL_PARTS and rows]:
        raise SourceError(
            path, 0, f"has a part {one_line(unknown[0])[:30]!r}", f"name it one of {_NAMED}, or leave it out"
        )
    found = {part: _cases(path, part, parts.get(part, []), dropped) for part in _GOAL_PARTS}
    chosen_on = [case for part in _CHOSEN_ON for case in found[part]]
    return {"train": found["train"], "dev": chosen_on, "test": found["test"]}


def _parts(path: Path) -> Mapping[str, object]:
    check_file(path)
    if path.stat().st_size > _LARGEST:
        raise SourceError(path, 0, "is larger than 32 MB", _GOALS_MEND)
    with reading(path):
        data = path.read_bytes()
    try:
        parts = plain_data(data)
    except DAMAGE as error:
        raise SourceError(path, 0, f"is no pickle of plain data ({error})", _GOALS_MEND) from error
    if not isinstance(parts, dict) or not {"train", "test"} <= parts.keys():
        raise SourceError(path, 0, "has no parts train and test", _GOALS_MEND)
    return parts


def _cases(path: Path, part: str, rows: object, dropped: list[str]) -> list[Case]:
    if not isinstance(rows, list):
        raise SourceError(path, 0, f"has a part {part} that is no list", _GOALS_MEND)

    def made(numbered: tuple[int, Any]) -> Case:
        i, row = numbered
        goal = row.get("goal", row) if isinstance(row, dict) else None
        if not isinstance(goal, dict) or not {"explicit_inform_slots", "implicit_inform_slots"} <= goal.keys():
            raise SourceError(path, i, f"is no case (record {i} of {part})", _GOALS_MEND)
        number = row.get("consult_id")
        row_id = (
            str(number) if isinstance(number, str) or (type(number) is int and abs(number) < 10**18) else f"{part}-{i}"
        )
        disease = row.get("disease_tag", goal.get("disease_tag"))
        return case(path, i, row_id, disease, goal["explicit_inform_slots"], goal["implicit_inform_slots"])

    return sound(enumerate(rows, start=1), made, dropped)


# --- Cases as JSON Lines, our own format: one object a line.
#     {"id": "7", "disease": "flu", "positive": ["fever"], "negative": ["rash"], "unsure": [], "explicit": ["fever"],
#      "split": "train"}
# `positive` and `disease` must be there. `explicit` names those of any sign that the patient told first; without it,
# all of them. `split` is train (default), validation or test. `patients` reads the same lines where nobody has told the
# disease, `answers` lines of a question (or the findings) and what was answered:
#     {"question": "fever, no rash", "answer": "flu"}
#     {"positive": ["fever"], "negative": ["rash"], "answer": "flu"}


_LINE_SIGNS = ("positive", "negative", "unsure")
_PARTS = ("train", "validation", "test")
_LINES_MEND = 'write {"disease": "flu", "positive": ["fever"], "negative": [], "split": "train"}'


def read_case_lines(path: Path, *, name: str = "", language: str = "", seed: int = 0) -> Split:
    """The split of the file; raises `SourceError`."""
    parts: dict[str, list[Case]] = {part: [] for part in _PARTS}
    for number, row in _rows(path):
        part, found = _line_case(path, number, row)
        parts[part].append(found)
    if not parts["train"]:
        raise SourceError(path, 0, "has no train cases", _LINES_MEND)
    made = {"validation": parts["validation"], "language": language, "seed": seed}
    return split(name or path.stem, parts["train"], parts["test"], **made)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """An answer to judge; where the patient was given as findings, `question` is their line."""

    question: str
    answer: str
    case: Case | None = None


def case_patients(path: Path) -> Iterator[Case]:
    """The cases of the file, whatever their split; a disease may be missing. Raises `SourceError`."""
    yield from (_findings(path, number, {"disease": "", **row}) for number, row in _rows(path))


def answers(path: Path) -> Iterator[CaseQuestion]:
    """The answers of the file; raises `SourceError`."""
    mend = 'write {"question": "fever, no rash", "answer": "flu"}, or positive and negative in place of question'
    for number, row in _rows(path):
        question, answer = row.get("question", ""), row.get("answer")
        if not isinstance(question, str) or not isinstance(answer, str) or bool(question) == ("positive" in row):
            raise SourceError(path, number, "is no answer to a question or to findings", mend)
        case = None if question else _findings(path, number, {**row, "disease": ""})
        yield CaseQuestion(question or f"line {number}", answer, case)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of the file and their lines; raises `SourceError` where there are none."""
    found = 0
    for number, text in lines(path):
        if text.strip():
            row = parse_json(path, number, text)
            if not isinstance(row, dict):
                raise SourceError(path, number, "is no JSON object", _LINES_MEND)
            found += 1
            yield number, row
    if not found:
        raise empty(path)


def _line_case(path: Path, number: int, row: Mapping[str, Any]) -> tuple[str, Case]:
    if not row.get("disease"):
        raise SourceError(path, number, "is no case with a disease", _LINES_MEND)
    part = row.get("split", "train")
    if part not in _PARTS:
        raise SourceError(path, number, f"has the split {repr(part)[:_SHOWN]}", f"use one of {', '.join(_PARTS)}")
    return part, _findings(path, number, row)


def _findings(path: Path, number: int, row: Mapping[str, Any]) -> Case:
    if not isinstance(row["disease"], str):
        raise SourceError(path, number, "is no case with a disease", _LINES_MEND)
    positive, negative, unsure = (_names(path, number, row, sign) for sign in _LINE_SIGNS)
    every = (*positive, *negative, *unsure)
    if len(set(every)) < len(every):
        raise SourceError(path, number, "names a symptom twice", "give each symptom one sign")
    explicit = _names(path, number, row, "explicit") if "explicit" in row else every
    return Case(str(row.get("id", number)), positive, negative, unsure, row["disease"], explicit)


def _names(path: Path, number: int, row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = row.get(key, [])
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise SourceError(path, number, f"has a {key!r} that is no list of names", _LINES_MEND)
    return tuple(names)


# --- GA4GH phenopackets (versions 2 and 1): the patient, and in a solved case the disease and the publication.
# One JSON object a file, or one a line (JSON Lines, also xz- or gzip-packed). The patient's findings come from
# `phenotypicFeatures` (`excluded` = looked for and absent), sex and age from `subject`, the age of onset from the first
# of `diseases`. The diagnosis itself is never part of the patient.


_HPO = re.compile(r"HP:\d{7}")
_PHENOPACKET_MEND = "give a GA4GH phenopacket of version 2"
_SEXES = {"FEMALE": "female", "MALE": "male"}


@dataclass(frozen=True, slots=True)
class Packet:
    """One phenopacket; disease and reference are "" where it names none."""

    patient: Patient
    disease: str = ""  # OMIM:162200
    reference: str = ""  # PMID:10077612, the report of the case


class NoFindings(BadInput):
    """A phenopacket without `phenotypicFeatures`, which the standard allows."""


def packets(path: Path, skip: Callable[[str], object] | None = None) -> Iterator[Packet]:
    """Every phenopacket of a file; raises `SourceError` naming file, line and mend.

    With `skip`, one without findings is left out, and `skip` is given its id and place.
    """
    for number, text in _objects(path):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise SourceError(path, number, f"is no JSON ({str(e)[:60]})", _PHENOPACKET_MEND) from None
        try:
            for told in messages(value):
                try:
                    yield packet(told)
                except NoFindings as e:
                    if skip is None:
                        raise SourceError(path, number, str(e), _PHENOPACKET_MEND) from None
                    place = f"({path}:{number})" if number else f"({path})"
                    skip(" ".join(filter(None, [_of(told, "id", str, ""), place])))
        except BadInput as e:
            if isinstance(e, SourceError):
                raise
            raise SourceError(path, number, str(e), _PHENOPACKET_MEND) from None


def messages(value: object) -> list[object]:
    """The phenopackets in a message: itself, the proband and then the relatives of a Family, the members of a Cohort.

    An interpretation of version 1 holds the phenopacket or the family that it is about.

    >>> [m["id"] for m in messages({"proband": {"id": "a"}, "relatives": [{"id": "b"}]})]
    ['a', 'b']
    """
    for name in ("phenopacket", "family"):
        value = _of(value, name, dict, None) or value
    if proband := _of(value, "proband", dict, None):
        return [proband, *_of(value, "relatives", list, [])]
    members = _of(value, "members", list, None)
    return [value] if members is None else list(members)


def packet(value: object) -> Packet:
    """The phenopacket of a JSON object; raises `BadInput` that says what is wrong in it.

    >>> packet({"id": "a", "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}]}).patient.present
    ('HP:0001250',)
    """
    features = _of(value, "phenotypicFeatures", list, None)
    if features is None:
        raise NoFindings("has no phenotypicFeatures")
    subject = _of(value, "subject", dict, {})
    signed: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for feature in features:
        absent = any(_of(feature, said, bool, False) for said in ("excluded", "negated"))  # noqa: FBT003 - as version 1 says
        signed[absent][_finding(feature)] = None
    patient = Patient(
        present=tuple(signed[0]),
        absent=tuple(i for i in signed[1] if i not in signed[0]),
        sex=_SEXES.get(_of(subject, "sex", str, ""), ""),
        age=_age(_of(subject, "timeAtLastEncounter", dict, {})),
        onset=_onset(value),
        id=_of(value, "id", str, ""),
    )
    return Packet(patient, _diagnosis(value), _report(value))


def phenopacket(patient: Patient, graph: KnowledgeGraph) -> dict[str, Any]:
    """The patient as a phenopacket (GA4GH, version 2), which `packet` reads back; ages to the month."""
    signed = [*((i, False) for i in patient.present), *((i, True) for i in patient.absent)]
    features = [
        {"type": {"id": i, "label": graph.entity(i).name}} | ({"excluded": True} if no else {}) for i, no in signed
    ]
    subject: dict[str, Any] = {"id": patient.id or "patient"}
    if patient.sex:
        subject["sex"] = patient.sex.upper()
    if patient.age is not None:
        subject["timeAtLastEncounter"] = {"age": {"iso8601duration": _duration(patient.age)}}
    made = {"id": patient.id or "patient", "subject": subject, "phenotypicFeatures": features}
    if patient.onset is not None:
        first, last = map(_duration, patient.onset)
        time = {"ageRange": {"start": {"iso8601duration": first}, "end": {"iso8601duration": last}}}
        made["diseases"] = [{"term": {"id": "MONDO:0000001", "label": "disease"}, "onset": time}]
    resource = {
        "id": "hp", "name": "Human Phenotype Ontology", "url": "http://purl.obolibrary.org/obo/hp.owl",
        "version": graph.label, "namespacePrefix": "HP", "iriPrefix": "http://purl.obolibrary.org/obo/HP_",
    }  # fmt: skip
    made["metaData"] = {
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "createdBy": "kgmed", "resources": [resource],
        "phenopacketSchemaVersion": "2.0",
    }  # fmt: skip
    return made


def _duration(age: float) -> str:
    """An age in years as ISO 8601 has it.

    >>> _duration(4.5), _duration(0.01)
    ('P4Y6M', 'P0Y0M')
    """
    months = round(max(age, 0) * 12)
    return f"P{months // 12}Y{months % 12}M"


def _objects(path: Path) -> Iterator[tuple[int, str]]:
    """Each JSON text of a file with its line: the whole file, or its lines where the name says so."""
    if ".jsonl" in path.suffixes:
        yield from ((number, line) for number, line in lines(path) if line.strip())
    else:
        yield 0, whole_text(path)


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
    age = _of(time, "age", dict, None) or _of(_of(time, "ageRange", dict, {}), "end", dict, {})
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
