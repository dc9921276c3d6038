"""What a reader is shown of the check: each sentence supported by [n], the model's own, or disputed.

Two judges look at a sentence: a model, asked once for all of them, and the rules of `kgmed.steps.check`. Where both
are there, a sentence is supported if the model says so and no rule finds the opposite or another number; it is disputed
where the model says that a piece of evidence speaks against it or that it objects to one; a warning follows only where
both say so, or where a number differs. That the evidence says nothing is neutral: it is never marked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kgmed.errors import Unavailable
from kgmed.frame import Frame
from kgmed.language.quantities import quantities
from kgmed.language.text import has_cjk, one_line, prompt_language
from kgmed.models.asking import Malformed, ask_with_schema, values
from kgmed.models.base import LLM
from kgmed.models.limits import BudgetSpent
from kgmed.models.replies import marks, without_marks
from kgmed.pipeline import Checker, note
from kgmed.prompts import prompt, task
from kgmed.records import Answer, Context, Evidence, Query, Question, Role, Verdict
from kgmed.sentences import catalogue
from kgmed.steps.citations import best_piece, denies, full_text, sentences, strange_number
from kgmed.steps.claims import cues, says_something
from kgmed.steps.read import FENCE, fence_for

NEUTRAL, OWN, DISPUTED, SUPPORTED = "neutral", "unsupported", "contradicted", "supported"
OBJECTS = "objects"  # of a sentence that says itself that a fact is wrong
_SAYS = {"supports": SUPPORTED, "contradicts": DISPUTED, "objects": OBJECTS, "says nothing": OWN}


def _rows_of(key: str, columns: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with a list under a key, an object for each sentence with those columns."""
    row = {"sentence": {"type": "integer"}, **columns}
    kind = {"type": "object", "additionalProperties": False}
    item = {**kind, "properties": row, "required": list(row)}
    return {**kind, "properties": {key: {"type": "array", "items": item}}, "required": [key]}


_ACTS = ("offers", "warns", "mentions")
SCHEMA = _rows_of(
    "verdicts",
    {"verdict": {"type": "string", "enum": list(_SAYS)}, "facts": {"type": "array", "items": {"type": "integer"}}},
)
OFFERS = _rows_of("sentences", {"says": {"type": "string", "enum": list(_ACTS)}})


# --- The judgement of a model.


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Asks a model once what the evidence says of each sentence: supports it, contradicts it, or says nothing.

    A sentence may also object to the evidence itself. `offers` asks what sentences do with barred medicines.

    It is shown the pieces that sentences cite or that the rules hold them against, where there are few all of them. Of
    what the model does not judge, or where its reply cannot be read, the rules decide alone, and a note says so.
    """

    llm: LLM
    max_tokens: int = 600  # ours: some 15 tokens a sentence
    pieces: int = 16  # ours: of evidence that are few
    prompts: Path | None = None

    def __call__(
        self, question: Question, cited: Sequence[Evidence], verdicts: Sequence[Verdict]
    ) -> dict[int, tuple[str, tuple[int, ...]]]:
        """Label and numbers of evidence (from 1) by the place of a verdict; {} where the model could not judge.

        Where there is no evidence nothing can be supported, and the model is not asked.
        """
        held = {i: self._held(v, cited) for i, v in enumerate(verdicts) if v.label != NEUTRAL}
        few = range(1, len(cited) + 1) if len(cited) <= self.pieces else ()
        shown = sorted({*few, *(n for numbers in held.values() for n in numbers)})
        if not shown:
            return dict.fromkeys(held, (OWN, ()))  # of no evidence there is nothing to ask
        if not held:
            return {}
        language = prompt_language(question)
        facts = "\n".join(f"[{n}] {one_line(cited[n - 1].text)}" for n in shown)
        listed = "\n".join(f"{i + 1}. {one_line(verdicts[i].sentence)}" for i in held)
        fence = FENCE + fence_for(f"{facts}\n{listed}")
        asked = prompt("check/sentences", language=language, folder=self.prompts)
        messages = asked.messages(fence=fence, evidence=facts, sentences=listed)
        try:
            found = _judged(ask_with_schema(self.llm, messages, SCHEMA, max_tokens=self.max_tokens).text)
        except (Unavailable, BudgetSpent) as problem:
            note(f"checked by rules alone: {problem}")
            return {}
        return {
            i: (label, numbers or held[i])
            for i in held
            if i + 1 in found
            for label, said in (found[i + 1],)
            for numbers in (tuple(n for n in said if n in shown),)
            if numbers or held[i] or label == OWN  # of silence there is no number
        }

    def offers(self, question: Question, sentences: Mapping[int, tuple[str, str]]) -> dict[int, str]:
        """Whether each sentence "offers", "warns" of or "mentions" medicines that are not for the patient.

        `sentences` = by number the sentence and which medicines are not for the patient; {} where the model cannot
        judge, with a note.
        """
        if not sentences:
            return {}
        listed = "\n".join(f"{i}. {one_line(said)} ({one_line(why)})" for i, (said, why) in sentences.items())
        fence = FENCE + fence_for(f"{question.words}\n{listed}")
        asked = prompt("check/offers", language=prompt_language(question), folder=self.prompts)
        messages = asked.messages(fence=fence, question=question.words, sentences=listed)
        try:
            found = _offered(ask_with_schema(self.llm, messages, OFFERS, max_tokens=self.max_tokens).text)
        except (Unavailable, BudgetSpent) as problem:
            note(f"checked by rules alone: {problem}")
            return {}
        return {i: found[i] for i in sentences if i in found}

    def _held(self, verdict: Verdict, cited: Sequence[Evidence]) -> tuple[int, ...]:
        """The numbers of the evidence that a sentence is held against."""
        named = [*marks(verdict.sentence), *verdict.citations]
        found = tuple(dict.fromkeys(n for n in named if 1 <= n <= len(cited)))
        return found or best_piece(verdict.sentence, cited)


def _judged(reply: str) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Label and numbers by the number of the sentence; raises `Malformed`.

    >>> _judged('{"verdicts": [{"sentence": 1, "verdict": "supports", "facts": [2]}]}')
    {1: ('supported', (2,))}
    """
    return dict(_row(row) for row in _rows(reply, "verdicts") if row.get("verdict") in _SAYS)


def _offered(reply: str) -> dict[int, str]:
    """What each sentence does, by its number; raises `Malformed`.

    >>> _offered('{"sentences": [{"sentence": 1, "says": "warns"}, {"sentence": 2, "says": "sells"}]}')
    {1: 'warns'}
    """
    return {row["sentence"]: row["says"] for row in _rows(reply, "sentences") if row.get("says") in _ACTS}


def _rows(reply: str, key: str) -> list[dict[str, Any]]:
    """The objects of the list under a key that tell the number of a sentence; raises `Malformed`."""
    for value in values(reply):
        rows = value.get(key) if isinstance(value, dict) else value
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return [row for row in rows if _number(row.get("sentence"))]
    raise Malformed(f'it must be an object with the key "{key}" and a list of objects')


def _row(row: Mapping[str, Any]) -> tuple[int, tuple[str, tuple[int, ...]]]:
    """One judgement."""
    facts = row.get("facts")
    numbers = tuple(n for n in facts if _number(n)) if isinstance(facts, list) else ()
    return row["sentence"], (_SAYS[row["verdict"]], numbers)


def _number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# --- Both judgements together, and what is shown of them.


@dataclass(frozen=True, slots=True)
class Labelled:
    """A checker whose verdicts are shown in the answer; `strict` leaves out what the evidence does not bear out.

    Nothing is done to an answer that no model wrote, or that was not asked to cite. A denial or a warning stays under
    `strict` too, marked: what must not be taken is never kept back. `limits` say how many sentences are which.
    `against` tells what speaks against a sentence for the patient who is asked about, whatever supports it; "" = none.
    """

    check: Checker
    judge: ModelJudge | None = None
    strict: bool = False
    against: Callable[[Frame, str], str] | None = None

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer, each sentence with its marks, or marked as the model's own or disputed."""
        if answer.abstained or not task().cites or not answer.reader or answer.reader == "facts":
            return self.check(query, context, answer)
        checked = self.check(query, context, answer)
        own = set(sentences(answer.text))  # what else a method writes, such as its chain of reasoning, the rules judge
        claims = {s for s in own if not _is_heading(s)}
        asked_of = [v if v.sentence in claims else replace(v, label=NEUTRAL) for v in checked.verdicts]
        judged = self.judge(query.question, context.cited, asked_of) if self.judge else {}
        told = query.question.words
        verdicts = [
            _both(v, *judged[i], [full_text(context.cited[n - 1]) for n in judged[i][1]] + [told]) if i in judged else v
            for i, v in enumerate(checked.verdicts)
        ]
        verdicts = [_by_itself(v, context.cited) for v in verdicts]
        verdicts = [replace(v, label=NEUTRAL) if v.label == OWN and _is_heading(v.sentence) else v for v in verdicts]
        verdicts = self._for_patient(query, context, verdicts, own)
        objecting = {id(verdicts[i]) for i, (label, _) in judged.items() if label == OBJECTS}
        said = [v for v in verdicts if v.sentence in own]
        if not said:
            return replace(checked, verdicts=tuple(verdicts))
        kept = _strictly(said) if self.strict else said
        language = prompt_language(query.question)
        text = shown(answer.text, said, kept, language)
        stands = (SUPPORTED,) if not task().own_knowledge else (SUPPORTED, OWN, DISPUTED)
        if not any(v.label in stands for v in kept):
            text = "\n".join(filter(None, [catalogue(language)("label.none_left"), text]))
        return replace(
            checked,
            text=with_warnings(text, [v for v in kept if warns(v) and id(v) not in objecting], language),
            verdicts=tuple(verdicts),
            citations=tuple(dict.fromkeys(n for v in kept if v.label in (SUPPORTED, DISPUTED) for n in v.citations)),
            limits="; ".join([*filter(None, [answer.limits]), *_counted(said, kept, language)]),
        )

    def _for_patient(
        self, query: Query, context: Context, verdicts: Sequence[Verdict], own: Collection[str]
    ) -> list[Verdict]:
        """The verdicts, disputed where an `own` sentence offers what is not for the patient, by the model or the rules.

        Of a sentence that the model says only warns of it `offers` is false.
        """
        if self.against is None or query.question.options:
            return list(verdicts)
        plain = [without_marks(v.sentence) for v in verdicts]
        mine = ((i, said) for i, said in enumerate(plain) if verdicts[i].sentence in own)
        whys = {i: why for i, said in mine if (why := self.against(query.frame, said))}
        asked = {i + 1: (plain[i], why) for i, why in whys.items()}
        says = self.judge.offers(query.question, asked) if self.judge else {}
        made = list(verdicts)
        for i, why in whys.items():
            told = any(cue.roles & _TOLD for _, _, cue in cues(plain[i]))  # that two interact offers neither
            v = verdicts[i]  # what says what the evidence warns of offers nothing
            warned = v.label == SUPPORTED and any(context.cited[n - 1].is_safety for n in v.citations)
            act = says.get(i + 1, "mentions" if told or denies(plain[i]) or warned else "offers")
            if act == "offers":
                reason = f"the graph says {one_line(why).rstrip('.。')}"
                made[i] = replace(verdicts[i], supported=False, label=DISPUTED, reason=reason, claims=())
            elif act == "warns":
                made[i] = replace(verdicts[i], offers=False)
        return made


def _by_itself(verdict: Verdict, cited: Sequence[Evidence]) -> Verdict:
    """A verdict, the model's own where nothing supports the sentence but what the model said before."""
    stands = [cited[n - 1] for n in verdict.citations if 1 <= n <= len(cited)]
    if verdict.label != SUPPORTED or not stands or any(e.triples or e.kind != "passage" for e in stands):
        return verdict
    return replace(verdict, supported=False, label=OWN, reason="only the model itself says so", claims=())


def _both(rules: Verdict, label: str, numbers: tuple[int, ...], known: Sequence[str]) -> Verdict:
    """The verdict of the rules and that of the model as one; `known` = the texts whose numbers may be said."""
    if label == OBJECTS:
        reason = f"{_MODEL}it objects to evidence {_listed(numbers)}"
        return replace(rules, supported=False, label=DISPUTED, reason=reason, citations=numbers, claims=())
    if label == DISPUTED and rules.label != DISPUTED:
        reason = f"{_MODEL}evidence {_listed(numbers)} speaks against it"
        return replace(rules, supported=False, label=DISPUTED, reason=reason, citations=numbers, claims=())
    if rules.label == DISPUTED and (label == DISPUTED or (marks(rules.sentence) and _other_number(rules))):
        return replace(rules, citations=rules.citations or numbers)  # both say so, or a number differs
    if label != SUPPORTED or rules.label == DISPUTED:
        reason = rules.reason if rules.label == OWN else "the model and the rules do not agree on it"
        return replace(rules, supported=False, label=OWN, reason=reason)
    if number := strange_number(without_marks(rules.sentence), *known):
        return replace(rules, supported=False, label=OWN, reason=f"{number} is not in the evidence")
    if rules.label == SUPPORTED:
        return replace(rules, citations=rules.citations or numbers)
    reason = f"{_MODEL}evidence {_listed(numbers)} says so"
    return replace(rules, supported=True, label=SUPPORTED, reason=reason, citations=numbers)


def _is_heading(sentence: str) -> bool:
    """Whether a sentence only announces what follows it."""
    short = len(sentence) <= _HEADING and not marks(sentence)
    return sentence.rstrip().endswith((":", "：")) and (short or not says_something(sentence))


_HEADING = 40  # ours: characters of a line that may be one, whatever its words


def _strictly(said: Sequence[Verdict]) -> list[Verdict]:
    """The sentences that stay: supported, disputed or neutral ones, and denials; no heading of what does not stay."""
    kept: list[Verdict] = []
    below = False  # whether anything stays up to the next heading
    for verdict in reversed(said):
        heading = _is_heading(verdict.sentence)
        stays = below if heading else verdict.label != OWN or denies(verdict.sentence)
        kept += [verdict] if stays else []
        below = not heading and (below or stays)
    return kept[::-1]


_MODEL = "the model: "  # how a reason begins that is the model's alone


def _other_number(verdict: Verdict) -> bool:
    """Whether the rules dispute a sentence for its number or unit."""
    against = [c.triple.tail.name for c in verdict.claims if c.label == DISPUTED and c.triple is not None]
    odd = any(c.label == DISPUTED and c.relation == "number" for c in verdict.claims)
    said = without_marks(verdict.sentence)
    return odd or any(quantities(text) and strange_number(said, text) for text in against)


def warns(verdict: Verdict) -> bool:
    """Whether a warning follows the answer: a sentence that is disputed by the rules, with their claim or fact.

    One that warns of a medicine which the graph gives is none.
    """
    if verdict.label != DISPUTED or verdict.reason.startswith(_MODEL):
        return False
    against = [c.triple for c in verdict.claims if c.label == DISPUTED and c.triple is not None]
    return not (any(t.relation.role in _GIVEN for t in against) and denies(without_marks(verdict.sentence)))


_TOLD = frozenset({Role.INTERACTS, Role.ADVERSE, Role.CAUSE, Role.INGREDIENT, Role.CONTRAINDICATED, Role.PRECAUTION})
_GIVEN = (Role.TREATS, Role.DOSAGE, Role.PREVENTION)


def _listed(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


def shown(text: str, said: Sequence[Verdict], kept: Sequence[Verdict], language: str) -> str:
    """The text with a mark behind each sentence, in its place; the sentences that are not kept are taken out.

    Sentences of the model's own that follow one another in a line have one mark, behind the last.

    >>> own = Verdict("Rest helps.", False, "")
    >>> shown("Rest helps.\\nAnswer: B", [own], [own], "en")
    "Rest helps. [the model's own]\\nAnswer: B"
    >>> both = [own, Verdict("Sleep.", False, "")]
    >>> shown("Rest helps. Sleep.", both, both, "en")
    "Rest helps. Sleep. [the model's own]"
    """
    words, done, at = catalogue(language), [], 0
    stay = {id(v) for v in kept}
    marked = {OWN: words("label.own"), DISPUTED: words("label.disputed")}
    run = -1  # where the mark of the model's own sentences stands that one more may follow
    for verdict in said:
        found = _place(verdict.sentence, text, at)
        if found is None:
            continue
        start, end = found
        done.append(text[at:start])
        if id(verdict) in stay:
            mark = marked.get(verdict.label, "")
            gap = "" if has_cjk(text[start:end]) else " "
            if run >= 0 and verdict.label == OWN and "\n" not in text[at:start]:
                done[run] = ""
            done += [_marked(verdict, text[start:end]), f"{gap}{mark}" if mark else ""]
            run = len(done) - 1 if verdict.label == OWN else -1
        at = end
    lines = [line.rstrip() for line in "".join([*done, text[at:]]).split("\n")]
    return _GAP.sub("\n\n", "\n".join(line for line in lines if not _BULLET.fullmatch(line))).strip()


_GAP, _BULLET = re.compile(r"\n{3,}"), re.compile(r"\s*(?:[-*•]|\d{1,2}[.)、])\s*")


def _place(sentence: str, text: str, at: int) -> tuple[int, int] | None:
    """Where a sentence stands in a text, whatever the blanks between its words."""
    match = re.compile(r"\s*".join(re.escape(c) for c in sentence.split())).search(text, at)
    return match.span() if match else None


def _marked(verdict: Verdict, text: str) -> str:
    """The sentence with the marks of what it stands on, before its full stop; without marks where it is the model's."""
    if verdict.label == OWN:  # a mark within a sentence may be one of its words: "[2] says that ..."
        return _LAST_MARKS.sub("", text).strip()
    if marks(text) or verdict.label not in (SUPPORTED, DISPUTED) or not verdict.citations:
        return text
    body = text.rstrip(".!?。！？;；")
    return f"{body} {_listed(verdict.citations)}{text[len(body) :]}"


_LAST_MARKS = re.compile(r"(?:\s*[\[【［〔]\d+[\]】］〕])+(?=\s*(?:[.!?;,。．！？；，、]|$))")


def with_warnings(text: str, verdicts: Sequence[Verdict], language: str) -> str:
    """The text and a warning for each of some contradicted sentences, on lines of their own below it.

    >>> print(with_warnings("Eat.", [Verdict("Eat.", False, "the graph says no", label="contradicted")], "en"))
    Eat.
    <BLANKLINE>
    Warning: the graph contradicts “Eat.”: no.
    """
    lines = [_warning(v, language) for v in verdicts if v.label == DISPUTED]
    return "\n\n".join([text, "\n".join(lines)]) if lines else text


def _warning(verdict: Verdict, language: str) -> str:
    """The warning about one sentence."""
    where, _, fact = verdict.reason.removeprefix("the ").partition(" says ")
    words, who = catalogue(language), f"label.{where}"
    return words("label.warning", who=(words(who) if who in words else where), sentence=verdict.sentence, fact=fact)


def _counted(said: Sequence[Verdict], kept: Sequence[Verdict], language: str) -> Iterator[str]:
    """How many sentences are what."""
    labels, words = [v.label for v in kept], catalogue(language)
    own, against = labels.count(OWN), labels.count(DISPUTED)
    counts = {"left_out": len(said) - len(kept), "own_count": own, "disputed_count": against}
    yield from (words(f"label.{key}", count=n, all=len(said)) for key, n in counts.items() if n)
