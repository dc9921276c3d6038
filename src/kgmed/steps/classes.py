"""Classes of medicines that a question names by what they are for: 止痛药, a painkiller."""

import re
from collections.abc import Sequence

from kgmed.language.pair import asks_what
from kgmed.language.question import compares, roles_asked
from kgmed.language.text import lazily
from kgmed.records import Link, Role


def is_what_is_asked(link: Link, links: Sequence[Link], text: str) -> bool:
    """Whether a link is to a class of medicines of which one is asked for, beside what it is for: 止痛药 for 头疼."""
    asks = Role.TREATS in roles_asked(text) and asks_what(text) and not compares(text)
    return asks and len(links) > 1 and _is_for(link.mention.surface, [x for x in links if x is not link])


def _is_for(said: str, links: Sequence[Link]) -> bool:
    """Whether a class of medicines that is named is for something that is linked."""
    named = " ".join(f"{x.mention.surface} {x.entity.name}" for x in links)
    return any(re.search(c, said, re.IGNORECASE) and re.search(ill, named, re.IGNORECASE) for c, ill in _FOR_THIS)


def asks_for_class(text: str) -> bool:
    """Whether a question names a class of medicines by what they are for: painkillers, 止痛药."""
    return any(re.search(c, text, re.IGNORECASE) for c, _ in _FOR_THIS)


def asks_who_may(text: str, links: Sequence[Link]) -> bool:
    """Whether it is asked which of a class people with an illness may take, which the class is not for.

    >>> asks_who_may("Which painkiller is good for someone with an ulcer?", [])
    True
    """
    return asks_for_class(text) and bool(_FOR_PEOPLE_WITH.search(text)) and not _is_for(text, links)


_FOR_PEOPLE_WITH = lazily(
    r"\bsafe (?:with|in|for|during|if)\b|\b(?:take|use|have) with\b|[吃服用].{1,8}(?:能|可以)[吃服用](?:什么|哪)"
    r"|\b(?:for|in) (?:someone|somebody|people|anyone|those|patients?|an? \w+) (?:with|who ha)"
    r"|(?:病人|患者).{0,6}[吃用]",
    re.IGNORECASE,
)
_FOR_THIS = (  # a class of medicines by what it is for: how it is called, and what it is for
    (r"[止镇]痛药|pain ?killer", r"[疼痛]|pain|ache"),
    (r"感冒药|cold (?:remed|medic)", r"感冒|流感|cold|flu"),
    (r"(?:退烧|退热|解热)药", r"发[烧热]|高烧|fever"),
    (r"消炎药|抗生素|抗菌药|antibiotic", r"炎|感染|itis|infect|pneumonia"),
    (r"降压药", r"高血压|hypertens"),
    (r"降糖药", r"糖尿病|血糖|diabet"),
    (r"(?:止咳|化痰|镇咳)药", r"咳|痰|cough"),
    (r"止泻药", r"腹泻|diarrh"),
    (r"安眠药|助眠药", r"失眠|insomn"),
    (r"抗过敏药|antihistamine", r"过敏|荨麻疹|allerg|hives|itch"),
)
