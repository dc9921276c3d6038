"""A run as a person reads it: what went wrong, the answer, what was understood, one line of sources, its limits.

`--evidence` adds the numbered evidence with its sources, `--explain` all that is known of the run.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from kgmed.cli.show import Look, Page, Piece, cells, page
from kgmed.language.lay import helped
from kgmed.language.text import has_cjk, one_line, prompt_language
from kgmed.records import Evidence, Link, Mention, Particular, Run, Status, to_json
from kgmed.show_run import address

Near = Callable[[Run], dict[str, list[str]]]
MOST = 6  # names said to be found, and not found: two lines or so
LONGEST = 60  # characters of a name among them
TRIPLES = 4  # of a piece of evidence
_TRIED = 6  # names that others are looked for that are spelled like them
_LEAST, _LEAST_CJK = 5, 4  # characters of a name that may be a slip of another
_ALIKE = 0.75  # ours: how much two names must be spelled alike, of 1
_WORD = 4  # letters of a word that tells by itself what is meant
SCREEN = 80  # columns of the line of sources where nobody says how wide the screen is
_SAID = {
    "en": {
        "failed": "Failed on the way: ",
        "found": "Found: ",
        "missed": "Not found in the graph: ",
        "meant": " (did you mean {}?)",
        "or": " or ",
        "not": "not ",
        Status.OTHER: " (another person)",
        Status.PAST: " (in the past)",
        "more": "{} more",
        "sources": "Sources: ",
        "evidence": "Evidence",
        "shows": "see --evidence",
    },
    "zh": {
        "failed": "途中出错：",
        "found": "识别到：",
        "missed": "图谱中未找到：",
        "meant": "（是否指{}？）",
        "or": "或",
        "not": "否认：",
        Status.OTHER: "（他人）",
        Status.PAST: "（既往）",
        "more": "另有 {} 个",
        "sources": "来源：",
        "evidence": "依据",
        "shows": "见 --evidence",
    },
}


class Detail(IntEnum):
    """How much is shown of a run."""

    BRIEF = 0
    EVIDENCE = 1
    ALL = 2


def detail(*, evidence: bool, explain: bool) -> Detail:
    """What the two options ask for."""
    return Detail.ALL if explain else Detail.EVIDENCE if evidence else Detail.BRIEF


def show(run: Run, near: Near, shown: Detail = Detail.BRIEF) -> None:
    """Print a run; `near` gives the names that a person may have meant by what was not found."""
    out, words = page(), _SAID[prompt_language(run.question)]
    first = helped(run.question.text)
    if first and run.answer.text.startswith(first):  # a call for help before anything else
        out((first, "bold red"))
    for failure in run.failures:  # a model that did not answer is said before anything that it did not say
        out((words["failed"], "yellow"), one_line(failure))
    if text := run.answer.text.removeprefix(first).lstrip("\n"):
        out((text, "bold" if run.answer.abstained else ""))
    if shown:
        _show_evidence(out, run, words, shown)
    out()
    _show_words(out, run, near, shown)
    for line in tree_lines(run):
        out((line, "yellow" if line.startswith("!") else ""))
    if not shown and text and any(e.triples for e in run.context.cited):
        out(*_sources(run, words, out.width or SCREEN))
    if shown:
        _show_rest(out, run, shown)
    if run.answer.limits:
        out((run.answer.limits, "dim"))
    for line in _made_with(run, shown) if shown else ():
        out((line, "dim"))


# --- What of the question was found in the graph, and what was not: each once.


def _show_words(out: Page, run: Run, near: Near, shown: Detail) -> None:
    """The lines of what was found and what was not."""
    words = _SAID[prompt_language(run.question)]
    if shown is Detail.ALL:
        for i, link in enumerate(run.links):
            out((words["found"] if not i else " " * len(words["found"]), "green"), _explained(link))
    elif run.links:
        once = {(x.entity.id or x.entity.name, x.mention.negated, x.mention.status): x for x in reversed(run.links)}
        listed = [_link_text(x, words) for x in reversed(once.values())]
        out((words["found"], "green"), *_some(listed, words))
    if shown is Detail.ALL and run.particulars:
        out(("Told: ", "green"), one_line("; ".join(map(_particular_text, run.particulars))))
    missed = list({m.name: m for m in run.missed}.values())
    like = near(replace(run, missed=tuple(missed[:_TRIED]))) if missed else {}
    like = {name: close for name, others in like.items() if (close := [o for o in others if _is_slip(name, o)])}
    if shown is not Detail.ALL:
        missed = _worth_saying(run, missed, like)
    if missed:
        listed = [((_short(m.surface) + _meant(like.get(m.name, []), words)),) for m in missed]
        out((words["missed"], "yellow"), *_some(listed, words))


def _worth_saying(run: Run, missed: Sequence[Mention], like: Container[str]) -> list[Mention]:
    """Of what was not found what may be a name: what is asked about, short forms, slips; all where nothing was."""
    from kgmed.steps.strangers import strangers

    asked = strangers(run.question.text, missed, run.links)
    return [
        m
        for m in missed
        if not run.links or m.name in like or m.surface.isupper() or any(name in m.surface for name in asked)
    ]


def _is_slip(name: str, other: str) -> bool:
    """Whether a name is spelled so much like another that the other may be meant.

    >>> [_is_slip(*pair) for pair in (("clonazepam", "clotiazepam"), ("DDx", "DDX6"), ("临床表现", "临床表现不同"))]
    [True, False, False]
    """
    from difflib import SequenceMatcher

    own, said = name.casefold(), other.casefold()
    long = len(own) >= (_LEAST_CJK if has_cjk(own) else _LEAST)
    part = has_cjk(own) and (own in said or said in own)  # a longer name is another thing
    return long and not part and SequenceMatcher(None, own, said, autojunk=False).ratio() >= _ALIKE


def _particular_text(told: Particular) -> str:
    """A particular with its kind, and what was measured where it is a value.

    >>> _particular_text(Particular("value", "2.9 mmol/L", 0, 10, 2.9, "mmol/l", "low", "potassium"))
    'value 2.9 mmol/L (potassium, low)'
    """
    more = ", ".join(filter(None, (told.of, told.direction)))
    return f"{told.kind} {told.text}{f' ({more})' if more else ''}"


def _some(listed: Sequence[tuple[Piece, ...]], words: dict[str, str]) -> Iterator[Piece]:
    """The first of some texts with commas between, and how many more there are."""
    for i, pieces in enumerate(listed[:MOST]):
        yield from ((", ", *pieces) if i else pieces)
    if len(listed) > MOST:
        yield f", {words['more'].format(len(listed) - MOST)}"


def _link_text(link: Link, words: dict[str, str]) -> tuple[Piece, ...]:
    """What was linked, and to what, where that is called otherwise: "heart attack = Myocardial infarction".

    Words that hold the name, or a word of it, are not said again: "man with tall" of Tall stature.
    """
    said, name = _short(link.mention.surface), _short(link.entity.name)
    own, other = said.casefold(), name.casefold()
    parts = [w for w in other.split() if len(w) >= _WORD]
    same = other in own or any(w in own.split() for w in parts)
    begin = words["not"] if link.mention.negated else ""
    return (f"{begin}{name if same else f'{said} = {name}'}{words.get(link.mention.status, '')}",)


def _explained(link: Link) -> str:
    """All of a link: its words, its entity, how it was made, what is as good."""
    said = f"{'not ' if link.mention.negated else ''}{link.mention.surface}{_status(link)}"
    text = f"{said} = {link.entity.name} ({link.entity.id})"
    ties = ", ".join(f"{e.name} ({e.id})" for e in link.ties)
    return one_line(f"{text}, {link.how} {link.score:.2f}{f'; as good: {ties}' if ties else ''}")


def _status(link: Link) -> str:
    """Whether what was named is another person's, past or uncertain."""
    return f" ({link.mention.status})" if link.mention.status else ""


def _short(name: str) -> str:
    """The beginning of a name.

    >>> _short("gout"), len(_short("no " * 50))
    ('gout', 60)
    """
    plain = one_line(name)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1].rstrip()}…".ljust(LONGEST, "…")


def _meant(names: list[str], words: dict[str, str]) -> str:
    """The question whether one of the names was meant; nothing was linked to them.

    >>> _meant(["aspirin", "asparagine"], _SAID["en"]), _meant([], _SAID["en"])
    (' (did you mean aspirin or asparagine?)', '')
    """
    names = list(map(_short, names))
    listed = words["or"].join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return words["meant"].format(listed) if names else ""


# --- The sources: one line, or the evidence piece by piece.


@dataclass(frozen=True, slots=True)
class _Sources:
    """The graphs behind an answer, and the references that they give."""

    graphs: tuple[str, ...]
    references: tuple[str, ...]


def _behind(pieces: Iterable[Evidence]) -> _Sources:
    """The sources of some evidence, each once, in their order."""
    triples = [t for e in pieces for t in e.triples]
    graphs = dict.fromkeys(one_line(t.source) for t in triples if t.source)
    return _Sources(tuple(graphs), tuple(dict.fromkeys(plain(r) for t in triples for r in t.references)))


def _sources(run: Run, words: dict[str, str], width: int) -> Iterator[Piece]:
    """One line: graphs, as many references as fit, how many more there are."""
    cited = run.context.cited
    stands_on = [cited[n - 1] for n in run.answer.citations if 0 < n <= len(cited)] or list(cited)
    found = _behind(stands_on)
    begin = f"{'; '.join(found.graphs) or run.graph}"
    room = width - cells(f"{words['sources']}{begin}, {words['more'].format(9999)}; {words['shows']}")
    listed: list[str] = []
    for reference in found.references:
        room -= cells(reference) + 2
        if room < 0:
            break
        listed.append(reference)
    yield f"{words['sources']}{begin}", "dim"
    for i, reference in enumerate(listed):
        yield ", " if i else "; ", "dim"
        yield linked(reference)
    more = len(found.references) - len(listed)
    yield f"{', ' if listed else '; '}{words['more'].format(more)}" if more else "", "dim"
    yield f"; {words['shows']}", "dim"


def _show_evidence(out: Page, run: Run, words: dict[str, str], shown: Detail) -> None:
    """The numbered evidence, and below each piece its triples with source and references."""
    numbered = [(i, e) for i, e in enumerate(run.context.cited, start=1) if e.triples or e.kind != "verdict"]
    if numbered:
        out((f"\n{words['evidence']}", "bold"))
    for i, evidence in numbered:
        score = f" ({evidence.kind}, {evidence.score:g})" if shown is Detail.ALL else ""
        out((f"[{i}]", "bold"), f" {one_line(evidence.text)}", (score, "dim"))
        for t in evidence.triples if shown is Detail.ALL else evidence.triples[:TRIPLES]:
            fact = one_line(f"{t.head.name} — {t.relation} → {t.tail.name}")
            said = "; ".join(dict.fromkeys(v for s in t.support for k, v in s.qualifiers if k == "frequency"))
            ids = [piece for e in (t.head, t.tail) if e.id for piece in (" ", linked(one_line(e.id)))]
            references = [piece for r in t.references[:5] for piece in ((", ", "dim"), linked(plain(r)))]
            about = f"    - {fact}{f' (frequency {said})' if said else ''} ·"
            out((about, "dim"), *ids, (f" · {one_line(t.source)}", "dim"), *references)
        more = len(evidence.triples) - TRIPLES
        if more > 0 and shown is not Detail.ALL:
            out((f"    - and {more} more triples; --explain shows them", "dim"))


def plain(reference: str) -> str:
    """A reference on one line, its brackets as they are."""
    return " ".join(reference.split())


def linked(reference: str) -> tuple[str, Look]:
    """An id or a reference with its address, where it has one: PMID:1 is a link to PubMed."""
    return reference, Look("dim", address(reference))


# --- What was made on the way, and with what.


def _show_rest(out: Page, run: Run, shown: Detail) -> None:
    """Notes; with everything also the reasoning and the verdicts."""
    for note in run.notes:
        out((f"Note: {note}", "dim"))
    if shown is not Detail.ALL:
        return
    if run.answer.reasoning:
        out(("\nReasoning", "bold"), f"\n{run.answer.reasoning}\n")
    for verdict in run.answer.verdicts:
        out((f"{verdict.label}: {verdict.sentence} ({verdict.reason})", "dim"))


def _made_with(run: Run, shown: Detail) -> Iterator[str]:
    """Graph, method, models and what they took; with everything also the settings and the prompts."""
    stages = "  ".join(f"{s.name} {s.seconds:.3f}" for s in run.stages)
    preset = f" ({run.preset})" if run.preset else ""
    yield f"Graph {run.graph}; method {run.method}{preset}, read by {run.answer.reader}. Seconds: {stages}"
    if run.spent.calls:
        s = run.spent
        cost = "" if s.cost is None else f", {s.cost:.6g} USD"
        yield (
            f"Model calls: {s.calls} ({s.cached} from the cache, {s.failed} failed), "
            f"tokens {s.tokens_in} in, {s.tokens_out} out{cost}"
        )
    if run.hits:
        yield f"Remote cache: {', '.join(f'{what} {hits} of {asked}' for what, hits, asked in run.hits)}"
    if shown is Detail.ALL:
        yield from (f"{kind}: {name}" for kind, name in run.models)
        yield from (f"prompt: {name}" for name in run.prompts)
        yield " ".join(["settings:", *(f"{name}={to_json(value)}" for name, value in run.settings)])


# --- MindMap's decision tree, with the steps that nothing bears out.


def tree_lines(run: Run) -> Iterator[str]:
    """The tree of a run's reasoning, and a line "! ..." for each step that is invented or unsupported."""
    if not run.answer.reasoning:
        return
    from kgmed.models.replies import outputs, tree
    from kgmed.steps.citations import sentences
    from kgmed.steps.tree import draw_text as drawn

    parts = outputs(run.answer.reasoning)
    trees = tree(parts.tree)
    if trees:
        yield ""
        yield "Decision tree"
        yield from drawn(trees).split("\n")
    said = set(sentences(run.answer.text))  # their verdicts are not about steps
    for verdict in run.answer.verdicts if parts.tree or parts.inference else ():
        if not verdict.supported and verdict.sentence not in said:
            yield f"! {verdict.sentence}: {verdict.reason}"
