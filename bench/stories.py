"""Is the textbook diagnosis of a patient's story among the first five that are proposed? Stories of our own.

    python bench/stories.py [GRAPH ...] [--part dev|held|all]

Of each story in `stories.jsonl` what the graph links is ranked by `Diagnosis`; it is a hit if a name of one of the
first five diseases holds one of the names accepted. Of the 90 stories 60 are for development;
the 30 `held` were written with them, before the table of lay words, and asked last. Without GRAPH the four packaged
graphs are asked as one; of several that are given, each story is asked of the first of its language.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from _figures import keep

from kgmed.diagnose.retrieve import Diagnosis
from kgmed.graph import library
from kgmed.language.text import has_cjk
from kgmed.records import Query, Question
from kgmed.toolkit import Toolkit

STORIES = Path(__file__).with_suffix(".jsonl")
GRAPHS = "hpo,cmekg,icd10,who-eml"
FIRST = 5


def main() -> None:
    """Ask, and print a line a story and the hits."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("graphs", nargs="*", default=[GRAPHS], help="installed graphs")
    options.add_argument("--part", choices=("dev", "held", "all"), default="dev")
    chosen = options.parse_args()
    part = chosen.part
    kits = [Toolkit(library.open_graph(name)) for name in chosen.graphs]
    stories = [json.loads(line) for line in STORIES.read_text(encoding="utf-8").splitlines()]
    stories = [story for story in stories if part in (story["part"], "all")]
    hits = {language: [_hit(_kit(kits, language), s) for s in mine] for language, mine in _by_language(stories).items()}
    for language, found in hits.items():
        print(f"{language}: {sum(found)} of {len(found)} among the first {FIRST}")
    every = [hit for found in hits.values() for hit in found]
    name = part if chosen.graphs == [GRAPHS] else " ".join([*chosen.graphs, part])
    keep("stories", {name: sum(every), f"{name} n": len(every)})
    keep("stories", {f"{name} {language}": sum(found) for language, found in hits.items()})


def _by_language(stories: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    return {
        language: [story for story in stories if has_cjk(story["story"]) == (language == "zh")]
        for language in ("en", "zh")
    }


def _kit(kits: list[Toolkit], language: str) -> Toolkit:
    return next((kit for kit in kits if kit.graph.language == language), kits[0])


def _hit(kit: Toolkit, story: dict[str, str]) -> bool:
    """Whether the right disease is among the first; prints them."""
    question = Question(story["story"])
    mentions, links = kit.understood(question)
    query = Query(question)
    query = replace(query, frame=kit.understand(query, mentions, links))
    found = Diagnosis(kit.graph, keep=FIRST)(query, links)
    names = [" | ".join([e.about[0].name, *_others(kit, e.about[0].id)]) for e in found]
    hit = any(accepted in name.casefold() for accepted in story["accept"] for name in names)
    understood = ", ".join(dict.fromkeys(link.entity.name for link in links))
    print(f"{'+' if hit else '-'} {story['id']:16} [{understood}] {'; '.join(e.about[0].name for e in found)}")
    return hit


def _others(kit: Toolkit, entity: str) -> list[str]:
    """The other names of an entity, in a graph of kgmed's own store."""
    graph: Any = kit.graph
    return [text for text, _ in graph.aliases(graph.number(entity))]


if __name__ == "__main__":
    main()
