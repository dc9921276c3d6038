"""What a sentence says of its entities (that one treats another, or causes it), and whether the evidence says it too.

Words in common cannot tell "metformin treats diabetes" from "metformin causes diabetes"; these families can.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.types import Evidence, Role


@dataclass(frozen=True, slots=True)
class Claim:
    """A kind of statement: how a sentence makes it, and the words and roles by which evidence bears it out."""

    name: str
    said: re.Pattern[str]
    borne_out: re.Pattern[str]
    roles: frozenset[Role]


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern for words of either case."""
    return re.compile(pattern, re.IGNORECASE)


CLAIMS = (
    Claim(
        "that something treats",
        _words(
            r"\b(?:treat\w*|therap\w*|cur(?:e[sd]?|ing|ative)|drugs?|medic(?:ations?|ines?))\b|治疗|治愈|疗法|药物|用药"
        ),
        _words(r"\b(?:treat|therap|cur(?:e|ing|ative)\b|drug|medic(?:ation|ine)|indicat)|疗|治|药|适应"),
        frozenset({Role.TREATS, Role.DOSAGE, Role.INGREDIENT, Role.CONTRAINDICATED}),
    ),
    Claim(
        "that something causes",
        _words(
            r"\b(?:caus(?:e[sd]?|ing|ative)|due to|leads? to|leading to|results? in|induc\w+)\b"
            r"|引起|导致|引发|造成|致病"
        ),
        _words(
            r"\b(?:caus|due to|lead|result|induc|gene\b|risk|complicat|adverse|side effect)"
            r"|因|引起|引发|造成|致|并发|不良|副作用"
        ),
        frozenset({Role.CAUSE, Role.RISK, Role.GENE, Role.ADVERSE, Role.COMPLICATION, Role.CONTRAINDICATED}),
    ),
)


def unborne(sentence: str, evidence: Sequence[Evidence]) -> str:
    """The first kind of claim that the sentence makes and none of the evidence bears out; "" = none.

    >>> unborne("Metformin causes diabetes.", [Evidence("diabetes | treated by | metformin", "triple")])
    'that something causes'
    """
    made = (claim for claim in CLAIMS if claim.said.search(sentence))
    return next((c.name for c in made if not any(_bears_out(e, c) for e in evidence)), "")


def without_claims(text: str) -> str:
    """The text without the words that make such claims; what is left is whom they are made of.

    >>> without_claims("Metformin treats diabetes")
    'Metformin   diabetes'
    """
    for claim in CLAIMS:
        text = claim.said.sub(" ", text)
    return text


def _bears_out(evidence: Evidence, claim: Claim) -> bool:
    """Whether a piece of evidence makes the claim, by the role of a relation or by its words."""
    by_role = any(t.relation.role in claim.roles for t in evidence.triples)
    return by_role or claim.borne_out.search(evidence.text) is not None
