"""Patients to diagnose: MZ, MZ-4, MZ-10, DXY and DDXPlus as RLKGF's data, and published cases as phenopackets."""

from collections.abc import Callable, Iterator
from pathlib import Path

from kgmed.evaluate.cases import ddxplus, dxformer, goals
from kgmed.evaluate.items import Described
from kgmed.evaluate.phenopackets import Packet, packets
from kgmed.reward.cases import Split

_USE = "kgmed train sft, rlkgf and rlaif"


def _parts(train: str, test: str, name: str) -> tuple[Callable[[Path], Split], tuple[str, ...]]:
    """A reader of DxFormer's two files, and the files."""
    return (lambda data: dxformer.read(data / train, data / test, name=name)), (train, test)


def _set(
    name: str, title: str, items: int, read: tuple[Callable[[Path], Split], tuple[str, ...]], **about: str
) -> Described[Split]:
    """A set of patients; `about` has licence, citation, source, revision, and the language where it is not Chinese."""
    reader, files = read
    language = about.pop("language", "zh")
    return Described(
        name=name, title=title, task="diagnosis", languages=(language,), files=files, items=items, read=reader,
        use=_USE, **about,
    )  # fmt: skip


_DXFORMER = "https://github.com/lemuria-wchen/DxFormer"
_PICKLE = "mz/acl2018-mds.p"
MZ = _set(
    "mz",
    "MZ (Muzhi), 4 diseases",
    710,
    (lambda data: goals.read(data / _PICKLE, name="MZ"), (_PICKLE,)),
    licence="none stated; released for research",
    citation="Wei et al. 2018, Task-oriented Dialogue System for Automatic Diagnosis, ACL",
    source="https://github.com/jymChen/Diaformer",
    revision="45491f3",
)
MZ_4, MZ_10 = (
    _set(
        f"mz-{number}",
        f"MZ-{number}, a later release of MZ",
        items,
        _parts(f"muzhi10_dxformer/mz{number}_train_set.json", f"muzhi10_dxformer/mz{number}_test_set.json",
               f"MZ-{number}"),
        licence="MIT (DxFormer)",
        citation="Chen et al. 2023, DxFormer, Bioinformatics",
        source=_DXFORMER,
        revision="0e56c10",
    )
    for number, items in ((4, 1733), (10, 4116))
)  # fmt: skip
DXY = _set(
    "dxy",
    "DXY (Dingxiangyuan), 5 diseases",
    527,
    _parts("dxy/dxformer_train_set.json", "dxy/dxformer_test_set.json", "DXY"),
    licence="MIT (DxFormer's copy); none stated for the original",
    citation="Xu et al. 2019, End-to-End Knowledge-Routed Relational Dialogue System, AAAI",
    source=_DXFORMER,
    revision="0e56c10",
)
_DDXPLUS = tuple(
    f"ddxplus/{file}"
    for file in (
        "subset_release_validate_patients.csv",
        "subset_release_test_patients.csv",
        "release_conditions.json",
        "release_evidences.json",
    )
)


def _ddxplus(data: Path) -> Split:
    """The subset without train patients: those of the validation file are fitted on."""
    train, test, conditions, evidences = (data / file for file in _DDXPLUS)
    return ddxplus.read(train, test, conditions=conditions, evidences=evidences, name="DDXPlus")


DDXPLUS = _set(
    "ddxplus",
    "DDXPlus, a subset of the validation and test patients, 19 diseases",
    13696,
    (_ddxplus, _DDXPLUS),
    licence="CC BY 4.0",
    citation="Fansi Tchango et al. 2022, DDXPlus, NeurIPS Datasets and Benchmarks",
    source="https://github.com/Tonmoregulus/DDXPLUS-DRO",
    revision="4bf0b80",
    language="en",
)
_PACKETS = "phenopackets_dev/phenopackets_dev.jsonl.xz"


def _packets(data: Path) -> Iterator[Packet]:
    return packets(data / _PACKETS)


PHENOPACKETS: Described[Iterator[Packet]] = Described(
    name="phenopackets",
    title="Published cases of rare diseases as GA4GH phenopackets, one eighth",
    task="diagnosis",
    languages=("en",),
    licence="BSD-3-Clause",
    citation="Danis et al. 2025, A corpus of GA4GH phenopackets, HGG Advances",
    source="https://github.com/monarch-initiative/phenopacket-store",
    revision="b694d17",
    files=(_PACKETS,),
    items=1342,
    read=_packets,
    use="kgmed diagnose --file",
)
