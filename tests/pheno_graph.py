"""A small graph of diseases, findings, frequencies and publications, for the tests of phenotypes."""

from collections.abc import Sequence
from pathlib import Path

from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.formats.obo import KINDS, RELATIONS
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Support

Annotation = tuple[str, str, str, str]  # disease, finding, frequency, references separated by spaces


def store(folder: Path, rows: Sequence[Row]) -> Store:
    """A store of those rows with the relations of HPO."""
    kinds, relations = KINDS, {relation.name: relation for relation in RELATIONS}
    build(Source("hpo", lambda: rows, release="1", language="en", relations=relations, kinds=kinds), folder)
    return open_store(folder)


def annotated(
    folder: Path, is_a: Sequence[tuple[str, str]], annotations: Sequence[Annotation], more: Sequence[Row] = ()
) -> Store:
    """A store of annotations; a frequency "NOT" makes an exclusion."""
    rows: list[Row] = [EdgeRow(narrow, "is_a", broad) for narrow, broad in is_a]
    rows += [NodeRow(disease, disease.lower(), "disease") for disease in dict.fromkeys(a[0] for a in annotations)]
    for disease, finding, frequency, references in annotations:
        qualifiers = (("frequency", frequency),) if frequency and frequency != "NOT" else ()
        support = tuple(Support(reference, qualifiers) for reference in references.split())
        relation = "excludes" if frequency == "NOT" else "has_phenotype"
        rows.append(EdgeRow(disease, relation, finding, 1.0, support))
    return store(folder, [*rows, *more])
