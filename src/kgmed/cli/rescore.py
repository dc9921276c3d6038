"""`kgmed eval rescore`: the papers' recorded answers scored again, with every disagreement."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kgmed.cli import choices
from kgmed.cli import show as screen

app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WORDS = 60  # so many characters of a reply are shown


@app.command()
def explaincpe(
    data: choices.Data = Path("data"),
    disagreements: Annotated[bool, typer.Option("--disagreements", help="List every one.")] = False,
    as_json: Json = False,
) -> None:
    """MindMap's 400 questions of ExplainCPE: recorded grades, our parser's from the raw text, and their agreement."""
    from kgmed.evaluate.rescore import explaincpe as again

    replies = again.read(data)
    found, why = again.rescore(replies), again.reasons(replies)
    listed = [_disagreement(r) for r in replies if r.reason]
    if as_json:
        told = {"systems": [_system(f) for f in found], "reasons": why}
        screen.data(told | ({"disagreements": listed} if disagreements else {}))
        return
    header = ("system", "n", "recorded %", "ours %", "ours, strict %", "recorded right/wrong/failed",
              "ours right/wrong/failed", "agreement", f">= {again.WANTED}")  # fmt: skip
    screen.table(header, ((f.system, f.n, _percent(f.recorded), _percent(f.ours), f"{100 * f.strict / f.n:.2f}",
                           _three(f.recorded), _three(f.ours), f"{f.agreement:.4f}",
                           "yes" if f.agreement >= again.WANTED else "no") for f in found))  # fmt: skip
    screen.lines(["", "Of several options the first that a colon follows counts, as in the record; strict: a reply "
                  "that names several is wrong", "", "Disagreements by reason"])  # fmt: skip
    screen.table(("reason", *again.SYSTEMS, "all"), ((w, *n.values(), sum(n.values())) for w, n in why.items()))
    screen.lines(["", "Grades that no parser can agree with: the same option of the same question is right in one "
                  "system's reply and wrong in another's"])  # fmt: skip
    columns = (
        "system",
        "one option named, grade says otherwise",
        "option graded in two ways",
        "agreement of the others",
        f">= {again.WANTED}",
        "several options named, recorded right/wrong/failed",
    )
    screen.table(columns, ((f.system, f.contradicted, f.unequal, f"{f.agreement_equal:.4f}",
                           "yes" if f.agreement_equal >= again.WANTED else "no", _three(f.several))
                          for f in found))  # fmt: skip
    if disagreements:
        screen.lines([""])
        names = ("row", "system", "reply", "ours", "gold", "grade", "reason")
        screen.table(names, ([row[name] for name in names] for row in listed))


def _system(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"agreement": found.agreement, "agreement_equal": found.agreement_equal}


def _disagreement(reply: Any) -> dict[str, Any]:
    text = " ".join(reply.text.split())
    return {
        "row": reply.row,
        "system": reply.system,
        "reply": text[:WORDS] + ("…" if len(text) > WORDS else ""),
        "ours": "".join(reply.said.letters) or "-",
        "gold": reply.gold,
        "grade": reply.grade,
        "reason": reply.reason,
    }


def _percent(grades: dict[str, int]) -> str:
    return f"{100 * grades['right'] / sum(grades.values()):.2f}"


def _three(grades: dict[str, int]) -> str:
    return "/".join(str(n) for n in grades.values())


@app.command()
def liveqa(data: choices.Data = Path("data"), as_json: Json = False) -> None:
    """GPT-4's answers to LiveQA with KG-Rank's rankings: the recorded ROUGE-L, computed again, and a proper one."""
    from kgmed.evaluate.rescore import liveqa as again

    means, found, difference = again.recorded(data), again.rescore(data), again.between(data)
    trained = again.Splitter().trained
    if as_json:
        screen.data({"recorded": means, "answers": [_answered(a) for a in found], "medcpt - similarity": difference,
                     "trained splitter": trained, "not computed": again.NO_BERTSCORE})  # fmt: skip
        return
    screen.table(("ranking", "hops", "recorded ROUGE-L", "BERTScore", "BLEURT"),
                 ((m.ranking, m.hops, f"{m.rouge_l:.2f}", f"{m.bertscore:.2f}", f"{m.bleurt:.2f}")
                  for m in means))  # fmt: skip
    screen.lines(["", "Answers that are recorded, one hop"])
    header = ("ranking", "n", "recorded", "same formula", "comes out", "ROUGE-L", "s.e.", "ROUGE-L of stems", "s.e.")
    screen.table(header, ((a.ranking, a.n, f"{a.recorded:.4f}", f"{a.recomputed.mean:.4f}",
                           "yes" if a.reproduced else "no",
                           f"{a.rouge_l.mean:.2f}", f"{a.rouge_l.error:.2f}", f"{a.rouge_l_stem.mean:.2f}",
                           f"{a.rouge_l_stem.error:.2f}") for a in found))  # fmt: skip
    screen.lines(["", *_findings(means, found, difference, trained=trained), again.NO_BERTSCORE])


def _answered(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"reproduced": found.reproduced}


def _findings(means: Any, found: Any, difference: Any, *, trained: bool) -> list[str]:
    """What the numbers say, in sentences."""
    one = {m.ranking: m.rouge_l for m in means if m.hops == "one"}
    error = max(a.recomputed.error for a in found)
    gap = one["medcpt"] - one["random"]
    return [
        "The recorded ROUGE-L is 1.2PR/(0.1P+R), not 2PR/(P+R); sentences are split by NLTK's "
        f"{'trained' if trained else 'untrained'} splitter here",
        f"Random {one['random']:.2f} and MedCPT {one['medcpt']:.2f} differ by {gap:.2f} of 100 in the recorded means; "
        f"the standard error of one mean is {error:.2f}. The answers of random are not at hand, so there is no paired "
        "test of these two",
        f"MedCPT less similarity, paired, in ROUGE-L: {difference.mean:+.2f} ({difference.low:+.2f} to "
        f"{difference.high:+.2f}, p {difference.p:.2f}, n {difference.n})",
    ]
