"""Does each sentence of an answer stand on evidence? Decided by words, without a model.

The rule, for each sentence:

1. Its *terms* are its content words (singular, without function words) or, in Chinese, its pairs of characters. Terms
   that the question brought do not count, unless the sentence has no others.
2. It stands on the cited evidence if at least `threshold` of these terms occur in that evidence (its text and the names
   of its entities and relations). Without a citation the single piece of evidence with the largest share is cited for
   it, if that share reaches the threshold.
3. Whatever the share, it does not stand if it holds a number that is in neither the evidence nor the question, or names
   a medical entity that is in neither (as told by `names`), or claims something (that one treats, or causes, the other)
   that the evidence claims nowhere, or denies what the evidence says, or says what the evidence denies.

Words in common are a necessary sign, not proof: a sentence that picks the wrong disease of two in the evidence passes.
`kgmed.steps.check` decides by triples wherever a sentence names two things.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kgmed import vocabulary
from kgmed.disk import packaged_toml
from kgmed.language.quantities import quantities
from kgmed.language.quantities import strange as strange_quantities
from kgmed.language.text import has_cjk, normalise, pattern_of, singular
from kgmed.models.replies import marks, without_marks
from kgmed.records import Answer, Context, Evidence, Query, Role, Verdict
from kgmed.steps.claims import cues, says_something
from kgmed.stop import check_stop

# A text as sentences, and a sentence as terms, numbers and denials that can be compared with those of another text.

_SENTENCE = re.compile(r"[^.!?。！？；\n]+(?:[.!?](?!\s|$)[^.!?。！？；\n]*)*[.!?。！？；]*\n?")
_BULLET = re.compile(r"^[^\S\n]*+(?:\d{1,2}[.)、]|[-*•])\s+", re.MULTILINE)
_LONGEST_ABBREVIATED = 8  # characters, with what stands before it
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|approx|Dr|Mr|Mrs|Prof|cf|etc|spp?|No|Fig)\.$")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:\.\d+)?")
_ENDING = re.compile(r"(?<=\w{4})(?:ations?|ances?|ments?|ing|ed|ly)$")
_pattern = partial(pattern_of, __name__)
_EMPTY_WORDS = frozenset(packaged_toml(__name__)["empty_words"].split())
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def sentences(text: str) -> list[str]:
    """The sentences of a text; marks after a full stop belong to the sentence before them; bullets are left out.

    Where a text has its marks before the full stops, one at the beginning of a sentence belongs to that.

    >>> sentences("他不能用[1]。可以用别的。[2]与此无关。")
    ['他不能用[1]。', '可以用别的。', '[2]与此无关。']
    >>> sentences("Give 2.5 mg, e.g. at night. [1] Rest!\\n多休息。【2】多喝水。")
    ['Give 2.5 mg, e.g. at night. [1]', 'Rest!', '多休息。【2】', '多喝水。']
    >>> sentences("It helps. [1] says otherwise.")
    ['It helps.', '[1] says otherwise.']
    """
    found: list[list[str]] = []  # sentences by their pieces, joined once
    cjk, before = False, _MARKED_BEFORE_STOP.search(text) is not None
    for piece in (m[0].strip() for m in _SENTENCE.finditer(_BULLET.sub("", text))):
        check_stop()
        lead = _leading_marks(piece) if found else ""
        following = piece[len(lead) :].lstrip()
        lead = "" if following and (before or following[0].islower()) else lead  # "[1] says that ..." begins with it
        if lead:
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += ["" if cjk else " ", lead]
        rest = piece[len(lead) :].strip()
        if found and not lead and _is_abbreviated(found[-1][-1], rest):
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += [" ", rest]
        elif rest:
            found.append([rest])
            cjk = False
    return [s for s in map("".join, found) if re.search(r"\w", without_marks(s))]


_MARKED_BEFORE_STOP = re.compile(r"[\]】］〕]\s*(?:[。．！？；]|[.!?;](?!\w))")


def _is_abbreviated(piece: str, rest: str) -> bool:
    """Whether it ends in an abbreviation, and not in a full stop; "No." is one before a number."""
    match = _ABBREVIATED.search(piece, max(len(piece) - _LONGEST_ABBREVIATED, 0))
    return match is not None and (match[0] != "No." or rest[:1].isdigit())


def _leading_marks(piece: str) -> str:
    """The marks that a piece begins with."""
    match = re.match(r"(?:\s*[\[【［〔][^\]】］〕]*[\]】］〕])+", piece)
    return match[0] if match and marks(match[0]) and not re.search(r"\w", without_marks(match[0])) else ""


def terms(text: str) -> frozenset[str]:
    """The content words of a text, without endings, and the pairs of characters of its Chinese parts.

    Words that say what is claimed of them (treats, causes, not) are no terms.

    >>> sorted(terms("The patients may have Seizures of 38.5 °C")), sorted(terms("可以用奥美拉唑"))
    (['38.5', 'c', 'seizure'], ['奥美', '拉唑', '美拉'])
    """
    plain = normalise(
        vocabulary.listed("claims of treatment or cause").sub(
            " ", vocabulary.listed("denials in an answer").sub(" ", text)
        )
    )
    words = {_ENDING.sub("", singular(w)) for w in _CJK_RUN.sub(" ", plain).split() if w not in _EMPTY_WORDS}
    runs = _CJK_RUN.findall(_pattern("empty_characters").sub(" ", plain))
    return frozenset((words - _EMPTY_WORDS) | {run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))})


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, as written, apart from those inside a word.

    >>> sorted(numbers_in("0.5 mg of vitamin B12, 一次3片"))
    ['0.5', '3']
    """
    return frozenset(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def claimed(text: str) -> str:
    """What a sentence claims: without the yes or no that it begins with, and the clauses that say that something is not
    known or told; "" = nothing.

    >>> claimed("It is given for pain, but the evidence does not say how safe it is.")
    'It is given for pain'
    >>> claimed("No, it helps.")
    'it helps.'
    >>> claimed("On this point, the facts do not tell."), claimed("证据中没有提到剂量。"), claimed("Answer: B")
    ('', '', '')
    """
    if _pattern("choice").fullmatch(text):
        return ""
    text = _pattern("yes_or_no").sub("", text)
    if not _pattern("silent").search(text):
        return text
    rest = ", ".join(
        filter(None, (c.strip() for c in _pattern("clause").split(text) if not _pattern("silent").search(c)))
    )
    return rest if says_something(rest) else ""


def is_silent(text: str) -> bool:
    """Whether a text says somewhere that something is not known or not told.

    >>> is_silent("I do not know."), is_silent("Gout.")
    (True, False)
    """
    return _pattern("silent").search(text) is not None


def denies(text: str) -> bool:
    """Whether the text says "not", warns, or forbids.

    >>> denies("Not in pregnancy"), denies("孕妇禁用"), denies("消化不良"), denies("Normal knot")
    (True, True, False, False)
    """
    return vocabulary.listed("denials in an answer").search(text) is not None


# Does each sentence of an answer stand on evidence? Decided by words, without a model.

THRESHOLD = 0.6  # ours: a sentence of five new terms may put two in its own words


def no_names(text: str) -> Collection[str]:
    """No entity at all: the check of names is left out."""
    return ()


@dataclass(frozen=True, slots=True)
class Citations:
    """Holds each sentence of an answer against the words of the evidence; the rule is this module's docstring.

    `names` tells the medical entities that a text names, by any hashable id, such as those that a graph's recogniser
    and linker find.
    """

    threshold: float = THRESHOLD
    names: Callable[[str], Collection[str]] = no_names

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with a verdict for each sentence and the citations that they stand on or name."""
        if answer.abstained:
            return answer
        asked = query.question.words
        verdicts = tuple(self.verdict(s, asked, context.cited) for s in sentences(answer.text))
        named = (n for n in answer.citations if 1 <= n <= len(context.cited))
        stood_on = (n for v in verdicts if v.supported for n in v.citations)
        return replace(answer, verdicts=verdicts, citations=tuple(dict.fromkeys([*named, *stood_on])))

    def verdict(self, sentence: str, asked: str, cited: Sequence[Evidence]) -> Verdict:
        """Whether one sentence stands, on which evidence, and why not."""
        bare = claimed(without_marks(sentence))
        if not bare.strip():
            return Verdict(sentence, supported=False, reason="claims nothing of medicine", label="neutral")
        wanted = (terms(bare) - terms(asked)) or terms(bare)
        if not wanted:
            return Verdict(sentence, supported=False, reason="says nothing that could be checked")
        said = {n: full_text(cited[n - 1]) for n in marks(sentence) if 1 <= n <= len(cited)}
        found, share = _cited_share(wanted, said) if said else _best_share(wanted, cited)
        problem = self._problem(bare, asked, [cited[n - 1] for n in found], share)
        reason = problem or f"{share:.0%} of its terms are in the evidence"
        return Verdict(sentence, not problem, reason, tuple(found) if said or not problem else ())

    def _problem(self, bare: str, asked: str, evidence: Sequence[Evidence], share: float) -> str:
        """Why the sentence does not stand on the evidence; "" = it does."""
        if share < self.threshold:
            return f"only {share:.0%} of its terms are in the evidence, {self.threshold:.0%} are needed"
        text = "\n".join(map(full_text, evidence))
        if number := strange_number(bare, text, asked):
            return f"{number} is not in the evidence"
        if strange := sorted({*self.names(bare)} - {*self.names(text)} - {*self.names(asked)}):
            return f"{strange[0]} is not in the evidence"
        if claim := unclaimed(bare, evidence):
            return f"says that something {claim}, which the evidence does not"
        if denies(bare) != any(e.is_safety or denies(e.text) for e in evidence):
            return "denies what the evidence says" if denies(bare) else "says what the evidence denies"
        return ""


def strange_number(said: str, *known: str) -> str:
    """The first number or quantity of a text that none of the others has; "" = none.

    >>> strange_number("5 mg", "1 tablet of 5 mg"), strange_number("800 mg", "400 mg")
    ('', 'the number 800')
    """
    there = "\n".join(known)
    if strange := sorted(numbers_in(said) - numbers_in(there)):
        return f"the number {strange[0]}"
    odd = [q for q in strange_quantities(quantities(said), quantities(there)) if q.unit]
    return str(odd[0]) if odd else ""


def best_piece(sentence: str, cited: Sequence[Evidence]) -> tuple[int, ...]:
    """The number of the piece that holds most of the words of a sentence; () = none holds any."""
    numbers, share = _best_share(terms(without_marks(sentence)) or frozenset({""}), cited)
    return tuple(numbers) if share else ()


def full_text(evidence: Evidence) -> str:
    """All that a piece of evidence says: its text and the names in its triples."""
    named = [name for t in evidence.triples for name in (t.head.name, str(t.relation), t.tail.name)]
    return "\n".join([evidence.text, *named])


def _cited_share(wanted: Collection[str], said: dict[int, str]) -> tuple[list[int], float]:
    """The numbers cited that hold any of the wanted terms (all of them if none does), and the share they hold."""
    held = {n: terms(text) & set(wanted) for n, text in said.items()}
    return [n for n in held if held[n]] or list(held), len(set().union(*held.values())) / len(wanted)


def _best_share(wanted: Collection[str], cited: Sequence[Evidence]) -> tuple[list[int], float]:
    """The number of the evidence that holds most of the wanted terms (the first of equals), and its share."""
    shares = [len(terms(full_text(e)) & set(wanted)) / len(wanted) for e in cited]
    best = max(shares, default=0.0)
    return ([shares.index(best) + 1] if shares else []), best


_KINDS = (("treats", Role.TREATS), ("causes", Role.CAUSE))
_TREATED = frozenset({Role.TREATS, Role.DOSAGE, Role.INGREDIENT, Role.CONTRAINDICATED})
_CAUSED = frozenset({Role.CAUSE, Role.RISK, Role.GENE, Role.ADVERSE, Role.COMPLICATION, Role.CONTRAINDICATED})


def unclaimed(sentence: str, evidence: Sequence[Evidence]) -> str:
    """What the sentence says that something does (treats, causes) and none of the evidence; "" = nothing.

    >>> unclaimed("Metformin causes diabetes.", [Evidence("diabetes | treated by | metformin", "triple")])
    'causes'
    """
    said = {role for _, _, cue in cues(sentence) for role in cue.roles}
    made = [(verb, _TREATED if role is Role.TREATS else _CAUSED) for verb, role in _KINDS if role in said]
    return next((verb for verb, roles in made if not any(_claims(e, roles) for e in evidence)), "")


def _claims(evidence: Evidence, roles: frozenset[Role]) -> bool:
    """Whether a piece of evidence says something of those roles, by its triples or its words."""
    if any(t.relation.role in roles for t in evidence.triples):
        return True
    return any(cue.roles & roles for _, _, cue in cues(evidence.text))
