"""The fixed queries that DBpedia and Wikidata are asked with; %marks% are bound by `sparql.bind`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgmed.types import Relation, Role


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one knowledge base is asked. Every query names ?item or ?head, ?relation and ?tail, and their labels."""

    name: str
    endpoint: str
    namespace: str  # of its entities
    lookup: str
    entity: str
    neighbours: str
    attributes: str
    kinds: Mapping[str, str] = field(default_factory=dict)  # class -> kind
    relations: Mapping[str, Relation] = field(default_factory=dict)  # by label; the others are inferred


_PREFIXES = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
"""
_DBO = _PREFIXES + "PREFIX dbo: <http://dbpedia.org/ontology/>\n"
DBPEDIA = Dialect(
    name="dbpedia",
    endpoint="https://dbpedia.org/sparql",
    namespace="http://dbpedia.org/resource/",
    lookup=_DBO
    + """SELECT DISTINCT ?item ?label ?name WHERE {
  VALUES ?name { %name% %capital% }
  { ?item rdfs:label ?name . FILTER NOT EXISTS { ?item dbo:wikiPageRedirects ?to } }
  UNION { ?from rdfs:label ?name ; dbo:wikiPageRedirects ?item }
  ?item rdfs:label ?label . FILTER(LANG(?label) = %language%)
  FILTER(STRSTARTS(STR(?item), %namespace%) && !STRSTARTS(STR(?item), %category%))
} ORDER BY ?item LIMIT %limit%""",
    entity=_DBO
    + """SELECT ?label ?description ?type WHERE {
  %item% rdfs:label ?label . FILTER(LANG(?label) = %language%)
  OPTIONAL { %item% rdfs:comment ?description . FILTER(LANG(?description) = %language%) }
  OPTIONAL { %item% a ?type . FILTER(STRSTARTS(STR(?type), "http://dbpedia.org/ontology/")) }
} LIMIT %limit%""",
    neighbours=_DBO
    + """SELECT DISTINCT ?head ?headLabel ?relation ?relationLabel ?tail ?tailLabel WHERE {
  { BIND(%item% AS ?head) ?head ?relation ?tail } UNION { BIND(%item% AS ?tail) ?head ?relation ?tail }
  FILTER(STRSTARTS(STR(?relation), "http://dbpedia.org/ontology/") && !CONTAINS(STR(?relation), "/wikiPage"))
  ?head rdfs:label ?headLabel . FILTER(LANG(?headLabel) = %language%)
  ?tail rdfs:label ?tailLabel . FILTER(LANG(?tailLabel) = %language%)
  ?relation rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = "en")
} ORDER BY ?relation ?head ?tail LIMIT %limit%""",
    attributes=_DBO
    + """SELECT DISTINCT ?relation ?relationLabel ?value WHERE {
  %item% ?relation ?value . FILTER(ISLITERAL(?value) && LANG(?value) IN ("", %language%))
  FILTER(STRSTARTS(STR(?relation), "http://dbpedia.org/ontology/") && !CONTAINS(STR(?relation), "/wikiPage"))
  ?relation rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = "en")
} ORDER BY ?relation ?value LIMIT %limit%""",
    kinds={
        "http://dbpedia.org/ontology/Disease": "disease",
        "http://dbpedia.org/ontology/Drug": "drug",
        "http://dbpedia.org/ontology/AnatomicalStructure": "body part",
        "http://dbpedia.org/ontology/Gene": "gene",
        "http://dbpedia.org/ontology/Protein": "protein",
        "http://dbpedia.org/ontology/Person": "person",
        "http://dbpedia.org/ontology/Place": "place",
    },
)
_WIKIDATA_RELATIONS = (
    Relation("drug or therapy used for treatment", Role.TREATS, reverse=True),
    Relation("medical condition treated", Role.TREATS),
    Relation("symptoms and signs", Role.FINDING),
    Relation("has cause", Role.CAUSE),
    Relation("has effect", Role.CAUSE, reverse=True),
    Relation("subclass of", Role.IS_A),
    Relation("instance of", Role.IS_A),
    Relation("significant drug interaction", Role.INTERACTS),
    Relation("genetic association", Role.GENE),
    Relation("different from"),
)
WIKIDATA = Dialect(
    name="wikidata",
    endpoint="https://query.wikidata.org/sparql",
    namespace="http://www.wikidata.org/entity/",
    lookup=_PREFIXES
    + """SELECT DISTINCT ?item ?label ?name WHERE {
  VALUES ?name { %name% %small% %capital% }
  { ?item rdfs:label ?name } UNION { ?item skos:altLabel ?name }
  ?item rdfs:label ?label . FILTER(LANG(?label) = %language%)
  FILTER(STRSTARTS(STR(?item), CONCAT(%namespace%, "Q")))
} ORDER BY ?item LIMIT %limit%""",
    entity=_PREFIXES
    + """PREFIX schema: <http://schema.org/>
SELECT ?label ?description ?type WHERE {
  %item% rdfs:label ?label . FILTER(LANG(?label) = %language%)
  OPTIONAL { %item% schema:description ?description . FILTER(LANG(?description) = %language%) }
  OPTIONAL { %item% <http://www.wikidata.org/prop/direct/P31> ?type }
} LIMIT %limit%""",
    neighbours=_PREFIXES
    + """PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?head ?headLabel ?relation ?relationLabel ?tail ?tailLabel WHERE {
  { BIND(%item% AS ?head) ?head ?relation ?tail } UNION { BIND(%item% AS ?tail) ?head ?relation ?tail }
  ?property wikibase:directClaim ?relation ; rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = %language%)
  ?head rdfs:label ?headLabel . FILTER(LANG(?headLabel) = %language%)
  ?tail rdfs:label ?tailLabel . FILTER(LANG(?tailLabel) = %language%)
} ORDER BY ?relation ?head ?tail LIMIT %limit%""",
    attributes=_PREFIXES
    + """PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?relation ?relationLabel ?value WHERE {
  %item% ?relation ?value . FILTER(ISLITERAL(?value) && LANG(?value) IN ("", %language%))
  ?property wikibase:directClaim ?relation ; wikibase:propertyType ?kind ; rdfs:label ?relationLabel .
  FILTER(?kind != wikibase:ExternalId && LANG(?relationLabel) = %language%)
} ORDER BY ?relation ?value LIMIT %limit%""",
    kinds={
        "http://www.wikidata.org/entity/Q12136": "disease",
        "http://www.wikidata.org/entity/Q112193867": "disease",
        "http://www.wikidata.org/entity/Q169872": "symptom",
        "http://www.wikidata.org/entity/Q12140": "drug",
        "http://www.wikidata.org/entity/Q7187": "gene",
        "http://www.wikidata.org/entity/Q8054": "protein",
        "http://www.wikidata.org/entity/Q5": "person",
    },
    relations={relation.name: relation for relation in _WIKIDATA_RELATIONS},
)
