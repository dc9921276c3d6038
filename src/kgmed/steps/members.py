"""What stands under a class that a question names: diseases of a mode of inheritance, medicines of a list."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.pair import is_yes_no
from kgmed.language.question import asking_part, compares, roles_asked, types_asked
from kgmed.language.text import has_cjk, lazily
from kgmed.language.types import CULPRIT
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.classes import asks_who_may
from kgmed.steps.family import MEDICINES, Family
from kgmed.steps.naming import CONDITIONS
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, named
from kgmed.steps.retrieve import told
from kgmed.steps.things import are_two

_MODE = "inheritance"  # the kind of its entries
_SECTION = "drug class"  # of a list of medicines
_LISTED, _PIECES = 12, 3  # names in a piece, as of treatments


@dataclass(frozen=True)
class ClassOfMedicines:
    """A class of medicines as a question may call it.

    Attributes:
        asked: A pattern of how it is called.
        classes: A pattern of the names that graphs have for it and for the classes within it.
        members: A pattern of the names of its members; "" where these have nothing in common.
    """

    asked: str
    classes: str
    members: str = ""
    finds: re.Pattern[str] = field(init=False, compare=False, repr=False)
    holds: re.Pattern[str] = field(init=False, compare=False, repr=False)
    names: re.Pattern[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """The patterns, compiled when they are first used."""
        object.__setattr__(self, "finds", lazily(rf"\b(?:{self.asked})\b", re.IGNORECASE))
        object.__setattr__(self, "holds", lazily(self.classes, re.IGNORECASE))
        object.__setattr__(self, "names", lazily(self.members or r"(?!)", re.IGNORECASE))


CLASSES = tuple(
    ClassOfMedicines(*row)
    for row in (
        (
            r"antibiotics?|antibacterials?|antimicrobials?",
            r"Antibacterials|Beta Lactam|抗生素|抗菌|头[孢胞]|青霉素|碳青霉烯"
            r"|大环内酯|喹诺酮|氨基糖苷|四环素|磺胺类(?!，尿素)|糖肽|酰胺醇|氯霉素类|硝基咪唑",
            r"cillin|cef|mycin|floxacin|cycline|penem|nidazole|头孢|西林|霉素|沙星|环素|培南|硝唑",
        ),
        (
            r"anti-?hypertensives?|blood pressure (?:medicines?|medications?|tablets?|pills?|drugs?)",
            r"Antihypertensive|降压|抗高血压|钙拮抗|血管紧张素|β—?受体阻滞",
            r"(?<!cili)pril$|sartan|dipine|olol$|普利|沙坦|地平|洛尔",
        ),
        (
            r"diuretics?|water (?:tablets?|pills?)",
            r"Diuretics|利尿",
            r"thiazide|semide|spironolactone|amiloride|噻嗪|塞米|螺内酯",
        ),
        (r"anti-?fungals?", r"antifungal|抗真菌|杀真菌", r"conazole|fungin|terbinafine|康唑|芬净"),
        (r"anti-?virals?", r"Antiviral|Other antivirals|Antiherpes|抗病毒", r"[ck]lovir|amivir|洛韦|米韦"),
        (r"anti-?retrovirals?", r"retroviral|transcriptase|Protease Inhibitors|HIV"),
        (
            r"anti-?epileptics?|anti-?convulsants?|aeds?|anti-?seizure (?:drugs?|medicines?|medications?)",
            r"antiepileptics|抗癫痫|抗惊厥",
        ),
        (r"anti-?depressants?", r"depressive disorders|抗抑郁", r"oxetine|triptyline|西汀"),
        (r"anti-?psychotics?|neuroleptics?", r"psychotic disorders|抗精神病"),
        (r"anti-?malarials?", r"Antimalarial|抗疟"),
        (r"anti-?emetics?", r"Antiemetic|止吐"),
        (r"anti-?histamines?", r"Antiallergics|抗组胺|H1受体"),
        (r"laxatives?", r"Laxatives|泻药"),
        (
            r"(?:cortico)?steroids?",
            r"Adrenal hormones|皮质激素",
            r"(?:pred)?nisolone|predniso|metasone|cortisone|松龙|米松|泼尼松",
        ),
        (
            r"anti-?coagulants?|blood thinners?",
            r"affecting coagulation|Antithrombotic|抗凝|因子抑制",
            r"parin$|xaban|肝素|沙班",
        ),
        (r"pain ?killers?|analgesics?", r"Opioid analgesics|Non-opioids|镇痛|止痛|非甾体", r"profen|洛芬"),
        (r"nsaids?", r"non-steroidal|非甾体|昔康", r"profen|diclofenac|naproxen|oxicam|洛芬|昔康|昔布"),
        (r"dmards?", r"DMARD|治疗类风湿"),
        (r"immunosuppressants?", r"Immunosuppressive|免疫抑制"),
        (
            r"bronchodilators?|inhalers?",
            r"chronic obstructive|平喘|β2肾上腺素能受体激动",
            r"buterol|terol$|tropium|沙丁胺醇|特罗",
        ),
        (r"antidiabetics?|hypoglyc(?:a)?emics?", r"used for diabetes|糖尿病|胰岛素|双胍"),
        (r"tb drugs?|anti-?tuberculosis (?:drugs?|medicines?)|anti-?tuberculars?", r"Antituberculosis|结核"),
        (r"vaccines?", r"^Vaccines$"),
        (r"contraceptives?", r"contraceptives$"),
        (r"opioids?", r"Opioid analgesics|阿片", r"morphine|codeine|fentanyl|tramadol|吗啡|可待因|芬太尼|曲马多"),
    )
)
ANTIDOTES = ClassOfMedicines(r"antidotes?", r"Antidotes and other substances")
_WHICH_ANTIDOTE = "Which antidote is for which poison the graph does not say; those of the WHO list"


@dataclass(frozen=True)
class Members:
    """The members of a mode of inheritance, of a section of a list, or of a class among what treats an illness."""

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces; [] where no such thing is asked."""
        if has_cjk(query.text) or is_yes_no(query.text) or compares(query.text) or CULPRIT in types_asked(query.text):
            return []
        return self._of_modes(query, links) or self._of_a_list(query) or self._for_an_illness(query, links)

    def _of_modes(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The diseases of a mode of inheritance: "Which diseases have mitochondrial inheritance?"."""
        modes = [x for x in links if x.entity.kind == _MODE and not x.mention.negated]
        others = [x for x in links if all(are_two(x, mode) for mode in modes)]
        if not modes or others or not _DISEASES.search(query.text):
            return []
        best = max(modes, key=lambda x: x.mention.end - x.mention.start).entity
        return list(self._pieces(best, Family(self.graph).ordered(best, Role.INHERITANCE, own=False)))

    def _of_a_list(self, query: Query) -> list[Evidence]:
        """The medicines of a class on the list of essential medicines; the antidotes, which it ties to no poison."""
        antidotes = bool(ANTIDOTES.finds.search(query.text))
        asked = [ANTIDOTES] if antidotes else _classes_in(asking_part(query.text))
        if not asked or not (antidotes or _ON_THE_LIST.search(query.text)):
            return []
        sections = [self.graph.at(int(n)) for n in self.graph.of_kind(_SECTION)]
        held = [s for s in sections if any(one.holds.search(s.name) for one in asked)]
        rows = {s: Family(self.graph).ordered(s, Role.IS_A, own=False) for s in held}
        rows = {s: [t for t in found if t.subject.kind in MEDICINES] for s, found in rows.items()}
        if not antidotes:
            return [e for section, mine in rows.items() for e in self._pieces(section, mine)]
        triples = tuple(t for mine in rows.values() for t in mine)
        said = affirmed(_WHICH_ANTIDOTE, 0, ["; ".join(dict.fromkeys(named(t.subject, 0) for t in triples))])
        return [Evidence(said, VERDICT, triples, tuple(held), 1.0, "other")] if triples else []

    def _for_an_illness(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Of what treats an illness the medicines of the class that is asked for; all where none is known to be one."""
        asked = _classes_in(asking_part(query.text))
        ill = [x for x in links if not x.mention.negated and x.entity.kind in CONDITIONS]
        ill = [x for x in ill if not any(one.finds.search(x.mention.surface) for one in asked)]
        taken = [x for x in links if x.entity.kind in MEDICINES and not _classes_in(x.mention.surface)]
        if not asked or not ill or taken or not set(roles_asked(query.text)) <= {Role.TREATS}:
            return []
        if not _WHICH.search(query.text) or _HARMS.search(query.text) or asks_who_may(query.text, links):
            return []
        rows = self._treating(ill)
        kept = self._in_classes(rows, asked)
        return list(self._pieces(ill[0].entity, kept or rows))

    def _treating(self, ill: Sequence[Link]) -> list[Triple]:
        """What treats the illnesses, first what treats most of them."""
        family, found = Family(self.graph, medicines=True), dict[Entity, list[Triple]]()
        for link in ill:
            best = max(family.twins(link), key=lambda e: len(family.ordered(e, Role.TREATS, own=False)))
            for t in family.ordered(best, Role.TREATS, own=False):
                found.setdefault(t.subject, []).append(t)
        return [said[0] for said in sorted(found.values(), key=lambda said: -len({t.object for t in said}))]

    def _in_classes(self, rows: Sequence[Triple], asked: Sequence[ClassOfMedicines]) -> list[Triple]:
        """The rows of medicines that stand in one of the classes, or of which a product does."""
        nodes = [self.graph.number(t.subject.id) for t in rows]
        up = ByRole(self.graph, Role.IS_A).objects(nodes)
        above: dict[int, list[str]] = {}
        for node, origin in zip(up.node.tolist(), up.origin.tolist(), strict=True):
            above.setdefault(nodes[origin], []).append(self.graph.at(node).name)
        family = Family(self.graph)
        made = {node: family.substance(node) for node in nodes}
        within = {made[n] for n in nodes if any(one.holds.search(name) for one in asked for name in above.get(n, ()))}
        within |= {name for name in made.values() if any(one.names.search(name) for one in asked)}
        return [t for t, node in zip(rows, nodes, strict=True) if made[node] in within]

    def _pieces(self, about: Entity, rows: Sequence[Triple]) -> Iterator[Evidence]:
        """A dozen to a piece, the last with how many more there are."""
        most = _LISTED * _PIECES
        for begin in range(0, min(len(rows), most), _LISTED):
            shown = tuple(rows[begin : begin + _LISTED])
            more = len(rows) - most if begin + _LISTED >= most else 0
            text = f"{about.name} {told(about, shown)}" + (f", … (+{more})" if more > 0 else "")
            yield Evidence(text, "neighbours", shown, (about,), 1.0)


def _classes_in(text: str) -> list[ClassOfMedicines]:
    """The classes that a text names."""
    return [one for one in CLASSES if one.finds.search(text)]


_DISEASES = lazily(r"\b(?:diseases?|disorders?|conditions?|syndromes?|illness(?:es)?)\b", re.IGNORECASE)
_ON_THE_LIST = lazily(r"\b(?:WHO|essential)\b.*\b(?:list|medicines?|eml)\b|\bEML\b", re.IGNORECASE)
_HARMS = lazily(r"\b(?:caus|trigger|worse|induc|avoid|rais|safe)\w*", re.IGNORECASE)
_WHICH = lazily(
    r"\b(?:which|what|best|empiric(?:al)?|first|second|third|list|name|any|good|suitable|recommended|usual|common)\b"
    r"|^\W*(?:iv |oral |topical )?\w+ (?:for|in|against)\b|\bchoice\b",
    re.IGNORECASE,
)
