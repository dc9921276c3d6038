"""Questions of random triples in 20 forms, two languages, true and false premises: what comes first. Prints a table.

    python bench/questions.py [--graph NAMES] [--each N] [--seed S] [--wrong]

--graph names installed graphs with commas between them (default: all, as one); --wrong shows some that went wrong.
"""

import argparse
from math import sqrt
from typing import Any

from _figures import keep

import kgmed
from kgmed.evaluate.generated import FormTally, made_of, tally


def share(rows: list[FormTally]) -> str:
    """The share of right ones with its standard error."""
    asked, right = sum(r.asked for r in rows), sum(r.right for r in rows)
    p = right / max(asked, 1)
    return f"{p:5.3f} ±{sqrt(p * (1 - p) / max(asked, 1)):.3f} of {asked:4d}"


def main() -> None:
    """Ask the questions and print the shares by form, language and premise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="auto")
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    session = kgmed.load(options.graph)
    rows: list[FormTally] = []
    for language in ("en", "zh"):
        for name in session.graphs:
            graph: Any = session.toolkit(name).graph
            graph = graph.speaking(language) if hasattr(graph, "speaking") else graph
            made = list(made_of(graph, language, options.each, options.seed))
            rows += tally(made, session.ask, language)
    for row in rows:
        form = row.form.chinese if row.language == "zh" else row.form.english
        print(f"{row.language} {'true ' if row.true else 'false'} {form:45s} {share([row])}")
        for text in row.wrong if options.wrong else ():
            print(f"     not right: {text}")
    for language in ("en", "zh"):
        for true in (True, False):
            some = [r for r in rows if r.language == language and r.true is true]
            print(f"{language} {'right triple first ' if true else 'false denied       '} {share(some)}")
    for true in (True, False):
        some = [r for r in rows if r.true is true]
        print(f"all {'right triple first' if true else 'false denied      '} {share(some)}")
        asked, right = sum(r.asked for r in some), sum(r.right for r in some)
        error = sqrt(right * (asked - right) / asked**3)
        keep("questions", {f"{true}": right / asked, f"{true} error": error, f"{true} n": asked})


if __name__ == "__main__":
    main()
