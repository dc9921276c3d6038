"""What a sentence says: its words, and its claims, each of two entities, by which words, denied or not.

A sentence is read from left to right. Entities that only commas, "and" or 、 part are a group, so that "A, B and C are
signs of D" makes three claims. The first group of a clause is what it is about; each later group makes claims with it,
by the words between them ("treats"), else by those before the clause's first group ("the side effects of A include B")
or behind the group ("B is treated with A", "A是B的症状"). After a comma or an "and", words that claim something go on
about the same thing ("A treats B and causes C"); a group without such words before it and with them behind it begins a
new clause ("A treats B, and C causes D").
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from kgmed import vocabulary
from kgmed.disk import packaged, packaged_toml
from kgmed.language.text import pattern_of
from kgmed.records import Entity, Role
from kgmed.stop import check_stop

# --- Words that claim something, by what they claim.


WARNED = frozenset({Role.CONTRAINDICATED, Role.PRECAUTION, Role.AVOID})
HAD = frozenset({Role.FINDING, Role.COMPLICATION, Role.ADVERSE, Role.INHERITANCE, Role.ONSET, Role.RISK, Role.LOCATION})
_AGENTS = ("first", "last", "whole")
_AFTER = frozenset({Role.ADVERSE, Role.COMPLICATION, Role.FINDING})
_pattern = partial(pattern_of, __name__)


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that claim something: of which roles, and whether who acts stands before them or behind."""

    roles: frozenset[Role]
    words: re.Pattern[str]
    agent: str = ""  # first, last, whole (has or holds the other, and stands first); "" = they do not tell
    loose: bool = False  # such as "used": what other words claim beside them counts


@lru_cache(maxsize=1)
def words_around() -> dict[str, list[str]]:
    """The lines of claims.txt by their headings."""
    text = packaged("kgmed.steps", "claims.txt").read_text(encoding="utf-8")
    parts = re.findall(r"^\[([^\]]+)\]\n(.*?)(?=^\[[a-z_ ]+\]$|\Z)", text, re.MULTILINE | re.DOTALL)
    return {heading: [x for x in body.splitlines() if x and not x.startswith("# ")] for heading, body in parts}


@lru_cache(maxsize=1)
def _all_cues() -> tuple[Cue, ...]:
    """The cues of claims.toml, and those of the thesaurus, whose headings name roles (and "had": any of `HAD`)."""
    rows = [(row["says"], row["words"].replace("\n", "")) for row in packaged_toml(__name__)["cue"]]
    rows += [(heading, "|".join(lines)) for heading, lines in words_around().items()]
    return tuple(_cue(says.split(), words) for says, words in rows if not says.endswith(("english", "chinese")))


def _cue(says: Sequence[str], words: str) -> Cue:
    roles = {Role(name) for name in says if name not in ("loose", "warned", "had", *_AGENTS)}
    roles |= (HAD if "had" in says else set()) | (WARNED if "warned" in says else set())
    agent = next((name for name in _AGENTS if name in says), "")
    return Cue(frozenset(roles), re.compile(words, re.IGNORECASE), agent, "loose" in says)


def is_bare(words: str) -> bool:
    """Whether words between two things say no more than that they go together: "A: B", "A is B", A是B.

    >>> is_bare(" … : … "), is_bare("the … is … "), is_bare(" … tends to … ")
    (True, True, False)
    """
    return not _pattern("bare").sub("", words)


def cues(text: str) -> list[tuple[int, int, Cue]]:
    """The words of a text that claim something, with their places; of those that overlap the longest."""
    found = [(m.start(), m.end(), cue) for cue in _all_cues() for m in cue.words.finditer(text)]
    kept: list[tuple[int, int, Cue]] = []
    for start, end, cue in sorted(found, key=lambda row: (row[0], -row[1])):
        if kept and start < kept[-1][1]:
            if end - start > kept[-1][1] - kept[-1][0]:
                kept[-1] = (start, end, cue)
            continue
        kept.append((start, end, cue))
    return kept


# --- Claims.


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a sentence, and the entities or texts that it may name."""

    start: int
    end: int
    entities: tuple[Entity, ...]

    @property
    def name(self) -> str:
        """The name of the first."""
        return self.entities[0].name


@dataclass(frozen=True, slots=True)
class ClaimedPair:
    """What a sentence claims of two places in it."""

    left: Spot
    right: Spot
    roles: frozenset[Role] = frozenset()  # any of them; none = its words do not tell
    words: str = ""  # those that claim it
    agent: str = ""  # first, last, whole
    denied: bool = False
    warns: bool = False  # that something must not be used, or with care


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says: its claims, the items of its lists that name no entity known, and its other words."""

    claims: tuple[ClaimedPair, ...]
    unknown: tuple[str, ...] = ()
    rest: str = ""


@dataclass(slots=True)
class _SideBySide:
    spots: list[Spot]
    before: list[str] = field(default_factory=list)  # what parts each from the one before

    @property
    def start(self) -> int:
        return self.spots[0].start

    @property
    def end(self) -> int:
        return self.spots[-1].end


def read(text: str, spots: Sequence[Spot]) -> Reading:
    """What a sentence says of the places in it, in their order and without overlap."""
    groups, unknown = _grouped(text, spots)
    groups = _parted(text, groups)
    mutual = {i: said for i, group in enumerate(groups) if (said := _mutual(text, groups, i)) and len(group.spots) > 1}
    claims = [
        replace(said, left=groups[i].spots[0], right=s) for i, said in mutual.items() for s in groups[i].spots[1:]
    ]
    claims += _claims(text, groups, frozenset(mutual)) if len(groups) > 1 else ()
    if groups:
        tail = [_last_words(item) for item in _pattern("item").split(text[groups[-1].end :])]
        unknown += tail[1:] if len(groups) > 1 else tail
    return Reading(tuple(claims), tuple(unknown), _between(text, spots))


def _parted(text: str, groups: list[_SideBySide]) -> list[_SideBySide]:
    """The groups, one of them two where its end is a clause of its own: "A has B, C and D interact"."""
    found: list[_SideBySide] = []
    for i, group in enumerate(groups):
        commas = [k for k, gap in enumerate(group.before) if k and gap.strip() in (",", "，", ", and")]
        if commas and commas[-1] < len(group.spots) - 1 and _said("", "", _tail(text, groups, i)).roles & _MUTUAL:
            at = commas[-1]
            found.append(_SideBySide(group.spots[:at], group.before[:at]))
            group = _SideBySide(group.spots[at:], group.before[at:])
        found.append(group)
    return found


def _between(text: str, spots: Sequence[Spot]) -> str:
    """The text without the places."""
    edges = [0, *(edge for s in spots for edge in (s.start, s.end)), len(text)]
    return " ".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def _grouped(text: str, spots: Sequence[Spot]) -> tuple[list[_SideBySide], list[str]]:
    """The places in groups, and the items of their lists that are no place."""
    groups: list[_SideBySide] = []
    unknown: list[str] = []
    for spot in spots:
        gap = text[groups[-1].end : spot.start] if groups else ""
        items = _items(gap)
        if groups and gap and _pattern("joint").fullmatch(gap) and not _introduced(text, groups[-1], gap):
            groups[-1].spots.append(spot)
            groups[-1].before.append(gap)
        elif groups and len(items) > 2 and not items[0].strip() and not items[-1].strip() and not _claims_any(gap):
            unknown += [item for item in items[1:-1] if item.strip()]
            groups[-1].spots.append(spot)
            groups[-1].before.append(gap)
        else:
            groups.append(_SideBySide([spot], [gap]))
            unknown += _listed(gap)
    return groups, unknown


def _last_words(item: str) -> str:
    """What stands behind the last words that claim something, if nothing is denied."""
    ends = [end for _, end, _ in cues(item)] + [m.end() for m in vocabulary.listed("links of a claim").finditer(item)]
    return "" if vocabulary.listed("denials in a claim").search(item) else item[max(ends, default=0) :]


def _listed(gap: str) -> list[str]:
    """The items of a list that begins before a place: "starts with X, " before Y."""
    if not (parts := list(_pattern("item").finditer(gap))) or gap[parts[-1].end() :].strip():
        return []
    ends = [end for _, end, _ in cues(gap)] + [m.end() for m in vocabulary.listed("links of a claim").finditer(gap)]
    return [item for item in _items(gap[max(ends, default=len(gap)) :]) if item.strip()]


def _introduced(text: str, group: _SideBySide, gap: str) -> bool:
    """Whether a comma ends an introduction: "In gout, fever ..."."""
    return len(group.spots) == 1 and gap.strip() in (",", "，") and bool(_pattern("intro").search(text[: group.start]))


def _items(gap: str) -> list[str]:
    """The pieces of a list; what claims something is no item."""
    return [
        item
        if not any(c.words.search(item) for c in _all_cues())
        and not vocabulary.listed("denials in a claim").search(item)
        else ""
        for item in _pattern("item").split(gap)
    ]


def _claims_any(text: str) -> bool:
    """Whether words of a text claim something."""
    return vocabulary.listed("links of a claim").search(text) is not None or any(
        cue.words.search(text) for cue in _all_cues()
    )


def says_something(text: str) -> bool:
    """Whether words claim anything: they have a verb, a number, or words that claim a relation.

    >>> says_something("For pain"), says_something("Paracetamol is listed for pain"), says_something("对于疼痛")
    (False, True, False)
    """
    return bool(_pattern("verb").search(text) or cues(text) or re.search(r"\d", text))


def _claims_much(text: str) -> bool:
    """Whether words of a text claim one relation and no other."""
    return any(not cue.loose for _, _, cue in cues(text))


_MUTUAL = frozenset({Role.INTERACTS, Role.DIFFERENTIAL, Role.ASSOCIATED})


def _mutual(text: str, groups: Sequence[_SideBySide], i: int) -> ClaimedPair | None:
    """What is claimed within a group: "A and B interact"; None = nothing."""
    parts = re.split("[,，;；。]", text[groups[i - 1].end if i else 0 : groups[i].start])
    if i and len(parts) == 1:
        return None  # the objects of a verb
    said = _said(parts[-1], "", _tail(text, groups, i))
    return said if said.roles & _MUTUAL else None


def _claims(text: str, groups: list[_SideBySide], mutual: frozenset[int]) -> Iterator[ClaimedPair]:
    """The claims of the groups, clause by clause."""
    topic, lead, said = groups[0], text[: groups[0].start], ClaimedPair(groups[0].spots[0], groups[0].spots[0])
    about = [*topic.spots]
    previous: list[ClaimedPair] = []
    for i, group in enumerate(groups[1:], start=1):
        check_stop()
        gap = text[groups[i - 1].end : group.start]
        tail = _tail(text, groups, i)
        parts = list(_pattern("parts").finditer(gap))
        before, after = (gap[: parts[0].start()], gap[parts[-1].end() :]) if parts else (gap, "")
        cut = gap[parts[-1].start() :] if parts else ""
        if not parts and i > 1 and len(groups[i - 1].spots) > 1 and previous and _claims_any(gap) and about:
            about = [groups[i - 1].spots[-1]]  # "A treats B and C has D"
            previous = [p for p in previous if p.right is not about[0]]
            lead = ""
        elif i == 1 and _introduced(text, topic, gap):
            said = _said("", "", tail)
            previous = [replace(said, left=a, right=b) for a in about for b in group.spots]
            continue
        elif i in mutual or (parts and _begins(text, groups, i, after)):
            yield from previous
            if i not in mutual and len(group.spots) > 1 and _claims_any(after):  # "and causes B, C has D"
                made = _said(lead, after, "")
                yield from (replace(made, left=a, right=b) for a in about for b in group.spots[:-1])
                previous, about, lead = [], [group.spots[-1]], ""
            else:
                previous, about, lead = [], [*group.spots], after
            continue
        made = _said(lead, gap if not parts else after, tail)
        if parts and not _claims_any(_pattern("with").sub(" ", after)):  # goes on with the list: "..., not in B"
            base = made if not previous and i == 1 else said
            if i == 1 or not previous:
                base = _said(lead, before, tail)
            denied = (
                _denied(cut) if vocabulary.listed("turns of a sentence").search(cut) or _denied(cut) else base.denied
            )
            made = replace(base, denied=denied)
        said = made
        yield from previous
        previous = [replace(made, left=a, right=b) for a in about for b in group.spots]
    yield from previous


_NOWHERE = Spot(0, 0, (Entity("", ""),))


def _tail(text: str, groups: Sequence[_SideBySide], i: int) -> str:
    """What stands behind a group, up to the next group's clause."""
    if i + 1 < len(groups):
        gap = text[groups[i].end : groups[i + 1].start]
        part = _pattern("parts").search(gap)
        return gap[: part.start()] if part else ""
    tail = text[groups[i].end :]
    rest = _pattern("says_nothing_before").search(tail)
    return tail[: rest.start()] if rest else tail


def _begins(text: str, groups: Sequence[_SideBySide], i: int, before: str) -> bool:
    """Whether a clause begins with a group: a verb stands behind it, before any comma, and none before it."""
    if _pattern("there").match(before):
        return True
    strict = not before.isascii() and _claims_much(before)
    if i + 1 >= len(groups) or _pattern("verb").search(before) or (strict and len(groups[i].spots) == 1):
        return False
    gap = text[groups[i].end : groups[i + 1].start]
    if gap.lstrip()[:1] in (",", "，") and _pattern("intro").search(text[: groups[i].start]):
        return True
    part = _pattern("parts").search(gap)
    gap = gap[: part.start()] if part else gap
    return _pattern("verb").search(gap) is not None or (_claims_any(gap) if not gap.isascii() else _claims_much(gap))


def _said(lead: str, gap: str, tail: str) -> ClaimedPair:
    """What words before, between and behind two places claim of them: those between them, where they claim anything."""
    whole, around = f"{lead} … {gap} … {tail}", f"{lead} … {tail}"
    between, beside = [cue for _, _, cue in cues(gap)], [cue for _, _, cue in cues(around)]
    denied = _denied(whole)
    if any(cue.roles == WARNED for cue in (*between, *beside)):
        both = any(Role.INTERACTS in cue.roles for cue in (*between, *beside))  # not to be taken together
        return ClaimedPair(
            _NOWHERE, _NOWHERE, WARNED | {Role.INTERACTS} if both else WARNED, whole, "", denied, warns=True
        )
    strict = [cue for cue in between if not cue.loose] or [cue for cue in beside if not cue.loose]
    # "a faulty copy of B gives rise to A"
    if narrow := {role for cue in beside if not cue.loose for role in cue.roles}:
        strict = [replace(cue, roles=cue.roles & narrow) for cue in strict if cue.roles & narrow] or strict
    found = strict or between or beside
    if found and found is beside and _pattern("then").search(gap):  # 吃了A会B
        return ClaimedPair(_NOWHERE, _NOWHERE, _AFTER, whole, "", denied)
    if not found:
        return ClaimedPair(
            _NOWHERE,
            _NOWHERE,
            HAD if vocabulary.listed("words of having").search(gap) else frozenset(),
            whole,
            "",
            denied,
        )
    bare = not strict and not vocabulary.listed("what has a finding").search(lead + gap)
    agents = {cue.agent for cue in between if cue.agent and (cue.agent != "whole" or bare)}
    return ClaimedPair(_NOWHERE, _NOWHERE, _common([cue.roles for cue in found]), whole, "".join(agents)
                if len(agents) == 1 else "", denied)  # fmt: skip


def _common(roles: Sequence[frozenset[Role]]) -> frozenset[Role]:
    """The roles that all of several cues claim, else those that any does."""
    return roles[0].intersection(*roles[1:]) or roles[0].union(*roles[1:])


def _denied(words: str) -> bool:
    """Whether words deny what they claim; what only warns denies nothing."""
    plain = _pattern("not_really").sub(" ", words)
    for start, end, cue in cues(plain):
        if cue.roles == WARNED or cue.roles == {Role.ADVERSE}:
            plain = plain[:start] + "x" * (end - start) + plain[end:]
    return vocabulary.listed("denials in a claim").search(plain) is not None
