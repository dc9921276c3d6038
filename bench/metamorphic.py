"""Do questions that mean the same get the same answer, and opposite questions never the opposite one? No labels.

    python bench/metamorphic.py [--graph GRAPH] [--kinds K,...] [--languages en,zh] [--sample N] [--show N]
        [--json FILE]

A pair is a plain question, the base, and a variant of it. What must hold of both answers depends on the kind:

polarity   the base shows that the graph knows what helps. A variant that asks what is forbidden is not answered with
           what helps, one that asks what helps not with what is forbidden
additions  an age, a duration, a preamble, politeness or thanks leave the answer as it is
twins      another name or spelling of the thing gives the same first names
order      two medicines or illnesses in the other order give the same first facts
typos      one wrong letter in a name gives the same first names
brands     a brand gives the first names of its substance, or an answer that names the product ("product")
pleas      a named illness with a plea gets no list of diseases that fit, a symptom and a story keep theirs
wordings   what is asked in other words gives the same first names

Answers are compared by the evidence that their first lines cite, never by their sentences. A pair whose base has no
such answer is skipped and counted apart. "silent" counts variants that were abstained from: of polarity and pleas these
are no failures, so that a high share there means little without it. The phrases stand in `metamorphic.toml`.
"""

import argparse
import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any

from _figures import keep

import kgmed
from kgmed.graph.store.store import Store
from kgmed.records import Evidence, Role, Run, Triple
from kgmed.session import Session

PHRASES = Path(__file__).with_suffix(".toml")
KINDS = ("polarity", "additions", "twins", "order", "typos", "brands", "pleas", "wordings")
LANGUAGES = ("en", "zh")
HELPS = frozenset({Role.TREATS, Role.FOOD})
HELD = frozenset({"invariant", "product"})  # outcomes
FORBIDS = frozenset({Role.CONTRAINDICATED, Role.AVOID})
FIRST = 5  # names of a list that are compared, as many as one reads
OPENING = 2  # lines of an answer about two things that are compared: one each
CHILDREN = 3  # of these that stay where a child's or an old person's age may move others down
PER_NAME = 4  # variants of one name with a typing error
FEWEST = {"en": 7, "zh": 4}  # letters of a name that gets a typing error
NEAR = dict(zip("abcdefghijklmnopqrstuvwxyz", "snvfrgkjokllnbipwtdriceztx", strict=True))  # a key beside, on QWERTY


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions and what must hold of their answers (`rule`).

    >>> Pair("typos", "en", "illnesses", "same", "asthma", "What treats asthma?", "What treats ashtma?").id
    'typos/en/illnesses/7352563c'
    """

    kind: str
    language: str
    part: str
    rule: str
    name: str  # what the variant names
    base: str
    variant: str

    @property
    def id(self) -> str:
        """A name that stays when phrases are added."""
        return f"{self.kind}/{self.language}/{self.part}/{_hash(self.base, self.variant)[:8]}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a pair.

    Attributes:
        pair: The pair.
        outcome: invariant, product (brands only), differs, opposite (polarity only) or skipped.
        silent: Whether the variant was abstained from.
        base, variant: The beginnings of the two answers.
    """

    pair: Pair
    outcome: str
    silent: bool
    base: str
    variant: str


# --- pairs


def pairs(kinds: Iterable[str] = KINDS, languages: Iterable[str] = LANGUAGES) -> list[Pair]:
    """All pairs of some kinds, each once, in a fixed order."""
    phrases = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    made = (
        pair for kind in kinds for language in languages for pair in _MAKERS[kind](phrases[language][kind], language)
    )
    return list({pair.id: pair for pair in made}.values())


def sample(of: Sequence[Pair], size: int) -> list[Pair]:
    """As many pairs of each kind and language in turn until there are enough: always the same ones.

    >>> [one.kind for one in sample(pairs(), 28)].count("order")
    4
    """
    groups: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in sorted(of, key=lambda p: _hash(p.base, p.variant)):
        groups[pair.kind, pair.language].append(pair)
    in_turn = (pair for row in zip_longest(*(groups[key] for key in sorted(groups))) for pair in row if pair)
    return [pair for pair, _ in zip(in_turn, range(size), strict=False)]


def _hash(*texts: str) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()


def _polarity(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    roles = [(role, rows) for role, rows in phrases.items() if isinstance(rows, dict)]
    for role, rows in roles:
        for polarity in ("refusing", "positive"):
            for phrase in rows[polarity]:
                for x in phrases["names"]:
                    base, variant = phrases["base"].format(x=x), phrase.format(x=x)
                    yield Pair("polarity", language, f"{role} {polarity}", polarity, x, base, variant)


def _additions(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for part, wraps in phrases["wraps"].items():
        rule = "near" if "child" in part else "same"
        for wrap in wraps:
            for base in phrases["bases"]:
                for x in phrases["names"]:
                    plain, tail = base.format(x=x), base.format(x="").strip()
                    yield Pair("additions", language, part, rule, x, plain, wrap.format(q=plain, x=x, t=tail))


def _twins(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for part, names in phrases["names"].items():
        for first, other in names:
            for base in phrases["bases"]:
                yield Pair("twins", language, part, "same", other, base.format(x=first), base.format(x=other))


def _order(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for part, names in (("interaction", phrases["medicines"]), ("comparison", phrases["illnesses"])):
        for a, b in names:
            for phrase in phrases[part]:
                base, variant = phrase.format(a=a, b=b), phrase.format(a=b, b=a)
                yield Pair("order", language, part, "facts", f"{a}, {b}", base, variant)


def _typos(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    confused = phrases.get("confused", {})
    for part in ("illnesses", "medicines"):
        for name in phrases[part]["names"]:
            for wrong in mistyped(name, language, confused):
                base = phrases[part]["base"]
                yield Pair("typos", language, part, "same", wrong, base.format(x=name), base.format(x=wrong))


def _brands(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for substance, brand in phrases["names"]:
        for base in phrases["bases"]:
            yield Pair(
                "brands",
                language,
                "brands",
                "product",
                f"{substance} = {brand}",
                base.format(x=substance),
                base.format(x=brand),
            )


def _pleas(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for part, rows in phrases.items():
        rule = "no differential" if part == "illnesses" else "differential"
        bases = rows.get("bases", [rows.get("base")])
        for n, phrase in enumerate(rows["phrases"]):
            for x in rows["names"]:
                base = bases[n % len(bases)].format(x=x)
                yield Pair("pleas", language, part, rule, x, base, phrase.format(x=x))


def _wordings(phrases: dict[str, Any], language: str) -> Iterator[Pair]:
    for part, (base, *others) in phrases["frames"].items():
        for x in phrases["illnesses"]:
            yield from (Pair("wordings", language, part, "same", x, base.format(x=x), o.format(x=x)) for o in others)


_MAKERS = {
    "polarity": _polarity,
    "additions": _additions,
    "twins": _twins,
    "order": _order,
    "typos": _typos,
    "brands": _brands,
    "pleas": _pleas,
    "wordings": _wordings,
}


def mistyped(name: str, language: str, confused: dict[str, str]) -> list[str]:
    """A name with one typing error, in up to `PER_NAME` ways: letters changed places, lost, doubled, or a key beside.

    Of a Chinese name two signs changed places, or one is taken for one like it. First and last letters stay, the places
    are drawn by the name.

    >>> mistyped("psoriasis", "en", {})
    ['psoraisis', 'psoriais', 'psooriasis', 'psoroasis']
    >>> mistyped("慢性胃炎", "zh", {"炎": "严"})
    ['慢性胃严', '慢胃性炎']
    """
    word = max(re.findall(r"\w+", name), key=len)
    if len(word) < FEWEST[language]:
        return []
    if language == "zh":
        ways = [word.replace(sign, confused[sign], 1) for sign in word if sign in confused]
        ways.append(_swapped(word, 1 + int(_hash(word), 16) % (len(word) - 3 or 1)))
    else:
        at = [1 + int(_hash(word, str(n)), 16) % (len(word) - 3) for n in range(PER_NAME)]
        lost, doubled, beside = (word[: i] + new + word[i + 1 :] for i, new in zip(
            at[1:], ("", word[at[2]] * 2, NEAR[word[at[3]]]), strict=True))  # fmt: skip
        ways = [_swapped(word, at[0]), lost, doubled, beside]
    return [name.replace(word, way) for way in dict.fromkeys(ways) if way != word][:PER_NAME]


def _swapped(word: str, at: int) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


# --- answers


class Asker:
    """Asks, and keeps the answers of bases, each of which many variants are held against."""

    def __init__(self, session: Session) -> None:
        """`session` = what is asked."""
        self.session = session
        self.asked = 0
        self._bases: dict[str, Run] = {}

    def ask(self, text: str) -> Run:
        """The run of a question."""
        self.asked += 1
        return self.session.ask(text)

    def base(self, text: str) -> Run:
        """The run of a question that is asked once, without what no pair is compared by."""
        if text not in self._bases:
            run = self.ask(text)
            self._bases[text] = replace(run, evidence=(), mentions=(), context=replace(run.context, text=""))
        return self._bases[text]

    def known(self, name: str, language: str) -> bool:
        """Whether a graph has a thing of just this name."""
        graphs = (self.session.toolkit(graph, language).graph for graph in self.session.graphs)
        return any(bool(graph.lookup(name)) for graph in graphs if isinstance(graph, Store))


def judged(pair: Pair, asker: Asker) -> Result:
    """What comes of a pair; one whose base has no answer to compare with is skipped, and its variant not asked."""
    base = asker.base(pair.base)
    if not _comparable(pair, base) or (pair.kind == "typos" and asker.known(pair.name, pair.language)):
        return Result(pair, "skipped", False, _beginning(base), "")
    variant = asker.ask(pair.variant)
    return Result(pair, _outcome(pair, base, variant), variant.answer.abstained, _beginning(base), _beginning(variant))


def _comparable(pair: Pair, base: Run) -> bool:
    """Whether the base has the answer that its rule needs."""
    if pair.kind == "polarity":
        return side(base) == "helps"
    if pair.rule in {"differential", "no differential"}:
        return differs(base) == (pair.rule == "differential") and bool(_lines(base)) and not base.answer.abstained
    return bool(_main(base)) and not base.answer.abstained


def _outcome(pair: Pair, base: Run, variant: Run) -> str:
    if pair.kind == "polarity":
        wrong = "helps" if pair.rule == "refusing" else "forbids"
        return "opposite" if side(variant) == wrong else "invariant"
    if _held(pair, base, variant):
        return "invariant"
    return "product" if pair.rule == "product" and names_product(variant, pair.name) else "differs"


def _held(pair: Pair, base: Run, variant: Run) -> bool:
    """Whether what the rule of a pair says is so."""
    match pair.rule:
        case "no differential":
            return not differs(variant)
        case "differential":
            return differs(variant)
        case "facts":
            return variant.answer.abstained == base.answer.abstained and facts(base) == facts(variant)
        case "near":
            wanted = first_names(base)
            return len(wanted & first_names(variant)) >= min(CHILDREN, len(wanted))
        case _:
            return _alike(base, variant)


def _alike(base: Run, variant: Run) -> bool:
    """Whether the lists have the same first names, or the first lines rest on the same facts."""
    return first_names(base) == first_names(variant) or _keys(_main(base)) == _keys(_main(variant))


def _lines(run: Run) -> list[tuple[Evidence, ...]]:
    """The evidence that each line of an answer cites, line by line; lines that cite nothing are left out."""
    cited = run.context.cited
    marks = (map(int, re.findall(r"\[(\d+)\]", line)) for line in run.answer.text.splitlines())
    rows = (tuple(cited[n - 1] for n in line if 0 < n <= len(cited)) for line in marks)
    return [row for row in rows if row]


def _main(run: Run) -> tuple[Evidence, ...]:
    """The evidence of the first line that is more than a caution before the answer."""
    lines = _lines(run)
    return next((row for row in lines if row[0].kind not in {"verdict", "warning"}), lines[0] if lines else ())


def side(run: Run) -> str:
    """What an answer gives first: what "helps", what it "forbids", or "" neither; warnings beside it do not count."""
    for row in _lines(run):
        for evidence in row:
            roles = (t.relation.role for t in evidence.triples if evidence.kind not in {"candidate", "warning"})
            role = next((role for role in roles if role in HELPS | FORBIDS), None)
            if role is not None:
                return "helps" if role in HELPS else "forbids"
    return ""


def differs(run: Run) -> bool:
    """Whether an answer is a list of diseases that fit."""
    return any(evidence.kind == "candidate" for row in _lines(run) for evidence in row)


def first_names(run: Run) -> frozenset[str]:
    """The first things of the list that an answer begins with."""
    things = dict.fromkeys(thing for evidence in _main(run) for thing in _things(evidence))
    return frozenset(list(things)[:FIRST])


def _things(evidence: Evidence) -> Iterator[str]:
    """What a piece of evidence lists of what it is about, in its order."""
    about = {entity.id for entity in evidence.about}
    if evidence.kind == "candidate":
        yield from (entity.name for entity in evidence.about[:1])
        return
    roles = [t.relation.role for t in evidence.triples[:1]]
    for triple in evidence.triples:
        if triple.relation.role in roles:
            yield triple.head.name if triple.tail.id in about and triple.tail.id else triple.tail.name


def names_product(run: Run, name: str) -> bool:
    """Whether an answer says in its first line that it is about a product.

    That is the brand, or what its evidence is of, where this bears the name of the substance and more; `name` is
    "substance = brand".
    """
    substance, brand = name.casefold().split(" = ")
    line = run.answer.text.partition("\n")[0].casefold()
    triples = [triple for evidence in _main(run) for triple in evidence.triples]
    of = {end.name.casefold() for triple in triples for end in (triple.head, triple.tail)}
    products = {brand, *(thing for thing in of if substance in thing and thing != substance)}
    return bool(triples) and not run.answer.abstained and any(product in line for product in products)


def facts(run: Run) -> frozenset[tuple[str, str, str]]:
    """The first fact of each piece of evidence that the opening of an answer cites."""
    return _keys([evidence for row in _lines(run)[:OPENING] for evidence in row])


def _keys(evidence: Iterable[Evidence]) -> frozenset[tuple[str, str, str]]:
    return frozenset(_key(e.triples[0]) for e in evidence if e.triples)


def _key(triple: Triple) -> tuple[str, str, str]:
    return triple.head.name, triple.relation.name, triple.tail.name


def _beginning(run: Run) -> str:
    return run.answer.text[:160].replace("\n", " / ")


# --- figures


def shares(results: Iterable[Result]) -> dict[str, float]:
    """Of each kind the share of judged pairs that hold; a kind of which all are skipped is left out.

    >>> one = Pair("order", "en", "", "facts", "", "a, b?", "b, a?")
    >>> shares([Result(one, o, False, "", "") for o in ("invariant", "differs", "skipped")])
    {'order': 0.5}
    """
    held: Counter[str] = Counter()
    judged_: Counter[str] = Counter()
    for result in results:
        if result.outcome != "skipped":
            judged_[result.pair.kind] += 1
            held[result.pair.kind] += result.outcome in HELD
    return {kind: held[kind] / n for kind, n in judged_.items()}


def _table(results: Sequence[Result]) -> Iterator[str]:
    """A line a kind, and beneath it one a part and language."""
    yield f"{'':52}{'pairs':>7}{'skipped':>9}{'judged':>8}{'silent':>8}{'held':>7}  share"
    for kind in sorted({result.pair.kind for result in results}, key=KINDS.index):
        mine = [result for result in results if result.pair.kind == kind]
        yield _row(kind, mine)
        for language, part in sorted({(r.pair.language, r.pair.part) for r in mine}):
            some = [r for r in mine if (r.pair.language, r.pair.part) == (language, part)]
            yield _row(f"    {language} {part}", some)


def _row(title: str, results: Sequence[Result]) -> str:
    outcomes = Counter(result.outcome for result in results)
    judged_ = len(results) - outcomes["skipped"]
    held = sum(outcomes[outcome] for outcome in HELD)
    share = f"{held / judged_:.3f}" if judged_ else "-"
    silent = sum(result.silent for result in results)
    numbers = f"{len(results):>7}{outcomes['skipped']:>9}{judged_:>8}{silent:>8}{held:>7}"
    return f"{title:<{52 - len(re.findall('[一-鿿]', title))}}{numbers}  {share}"


def _failures(results: Sequence[Result], most: int) -> Iterator[str]:
    for kind, language in sorted({(r.pair.kind, r.pair.language) for r in results}):
        failed = [
            r
            for r in results
            if (r.pair.kind, r.pair.language) == (kind, language) and r.outcome in {"differs", "opposite"}
        ]
        for r in sorted(failed, key=lambda r: _hash(r.pair.id))[:most]:
            yield f"\n{r.pair.id} {r.outcome}\n  {r.pair.base}\n    {r.base}\n  {r.pair.variant}\n    {r.variant}"


def main() -> None:
    """Ask, and print the share of each kind that holds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph", default="auto", help="an installed graph; all that are by default")
    options.add_argument("--kinds", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}")
    options.add_argument("--languages", default=",".join(LANGUAGES))
    options.add_argument("--sample", type=int, default=0, metavar="N", help="so many pairs, always the same")
    options.add_argument("--show", type=int, default=0, metavar="N", help="failing pairs of each kind and language")
    options.add_argument("--json", type=Path, metavar="FILE", help="write every pair with what came of it")
    args = options.parse_args()
    if wrong := [kind for kind in args.kinds.split(",") if kind not in KINDS]:
        options.error(f"no kind {wrong[0]}; there are {', '.join(KINDS)}")
    asked = pairs(args.kinds.split(","), args.languages.split(","))
    asked = sample(asked, args.sample) if args.sample else asked
    asker = Asker(kgmed.load(graph=args.graph))
    results = [judged(pair, asker) for pair in asked]
    print(*_table(results), sep="\n")
    whole = Counter(result.pair.kind for result in results if result.outcome != "skipped")
    keep("metamorphic", shares(results) | {f"{kind} n": n for kind, n in whole.items()})
    counts = Counter(result.outcome for result in results)
    told = f"opposite: {counts['opposite']}; brands held by naming the product: {counts['product']}"
    print(f"{len(results)} pairs, {asker.asked} questions; {told}")
    print(*_failures(results, args.show), sep="\n")
    if args.json:
        rows = [{"id": r.pair.id, **asdict(r)} for r in results]
        args.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
