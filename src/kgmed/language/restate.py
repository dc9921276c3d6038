"""What a question asks for whose words no pattern knows: guessed from its meaning, and said in plain words.

A linear classifier on the vector of the question, in which names stand for the names of it; `bench/asking.py` trains
it on templates of our own and writes `asking.npz`. It fits the vectors of one encoder alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CERTAIN = 0.6  # ours: of a guess; chosen on templates that were held out
LIKELY = 0.5  # ours: of a guess where the graph lacks what the question is read to ask
_WEIGHTS = "asking.npz"
_STAND_INS = {  # names of each kind, English and Chinese; the encoder knows what they are
    "X": (("gout", "asthma", "anemia"), ("痛风", "哮喘", "贫血")),
    "M": (("aspirin", "warfarin", "metformin"), ("阿司匹林", "华法林", "二甲双胍")),
    "G": (("FBN1", "FBN2", "FBN3"), ("FBN1", "FBN2", "FBN3")),
}
ASKED = {  # in plain words, English and Chinese; {0} and {1} = the names in the order of the question
    "treatment": ("How is {0} treated?", "{0}怎么治疗？"),
    "test": ("Which tests are done for {0}?", "{0}要做哪些检查？"),
    "symptom": ("What are the symptoms of {0}?", "{0}有哪些症状？"),
    "side effect": ("What are the side effects of {0}?", "{0}有哪些不良反应？"),
    "contraindication": ("Who should not take {0}?", "{0}有哪些禁忌？"),
    "interaction": ("What does {0} interact with?", "{0}有哪些药物相互作用？"),
    "dose": ("What is the dose of {0}?", "{0}的用法用量是什么？"),
    "cause": ("What are the causes of {0}?", "{0}的病因有哪些？"),
    "risk": ("What are the risk factors for {0}?", "{0}的危险因素有哪些？"),
    "complication": ("What are the complications of {0}?", "{0}有哪些并发症？"),
    "prevention": ("How is {0} prevented?", "怎么预防{0}？"),
    "gene": ("Which genes cause {0}?", "{0}与哪些基因有关？"),
    "inheritance": ("How is {0} inherited?", "{0}的遗传方式是什么？"),
    "department": ("Which doctor treats {0}?", "{0}挂什么科？"),
    "differential": ("What is the difference between {0} and {1}?", "{0}和{1}有什么区别？"),
    "definition": ("What is {0}?", "什么是{0}？"),
    "contagion": ("Is {0} contagious?", "{0}传染吗？"),
    "use": ("What is {0} used for?", "{0}有什么用？"),
    "safety": ("Is {0} safe with {1}?", "{0}和{1}可以同时用吗？"),
    "together": ("Can {0} be taken together with {1}?", "{0}和{1}可以一起吃吗？"),
    "causes it": ("Does {0} cause {1}?", "{0}会引起{1}吗？"),
    "treats it": ("Does {0} treat {1}?", "{0}能治{1}吗？"),
    "price": ("What is the price of {0}?", "{0}多少钱？"),
    "survival": ("What is the survival of {0}?", "{0}的生存率是多少？"),
    "prognosis": ("What is the prognosis of {0}?", "{0}的预后怎么样？"),
    "duration": ("How long does {0} last?", "{0}多久能好？"),
    "frequency": ("How common is {0}?", "{0}的发病率是多少？"),
    "pharmacokinetics": ("What is the half-life of {0}?", "{0}的半衰期是多少？"),
    "provider": ("Which hospital is best for {0}?", "{0}去哪家医院好？"),
    "history": ("Who discovered {0}?", "{0}是谁发现的？"),
    "storage": ("How is {0} stored?", "{0}怎么储存？"),
    "change of dose": ("What if a dose of {0} is missed?", "漏服{0}怎么办？"),
    "dose by weight": ("What is the dose of {0} per kg?", "{0}每公斤体重用多少？"),
    "value": ("What is the normal range of {0}?", "{0}的正常值是多少？"),
}


class Guess(NamedTuple):
    """The type that a question is of, and how sure that is."""

    type: str
    share: float


def standing_in(text: str, names: Sequence[tuple[int, int, str]], *, chinese: bool) -> str:
    """A text with other names in place of its own: (start, end, "M" of a medicine, "G" of a gene, "X" of all else).

    >>> standing_in("what gets rid of kala-azar", [(17, 26, "X")], chinese=False)
    'what gets rid of gout'
    """
    used: dict[str, int] = {}
    placed = []
    for start, end, kind in sorted(names):
        others = _STAND_INS[kind][chinese]
        placed.append((start, end, others[min(used.get(kind, 0), len(others) - 1)]))
        used[kind] = used.get(kind, 0) + 1
    for start, end, name in reversed(placed):
        text = f"{text[:start]}{name}{text[end:]}"
    return text


def fits(encoder: str) -> bool:
    """Whether the classifier was trained on the vectors of an encoder of that name."""
    return encoder == str(_model()["encoder"])


def guess(vector: NDArray[np.float32], *, chinese: bool) -> Guess:
    """The likeliest type of a question by its vector (dims,)."""
    model = _model()
    plain = vector / max(float(np.linalg.norm(vector)), 1e-9)
    scores = plain @ model["weights"][int(chinese)].astype(np.float32) + model["bias"][int(chinese)]
    shares = np.exp(scores - scores.max())
    best = int(shares.argmax())
    return Guess(str(model["types"][best]), float(shares[best] / shares.sum()))


@lru_cache(maxsize=1)
def _model() -> dict[str, NDArray[Any]]:
    """Types, the encoder's name, and of each language weights (dims, types) and biases."""
    with resources.files("kgmed.language").joinpath(_WEIGHTS).open("rb") as file:
        kept = np.load(file, allow_pickle=False)
        return {name: kept[name] for name in ("types", "encoder", "weights", "bias")}
