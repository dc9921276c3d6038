"""XL-BEL: mentions in Wikipedia of several languages, each with its UMLS concept."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, text
from kgmed.evaluate.items import Described


def read(data: Path, *, file: str) -> Iterator[tuple[str, str]]:
    """Mention and concept (UMLS:C0008301) of each line "CUI||mention"; raises `SourceError`."""
    for number, line in enumerate(text(data / file).splitlines(), start=1):
        concept, mark, mention = line.partition("||")
        if not (concept.strip() and mark and mention.strip()):
            raise SourceError(data / file, number, "is not CUI||mention", FETCH)
        yield mention.strip(), f"UMLS:{concept.strip()}"


def _set(language: str) -> Described[Iterator[tuple[str, str]]]:
    file = f"xlbel/v0.0_{language}.txt"
    return Described(
        name=f"xlbel-{language}",
        title=f"XL-BEL, {language}",
        task="linking",
        languages=(language,),
        licence="MIT",
        citation="Liu et al. 2021, Learning Domain-Specialised Representations for Cross-Lingual Biomedical Entity "
        "Linking, ACL",
        source="https://github.com/cambridgeltl/sapbert",
        revision="1a528f6",
        files=(file,),
        items=1000,
        read=partial(read, file=file),
        use="kgmed eval linking",
    )


EN, JA, ZH = map(_set, ("en", "ja", "zh"))
