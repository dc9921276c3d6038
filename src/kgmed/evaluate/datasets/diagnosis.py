"""Patients to diagnose as questions whose options are the closed list: MZ, DXY, GMD, MDDial and DDXPlus."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.datasets.cases import case, diseases, findings, goal_cases, sound
from kgmed.evaluate.datasets.cases import part as dxformer_part
from kgmed.evaluate.datasets.cases import patients as ddxplus_part
from kgmed.evaluate.datasets.files import whole_json
from kgmed.evaluate.items import Gold, Item
from kgmed.graph import library
from kgmed.language.text import one_line
from kgmed.records import Question
from kgmed.reward.cases import Case, CauseGraph, NamesIn, Split, patient_text, split

# --- A patient as a question: the findings that are there, denied and unsure; every disease of the set is an option, in
# the order of their names. Subject: `explicit` where the patient named a finding before being asked, which RLKGF's
# counts fit (130 of 142 test patients of MZ, 103 of 104 of DXY), else `implicit`.


def read_patients(*paths: Path, form: str, english: bool = False, language: str = "zh") -> Iterator[Item]:
    """The patients of the files of a set in one of `FORMS`, in English words of ours where that is asked for.

    Raises `SourceError`.
    """
    if english:
        return asked(FORMS[form]([], *paths), "en", english_of_dxy())
    return asked(FORMS[form]([], *paths), language, {})


def read_split(*paths: Path, form: str, name: str, language: str = "zh") -> Split:
    """The split of the same; train gives a validation part where the files have none. Raises `SourceError`."""
    dropped: list[str] = []
    parts = FORMS[form](dropped, *paths)
    chosen_on = parts.get("dev", ())
    return split(name, parts["train"], parts["test"], validation=chosen_on, language=language, dropped=dropped)


def asked(parts: Mapping[str, Sequence[Case]], language: str, said: Mapping[str, str]) -> Iterator[Item]:
    """The patients of every part, their names as they are `said` where that tells it. Id = part:place in it."""
    names = sorted({case.disease for of in parts.values() for case in of})
    letters = dict(zip(names, option_letters(len(names)), strict=True))
    choices = tuple((letter, said.get(name, name)) for name, letter in letters.items())
    for part, of in parts.items():
        for number, one in enumerate(of, start=1):
            question = Question(patient_text(one, language, said), choices, language, f"{part}:{number}")
            gold = Gold((letters[one.disease],), entities=(said.get(one.disease, one.disease),))
            yield Item(question, gold, part, "explicit" if one.explicit else "implicit")


def option_letters(count: int) -> tuple[str, ...]:
    """The letters of so many options; numbers after Z.

    >>> option_letters(28)[-3:]
    ('Z', '27', '28')
    """
    return tuple(ascii_uppercase[:count]) + tuple(str(i) for i in range(len(ascii_uppercase) + 1, count + 1))


def english_of_dxy() -> dict[str, str]:
    """The diseases and symptoms of DXY in plain English, by their Chinese names; ours."""
    text = resources.files(__package__).joinpath("dxy.en.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines())


def counted_graph(cases: Split, *, called: str = "", english: bool = False) -> str:
    """The name of the graph that the train cases count, built unless it stands there; no test case is in it.

    Without a name it is called after the cases. Raises `BadInput`.
    """
    if english and cases.name != "DXY":
        raise BadInput(f"{cases.name} has no English words here, DXY alone has; leave out --english")
    words, language = (english_of_dxy(), "en") if english else ({}, cases.language)
    graph = CauseGraph.counted(cases.train + cases.validation)
    name = called or f"{cases.name.casefold()}-cases{'-en' if english else ''}"
    library.build_source(name, graph.source(name, language=language, words=words))
    return name


# --- MDDial and its like: dialogues in English, {"Dialog 1": {"disease_tag": ..., "dialogs": [{"patient": ...,
# "doctor": ...}, ...]}}, or the bare list of turns.
# The patient's first turn names symptoms; each turn of the doctor asks for one, and the patient's next tells whether it
# is there; the doctor's last names the disease. The names are those of `disease_symptoms.txt` beside the files (disease
# -> symptoms), and of `disease_tag` and `symptoms_by_doctor_dialog` in them.


_DIALOGUES = 'write {"Dialog 1": {"disease_tag": "Asthma", "dialogs": [{"patient": "...", "doctor": "..."}]}}'
_NAMES_FILE = "disease_symptoms.txt"
_YES = re.compile(r"\W*(?:yes|i am|i do|i have)\b", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|not|never|well not)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of a patient and a doctor, the disease and the symptoms asked for where the file tells them."""

    number: int  # in its file
    turns: tuple[tuple[str, str], ...]
    disease: str
    asked: tuple[str, ...]


def dialogue_cases(files: Mapping[str, Path], dropped: list[str]) -> dict[str, list[Case]]:
    """The cases of each file of dialogues by part, as `sound` gives them; the names are all files'."""
    read = {part: sound(_rows(path), lambda row: _dialogue(*row), dropped) for part, path in files.items()}
    every = [dialogue for of in read.values() for dialogue in of]
    listed = _listed(next(iter(files.values())).with_name(_NAMES_FILE))
    diseases = _names({*listed, *(d.disease for d in every)})
    symptoms = _names({s for of in listed.values() for s in of} | {s for d in every for s in d.asked})
    return {
        part: sound(((files[part], part, d) for d in of), lambda row: _dialogue_case(*row, diseases, symptoms), dropped)
        for part, of in read.items()
    }


def _names(names: Iterable[str]) -> NamesIn:
    return NamesIn({name: () for name in sorted(names) if name.strip()})


def _listed(path: Path) -> dict[str, list[str]]:
    """Disease -> symptoms of the file beside the dialogues; {} without it."""
    if not path.exists():
        return {}
    found = whole_json(path, dict)
    if not all(isinstance(of, list) and all(isinstance(s, str) for s in of) for of in found.values()):
        raise SourceError(path, 0, "is no object from disease to symptoms", 'write {"Asthma": ["Cough"]}')
    return found


def _rows(path: Path) -> Iterator[tuple[Path, int, str, object]]:
    """The numbered rows of a file of dialogues."""
    return ((path, number, *row) for number, row in enumerate(whole_json(path, dict).items(), 1))


def _dialogue(path: Path, number: int, key: str, row: object) -> Dialogue:
    whole: dict[str, Any] = row if isinstance(row, dict) else {"dialogs": row}
    turns, disease = whole.get("dialogs"), whole.get("disease_tag", "")
    asked = whole.get("symptoms_by_doctor_dialog", {})
    named = isinstance(disease, str) and isinstance(asked, dict)
    spoken = isinstance(turns, list) and all(isinstance(t, dict) and isinstance(t.get("patient"), str) for t in turns)
    if not turns or not named or not spoken:
        raise SourceError(path, number, f"has no dialogue under {one_line(key)[:30]!r}", _DIALOGUES)
    said = tuple((t["patient"], t.get("doctor") if isinstance(t.get("doctor"), str) else "") for t in turns)
    return Dialogue(number, said, disease, tuple(s for s in asked if isinstance(s, str)))


def _dialogue_case(path: Path, part: str, told: Dialogue, diseases: NamesIn, symptoms: NamesIn) -> Case:
    """The case of a dialogue: what was named first, what was asked for and the reply to it."""
    named = {name for f in diseases(told.turns[-1][1]) for name in f.names}
    disease = told.disease or (named.pop() if len(named) == 1 else "")
    first = {name: True for f in symptoms(told.turns[0][0]) for name in sorted(f.names)}
    asked = {
        name: "1" if _YES.match(reply) else "0" if _NO.match(reply) else "2"
        for (_, doctor), (reply, _) in pairwise(told.turns)
        for f in symptoms(doctor)
        for name in sorted(f.names)
    }
    return case(path, told.number, f"{part}-{told.number}", disease, first, asked)


# --- The patients of each part of a set, by the form of its files; what is left out of them is told in `dropped`.


def _dxformer(dropped: list[str], train: Path, test: Path) -> dict[str, list[Case]]:
    return {part: dxformer_part(path, dropped) for part, path in (("train", train), ("test", test))}


def _ddxplus(dropped: list[str], train: Path, test: Path, conditions: Path, evidences: Path) -> dict[str, list[Case]]:
    """The subset has no train patients: those of the validation file are fitted on."""
    names = diseases(conditions), findings(evidences)
    return {part: ddxplus_part(path, *names, dropped) for part, path in (("train", train), ("test", test))}


FORMS: Mapping[str, Callable[..., dict[str, list[Case]]]] = {
    "goals": lambda dropped, path: goal_cases(path, dropped),
    "dxformer": _dxformer,
    "ddxplus": _ddxplus,
    "dialogues": lambda dropped, train, test: dialogue_cases({"train": train, "test": test}, dropped),
}
