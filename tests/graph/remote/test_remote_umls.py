"""The UMLS client against a server on the loopback interface that answers as UTS does, and as it should not."""

import json
import logging
import pickle
import re
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, KgmedError, Unavailable, UnknownName
from kgmed.graph.library import is_remote
from kgmed.graph.remote.named import open_remote
from kgmed.graph.remote.umls import AT_LEAST, PAGE, VARIABLE, Umls
from kgmed.records import Role
from kgmed.servers import Limits, TokenBucket, host_of
from loopback import Asked, Loopback, Said, loopback

KEY = "1234abcd-secret-5678"
CONCEPT = "umls:C0009044"
ROOT = "https://uts-ws.nlm.nih.gov/rest/content/2026AA"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


def limits(**more: Any) -> Limits:
    plain: dict[str, Any] = {"timeout": 5.0, "retries": 3, "rate": 1000.0, "sleep": lambda _: None}
    return Limits(**plain | more)


def umls(server: Loopback, **more: Any) -> Umls:
    return Umls(server.url, environment={VARIABLE: KEY}, **({"limits": limits()} | more))


def page(records: list[Any] | dict[str, Any], number: int = 1, count: int = 1) -> dict[str, Any]:
    return {"pageSize": PAGE, "pageNumber": number, "pageCount": count, "result": records}


def record(target: str, name: str, rel: str = "RO", rela: str = "", **more: Any) -> dict[str, Any]:
    plain = {"ui": "R1", "suppressible": False, "obsolete": False, "rootSource": "MSH", "relatedIdName": name}
    return plain | {"relationLabel": rel, "additionalRelationLabel": rela, "relatedId": f"{ROOT}/{target}"} | more


def concept(name: str = "Asthma", **more: Any) -> dict[str, Any]:
    types = [{"name": "Disease", "uri": f"{ROOT}/semantic-network/TUI/T047"}]
    return page({"ui": "C0009044", "name": name, "semanticTypes": types, "definitions": "NONE"} | more)


def uts(*pages: Any) -> Any:
    """A server's answers: the concept, and those pages of relations."""

    def says(asked: Asked) -> Said:
        if not asked.path.endswith("/relations"):
            return Said(concept())
        body = pages[int(asked.query["pageNumber"]) - 1]
        return body if isinstance(body, Said) else Said(body)

    return says


def recorded(folder: Path, name: str) -> Any:
    """A recorded answer; where the documentation broke off with "..." that is left out."""
    path = next((folder / "uts_api_samples" / "json").glob(f"{name}.*"))
    return json.loads(re.sub(r",?\s*\.\.\.", "", path.read_text("utf-8")))


# as recorded


@pytest.mark.data
def test_the_recorded_search_gives_its_concepts(server: Loopback, data: Path) -> None:
    server.in_turn(Said(recorded(data, "search_0")))
    graph = umls(server)
    found = graph.lookup("fracture of carpal bone")
    assert found[0].entity.id == "umls:C0016644"
    assert (found[0].how, found[0].score) == ("normalised", 0.99)
    assert {m.entity.id for m in found} == {"umls:C0009044", "umls:C0016644", "umls:C0159765"}
    asked = server.asked[0]
    assert asked.path == "/search/current"
    assert asked.query["searchType"] == "exact"
    assert asked.query["apiKey"] == KEY


@pytest.mark.data
def test_the_recorded_concept_and_relations_give_triples_in_reading_order(server: Loopback, data: Path) -> None:
    relations = recorded(data, "relations_0") | {"pageCount": 1}
    server.says = lambda a: Said(relations if a.path.endswith("/relations") else recorded(data, "concept_0"))
    graph = umls(server)
    found = graph.neighbours(CONCEPT)
    first = found[0]
    assert (first.head.name, first.relation.name) == ("Closed fracture carpal bone", "inverse_isa")
    assert (first.tail.id, first.tail.name) == ("SNOMEDCT_US:10937761000119101", "Closed fracture of left wrist")
    assert first.relation.role is Role.IS_A
    assert first.subject == first.tail
    assert first.support[0].qualifiers == (("source", "SNOMEDCT_US"),)
    assert [t.relation.name for t in found] == [
        "inverse_isa",
        "inverse_isa",
        "member_of",
    ]  # one of two, none in Spanish
    assert graph.entity(CONCEPT).kind == "disease"


@pytest.mark.data
def test_the_recorded_definitions_describe_the_concept(server: Loopback, data: Path) -> None:
    server.says = lambda a: Said(recorded(data, "definitions_0") if a.path.endswith("/definitions") else positional)
    positional = recorded(data, "concept_0")
    positional["result"] |= {"ui": "C0155502", "definitions": "yes"}
    graph = umls(server)
    assert graph.entity("umls:C0155502").description.startswith("Idiopathic recurrent VERTIGO associated")
    told = graph.attributes("umls:C0155502")
    assert [(t.relation.name, t.tail.id, t.support[0].qualifiers) for t in told] == [
        ("definition", "", (("source", "MSH"),))
    ]


@pytest.mark.data
def test_a_source_s_own_code_can_be_asked_about_in_turn(server: Loopback, data: Path) -> None:
    relations = recorded(data, "source-asserted-identifiers__relations_0")
    code = recorded(data, "source-asserted-identifiers_0")
    server.says = lambda a: Said(relations if a.path.endswith("/relations") else code)
    graph = umls(server)
    found = graph.neighbours("LNC:44255-8")
    assert {t.relation.name for t in found} == {"has_answer"}
    assert found[0].tail.id == "LNC:LA6570-1"
    assert server.asked[-1].path == "/content/current/source/LNC/44255-8/relations"


# as written by hand


def test_both_kinds_of_target_become_entities(server: Loopback) -> None:
    to = [record("CUI/C0024115", "Lung", rela="has_finding_site"), record("AUI/A8345234", "BPPV", "SY")]
    server.says = uts(page([*to, record("source/MDR/1%2F2", "x", "CHD")]))
    found = umls(server).neighbours(CONCEPT)
    assert [(t.tail.id, t.relation.name, t.relation.role) for t in found] == [
        ("umls:C0024115", "has_finding_site", Role.LOCATION),
        ("umls:A8345234", "SY", Role.SAME_AS),
        ("MDR:1/2", "CHD", Role.IS_A),
    ]


def test_what_is_suppressed_foreign_or_says_nothing_is_left_out_and_equal_triples_come_once(server: Loopback) -> None:
    good = record("CUI/C0000002", "a", additionalRelationLabel=None)
    bad = [
        record("CUI/C0000003", "a", suppressible=True),
        record("CUI/C0000004", "a", obsolete="true"),
        record("CUI/C0000005", "a", rootSource="MDRSPA"),
        record("CUI/C0000006", "a", "XR"),
        record("CUI/C0000007", "a", ""),
        record("CUI/C0000008", "", rela="isa"),
        record("CUI/C0009044", "self"),
        record("nowhere", "b"),
    ]
    server.says = uts(page([good, *bad, good]))
    assert [(t.tail.id, t.relation.name) for t in umls(server).neighbours(CONCEPT)] == [("umls:C0000002", "RO")]


def test_pages_are_fetched_as_far_as_the_limit_needs(server: Loopback) -> None:
    records = [
        [record(f"CUI/C{p}00000{i}", f"n{p}{i}", rela="isa" if i else "may_treat") for i in range(3)] for p in range(3)
    ]
    server.says = uts(*(page(r, i + 1, 3) for i, r in enumerate(records)))
    graph = umls(server)
    assert [t.tail.name for t in graph.neighbours(CONCEPT)] == [f"n{p}{i}" for p in range(3) for i in range(3)]
    numbers = [a.query["pageNumber"] for a in server.asked if a.path.endswith("/relations")]
    assert numbers == ["1", "2", "3"]
    server.asked.clear()
    assert len(graph.neighbours(CONCEPT, limit=4)) == 4
    assert len(server.asked) == 2
    assert [t.tail.name for t in graph.neighbours(CONCEPT, roles=[Role.TREATS])] == ["n00", "n10", "n20"]


def test_vocabularies_are_asked_for_and_the_release_is_in_the_path(server: Loopback) -> None:
    server.says = uts(page([]))
    graph = umls(server, sources=["MSH", "HPO"], release="2026AA")
    assert graph.neighbours(CONCEPT) == []
    assert server.asked[-1].query["sabs"] == "MSH,HPO"
    assert server.asked[-1].path == "/content/2026AA/CUI/C0009044/relations"
    assert graph.label == f"umls 2026AA at {graph.server.host} ENG MSH HPO"


@pytest.mark.parametrize(
    "nothing",
    [
        Said({"result": {"results": []}}),
        Said({"result": {"results": [{"ui": "NONE", "name": "NO RESULTS"}]}}),
        Said({"result": "NONE"}),
        Said({"error": "not found"}, 404),
    ],
)
def test_a_name_that_is_not_there_gives_nothing_after_the_normal_form_was_tried(
    server: Loopback, nothing: Said
) -> None:
    server.in_turn(nothing)
    assert umls(server).lookup("no such thing") == []
    assert [a.query["searchType"] for a in server.asked] == ["exact", "normalizedString", "words", "approximate"]
    assert umls(server).lookup("  ") == []


def by_search(**found: list[str]) -> Any:
    """A server that finds the concepts of these names by a type of search, and nothing by another."""

    def says(asked: Asked) -> Said:
        names = found.get(asked.query["searchType"], [])
        rows = [{"ui": f"C{i:07}", "name": name} for i, name in enumerate(names, start=1)]
        return Said({"result": {"results": rows or [{"ui": "NONE", "name": "NO RESULTS"}]}})

    return says


def test_a_name_that_no_concept_bears_is_found_by_its_words_and_then_by_its_letters_where_it_is_like(
    server: Loopback,
) -> None:
    server.says = by_search(words=["Gout", "Gouty arthritis, acute", "Chronic gouty arthritis"])
    found = umls(server).lookup("acute gouty arthritis")
    assert [(m.entity.name, m.how, m.score) for m in found] == [("Gouty arthritis, acute", "wording", 0.92)]
    server.says = by_search(words=["Diabetes"], approximate=["Hyperkalemia", "Hypokalemia"])
    found = umls(server).lookup("hypokalaemia")
    assert [(m.entity.name, m.how) for m in found] == [("Hypokalemia", "fuzzy")]  # the other contradicts it
    assert 0.85 * 0.92 <= found[0].score < 0.92
    server.says = by_search(words=["Type 2 diabetes"], approximate=["Diabetes mellitus"])
    assert umls(server).lookup("type 1 diabetes") == []


def test_how_like_a_name_must_be_is_a_setting_that_the_label_tells(server: Loopback) -> None:
    server.says = by_search(words=["Gout", "Gouty arthritis"])
    assert umls(server).lookup("big toe gout attack") == []
    first = umls(server, at_least=0.0)  # as KG-Rank's code takes it
    assert [m.entity.name for m in first.lookup("big toe gout attack")] == ["Gout"]
    assert first.label.endswith("ENG likeness 0.0")
    assert umls(server).label.endswith("ENG")


def test_how_like_a_name_must_be_is_part_of_the_graphs_name(tmp_path: Path) -> None:
    key = {VARIABLE: "a" * 36}
    given = {"umls-rest": AT_LEAST, "umls-rest?at_least=0": 0.0, "umls-rest+https://x.org?at_least=0.7": 0.7}
    for name, told in given.items():
        assert is_remote(name)
        label = open_remote(name, tmp_path, key).label
        assert (f"likeness {told}" in label, "x.org" in label) == (told != AT_LEAST, "x.org" in name)
    for name in ("umls-rest?at_least=2", "umls-rest?at_least=x", "umls-rest?near=1"):
        with pytest.raises(BadInput, match=r"is not of the form umls-rest\?at_least=0\.7"):
            open_remote(name, tmp_path, key)


@pytest.mark.data
def test_the_recorded_search_by_words_links_no_other_fracture(server: Loopback, data: Path) -> None:
    nothing = Said({"result": {"results": []}})
    server.in_turn(nothing, nothing, Said(recorded(data, "search_0")))
    found = umls(server).lookup("fractured carpal bones")
    assert [m.entity.name for m in found] == ["Fracture of carpal bone"]


def test_no_type_of_search_puts_the_key_into_a_message_or_a_log(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    good = by_search()
    server.says = lambda asked: Said("busy", 500) if asked.query["searchType"] == "approximate" else good(asked)
    with pytest.raises(Unavailable) as caught:
        umls(server).lookup("no such thing")
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert KEY not in told
    assert "apiKey" not in told


def test_empty_pages_and_no_relations_are_no_error(server: Loopback) -> None:
    server.says = uts(page([], 1, 2), page([record("CUI/C0000002", "a")], 2, 2))
    assert len(umls(server).neighbours(CONCEPT)) == 1
    server.says = uts(Said({}, 404))
    assert umls(server).neighbours(CONCEPT) == []


# failures


def test_a_page_that_disappears_is_an_error_and_no_half_answer(server: Loopback) -> None:
    server.says = uts(page([record("CUI/C0000002", "a")], 1, 3), Said({}, 404))
    with pytest.raises(Unavailable, match="sent 1 of 3 pages and then no more"):
        umls(server).neighbours(CONCEPT)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_server_that_recovers_is_asked_again(server: Loopback, status: int) -> None:
    server.in_turn(Said("busy", status), Said("<html>", status), Said(concept()))
    assert umls(server).entity(CONCEPT).name == "Asthma"
    assert len(server.asked) == 3


def test_pauses_double_and_the_server_s_own_wish_is_obeyed(server: Loopback) -> None:
    slept: list[float] = []
    server.in_turn(
        Said("", 500), Said("", 429, {"Retry-After": "7"}), Said("", 429, {"Retry-After": "99999"}), Said(concept())
    )
    umls(server, limits=limits(sleep=slept.append, pause=0.5)).entity(CONCEPT)
    assert [s for s in slept if s >= 0.5] == [0.5, 7.0, 60.0]
    slept.clear()
    server.in_turn(Said("", 500))
    with pytest.raises(Unavailable):
        umls(server, limits=limits(sleep=slept.append, pause=0.5)).entity(CONCEPT)
    assert [s for s in slept if s >= 0.5] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("said", "says", "tries"),
    [
        (Said({}, 401), r"refuses the request \(401\); check the key in UMLS_API_KEY", 1),
        (Said({}, 403), "refuses the request", 1),
        (Said("<html>", 404), "sent the error 404 and no reason; check the base URL", 1),
        (Said("", 404, short=9), "sent the error 404 and no reason", 1),
        (Said({}, 400), "answers with the error 400", 1),
        (Said({}, 429), r"refuses more requests for now \(429\)", 4),
        (Said({}, 500), "answers with the error 500", 4),
        (Said("<html>Sorry</html>"), "sent no JSON object", 1),
        (Said("[1]"), "sent no JSON object", 1),
        (Said(b"\xff\xfe{"), "sent no JSON object", 1),
        (Said("[" * 100_000), "sent no JSON object", 1),
        (Said({"result": 7}), "no entity of UMLS", 1),
        (Said('{"result": {', short=50), "broke off in the middle of its answer", 4),
        (Said(concept(), 302, {"Location": "http://example.org/?apiKey=x"}), r"leads to another place \(302\)", 1),
        (Said(concept(), 302, {"Location": "file:///etc/passwd"}), "leads", 1),
        (Said(concept(), 302, {"Location": "ftp://127.0.0.1/x"}), r"leads to another place \(302\)", 1),
        (Said(concept(), 302, {"Location": "/again"}), "leads to another place", 1),
    ],
)
def test_every_failure_is_one_typed_line_without_the_key(server: Loopback, said: Said, says: str, tries: int) -> None:
    server.in_turn(said)
    with pytest.raises(KgmedError, match=says) as caught:
        umls(server).entity(CONCEPT)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
    assert KEY not in told
    assert "apiKey" not in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "\n" not in str(caught.value)
    assert len(server.asked) == tries or said.headers.get("Location") == "/again"
    assert len(server.asked) <= 5


def test_a_server_that_does_not_answer_in_time_is_unavailable(server: Loopback) -> None:
    server.in_turn(Said(concept(), seconds=2.0))
    with pytest.raises(Unavailable, match="did not answer in time"):
        umls(server, limits=limits(timeout=0.05, retries=1)).entity(CONCEPT)
    assert len(server.asked) == 2


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with loopback() as server:
        graph = umls(server)
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        graph.entity(CONCEPT)


@pytest.mark.parametrize(
    "body",
    [
        {"result": [1, 2]},
        {"result": {"a": 1}},
        {"result": "many"},
        {"result": [], "pageCount": "ten"},
        {"result": [], "pageCount": 10**9},
        {"result": [], "pageCount": -1},
    ],
)
def test_relations_of_another_shape_are_an_error(server: Loopback, body: Any) -> None:
    server.says = uts(body)
    with pytest.raises(Unavailable, match=r"sent (an answer of another shape|the page count)"):
        umls(server).neighbours(CONCEPT)


def test_a_redirect_on_the_same_host_is_followed(server: Loopback) -> None:
    server.says = lambda a: Said(concept()) if a.path == "/new" else Said("", 302, {"Location": f"{server.url}/new"})
    assert umls(server).entity(CONCEPT).name == "Asthma"


# the key and the names of things


def test_the_key_is_in_no_repr_no_log_and_no_label(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    graph = umls(server)
    server.says = uts(page([record("CUI/C0000002", "a")]))
    with caplog.at_level(logging.DEBUG):
        found = graph.neighbours(CONCEPT)
    assert found
    assert KEY not in " ".join([repr(graph), repr(graph.server), graph.label, str(found), caplog.text])


@pytest.mark.parametrize("key", ["", "   "])
def test_without_a_key_the_graph_says_which_variable_to_set(key: str) -> None:
    with pytest.raises(Unavailable, match="set the environment variable UMLS_API_KEY"):
        Umls(environment={VARIABLE: key})


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ключ"])
def test_a_key_that_cannot_be_one_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(BadInput) as caught:
        Umls(environment={VARIABLE: key})
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["ftp://a.org", "file:///etc/passwd", "a.org", "http://u:p@a.org", "http://[", "http://a?x=1"]
)
def test_only_addresses_of_the_web_are_taken(url: str) -> None:
    with pytest.raises(BadInput, match="must look like"):
        host_of(url, bare=True)


@pytest.mark.parametrize("entity", ["C0009044", "umls:", "umls:../search", "umls:C1/x", ":C1", "", "umls:D0000001"])
def test_what_is_no_id_is_refused_before_anything_is_asked(server: Loopback, entity: str) -> None:
    with pytest.raises(UnknownName):
        umls(server).neighbours(entity)
    assert server.asked == []


def test_a_code_cannot_leave_its_place_in_the_path(server: Loopback) -> None:
    server.in_turn(Said({}, 404))
    with pytest.raises(UnknownName):
        umls(server).entity("MSH:../../search/x?y=1")
    assert server.asked[0].path == "/content/current/source/MSH/..%2F..%2Fsearch%2Fx%3Fy%3D1"


def test_unknown_languages_and_releases_are_refused() -> None:
    with pytest.raises(BadInput, match="no language 'en'"):
        Umls(environment={VARIABLE: KEY}, language="en")
    with pytest.raises(BadInput, match="is no release of UMLS"):
        Umls(environment={VARIABLE: KEY}, release="../x")


# the pace


def test_a_bucket_lets_no_more_through_than_its_rate() -> None:
    now = [0.0]
    times = []
    bucket = TokenBucket(20.0, burst=3, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
    for _ in range(63):
        bucket.wait()
        times.append(now[0])
    assert times[:3] == [0.0] * 3
    assert times[-1] == pytest.approx(3.0)
    assert max(sum(t <= u < t + 1 - 1e-9 for u in times) for t in times) <= 23


def test_threads_share_the_pace_of_a_bucket() -> None:
    slept: list[float] = []
    bucket = TokenBucket(10.0, clock=lambda: 0.0, sleep=slept.append)
    threads = [threading.Thread(target=bucket.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(round(s, 6) for s in slept) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_requests_keep_their_distance(server: Loopback) -> None:
    server.in_turn(Said(concept()))
    graph = Umls(server.url, environment={VARIABLE: KEY}, limits=Limits(rate=50.0))
    for _ in range(6):
        graph.entity(CONCEPT)
    assert server.asked[-1].when - server.asked[0].when > 0.08
    assert Limits().rate == 20.0


def test_a_bucket_without_a_rate_is_refused() -> None:
    with pytest.raises(BadInput, match="above 0"):
        TokenBucket(0.0)


def test_a_graph_does_not_pickle_its_key(server: Loopback) -> None:
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(umls(server))
