"""How a small model chooses among options: by a letter, and by the likelihood of the option's text.

    python bench/choosing.py [MODEL] [QUESTIONS]      # smollm2 and 24, else those; the graph hpo must be built

Questions are made from the graph: which finding a disease has, one of its own among three of other diseases, drawn and
shuffled by a seed. No evidence is shown. Chance is 0.25; "A B C D" is how often each place was chosen, "right" where
the right option stood. Nothing is chosen on these questions.
"""

import sys
from collections import Counter
from time import perf_counter

import numpy as np
from _figures import keep

from kgmed.disk import data_folder
from kgmed.errors import KgmedError
from kgmed.graph import library
from kgmed.methods.mkg_rank import LetterReader
from kgmed.models.named import llm_from
from kgmed.pipeline import Reader
from kgmed.records import Context, Query, Question, Role
from kgmed.steps.likelihood import LikelihoodReader, likelihood_of

LETTERS = "ABCD"


def questions(many: int) -> list[tuple[Question, str]]:
    """Questions and their right letters."""
    graph, random = library.load("hpo"), np.random.default_rng(11)
    diseases = graph.of_kind("disease")
    made: list[tuple[Question, str]] = []
    while len(made) < many:
        entities = [graph.at(int(n)) for n in random.choice(diseases, 4, replace=False)]
        found = [graph.neighbours(e.id, limit=16, roles=(Role.FINDING,)) for e in entities]
        own = {t.object.name for t in found[0]}
        wrong = list(dict.fromkeys(t[0].object.name for t in found[1:] if t and t[0].object.name not in own))
        if not own or len(wrong) < 3:
            continue
        order = random.permutation(4).tolist()
        texts = [[found[0][0].object.name, *wrong][i] for i in order]
        asked = Question(f"Which is a finding of {entities[0].name}?", tuple(zip(LETTERS, texts, strict=True)))
        made.append((asked, LETTERS[order.index(0)]))
    return made


def tried(read: Reader, question: Question) -> str:
    """The letter chosen, "" for none."""
    try:
        return "".join(read(Query(question), Context("")).choices)
    except KgmedError:
        return ""


def main() -> None:
    """Ask and print."""
    llm = llm_from(sys.argv[1] if len(sys.argv) > 1 else "smollm2", folder=data_folder())
    asked = questions(int(sys.argv[2]) if len(sys.argv) > 2 else 24)
    likely = likelihood_of(llm)
    readers: dict[str, Reader] = {
        "letter": LetterReader(llm, max_tokens=80),
        "likelihood": LikelihoodReader(likely, pmi=False),
        "likelihood, mean a token": LikelihoodReader(likely, pmi=False, per_token=True),
        "likelihood, PMI": LikelihoodReader(likely),
    }
    right = Counter(letter for _, letter in asked)
    print(
        f"{llm.name}, {len(asked)} questions"
        + "".join(f"{letter:>5}" for letter in LETTERS)
        + "  none  correct  s each"
    )
    width = len(f"{llm.name}, {len(asked)} questions")
    print(f"{'right':{width}}" + "".join(f"{right[letter]:>5}" for letter in LETTERS))
    for name, read in readers.items():
        begin = perf_counter()
        said = [tried(read, question) for question, _ in asked]
        spent = (perf_counter() - begin) / len(asked)
        share = float(np.mean([a == letter for a, (_, letter) in zip(said, asked, strict=True)]))
        keep("choosing", {f"{llm.name} {name}": share})
        places = Counter(said)
        row = "".join(f"{places[letter]:>5}" for letter in LETTERS)
        print(f"{name:{width}}{row}{places['']:>6}{share:>9.3f}{spent:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
