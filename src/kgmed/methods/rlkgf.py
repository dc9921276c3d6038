"""RLKGF's prompts (Figures 6 and 7): a model chooses a disease of a closed list, or of those a graph ties to a patient.

The paper, step by step, and where each is: the patient's subgraph (`reward/cases.py`); R_p by random walks (Eq. 1 to 3,
`reward/criticality.py`), R_s by a GCN and R (Eq. 4 to 8, `reward/rlkgf.py`); the reward of an answer
(`reward/graph_reward.py`); PPO (Eq. 9, `train/ppo.py`). Then the policy is asked, by the fields of `rlkgf_prompt`:

- `recognize`, `link`: the patient's findings; `retrieve`: the diseases' triples (`PatientSubgraph`), none in Figure 6.
- `read`: a disease of the closed list that a question with options has (`ClosedListReader`), or else of those that the
  graph ties to the findings (`DiseaseReader`, ours).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from kgmed.diagnose.retrieve import Diagnosis
from kgmed.errors import BadInput, ModelFailed
from kgmed.graph.base import LocalGraph
from kgmed.language.text import has_cjk, pattern_of, prompt_language
from kgmed.models.asking import Tally
from kgmed.models.base import LLM
from kgmed.models.replies import marks, without_marks
from kgmed.pipeline import Pipeline, Reader, Retriever
from kgmed.records import Answer, Candidate, Context, Entity, Evidence, Link, Query, Question, Role
from kgmed.registry import About, Calls, methods
from kgmed.reward.cases import NameInText, NamesIn, Wording, lists_on, named_one, told_patient, worded
from kgmed.reward.cases import question as case_question
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader, Steps, usable_answer
from kgmed.toolkit import Toolkit

RLKGFPromptPreset = Literal["paper"]
_BY_NUMBER = re.compile(
    r"(?:\b(?:it|is|the|my|i|choose|pick|answer|disease|diagnosis|number|no|option|one|first|second|third|most|likely|probably|of|list)\b"
    r"|最可能|答案|诊断|疾病|编号|选择|列表|[的是为选第个号种中]|[\W_])*",
    re.IGNORECASE,
)  # what may stand beside a number that names a disease
_CJK = r"[\u3400-\u9fff]"
_BEFORE = re.compile(
    rf"(?:^|(?!{_CJK})[\W\w]|是|为|患|得|了|有|像|选|即|和|与|或|及|非|断|考虑|选择|答案|可能|属于|提示|符合|排除)$"
)
_BEHIND = re.compile(rf"$|(?!{_CJK})[\W\w]|的|了|是|和|与|或|及|而|但|因|更|最|不|可|引起|导致|患者|比|所致")
_UNKNOWN = re.compile(r"\W*(?:unknow\w*|none of (?:them|these)|未知|不知道|都不符合)", re.IGNORECASE)
_FORM = re.compile(
    r"\W*(?:(?:the )?(?:diagnosis|disease|answer)(?: is)?|诊断|疾病|答案)\s*[:：是为]?\s*", re.IGNORECASE
)
_LEAD = re.compile(r"^(?:患者|病人|最|应该|可能|考虑|诊断|是|为|得了|患有|患)+")
_WORD_BEFORE, _WORD_BEHIND = re.compile(r"([\w'’]+)[ -]$"), re.compile(r"[ -]([\w'’]+)")
_AROUND = 500  # triples of a disease that are looked at
_SEVERAL = re.compile(r"[\n;；、，！!。]|, (?!and )")
_SHORT = 60  # characters; a reply in one line up to this is the name of a disease


@dataclass(frozen=True, slots=True, kw_only=True)
class RLKGFPromptSettings:
    """The numbers of the prompts."""

    diseases: int = 20  # ours: the paper's lists have 4 to 20; of a question without options
    triples: int = 10  # ours, of each disease of a closed list; 0 = the prompt without knowledge (Figure 6)
    language: Literal["", "en", "zh"] = ""  # of the instructions for a closed list; "" = that of the question
    form: Literal["", "figures", "trained"] = ""  # "trained" = as `kgmed train` asks; "" = if the model was trained so
    answer_tokens: int = 32  # ours


PAPER = RLKGFPromptSettings()
PRESETS: dict[RLKGFPromptPreset, RLKGFPromptSettings] = {"paper": PAPER}


@methods.register(
    "rlkgf-prompt",
    about=About(
        paper="RLKGF",
        by="Yan et al.",
        year=2025,
        where="Findings of ACL 2025",
        does="shows a model the diseases tied to the findings, with their triples; it names one or none",
        calls=Calls.always(1, "the choice; ours and the paper's"),
        ours=(
            "options are the closed list; without any, the diseases that the graph ties to the findings, best first",
            "a reply counts by the listed name in it; of the graph's list also by a number alone",
            "of each disease the triples of the patient's findings and the heaviest others, `triples` in all",
        ),
    ),
    presets=PRESETS,
)
def rlkgf_prompt(toolkit: Toolkit, *, settings: RLKGFPromptSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s = settings or PAPER
    if toolkit.llm is None:
        raise BadInput("the method rlkgf-prompt needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    read = LLMReader(toolkit.llm, name="rlkgf/diagnose", max_tokens=s.answer_tokens, prompts=toolkit.prompts)
    listed = ClosedListReader(toolkit.llm, s.answer_tokens, s.language, s.form, toolkit.prompts)
    trained: Mapping[str, Any] = getattr(toolkit.llm, "trained", {}) if s.form != "figures" else {}
    listed = replace(listed, trained=trained)
    each = 0 if trained or s.form == "trained" else s.triples
    return Pipeline(
        recognize=toolkit.recognize,
        link=toolkit.link,
        understand=toolkit.understand,
        retrieve=(PatientSubgraph(toolkit.graph, each, Diagnosis(toolkit.graph, keep=s.diseases)),),
        rank=(),
        phrase=Numbered(),
        read=DiseaseChoice(listed, DiseaseReader(read)),
        name="rlkgf-prompt",
        graph=toolkit.graph.label,
    )


# --- A closed list: the triples of the patient's subgraph, and the one disease of the list that a reply names.


@dataclass(frozen=True)
class PatientSubgraph:
    """Retriever: of each disease of a closed list that the patient's findings are tied to, its triples.

    The paper's closure: the patient's findings, the diseases tied to any, and what else these are tied to; `each` of a
    disease at most, the patient's own first, then the heaviest. A question without options is left to `otherwise`.
    """

    graph: LocalGraph
    each: int
    otherwise: Retriever

    def __call__(self, query: Query, links: Sequence[Link], /) -> list[Evidence]:
        """A triple a piece, disease by disease in the order of the list."""
        if not query.question.options:
            return self.otherwise(query, links)
        there = {link.entity.id for link in links if not link.mention.negated}
        listed = (self._disease(name) for _, name in query.question.options) if self.each and there else ()
        return [piece for disease in listed if disease for piece in self._around(disease, there)]

    def _disease(self, name: str) -> Entity | None:
        return next((e for e in [m.entity for m in self.graph.lookup(name)] if e.kind == "disease"), None)

    def _around(self, disease: Entity, there: set[str]) -> list[Evidence]:
        """The triples of a disease with findings; none where the patient has none of these."""
        found = self.graph.neighbours(disease.id, limit=_AROUND, roles=(Role.FINDING,))
        own = [t for t in found if {t.head.id, t.tail.id} & there - {disease.id}]
        rest = [t for t in found if t not in own] if own else []
        as_text = "<{0.head.name}, {0.relation}, {0.tail.name}>".format
        return [Evidence(as_text(t), "triple", (t,), (disease,), t.weight) for t in [*own, *rest][: self.each]]


@dataclass(frozen=True, slots=True)
class ClosedListReader:
    """A model that chooses one disease of the question's options by its name; it sees no letters.

    A name outside the list chooses nothing and stands as the answer's candidate; several names choose them all; UNKNOWN
    abstains. A reply of no use (empty, a loop) is asked for once more, then fails.
    """

    llm: LLM
    max_tokens: int = 32
    language: str = ""  # of the instructions; "" = that of the question
    form: str = ""
    prompts: Path | None = None
    trained: Mapping[str, Any] = field(default_factory=dict)  # how the model was asked in training
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The disease; it cites the triples about it that the model saw."""
        question = query.question
        if self.trained:
            return self._as_trained(question)
        bare = replace(question, options=(), language=self.language or question.language)
        comma = "；" if prompt_language(bare) == "zh" else "; "
        names = [name for _, name in question.options]
        listed = {"diseases": comma.join(names)}
        steps = Steps(self.llm, "rlkgf", self.max_tokens, self.prompts, self.tally)
        shown, usable = 0, partial(usable_answer, question=bare)
        if self.form == "trained":
            said = steps.ask("trained", replace(bare, text=_as_trained(bare, names)), str)
        elif context.cited:
            shown, said = steps.read("choose_kg", bare, context, usable, None, **listed)
        else:
            said = steps.ask("choose", bare, usable, None, **listed)
        answer = listed_answer(said, question)
        chosen = {name.casefold() for letter, name in question.options if letter in answer.choices}
        about = enumerate(context.cited[:shown], start=1)
        cites = tuple(i for i, piece in about if any(e.name.casefold() in chosen for e in piece.about))
        there = len(context.cited)
        left_out = f"the model read the first {shown} of {there} triples" if shown < there else ""
        limits = "; ".join(filter(None, [answer.limits, left_out]))
        return replace(answer, citations=cites, limits=limits, reader=f"closed list, llm {self.llm.name}")

    def _as_trained(self, question: Question) -> Answer:
        """The disease that a model of `kgmed train` names, asked as its folder says, and judged as in training."""
        told = self.trained
        case, words = told_patient(question.text), Wording(told["language"], told["words"])
        if case is None:
            raise BadInput("a model of kgmed train is asked about patients as data sets have them, as mz-questions")
        names, kinds = told["diseases"], {"listed": told["listed"], "figure6": told["figure6"]}
        text = worded(words.case(case), names, words.language, **kinds)
        bare = replace(question, text=text, options=(), language=words.language)
        longest = max(told["longest"], 1)
        said = Steps(self.llm, "rlkgf", longest, self.prompts, self.tally).ask("trained", bare, str)
        letters, own = zip(*question.options, strict=True) if question.options else ((), ())
        read = replace(question, options=tuple(zip(letters, words(own), strict=True)))
        answer, one = listed_answer(said, read), named_one(NamesIn(dict.fromkeys(names, ())), said)
        chosen = tuple(letter for letter, name in read.options if name == one)
        reader = f"{told['policy']} {self.llm.name}, as it was trained"
        return replace(answer, choices=chosen, abstained=answer.abstained and not chosen, reader=reader)


def _as_trained(asked: Question, names: Sequence[str]) -> str:
    """The question as a policy of `kgmed train` was asked it; raises `BadInput` for one that is no patient's."""
    case = told_patient(asked.text)
    if case is None:
        raise BadInput("form=trained is for the patients of data sets, such as mz-questions")
    return case_question(case, names, prompt_language(asked))


def listed_answer(said: str, question: Question) -> Answer:
    """What a reply names of the question's options: one, several, none (UNKNOWN), or a disease outside the list.

    >>> which = Question("?", (("A", "gout"), ("B", "flu")))
    >>> [listed_answer(t, which).choices for t in ("Diagnosis: flu", "not gout but flu", "gout or flu", "swine flu")]
    [('B',), ('B',), ('A', 'B'), ()]
    >>> listed_answer("Diagnosis: swine flu", which).candidates[0].name, listed_answer("UNKNOWN", which).abstained
    ('swine flu', True)
    """
    text = without_marks(said)
    found = [f for f in NamesIn({name: () for _, name in question.options})(text) if not _goes_on(text, f)]
    named = {name for f in found if not f.denied for name in f.names}
    rest = text[match.end() :] if (match := _FORM.match(text)) else text
    if any(lists_on(text, f, (name for _, name in question.options)) for f in found):
        return Answer(said, limits="the reply says the list again")
    if named:
        letters = tuple(letter for letter, name in question.options if name in named)
        return Answer(said, choices=letters, limits="several diseases of the list are named" if letters[1:] else "")
    if _UNKNOWN.match(rest):
        return Answer(said, abstained=True, limits="the model chose none of the list")
    if other := _short_name(rest):
        return Answer(said, candidates=(Candidate(other, 0.0),), limits="a disease outside the list is named")
    return Answer(said, limits="the reply names no disease of the list")


def _short_name(text: str) -> str:
    """The name that a reply of one line consists of, without the words before it; "" for a longer one.

    >>> [_short_name(t) for t in ("It is most likely swine flu.", "患者应该是得了支原体肺炎。", "发热、腹泻")]
    ['swine flu', '支原体肺炎', '']
    """
    line = text.strip(" .。!！,，;；\"'“”")
    if len(line) > _SHORT or _SEVERAL.search(line):
        return ""
    words = line.split()
    at = next((i for i, word in enumerate(words) if not pattern_of(__name__, "plain").fullmatch(word)), len(words))
    return _LEAD.sub("", " ".join(words[at:]))


# --- A list that the graph makes of the findings: the one disease that a reply names, by name or else by number.


@dataclass(frozen=True, slots=True)
class DiseaseChoice:
    """A reader of both: of a closed list, or of the list that the graph makes."""

    closed: Reader
    tied: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer of one of the two."""
        return (self.closed if query.question.options else self.tied)(query, context)


@dataclass(frozen=True, slots=True)
class DiseaseReader:
    """A reader that takes from a reply the one listed disease it names, by name or else by number."""

    read: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The disease; an abstention for UNKNOWN; raises `ModelFailed` where none or several are named."""
        said = self.read(query, context)
        if not context.cited:
            return said
        if said.abstained or _UNKNOWN.match(said.text):
            return replace(said, text=f"No listed disease: {said.text}", citations=(), abstained=True)
        number = self._number(said, context)
        disease = context.cited[number - 1].about[0]
        found = (Candidate(disease.name, context.cited[number - 1].score, disease, (number,)),)
        limits = f"one of {len(context.cited)} diseases that the graph ties to the findings, chosen by a model"
        text = f"{disease.name} [{number}]"
        return replace(said, text=text, citations=(number,), candidates=found, limits=limits)

    def _number(self, said: Answer, context: Context) -> int:
        """The number of the disease that a reply names; a number alone counts where the reply names nothing else."""
        listed = {e.about[0].name: i for i, e in enumerate(context.cited, start=1)}
        text = without_marks(said.text)
        found = [f for f in NamesIn(dict.fromkeys(listed, ()))(text) if not _goes_on(text, f)]
        numbers = {listed[name] for f in found if not f.denied for name in f.names}
        if not found and _BY_NUMBER.fullmatch(text):
            numbers = {n for n in marks(said.text) if 1 <= n <= len(context.cited)}
        if len(numbers) != 1:
            raise ModelFailed(f"the model named {'no' if not numbers else 'more than one'} disease of the list")
        return numbers.pop()


def _goes_on(text: str, found: NameInText) -> bool:
    """Whether a name is only a piece of a longer one; words that no name is made of may stand beside a Chinese one."""
    before, behind = text[: found.start], text[found.end :]
    if has_cjk(text[found.start : found.end]):
        return not (_BEFORE.search(before) and _BEHIND.match(behind))
    near = [m[1] for m in (_WORD_BEFORE.search(before), _WORD_BEHIND.match(behind)) if m]
    return not all(map(pattern_of(__name__, "plain").fullmatch, near))
