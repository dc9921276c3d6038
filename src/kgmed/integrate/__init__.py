"""kgmed in other frameworks: its evidence as their documents. A module a framework; each is loaded where it is used."""

from typing import Any

from kgmed.records import Evidence, Run
from kgmed.show_run import address


def shown_evidence(run: Run, keep: int) -> list[tuple[int, Evidence]]:
    """The evidence that a reader would be shown, with its mark, at most `keep`; what was not found is no document."""
    shown = enumerate(run.context.cited or run.evidence, start=1)
    return [(mark, evidence) for mark, evidence in shown if evidence.triples or evidence.kind == "passage"][:keep]


def metadata(run: Run, number: int, evidence: Evidence) -> dict[str, Any]:
    """What a document says of itself, as plain data: graph, run, sources, addresses, and the triples behind it."""
    references = dict.fromkeys(r for triple in evidence.triples for r in triple.references)
    return {
        "graph": run.graph,
        "run": run.id,
        "mark": number,
        "kind": evidence.kind,
        "score": evidence.score,
        "sources": list(evidence.sources),
        "urls": [url for reference in references if (url := address(reference))],
        "entities": [entity.id for entity in evidence.about],
        "triples": [[t.head.name, t.relation.name, t.tail.name] for t in evidence.triples],
    }
