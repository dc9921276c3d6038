"""What the program answers now, frozen, so that a later version can be held against it: nothing may change but seconds.

    KGMED_DATA=DIR python bench/answers.py write FILE     # .jsonl, or .jsonl.gz
    KGMED_DATA=DIR python bench/answers.py check FILE     # a line for each difference, at most 40; exit code 1 if any
    python bench/answers.py check FILE --only small       # half a minute; needs no KGMED_DATA
    python bench/answers.py renew                         # tests/answers.json, when an answer is meant to change

A record is a key and a value; `--only PREFIX` takes the records whose keys begin so, and `small` those of the small
graph and of twelve questions. The parts are listed by `PARTS`. Sixty questions of our own are asked by every method
that needs no model, of both packaged graphs; every method is asked with a scripted model; and the commands that list,
search, diagnose, reward, build and evaluate are run. All goes through the command line in this process and through
`kgmed.load`; the few other names are taken in one place, "Names of kgmed".

Graphs are those of KGMED_HOME, in which there may be no others but hpo and cmekg (they are built where they are not
there yet); without it, or with --fresh, they are built in a temporary folder. Indexes kept beside a graph are not made
anew, so that a last check is one with --fresh.
"""

import argparse
import atexit
import contextlib
import dataclasses
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Value = Any  # plain data, as JSON holds it
Record = tuple[str, Value]

IGNORED = frozenset({"seconds", "hits", "cached", "digest", "versions"})  # keys that are left out anywhere
IGNORED_IN_A_RUN = frozenset({"id", "time", "at", "began", "ended", "version"})  # of a run itself or its line in a log
DIGITS = 6  # of floating-point numbers
MOST = 40  # differences that are printed
SHOWN = 90  # characters of a value that are printed

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "tests" / "answers.json"
RENEW = "python bench/answers.py renew"


# ---------------------------------------------------------------------------------------------------------------------
# Names of kgmed. Everything that this file takes from the package, but for `kgmed.load`, `kgmed.to_json`,
# `kgmed.Question` and `kgmed.cli.main`, stands here: each with its places. A name that stands
# at none of them is looked for in the source, so that a moved module needs no line here; a renamed one does.


@cache
def of_kgmed(name: str) -> Any:
    """The class or function that is called so below, wherever this version of kgmed has it."""
    for place in PLACES[name]:
        module, _, attribute = place.partition(":")
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            return getattr(import_module(module), attribute)
    attributes = dict.fromkeys(place.partition(":")[2] for place in PLACES[name])
    found = [(module, attribute) for attribute in attributes for module in _defining(attribute)]
    if len(found) != 1:
        raise ImportError(f"kgmed defines {name} in {[m for m, _ in found]}; name its place in PLACES")
    return getattr(import_module(found[0][0]), found[0][1])


PLACES: Mapping[str, Sequence[str]] = {
    "Reply": ("kgmed.models.base:Reply",),
    "ModelFailed": ("kgmed.errors:ModelFailed",),
    "KgmedError": ("kgmed.errors:KgmedError",),
    "Scripted": ("kgmed.models.fakes:Scripted",),
    "Wordwise": ("kgmed.models.fakes:Wordwise",),
    "TrigramEncoder": ("kgmed.models.fakes:TrigramEncoder",),
    "Alias": ("kgmed.graph.base:Alias",),
    "EdgeRow": ("kgmed.graph.base:EdgeRow",),
    "NodeRow": ("kgmed.graph.base:NodeRow",),
    "TextRow": ("kgmed.graph.base:TextRow",),
    "Source": ("kgmed.graph.base:Source",),
    "build": ("kgmed.graph.store.build:build",),
}


def _defining(attribute: str) -> Iterator[str]:
    """The modules of kgmed that define a class or function of that name, but for commands, evaluation and training."""
    root = Path(str(import_module("kgmed").__file__)).parent
    pattern = re.compile(rf"^(?:class|def) {attribute}\b", re.MULTILINE)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in ("cli", "evaluate", "train") and pattern.search(path.read_text(encoding="utf-8")):
            yield ".".join(["kgmed", *parts]).removesuffix(".__init__")


def asker(graph: str, **options: Any) -> Any:
    """What answers questions of a graph, `.ask(question, options=...) -> Run`."""
    return import_module("kgmed").load(graph, **options)


def with_model(made: Any, llm: object, **changed: Any) -> Any:
    """The same with a model of ours, an encoder without files, and other fields changed; graphs stay open."""
    return dataclasses.replace(made, llm=llm, encoder=of_kgmed("TrigramEncoder")(), **changed)


def main_of_kgmed() -> Callable[[], None]:
    """The command line."""
    found: Callable[[], None] = import_module("kgmed.cli").main
    return found


def plain(record: object) -> Value:
    """A record of kgmed as plain data."""
    return import_module("kgmed").to_json(record)


# ---------------------------------------------------------------------------------------------------------------------
# What is asked.


class Asked(NamedTuple):
    """A question of ours, and its options."""

    text: str
    options: tuple[str, ...] = ()  # as A=TEXT
    quick: bool = False  # one of the twelve of --only small

    @property
    def choices(self) -> dict[str, str]:
        """The options by letter."""
        return {letter: text for letter, _, text in (option.partition("=") for option in self.options)}


QUESTIONS = (
    # what a disease has
    Asked("What are the signs of Ehlers-Danlos syndrome?", quick=True),
    Asked("Which gene is mutated in Rett syndrome?"),
    Asked("How is Friedreich ataxia inherited?"),
    Asked("At what age does Huntington disease begin?"),
    Asked("Does Turner syndrome cause short stature?"),
    Asked("What does neurofibromatosis type 1 do to the eyes and the skin?"),
    Asked("Is deafness part of Usher syndrome, and how often?"),
    Asked("phenylketonuria symptoms"),
    Asked("Differences between Marfan syndrome and Loeys-Dietz syndrome"),
    Asked("Tell me about the FBN1 gene."),
    # what a patient has
    Asked(
        "A 30-year-old woman with recurrent nosebleeds has telangiectasias on her lips, and her father had the same. "
        "Which disease should I think of?",
        quick=True,
    ),
    Asked(
        "Our newborn son is floppy, feeds badly and has a small chin. He has no seizures. What could be the cause?",
    ),
    Asked(
        "My sister, 19, is very tall with long fingers. Last year the lens of her left eye slipped. Her heart was "
        "fine, no murmur. She asks whether it is Marfan. What else might it be?",
        quick=True,
    ),
    Asked("Patient: microcephaly, seizures, intellectual disability, no hearing loss; diagnosis?"),
    Asked("A man of 50 with chorea and personality changes. His mother died of the same illness at 55."),
    Asked("blue sclera + fractures + hearing loss in the family"),
    Asked("She has kidney stones but neither fever nor rash. Which disease fits?"),
    Asked("Which diseases have both ataxia and cardiomyopathy?"),
    # with options
    Asked(
        "Which disease causes ectopia lentis and arachnodactyly?",
        ("A=Marfan syndrome", "B=Cystic fibrosis", "C=Huntington disease", "D=Wilson disease"),
        quick=True,
    ),
    Asked("Which finding belongs to Wilson disease?", ("A=Kayser-Fleischer ring", "B=Polydactyly", "C=Cataract")),
    Asked("Which of these is not a sign of Down syndrome?", ("A=Epicanthus", "B=Tall stature", "C=Hypotonia")),
    Asked("Is it treated with aspirin?", ("A=yes", "B=no")),
    # misspelt, in lay words, in capitals, with symbols
    Asked("What are the sings of Marfans syndrom?", quick=True),
    Asked("duchene muscular distrophy life expectancy and symptons"),
    Asked("WHAT ARE THE SIGNS OF CYSTIC FIBROSIS???"),
    Asked("my kid walks on tiptoes, falls a lot & has big calves - should I worry?"),
    Asked("Which drugs contain clonazepam, and may it be taken with alcohol?"),
    Asked("OMIM:154700 HP:0001166"),
    # what no graph knows, and what is no question
    Asked("What is the melting point of gallium?", quick=True),
    Asked("Who won the football match yesterday?"),
    Asked("Does flurbonitrazole-X cure zorbitis?"),
    Asked("?"),
    Asked("hello"),
    Asked("the and of with"),
    # in Chinese: what a disease has
    Asked("糖尿病有哪些并发症？", quick=True),
    Asked("肺结核应该做哪些检查？"),
    Asked("青霉素的禁忌症是什么？", quick=True),
    Asked("二甲双胍的用法用量是多少？"),
    Asked("高血压患者饮食上要注意什么？"),
    Asked("胃溃疡和十二指肠溃疡有什么区别？"),
    Asked("冠心病的病因和危险因素有哪些？"),
    Asked("小儿麻疹怎么预防？"),
    Asked("阿奇霉素和红霉素可以一起吃吗？"),
    Asked("甲亢应该挂什么科？"),
    # in Chinese: what a patient has
    Asked("我最近三天发烧、咳嗽、咳黄痰，没有胸痛，可能是什么病？", quick=True),
    Asked("孩子五岁，昨晚开始肚子疼，呕吐两次，没有拉肚子，体温38.5度，该怎么办？"),
    Asked("老年男性，尿频、尿急、夜尿增多，考虑什么疾病？"),
    Asked("头晕耳鸣，恶心想吐，转头的时候加重，吃什么药好？"),
    Asked("妈妈有高血压和糖尿病，最近脚肿，尿里有泡沫，会不会是肾病？"),
    Asked("手指关节早上僵硬疼痛半年，是类风湿关节炎吗？"),
    # in Chinese: with options
    Asked(
        "治疗缺铁性贫血首选的药物是",
        ("A=硫酸亚铁", "B=叶酸", "C=维生素B12", "D=环孢素", "E=泼尼松"),
        quick=True,
    ),
    Asked("下列哪项不是肺炎的症状？", ("A=发热", "B=咳嗽", "C=咳痰", "D=多尿")),
    Asked("阿司匹林最常见的不良反应是", ("A=胃肠道反应", "B=耳聋", "C=脱发", "D=失眠")),
    # in Chinese: misspelt, in colloquial words, mixed, unknown
    Asked("帕金森氏病有什么证状", quick=True),
    Asked("拉肚子吃蒙脱石散管用不"),
    Asked("hypertension 的治疗药物有哪些？"),
    Asked("Which drugs treat 痛风?"),
    Asked("钨的沸点是多少？", quick=True),
    Asked("今天天气怎么样？"),
    Asked("闻所未闻的怪病吃什么药？"),
)

Words = tuple[str, ...]  # of a command

CHOICES: Mapping[str, Words] = {  # `kgmed ask --json` with more than the question
    "keep 3": ("--graph", "hpo", "--set", "keep=3", "What are the signs of Rett syndrome?"),
    "preset code": ("--graph", "hpo", "--method", "kg-rank", "--preset", "code", "Signs of Noonan syndrome?"),
    "preset paper": ("--graph", "cmekg", "--method", "hykge", "--preset", "paper", "痛风和高尿酸血症有什么关系？"),
    "hops 1": ("--graph", "cmekg", "--method", "hykge", "--set", "hops=1", "痛风和高尿酸血症有什么关系？"),
    "mmr": ("--graph", "hpo", "--method", "kg-rank", "--set", "ranking=mmr", "Signs of Usher syndrome?"),
    "tokens": ("--graph", "hpo", "--evidence-tokens", "120", "What are the signs of Rett syndrome?"),
    "tokens, hykge": ("--graph", "cmekg", "--method", "hykge", "--evidence-tokens", "80", "肺炎和肺结核有哪些症状？"),
    "below": ("--graph", "hpo", "--abstain-below", "0.99", "What could cause nosebleeds?"),
    "ngrams": ("--graph", "hpo", "--encoder", "ngrams", "--method", "kg-rank", "What are the signs of Rett syndrome?"),
    "words": ("--graph", "cmekg", "--scorer", "words", "--method", "kg-rank", "糖尿病有哪些并发症？"),
    "glossary": ("--graph", "hpo", "--glossary", "cmekg", "马凡综合征有哪些症状？"),
    "auto": ("What are the signs of Rett syndrome?",),
    "auto, both": ("发热和头痛 with fever?",),
}
SAID: Mapping[str, Words] = {  # what a person is shown
    "explained": ("ask", "--graph", "hpo", "--explain", "A boy has enlarged calves, no ataxia, high creatine kinase."),
    "short": ("ask", "--graph", "cmekg", "糖尿病有哪些并发症？"),
    "near": ("ask", "--graph", "cmekg", "What is clonazepam for? And hypertenshun?"),
    "near, zh": ("ask", "--graph", "cmekg", "氯硝安定胶束的用法"),
    "options": ("ask", "-g", "hpo", "-o", "A=Marfan syndrome", "-o", "B=Wilson disease", "Which has arachnodactyly?"),
    "abstained": ("ask", "What is the melting point of gallium?"),
    "diagnosed": ("diagnose", "a boy with seizures, microcephaly and no hearing loss", "--keep", "3"),
    "methods": ("methods", "--numbers"),
    "info": ("graph", "info", "cmekg"),
    "show": ("graph", "show", "hpo", "OMIM:154700", "--limit", "5"),
    "paths": ("graph", "paths", "hpo", "OMIM:154700", "HP:0001083"),
    "doctor": ("graph", "doctor", "cmekg"),
    "list": ("graph", "list"),
    "data sets": ("eval", "datasets"),
    "metrics": ("eval", "metrics"),
    "no command": ("nonsense",),
}
ERRORS: Mapping[str, Words] = {
    "no question": ("ask",),
    "empty": ("ask", "  "),
    "no graph": ("ask", "--graph", "hop", "What is rickets?"),
    "no method": ("ask", "--graph", "hpo", "--method", "kgrank", "What is rickets?"),
    "needs a model": ("ask", "--graph", "hpo", "--method", "mindmap", "What is rickets?"),
    "no model": ("ask", "--graph", "hpo", "--llm", "smolm2", "What is rickets?"),
    "no encoder": ("ask", "--graph", "hpo", "--encoder", "nothing", "What is rickets?"),
    "no scorer": ("ask", "--graph", "hpo", "--scorer", "nothing", "What is rickets?"),
    "no setting": ("ask", "--graph", "hpo", "--set", "kep=3", "What is rickets?"),
    "wrong setting": ("ask", "--graph", "hpo", "--set", "keep=many", "What is rickets?"),
    "no preset": ("ask", "--graph", "hpo", "--method", "kg-rank", "--preset", "pamper", "What is rickets?"),
    "no option": ("ask", "--graph", "hpo", "-o", "Marfan", "Which?"),
    "twice": ("ask", "--graph", "hpo", "-o", "A=Marfan", "-o", "A=Wilson", "Which?"),
    "no file": ("ask", "--file", "/nowhere/question.txt"),
    "no config": ("ask", "--config", "/nowhere/kgmed.toml", "Which?"),
    "no entity": ("graph", "show", "hpo", "Marfann"),
    "several entities": ("graph", "show", "hpo", "Marfan syndrome"),
    "no such graph": ("graph", "info", "nothing"),
    "bad name": ("graph", "build", "No Name", "/nowhere/triples.tsv"),
    "no triples": ("graph", "build", "mine", "/nowhere/triples.tsv"),
    "no format": ("graph", "build", "mine", "/nowhere/triples.tsv", "--format", "tripels"),
    "no HPO id": ("diagnose", "HP:12"),
    "nothing given": ("diagnose",),
    "nothing named": ("diagnose", "nothing of this is a finding"),
    "no data set": ("eval", "run", "/nowhere/out", "--set", "mcmu", "--graph", "cmekg", "--method", "facts"),
    "no control": ("eval", "run", "/nowhere/out", "--set", "mmcu", "--graph", "cmekg", "--method", "facts+nothing"),
    "no evaluation": ("eval", "score", "/nowhere/out"),
    "no cases": ("reward", "rank", "/nowhere/cases.jsonl", "/nowhere/patients.jsonl"),
}
TALK = (
    "What are the signs of Marfan syndrome?",
    "And how is it inherited?",
    "Which gene?",
    "糖尿病有哪些并发症？",
    "怎么治疗？",
)
GRAPHS: Mapping[str, Words] = {
    "info hpo": ("info", "hpo"),
    "info cmekg": ("info", "cmekg"),
    "doctor hpo": ("doctor", "hpo"),
    "edits hpo": ("edits", "hpo"),
    "find exact": ("find", "hpo", "Marfan syndrome"),
    "find near": ("find", "hpo", "arachnodactily"),
    "find none": ("find", "hpo", "qqqqqq"),
    "find zh": ("find", "cmekg", "糖尿病"),
    "find near zh": ("find", "cmekg", "二甲双瓜", "--limit", "5"),
    "show disease": ("show", "hpo", "OMIM:154700"),
    "show finding": ("show", "hpo", "Arachnodactyly", "--limit", "40"),
    "show gene": ("show", "hpo", "FBN1"),
    "show zh": ("show", "cmekg", "cmekg:糖尿病", "--limit", "40"),
    "show drug": ("show", "cmekg", "cmekg:阿司匹林"),
    "neighbours": ("neighbours", "hpo", "OMIM:219700"),
    "neighbours of a role": ("neighbours", "hpo", "OMIM:154700", "--role", "gene", "--role", "inheritance"),
    "neighbours zh": ("neighbours", "cmekg", "cmekg:高血压", "--limit", "100"),
    "paths of two": ("paths", "hpo", "OMIM:154700", "OMIM:219700"),
    "paths of three": ("paths", "hpo", "HP:0001166", "HP:0001083", "HP:0002616"),
    "paths of two hops": ("paths", "hpo", "HP:0001166", "HP:0001083", "--hops", "2", "--limit", "50"),
    "paths zh": ("paths", "cmekg", "cmekg:糖尿病", "cmekg:高血压", "--limit", "30"),
    "paths of three zh": ("paths", "cmekg", "cmekg:肺炎", "cmekg:阿司匹林", "cmekg:发热"),
}
LISTS: Mapping[str, Words] = {
    "methods": ("methods",),
    "data sets": ("eval", "datasets"),
    "metrics": ("eval", "metrics"),
    "models": ("models", "list"),
    "graphs": ("graph", "list"),
}
FINDINGS: Mapping[str, Words] = {  # of `kgmed diagnose --json`
    "ids": ("HP:0001166", "HP:0001083", "HP:0002616", "-HP:0000365", "--sex", "female", "--age", "30"),
    "words": ("a boy with seizures, microcephaly and no hearing loss", "--keep", "5"),
    "both": ("HP:0001250", "muscle weakness and enlarged calves", "--onset", "4", "--keep", "3"),
    "orpha": ("HP:0001166", "NOT HP:0001083", "--database", "ORPHA", "--keep", "4"),
    "all": ("HP:0002315", "--database", "all", "--absent-weight", "0.3", "-HP:0001250", "--sex", "male"),
    "unknown": ("HP:9999999", "HP:0001166", "--onset", "HP:0003577"),
}
CASES = 50  # phenopackets

SCRIPTED: Mapping[str, tuple[Asked, ...]] = {  # asked of every method with a scripted model
    "small": (
        Asked("I have bleeding gums. Is it scurvy, and what helps?"),
        Asked("My child has a rash but no bleeding gums. Is it measles?"),
        Asked("Which drug treats scurvy?", ("A=lemon juice", "B=vitamin A", "C=willow bark")),
        Asked("Was hilft bei Skorbut? 坏血病怎么治疗？"),
        Asked("Which pox is it?"),
    ),
    "hpo": (
        Asked("My son has arachnodactyly and ectopia lentis. Is it Marfan syndrome?"),
        Asked("Which finding belongs to Wilson disease?", ("A=Kayser-Fleischer ring", "B=Polydactyly", "C=Tremor")),
    ),
    "cmekg": (
        Asked("痛风和高血压患者发热，应该吃什么药？"),
        Asked("下列哪种药物用于治疗痛风？", ("A=秋水仙碱", "B=青霉素", "C=胰岛素", "D=布洛芬")),
    ),
}


# ---------------------------------------------------------------------------------------------------------------------
# A scripted model, and the small graph.

GOOD: Mapping[str, str] = {
    "baselines/reader": "It is so [1].",
    "cok/answer": "It is so [1].",
    "cok/correct": "A corrected step.",
    "cok/prepare": '{"sentences": ["A first step.", "A second step."]}',
    "con/read": "1: it helps\nAnswer: it is so [1].",
    "cot/answer": "Step by step.\nAnswer: it is so.",
    "cot/conclude": "It is so.",
    "hykge/reader": "It is so [1].",
    "kalmv/answer": "It is so [1].",
    "kalmv/verify": "3",
    "kg_gpt/segment": '{"sentences": ["A first part?", "A second part?", "A third part?"]}',
    "kg_rank/draft": "A draft.",
    "kg_rank/reader": "It is so [1].",
    "kg_rank/short": "so [1]",
    "mindmap/neighbours": "",
    "mindmap/paths": "",
    "mindmap/reason": "Output 1: It is so (P1).\nOutput 2: P1('a'->'b'->'c')\nOutput 3:\na (P1)",
    "mindmap/relevant": "1",
    "mkg_rank/background": "It is so, as it is known.",
    "mkg_rank/declarative": "",
    "mkg_rank/reader": "[A]",
    "qe/background": "Some background.",
    "rlkgf/diagnose": "It is so [1].",
    "sure/candidates": '{"answers": ["one", "two"]}',
    "sure/compare": "1",
    "sure/summarise": "It is so [1].",
    "sure/valid": "yes",
    "tot/answer": "It is so.",
    "tot/propose": '{"thoughts": ["one thought", "another thought", "a third"]}',
    "tot/vote": "2",
    "zero_shot/answer": "It is so.",
}
TERMS = re.compile(
    "bleeding gums|scurvy|rash|measles|pox|arachnodactyly|ectopia lentis|Marfan syndrome|Wilson disease"
    "|坏血病|痛风|高血压|发热|秋水仙碱|布洛芬"
)


CHINESE: Mapping[str, str] = {  # what stands for the words of a reply where the prompt is Chinese
    "It is so, as it is known.": "众所周知，是这样的。",
    "It is so": "是这样的",
    "it is so": "是这样的",
    "it helps": "有帮助",
    "Answer: ": "答案：",
    "Step by step.": "一步一步。",
    "A corrected step.": "改正的一步。",
    "A first step.": "第一步。",
    "A second step.": "第二步。",
    "A first part?": "第一部分？",
    "A second part?": "第二部分？",
    "A third part?": "第三部分？",
    "A draft.": "草稿。",
    "Some background.": "一些背景。",
    "A guess: ": "猜测：",
    "Output ": "输出",
    "yes": "是",
    "so [1]": "是 [1]",
    "one thought": "一个想法",
    "another thought": "另一个想法",
    "a third": "第三个想法",
    "one": "其一",
    "two": "其二",
    "The moon is made of": "月亮由此构成：",
    "I do not know.": "我不知道。",
}


class Obliging:
    """A model that gives every prompt a reply in the form it asks for, and keeps what it was asked.

    One that stammers says nothing usable first, and the same as others when it is asked a second time.
    """

    name = "obliging"

    def __init__(self, *, stammers: bool = False) -> None:
        """Nothing has been asked yet."""
        self.asked: list[tuple[str, list[list[str]]]] = []
        self._stammers = stammers
        self._last = ("", "")  # prompt, and the last message that was made from it

    def __call__(self, messages: Sequence[Any], /, *, max_tokens: int = 256) -> Any:
        """The reply to the prompt that the messages were made from; without one, to the last that there was."""
        prompt = str(getattr(messages, "prompt", ""))
        self.asked.append((f"{prompt or 'again'} {max_tokens}", [[m.role, m.text] for m in messages]))
        if prompt:
            self._last = (prompt, messages[-1].text)
        text = "###" if prompt and self._stammers else self.reply(*self._last)
        return of_kgmed("Reply")(text, sum(len(m.text) for m in messages), len(text), self.name)

    def reply(self, prompt: str, text: str) -> str:
        """What is said to a prompt, in its language."""
        step, _, rest = prompt.partition(".")
        said = GOOD[step] if step in GOOD else self._made(step, text)
        for english, chinese in CHINESE.items() if rest.startswith("zh") else ():
            said = said.replace(english, chinese)
        return said

    @staticmethod
    def _made(step: str, text: str) -> str:
        """A reply that takes up what a prompt holds."""
        terms = list(dict.fromkeys(TERMS.findall(text)))[:3] or ["nothing"]
        if step in ("ask/reader", "ask/detailed"):
            found = re.search(r"^\[1\] (.*?)[.;]*$", text, re.MULTILINE)
            return f"{found[1]} [1]. The moon is made of {terms[-1]} [1]." if found else "I do not know."
        number = re.search(r"\d+", text) if step == "mkg_rank/translate" else None  # a fence may begin with many digits
        options = [TERMS.findall(line)[:1] for line in re.findall(r"^[A-J]\. .*$", text, re.MULTILINE)]
        relations = ("has_symptom", "has_phenotype", "药物治疗", "临床症状及体征")
        forms = {
            "hykge/hypothesis": f"A guess: {', '.join(terms)}.",
            "kg_gpt/relations": _line({"relations": [next((r for r in relations if r in text), "has_symptom")]}),
            "mindmap/extract": ", ".join(terms),
            "kg_rank/terms": _line({"terms": terms}),
            "mkg_rank/question_terms": _line({"medical entities": terms}),
            "mkg_rank/option_terms": _line({"list": [term[0] if term else None for term in options]}),
            "mkg_rank/translate": _line([terms[i % len(terms)] for i in range(int(number[0]) if number else 1)]),
        }
        return forms.get(step, "I do not know.")

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> Any:
        """How likely each text is after the prompt."""
        return of_kgmed("Wordwise")().logprobs(prompt, continuations)


def rows() -> list[Any]:
    """The small graph: made up, so that nothing in it is anybody's data."""
    alias, edge, node, text = (of_kgmed(name) for name in ("Alias", "EdgeRow", "NodeRow", "TextRow"))
    return [
        node("scurvy", kind="disease", description="A disease of missing vitamin C.", aliases=(alias("坏血病"),)),
        node("measles", kind="disease", description="A disease of the morbillivirus."),
        node("cowpox", kind="disease", aliases=(alias("pox of cows"),)),
        node("bleeding gums", kind="symptom"),
        node("rash", kind="symptom", aliases=(alias("exanthem"),)),
        node("lemon juice", kind="drug"),
        node("vitamin A", kind="drug"),
        node("willow bark", kind="drug"),
        node("ascorbate level", kind="test"),
        node("antibody test", kind="test"),
        edge("scurvy", "has_symptom", "bleeding gums", 0.8),
        edge("scurvy", "has_symptom", "rash", 0.1),
        edge("scurvy", "need_medical_test", "ascorbate level"),
        edge("lemon juice", "treats", "scurvy"),
        edge("willow bark", "contraindicated_in", "scurvy"),
        edge("gum tissue", "location_of", "scurvy"),
        edge("scanty fruit", "risk_of", "scurvy"),
        edge("measles", "has_symptom", "rash"),
        edge("measles", "need_medical_test", "antibody test"),
        edge("vitamin A", "treats", "measles"),
        edge("skin", "location_of", "measles"),
        edge("crowding", "risk_of", "measles"),
        edge("cowpox", "has_symptom", "rash", 0.9),
        edge("scanty fruit", "risk_of", "measles"),
        text("lemon juice", "dosage", "a glass a day"),
    ]


@cache
def small() -> Path:
    """The folder of the small graph, built once a process."""
    folder = scratch() / "small"
    made = rows()
    of_kgmed("build")(of_kgmed("Source")("small", lambda: iter(made), language="en"), folder)
    return folder


@cache
def scratch() -> Path:
    """A folder that is gone when this process ends."""
    folder = tempfile.mkdtemp(prefix="kgmed-answers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder).resolve()


# ---------------------------------------------------------------------------------------------------------------------
# Running, and making plain what came.


def cli(*words: str, stdin: str = "") -> Value:
    """What a command prints: its exit code, its output as JSON where it is that, and its messages."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv, typed, sys.stdin = sys.argv, ["kgmed", *words], sys.stdin, io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _code(main_of_kgmed())
    finally:
        sys.argv, sys.stdin = before, typed
    return {"exit": code, "out": _read(out.getvalue()), "err": err.getvalue().splitlines()}


def _code(main: Callable[[], None]) -> int:
    """The exit code of a program."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _read(text: str) -> Value:
    """A text as JSON, as lines of JSON, or as lines."""
    with contextlib.suppress(ValueError):
        return json.loads(text)
    with contextlib.suppress(ValueError):
        return [json.loads(line) for line in text.splitlines()]
    return text.splitlines()


def tried(make: Callable[[], Value]) -> Value:
    """What a function gives; an error is a value too, so that one that is new is told as a difference."""
    try:
        return make()
    except Exception as problem:  # noqa: BLE001 - whatever a version does wrong
        return {"error": f"{type(problem).__name__}: {problem}"}


def normal(value: Value) -> Value:
    """A value without what may differ: the keys that are ignored, digits beyond the sixth, folders of this machine."""
    if isinstance(value, Mapping):
        of_a_run = {"query", "stages"} <= value.keys() or {"item", "run"} <= value.keys()
        left_out = IGNORED | IGNORED_IN_A_RUN if of_a_run else IGNORED
        return {str(k): normal(v) for k, v in value.items() if k not in left_out}
    if isinstance(value, list | tuple):
        return [normal(v) for v in value]
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else str(value)
    return _unplaced(value) if isinstance(value, str) else value


def _unplaced(text: str) -> str:
    """A text without folders of this machine and without seconds."""
    for folder, name in _folders():
        text = text.replace(folder, name)
    return re.sub(r"(Seconds: ).*", r"\1-", text)


@cache
def _folders() -> list[tuple[str, str]]:
    """Folders and what stands for them, the longest first."""
    package = Path(str(import_module("kgmed").__file__)).parent
    known = {
        str(scratch()): "<scratch>",
        os.environ.get("KGMED_HOME", ""): "<home>",
        os.environ.get("KGMED_DATA", ""): "<data>",
        str(package): "<kgmed>",
        str(ROOT): "<root>",
        tempfile.gettempdir(): "<temp>",
    }
    return sorted(((k, v) for k, v in known.items() if len(k) > 1), key=lambda pair: -len(pair[0]))


@cache
def methods() -> dict[str, bool]:
    """Every registered method, and whether it needs a model."""
    listed = cli("methods", "--json")["out"]
    return {one["name"]: one["needs_model"] for one in listed}


def data() -> Path:
    """The folder of data sets; ends the program with a line where none is named."""
    named = os.environ.get("KGMED_DATA", "")
    if not named or not Path(named).is_dir():
        sys.exit("set KGMED_DATA to the folder of data sets, or take a part that needs none by --only")
    return Path(named)


# ---------------------------------------------------------------------------------------------------------------------
# The parts. Each is given whether a key is wanted, and yields records; what is not wanted is not computed.

Wanted = Callable[[str], bool]
Part = Callable[[Wanted], Iterator[Record]]


def each(jobs: Iterable[tuple[str, Callable[[], Value]]], wanted: Wanted) -> Iterator[Record]:
    """The records of the jobs that are wanted."""
    for key, job in jobs:
        if wanted(key):
            yield key, normal(tried(job))


def commands(begin: str, of: Mapping[str, Words], *before: str, after: Words = ()) -> Part:
    """The part of some commands."""

    def part(wanted: Wanted) -> Iterator[Record]:
        jobs = ((f"{begin}/{name}", partial(cli, *before, *words, *after)) for name, words in of.items())
        return each(jobs, wanted)

    return part


def ask(wanted: Wanted) -> Iterator[Record]:
    """Every question, by every method that needs no model, of both packaged graphs; by facts of whichever knows."""
    places = [(graph, name) for graph in ("hpo", "cmekg") for name, needs in methods().items() if not needs]

    def jobs() -> Iterator[tuple[str, Callable[[], Value]]]:
        for graph, method in [*places, ("auto", "facts")]:
            for i, asked in enumerate(QUESTIONS, start=1):
                options = [word for option in asked.options for word in ("--option", option)]
                words = ("ask", "--json", "--graph", graph, "--method", method, *options, asked.text)
                yield f"ask/{graph}/{method}/{i:02}", partial(cli, *words)

    return each(jobs(), wanted)


QUICK = frozenset(f"{i:02}" for i, asked in enumerate(QUESTIONS, start=1) if asked.quick)


def chat(wanted: Wanted) -> Iterator[Record]:
    """A conversation, in which later questions are about what the first ones were."""
    typed = "\n".join(TALK)
    jobs = {
        f"chat/{graph}/{how}": partial(cli, "chat", "--graph", graph, *options, stdin=typed)
        for graph in ("hpo", "auto")
        for how, options in {"json": ("--json",), "text": ()}.items()
    }
    return each(jobs.items(), wanted)


# ---------------------------------------------------------------------------------------------------------------------


def scripted(graph: str) -> Part:
    """The part of every method with a scripted model on a graph."""

    def part(wanted: Wanted) -> Iterator[Record]:
        return each(_scripted(graph), wanted)

    return part


def _scripted(graph: str) -> Iterator[tuple[str, Callable[[], Value]]]:
    """Every method, each question and each kind of model; without a model where it does without."""
    questions = SCRIPTED[graph]
    for method, needs in methods().items():
        ran = partial(_ran, graph, method)
        for i, asked in enumerate(questions, start=1):
            yield f"{graph}/{method}/{i}", partial(ran, asked, Obliging)
        if graph == "small":
            first = questions[0]
            if not needs:
                yield f"{graph}/{method}/no model", partial(ran, first, lambda: None)
            yield f"{graph}/{method}/stammering", partial(ran, first, partial(Obliging, stammers=True))
            yield f"{graph}/{method}/mumbling", partial(ran, first, lambda: _saying("###"))
            yield f"{graph}/{method}/failing", partial(ran, first, lambda: _saying(of_kgmed("ModelFailed")("down")))
            yield f"{graph}/{method}/likeliest", partial(ran, questions[2], Obliging, choose="likelihood")


def _saying(reply: object) -> Any:
    """A model that says the same forty times."""
    return of_kgmed("Scripted")([reply] * 40)


def _ran(graph: str, method: str, asked: Asked, model: Callable[[], Any], choose: str = "letter") -> Value:
    """The run of one question, and what the model was asked."""
    llm = model()
    made = with_model(asker(str(small()) if graph == "small" else graph, method=method, choose=choose), llm)
    try:
        run = plain(made.ask(asked.text, options=asked.choices))
    except of_kgmed("KgmedError") as problem:
        run = {"error": f"{type(problem).__name__}: {problem}"}
    return {"run": run, "asked": llm.asked if isinstance(llm, Obliging) else len(getattr(llm, "asked", ()))}


def diagnose(wanted: Wanted) -> Iterator[Record]:
    """Patients given by ids and in words, and phenopackets."""
    yield from commands("diagnose", FINDINGS, "diagnose", after=("--json",))(wanted)
    if not wanted("diagnose/case"):
        return
    with lzma.open(data() / "phenopackets_dev" / "phenopackets_dev.jsonl.xz", "rt", encoding="utf-8") as file:
        every = file.read().splitlines()
    chosen = every[:: len(every) // CASES][:CASES]
    path = written("packets.jsonl", chosen)
    found = tried(lambda: cli("diagnose", "--file", path, "--json")["out"]["patients"])
    told = found if isinstance(found, list) else [found] * len(chosen)
    yield "diagnose/cases", len(told)
    yield from ((f"diagnose/case/{i:02}", normal(one)) for i, one in enumerate(told, start=1))


def written(name: str, lines: Iterable[str]) -> str:
    """The path of a file of those lines."""
    path = scratch() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def reward(wanted: Wanted) -> Iterator[Record]:
    """Diagnoses ranked and answers rewarded by the cases of DXY."""
    if not wanted("reward"):
        return
    train, test = (_cases(f"dxformer_{part}_set.json") for part in ("train", "test"))
    cases = written("cases.jsonl", map(_line, train))
    patients = written("patients.jsonl", (_line({**one, "disease": ""}) for one in test[:20]))
    diseases = sorted({one["disease"] for one in train})
    answers = written("answers.jsonl", map(_line, _answers(test[:12], diseases)))
    few = written("few.jsonl", map(_line, train[:80]))
    rank, score = ("reward", "rank", cases, patients), ("reward", "score", cases, "--answers", answers)
    jobs = {
        "best": (*rank, "--scorer", "best"),
        "walk": (*rank, "--scorer", "walk"),
        "code": ("reward", "rank", few, patients, "--scorer", "code"),
        "best, answers": (*score, "--scorer", "best"),
        "walk, answers": (*score, "--scorer", "walk"),
        "code, answers": ("reward", "score", few, "--answers", answers, "--scorer", "code"),
        "walk, rank": (*score, "--scorer", "walk", "--shaping", "rank"),
        "walk, z": (*score, "--scorer", "walk", "--shaping", "z"),
    }
    yield from commands("reward", jobs, after=("--json",))(wanted)
    yield from commands("reward", {"said": (*rank, "--scorer", "walk", "--keep", "1")})(wanted)


def _line(value: Value) -> str:
    """A value as a line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def _cases(file: str) -> list[dict[str, Any]]:
    """The cases of a file of DXY in our own format."""
    return [_case(row) for row in json.loads((data() / "dxy" / file).read_text(encoding="utf-8-sig"))]


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    """One case."""
    every = {**row["imp_sxs"], **row["exp_sxs"]}
    signs = {"positive": "1", "negative": "0", "unsure": "2"}
    told = {name: [s for s, value in every.items() if value == sign] for name, sign in signs.items()}
    return {"id": row["pid"], "disease": row["label"], **told, "explicit": list(row["exp_sxs"])}


def _answers(cases: Sequence[Mapping[str, Any]], diseases: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Right, wrong, double, denied and missing diagnoses, by findings and in words."""
    ways = ("考虑{0}。", "It is {1}.", "{0}或者{1}", "不是{0}，是{1}", "不知道。")
    for i, case in enumerate(cases):
        answer = ways[i % len(ways)].format(case["disease"], diseases[i % len(diseases)])
        if i % 2:
            question = "，".join([*case["positive"], *(f"没有{name}" for name in case["negative"])])
            yield {"question": f"孩子{question}。", "answer": answer}
        else:
            yield {name: case[name] for name in ("positive", "negative", "unsure")} | {"answer": answer}


# ---------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def home(folder: Path) -> Iterator[None]:
    """Another data folder for a while."""
    before = os.environ["KGMED_HOME"]
    os.environ["KGMED_HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ["KGMED_HOME"] = before


def builds(wanted: Wanted) -> Iterator[Record]:
    """Graphs of every format at hand, built anew in a folder of their own, with their files, exports and edits."""
    if not wanted("build"):
        return
    new, d = scratch() / "built", data()
    out = str(new / "out")
    steps: dict[str, Words] = {
        "hpo": ("build", "hpo"),
        "cmekg": ("build", "cmekg"),
        "pubtator": ("build", "cdr", str(d / "bc5cdr" / "CDR_TrainingSet.PubTator.txt.gz")),
        "obo": ("build", "symptoms", str(d / "public_graphs" / "symptom_ontology" / "symp.obo")),
        "triples": ("build", "emckg", str(d / "genmedgpt5k" / "emckg_train.txt")),
        "disease_table": ("build", "table", str(d / "genmedgpt5k" / "disease_database_mini.csv")),
        "disease_json": ("build", "diseases", str(d / "disease_kg_xywy" / "medical_parts.tar.xz")),
        "nt": ("export", "symptoms", "--to", f"{out}.nt"),
        "rdf": ("build", "symptoms-rdf", f"{out}.nt"),
        "again": ("build", "emckg", str(d / "genmedgpt5k" / "emckg_train.txt")),
        "add": ("add", "emckg", "Fever", "possible_cures", "cold tea", "--new", "--reference", "PMID:1"),
        "withdraw": ("withdraw", "emckg", "Panic disorder", "has_symptom", "Depression", "--note", "a trial"),
        "edits": ("edits", "emckg"),
        "edited": ("show", "emckg", "cold tea"),
        "graphml": ("export", "emckg", "--to", f"{out}.graphml"),
        "jsonl": ("export", "emckg", "--to", f"{out}.jsonl"),
        "csv": ("export", "cdr", "--to", f"{out}.csv"),
        "doctor": ("doctor", "diseases"),
        "list": ("list",),
    }
    new.mkdir(exist_ok=True)
    with home(new):
        for name, words in steps.items():  # one needs another, so that all are run where one is wanted
            yield f"build/{name}", normal(tried(partial(cli, "graph", *words, "--json")))
        for path in sorted(p for p in new.rglob("*") if p.suffix in (".npy", *Path(out).suffixes) or p.stem == "out"):
            yield f"build/file/{path.relative_to(new)}", hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        yield from each(_of_built(d), wanted)


def _of_built(d: Path) -> Iterator[tuple[str, Callable[[], Value]]]:
    """What is done with graphs that were built here: linking, and a trained scorer."""
    pairs = str(scratch() / "pairs.json")
    linking = ("eval", "linking", "--data", str(d), "--json", "--set")
    yield "build/linking", lambda: cli(*linking, "bc5cdr", "--graph", "cdr", "--number", "12")
    yield "build/pairs", lambda: cli("train", "pairs", "emckg", "--out", pairs)
    yield "build/pairs kept", lambda: json.loads(Path(pairs).read_text(encoding="utf-8"))
    asked = ("ask", "--json", "--graph", "emckg", "--method", "kg-rank", "What can cure jaundice and fever?")
    yield "build/pairs asked", lambda: cli(*asked, "--scorer", f"trained/{pairs}")


def linking(wanted: Wanted) -> Iterator[Record]:
    """Names of XL-BEL linked to the packaged graphs."""
    sets = {"en": ("xlbel-en", "--graph", "hpo"), "zh": ("xlbel-zh", "--graph", "cmekg")}
    return commands("linking", sets, "eval", "linking", "--json", "--number", "60", "--set")(wanted)


# ---------------------------------------------------------------------------------------------------------------------


class Study(NamedTuple):
    """An evaluation."""

    dataset: str
    graph: str
    number: int
    methods: tuple[str, ...]
    metrics: tuple[str, ...]  # none that is made of seconds
    seeds: tuple[int, ...] = (0,)


CHOICE = ("accuracy", "pcr", "no-choice", "several", "evidence-recall@20", "calls", "failed")
TEXT = ("rouge-1", "rouge-2", "rouge-l", "bleu-1", "bleu-4", "rouge-r-knowledge", "exact", "held", "calls", "failed")
STUDIES: Mapping[str, Study] = {
    "mmcu": Study("mmcu", "cmekg", 200, ("facts", "kg-rank", "hykge"), CHOICE),
    "controls": Study(
        "explaincpe", "cmekg", 12,
        ("facts", "facts+random", "facts+shuffled", "hykge+oracle", "hykge[hops=2]", "kg-rank[keep=5]+random", "cot"),
        CHOICE, (0, 1),
    ),
    "text": Study("liveqa", "hpo", 12, ("facts", "hykge"), TEXT),
    "found": Study("genmedgpt", "hpo", 12, ("facts", "hykge"), ("evidence-recall@5", "evidence-recall@20", "rouge-l")),
}  # fmt: skip


def evaluations(wanted: Wanted) -> Iterator[Record]:
    """Evaluations: every entry of the log, what it was begun with, scores, differences and the report's tables."""
    for name, study in STUDIES.items():
        if wanted(f"eval/{name}"):
            yield from _evaluated(name, study)
    if wanted("eval/dry run"):
        every = [word for method in methods() for word in ("--method", method)]
        words = ("eval", "run", str(scratch() / "dry"), "--set", "mmcu", "--graph", "cmekg", "--number", "7", *every)
        yield "eval/dry run", normal(tried(lambda: cli(*words, "--dry-run", "--json")))


def _evaluated(name: str, study: Study) -> Iterator[Record]:
    """The records of one evaluation."""
    begin, folder = f"eval/{name}", scratch() / "eval" / name
    asked = [word for method in study.methods for word in ("--method", method)]
    asked += [word for seed in study.seeds for word in ("--seed", str(seed))]
    numbered = ("--number", str(study.number), "--graph", study.graph, *asked, "--json")
    yield f"{begin}/run", normal(tried(lambda: cli("eval", "run", str(folder), "--set", study.dataset, *numbered)))
    manifest = tried(lambda: json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
    yield f"{begin}/manifest", normal(manifest)
    log = folder / "log.jsonl"
    for line in log.read_text(encoding="utf-8", errors="surrogatepass").splitlines() if log.is_file() else []:
        entry = json.loads(line)
        yield f"{begin}/log/{entry['method']}/{entry['item']}/{entry['seed']}", normal(entry)
    metrics = [word for metric in study.metrics for word in ("--metric", metric)]
    for against in ("", study.methods[0]):
        words = ("eval", "score", str(folder), *metrics, *(("--against", against) if against else ()))
        yield f"{begin}/score {against}".strip(), normal(tried(partial(cli, *words, "--json")))
        yield f"{begin}/scores said {against}".strip(), normal(tried(partial(cli, *words)))
    report = folder / "report"
    yield f"{begin}/report", normal(tried(lambda: cli("eval", "report", str(folder), "--out", str(report))))
    for table in ("scores", "failures", "models", *(("letters",) if study.metrics is CHOICE else ())):
        yield f"{begin}/report/{table}", normal(tried(partial(_table, report / "tables" / f"{table}.csv")))


def _table(path: Path) -> list[str]:
    """The lines of a table but for those of seconds."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if "seconds" not in line]


PARTS: Mapping[str, Part] = {  # by what its keys begin with
    "small/": scripted("small"),
    "ask/": ask,
    "choices/": commands("choices", CHOICES, "ask", "--json"),
    "said/": commands("said", SAID),
    "errors/": commands("errors", ERRORS),
    "chat/": chat,
    "graph/": commands("graph", GRAPHS, "graph", after=("--json",)),
    "lists/": commands("lists", LISTS, after=("--json",)),
    "diagnose/": diagnose,
    "hpo/": scripted("hpo"),
    "cmekg/": scripted("cmekg"),
    "reward/": reward,
    "linking/": linking,
    "rescore/": commands("rescore", {n: (n,) for n in ("explaincpe", "liveqa")}, "eval", "rescore", after=("--json",)),
    "eval/": evaluations,
    "build/": builds,
}


def records(only: str = "") -> Iterator[Record]:
    """The records whose keys begin so, in their order; `small` = those of --only small."""
    for begin, part in PARTS.items():
        if only == "small" and begin == "ask/":
            yield from part(lambda key: key[-2:] in QUICK)
        elif begin.startswith(only) or only.startswith(begin):
            found = part(lambda key: key.startswith(only) or only.startswith(key))
            yield from (record for record in found if record[0].startswith(only))


# ---------------------------------------------------------------------------------------------------------------------
# Comparing.


class Difference(NamedTuple):
    """Where a record differs, and how."""

    key: str
    path: str
    old: str
    new: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.key}  {self.path or '.'}  {self.old}  ->  {self.new}"


NOTHING = object()


UNORDERED = ("lists/data sets", "lists/metrics", "said/data sets", "said/metrics")  # lists in the order of the files


def in_order(key: str, value: Value) -> Value:
    """The record, with what is printed in the order of its text where the order of a list says nothing."""
    if key not in UNORDERED or not isinstance(value, dict) or not isinstance(value.get("out"), list):
        return value
    return {**value, "out": sorted(value["out"], key=_text)}


def differences(key: str, old: Value, new: Value, path: str = "") -> Iterator[Difference]:
    """The places at which a value differs from what it was."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(key, old.get(name, NOTHING), new.get(name, NOTHING), f"{path}.{name}")
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            before, now = (some[i] if i < len(some) else NOTHING for some in (old, new))
            yield from differences(key, before, now, f"{path}[{i}]")
    elif not _same(old, new):
        yield Difference(key, path, *_shown(old, new))


def _same(old: Value, new: Value) -> bool:
    """Whether two plain values are the same, but for the last digit of a number."""
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=2 * 10**-DIGITS, abs_tol=2 * 10**-DIGITS)
    return type(old) is type(new) and old == new


def _shown(old: Value, new: Value) -> tuple[str, str]:
    """Both values in short; of long texts what stands around the first character that differs."""
    texts = [_text(value) for value in (old, new)]
    if max(map(len, texts)) <= SHOWN:
        return texts[0], texts[1]
    alike = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, alike - SHOWN // 3)
    first, second = (("…" if start else "") + t[start : start + SHOWN] for t in texts)
    return first, second


def _text(value: Value) -> str:
    """A value on one line."""
    return "(nothing)" if value is NOTHING else json.dumps(value, ensure_ascii=False)


def compared(old: Mapping[str, Value], new: Iterable[Record], *, whole: bool) -> Iterator[Difference | None]:
    """For each record its differences, then None; where the `whole` of what is old was asked also what is missing."""
    seen = set()
    for key, value in new:
        seen.add(key)
        if key in old:
            yield from differences(key, in_order(key, normal(old[key])), in_order(key, value))
        else:
            yield Difference(key, "", *_shown(NOTHING, value))
        yield None
    for key in old if whole else ():
        if key not in seen:
            yield Difference(key, "", *_shown(old[key], NOTHING))


# ---------------------------------------------------------------------------------------------------------------------
# The part that is committed, for tests/test_answers_unchanged.py.


def committed(only: str = "") -> dict[str, Value]:
    """The runs of the small graph in brief, as plain data that has been through JSON; those whose keys begin so."""
    part = only if only.startswith("small/") else "small/"
    found: dict[str, Value] = json.loads(_line({key: _brief(value) for key, value in records(part)}))
    return found


def _brief(value: Value) -> Value:
    """A scripted run in brief: what a person would look at, and a hash of all of it but its numbers with a point."""
    run, asked = value.get("run"), value.get("asked")
    if not isinstance(run, dict) or "answer" not in run:
        return value
    told = [f"{name} {_hash(said)}" for name, said in asked] if isinstance(asked, list) else asked
    answer = {name: v for name, v in run["answer"].items() if v not in ("", [], False)}
    answer["candidates"] = [[c["name"], c["score"]] for c in run["answer"]["candidates"]]
    answer["verdicts"] = [v["label"] for v in run["answer"]["verdicts"]]
    return {
        "answer": answer,
        "links": [[one["mention"]["surface"], one["entity"]["id"], one["how"], one["score"]] for one in run["links"]],
        "missed": [one["surface"] for one in run["missed"]],
        "evidence": [[one["kind"], one["text"], one["score"]] for one in run["evidence"]],
        "failures": run["failures"],
        "notes": run["notes"],
        "asked": told,
        "whole": _hash(_without_floats(run)),
    }


def _hash(value: Value) -> str:
    """A short hash of plain data."""
    return hashlib.sha256(_line(value).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _without_floats(value: Value) -> Value:
    """A value in which every number with a point is the same; these may differ in a last digit between machines."""
    if isinstance(value, dict):
        return {name: _without_floats(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_without_floats(v) for v in value]
    return 0.5 if isinstance(value, float) else value


def renew() -> None:
    """Write the committed answers."""
    lines = (f"{_line(key)}: {_line(value)}" for key, value in committed().items())
    COMMITTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Value]:
    """The records of a file, in their order."""
    if path.suffix == ".json":
        found: dict[str, Value] = json.loads(path.read_text(encoding="utf-8"))
        return found
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8", "surrogatepass")
    return {one["key"]: one["value"] for one in map(json.loads, text.rstrip("\n").split("\n"))}


def write(path: Path, some: Iterable[Record]) -> int:
    """Write the records to a file; how many there are."""
    lines = [_line({"key": key, "value": value}) + "\n" for key, value in some]
    content = "".join(lines).encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return len(lines)


def check(path: Path, only: str) -> int:
    """Print how the answers differ from those of a file; the number of differences."""
    new = iter(committed(only).items()) if path.suffix == ".json" else timed(records(only))
    old = {key: value for key, value in read(path).items() if only == "small" or key.startswith(only)}
    count = found = 0
    for one in compared(old, new, whole=only != "small" or path.suffix == ".json"):
        count += one is None
        found += one is not None
        if one is not None and found <= MOST:
            print(one, flush=True)
    if found > MOST:
        print(f"... and {found - MOST} more")
    print(f"{found} differences in {count} records")
    return found


def timed(some: Iterator[Record]) -> Iterator[Record]:
    """The records; at the end, on standard error, how many each part had and how long they took."""
    counts, seconds, begin = Counter[str](), Counter[str](), time.perf_counter()
    for key, value in some:
        part = key.partition("/")[0]
        now = time.perf_counter()
        counts[part], seconds[part], begin = counts[part] + 1, seconds[part] + round(1000 * (now - begin)), now
        yield key, value
    told = ", ".join(f"{part} {n} in {seconds[part] / 1000:.0f} s" for part, n in counts.items())
    sys.stderr.write(f"{told}; {sum(seconds.values()) / 1000:.0f} s in all\n")


def prepared(*, fresh: bool, packaged: bool) -> None:
    """Set what the answers depend on: the data folder with its two graphs, one thread, a terminal of one kind."""
    warnings.simplefilter("ignore")
    os.environ.update({"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "COLUMNS": "120", "TERM": "dumb"})
    os.environ["NO_COLOR"] = "1"
    if fresh or not os.environ.get("KGMED_HOME"):
        os.environ["KGMED_HOME"] = str(scratch() / "home")
    for name in ("hpo", "cmekg") if packaged else ():
        cli("graph", "build", name)
    names = {one["name"] for one in cli("graph", "list", "--json")["out"]} if packaged else set()
    if packaged and names != {"hpo", "cmekg"}:
        sys.exit(f"{os.environ['KGMED_HOME']} holds {', '.join(sorted(names)) or 'nothing'}; it must be hpo and cmekg")


def main() -> None:
    """Write, check or renew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("write", "check", "renew"))
    parser.add_argument("file", type=Path, nargs="?", help=".jsonl or .jsonl.gz; check also takes tests/answers.json")
    parser.add_argument("--only", default="", help="keys that begin so, or small")
    parser.add_argument("--fresh", action="store_true", help="build the graphs anew, in a temporary folder")
    given = parser.parse_args()
    if given.what == "renew":
        given.file = COMMITTED
    if given.file is None:
        parser.error("name a file")
    inside = given.file.suffix == ".json" or given.only.startswith("small/")
    prepared(fresh=given.fresh or inside, packaged=not inside)
    if given.what == "renew":
        renew()
    elif given.what == "write":
        print(f"{write(given.file, timed(records(given.only)))} records")
    else:
        sys.exit(check(given.file, given.only) > 0)


if __name__ == "__main__":
    main()
