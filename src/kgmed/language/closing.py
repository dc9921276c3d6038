"""Phrases that close or open a story and ask nothing of their own: "What should I do?", "Is that dangerous?".

What they ask is told by what stands beside them: of findings which illness it may be, of an illness that is named
what is done about it ("do"), what may come of it ("danger") or what it is like ("expect").
"""

import re
from functools import lru_cache
from typing import NamedTuple

from kgmed.language.text import lazily

_IT = r"(?:it|this|that|these|they|those|all (?:this|that))"
_ME = r"(?:i|we|you|he|she|they|one|my \w+)"
_BAD = (
    r"(?:(?:a|an|very|really|so|too|that|something|anything|potentially|possibly|at all|some) )*"
    r"(?:dangerous|serious|bad|worrying|alarming|urgent|severe|emergency|harmful|life.?threatening|normal|common|risky"
    r"|usual|concerning|(?:cause|reason) for (?:concern|alarm|worry)|to (?:be )?(?:worr(?:y|ied)|concerned)(?: about)?)"
)
_DOCTOR = (
    r"(?:the |an? |my |our )?"
    r"(?:doctor|gp|hospital|er|ed|a ?& ?e|emergency(?: room| department)?|specialist|ambulance)"
)
_KINDS = {
    "danger": rf"(?:is|are|was|could|can|might|may|would) {_IT} (?:be )?{_BAD}(?: (?:for|in) {_ME})?"
    rf"|(?:should|do|must) {_ME} (?:need to |have to )?(?:be )?(?:worr(?:y|ied)|concerned|alarmed|scared|panic)"
    r"(?: about (?:it|this|that))?"
    rf"|(?:should|do|must) {_ME} (?:need to |have to )?(?:see|go to|call|visit|go and see|ring) {_DOCTOR}(?: now)?"
    rf"|how (?:serious|bad|dangerous|urgent|worried|concerned) (?:is|should|are) (?:{_IT}|{_ME})(?: be)?"
    rf"|(?:any|is there any) (?:danger|cause for concern|reason to worry)",
    "do": rf"what (?:should|can|do|must|could|would|shall|am|are) {_ME} (?:supposed to |need to |have to |to )?do"
    rf"(?: (?:now|next|then|first|here|please|about {_IT}|for (?:him|her|it)))*"
    r"|what to do(?: (?:now|next|about (?:it|this|that)))?|what(?:'s| is) (?:to be done|the (?:best )?advice)"
    rf"|what do you (?:suggest|recommend|advise|think)(?: {_ME} do)?|any (?:advice|help|suggestions?|ideas?|thoughts?)"
    r"|(?:can|could) you help(?: me| us)?|(?:please )?help(?: me| us)?(?: please)?|please advise"
    r"|(?:i|we) (?:don['’]?t|do not) know what to do",
    "expect": rf"what (?:should|can|do|could|must|might) {_ME} expect|what (?:happens|will happen) (?:next|now)"
    r"|what (?:lies|is) ahead|what (?:does|will) (?:it|this|that) (?:look like|be like|mean for (?:him|her|us|me))"
    r"|what(?:'s| is) (?:it|this|that) like",
}
_TELL_APART = r"(?:the )?(?:differentials?(?: diagnos[ie]s)?|ddx|d/dx)"
_END = lazily(
    r"(?:(?<=[.!?;:,\n])|(?<= and)|(?<= but)|(?<= so)|(?<= -)|(?<=…))\s*"
    r"(?:(?:so|and|but|please|doctor|then|well|also|oh|hi|hello)\b\W*)*(?:"
    + "|".join(f"(?P<{kind}>{looks})" for kind, looks in _KINDS.items())
    + rf"|(?P<tell>{_TELL_APART}))(?:\W*(?:please|thanks|thank you|doctor|now|then|at all))*\W*$",
    re.IGNORECASE,
)
_BEGIN = lazily(
    rf"^\W*(?:(?:hi|hello|so|doctor|please)\W+)*(?:should|do|must) {_ME} (?:need to )?(?:be )?"
    r"(?:worr(?:y|ied)|concerned) (?:about|if|when|that|because)\b"
    rf"|^\W*(?:is it|how) {_BAD} (?:if|when|that|is it (?:if|when|that))\b",
    re.IGNORECASE,
)


class Closed(NamedTuple):
    """What is told, each character at its place, and what closes it: "do", "danger", "expect", "tell"; "" of none."""

    told: str
    kind: str


@lru_cache(maxsize=256)
def closed(text: str) -> Closed:
    """The text with its closing phrases blotted out, and the first of them.

    >>> closed("My toe is red. Is that serious? What should I do?")
    Closed(told='My toe is red.                                   ', kind='danger')
    >>> closed("What should I do?").kind, closed("I have gout, what do I take?").kind
    ('', '')
    """
    told, kind = text, ""
    while found := _END.search(told.rstrip()):
        begin = found.start()
        if not any(c.isalnum() for c in told[:begin]):
            break
        kind, told = found.lastgroup or kind, told[:begin] + " " * (len(told) - begin)
    if not kind and (opening := _BEGIN.match(told)):
        kind, told = "danger", " " * opening.end() + told[opening.end() :].replace("?", " ")
    return Closed(told, kind)
