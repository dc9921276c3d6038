"""What a language model wrote, read with care: citation marks, lists, final lines, MindMap's three outputs."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgmed.models.asking import Malformed, strings, values, without_thinking
from kgmed.records import Evidence

# --- Citation marks in what a model wrote: [1], [1, 2], [2-4], also in full width: 【1】, ［１、３］.


WIDEST = 50  # numbers in one range; [1-9999] is no citation
_MARK = re.compile(
    r"[\[【［〔]\s*+(?:(?:evidence|证据)\s*+)?"
    r"(\d{1,4}(?:\s*+[-–—~～,，、;；]\s*+(?:(?:evidence|证据)\s*+)?\d{1,4})*)\s*[\]】］〕]",
    re.IGNORECASE,
)
_MARK_AFTER_BLANKS = re.compile(rf"(?:(?<!\s)\s++)?{_MARK.pattern}", re.IGNORECASE)  # a run of blanks is read once
_RANGE = re.compile(r"(\d+)\s*[-–—~～]\s*(\d+)|(\d+)")


def marks(text: str) -> tuple[int, ...]:
    """The distinct numbers cited, in the order of the text.

    >>> marks("Rest [2]. Fluids【1、3】, and more [3–5] since 1998 [ref]."), marks("［１］")
    ((2, 1, 3, 4, 5), (1,))
    """
    return tuple(dict.fromkeys(n for mark in _MARK.finditer(text) for n in _numbers(mark[1])))


def without_marks(text: str) -> str:
    """The text without its marks and without the space before them.

    >>> without_marks("Rest [2]. 多喝水【1】。")
    'Rest. 多喝水。'
    """
    return _MARK_AFTER_BLANKS.sub("", text)


def _numbers(inside: str) -> Iterator[int]:
    """The numbers in one mark; a range that runs backwards or too far stands for its two ends."""
    for first, last, single in _RANGE.findall(inside):
        if single:
            yield int(single)
        elif int(first) <= int(last) < int(first) + WIDEST:
            yield from range(int(first), int(last) + 1)
        else:
            yield from (int(first), int(last))


# --- The labels by which a model names evidence: P1, N2 where the retriever gave one, else E and its number.


def labels(cited: Sequence[Evidence]) -> list[str]:
    """One label a piece of evidence, all distinct: its own where it has one that no other has, else E1, E2, ...

    >>> labels([Evidence("a", "path", id="P1"), Evidence("b", "triple"), Evidence("c", "path", id="P1")])
    ['P1', 'E2', 'E3']
    """
    found: list[str] = []
    for i, evidence in enumerate(cited, start=1):
        own = evidence.id if evidence.id[:1] in ("P", "N") and evidence.id[1:].isdecimal() else ""
        found.append(own if own and own not in found else f"E{i}")
    return found


# --- Lists in what a model wrote: names between commas or one a line, and JSON lists of a given length.


_FENCE = re.compile(r"```(?:\w*)\n?(.*?)(?:```|$)", re.DOTALL)
_LEAD = re.compile(
    r"^.*?(?:entities|terms|medical terms|实体|术语|词)\s*(?:are|is|为|是|有|如下|包括|in the text)?\s*[:：]?\s*", re.I
)
_BULLET = re.compile(r"^\s*(?:\d{1,2}\s*[.)、:：]|[-*•])\s*")
_TAIL = re.compile(r"<EOS>.*|<END>.*|<SEP>", re.DOTALL)
_NONE = frozenset({"none", "null", "n/a", "na", "-", "无", "没有", "...", "…", ""})
_COMMA_OR_BRACKET = re.compile(r"[,，、()（）]")
_NAMES = re.compile(r"[^\W_]")
_LONGEST = 80  # characters; a longer "name" is a sentence


def slots(reply: str, count: int) -> list[str | None]:
    """The JSON list of exactly `count` strings in a reply, null and "none" as None; raises `Malformed`.

    >>> slots('Sure: {"terms": ["fever", null]}', 2), slots("［“发热”，“咳嗽”］", 2)
    (['fever', None], ['发热', '咳嗽'])
    """
    found = next((v for v in map(_list, values(reply)) if v is not None), None)
    if found is None:
        raise Malformed("it must be a JSON list")
    if strange := [v for v in found if v is not None and not isinstance(v, str)]:
        raise Malformed(f"the list must hold strings or null only, not {str(strange[0])[:40]}")
    if len(found) != count:
        raise Malformed(f"the list has {len(found)} entries where {count} are needed")
    return [_told(v) for v in found]


def _list(value: object) -> list[object] | None:
    """The list that a value is, or that is the only value of an object."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, list) else None


def names(reply: str) -> list[str]:
    """The names that a reply lists, each once: between commas, or one a line.

    A name may hold "; " and brackets: only commas part names, and not those in brackets. What holds no letter or digit,
    or a broken character, is none.

    >>> names("The entities are cough, Alprazolam (Xanax, oral), cough<EOS> more"), names("1. fever\\n2. gout")
    (['cough', 'Alprazolam (Xanax, oral)'], ['fever', 'gout'])
    """
    return list(
        dict.fromkeys(
            name
            for name in _plain(_TAIL.sub("", _unfenced(reply)).strip())
            if name and _NAMES.search(name) and "\ufffd" not in name
        )
    )


def _plain(text: str) -> Iterator[str | None]:
    """The names of a list without JSON."""
    lines = [line for line in text.splitlines() if line.strip()]
    if sum(bool(_BULLET.match(line)) for line in lines) < 2:
        lines = [_LEAD.sub("", line, count=1) for line in lines]
    else:
        lines = [line for line in lines if _BULLET.match(line)]
    for line in lines:
        yield from (_told(part) for part in _between_commas(_BULLET.sub("", line)))


def _between_commas(line: str) -> list[str]:
    """The parts of a line between commas that are in no brackets: behind which no bracket closes before one opens."""
    parts, end, inside = [], len(line), False
    for match in reversed(list(_COMMA_OR_BRACKET.finditer(line))):
        if match.group() in "()（）":
            inside = match.group() in ")）"
        elif not inside:
            parts.append(line[match.end() : end])
            end = match.start()
    return [line[:end], *reversed(parts)]


def _told(value: object) -> str | None:
    """A name without quotes and full stops; None where it says that there is none, or is a whole sentence."""
    text = str("" if value is None else value).strip().strip("'\"‘’“”.。;；*`[]{}【】 ").strip()
    return None if text.lower() in _NONE or len(text) > _LONGEST else text


def _unfenced(reply: str) -> str:
    """What stands in the code fence, if there is one."""
    match = _FENCE.search(reply)
    return match[1] if match else reply


# --- What a reply to a prompt with a small contract holds: a final line, one number, yes or no, one sentence.
# Each raises `Malformed` with a reason that is fit to be told to the model.


_FINAL = re.compile(
    r"^[\s#*>\-]*+(?:(?:final |the )?answer|答案|回答)[ \t]*+(?:\*++[ \t]*+)?(?P<colon>[:：])\**[ \t]*|^[\s#*>\-]++",
    re.I | re.M,
)
_NUMBER = re.compile(r"(?<![\d.,\w])(\d{1,3})(?![\d\w])(?!\.\d)")
_YES_NO = re.compile(
    r"\b(?P<no>no|not|false|invalid|does not|doesn't)\b|(?P<zh_no>不是|不能|不对|不正确|否|错|没有)"
    r"|\b(?P<yes>yes|true|valid|does)\b|(?P<zh_yes>是|能|对|正确)",
    re.IGNORECASE,
)
_HEADED = re.compile(r"^[\s#*>\-]*(?:sentence|summary|句子|总结|摘要)\s*+(?:\d++\s*+)?[:：]\s*", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]+)"')
LONGEST = 2000  # characters of a text that is to be short


def split_final(reply: str) -> tuple[str, str]:
    """What comes before the last line that begins with "Answer:" (答案：), and the answer after it.

    >>> split_final("The toe hurts.\\nAnswer: gout"), split_final("脚趾痛。\\n**答案**：痛风")
    (('The toe hurts.', 'gout'), ('脚趾痛。', '痛风'))
    """
    text = without_thinking(reply).strip()
    found = [m for m in _FINAL.finditer(text) if m["colon"]]
    if not found:
        raise Malformed('it has no line that begins with "Answer:"')
    answer = text[found[-1].end() :].strip()
    if not re.search(r"\w", answer):
        raise Malformed('nothing follows "Answer:"')
    return text[: found[-1].start()].strip(), answer


def number(reply: str, most: int) -> int:
    """The one number from 1 to `most` that a reply names; of a longer reply that of its last line that has one.

    >>> number("Thought 2 is best, it fits.", 3), number("1 is weak.\\nBest: 3", 3)
    (2, 3)
    """
    for line in reversed(without_marks(without_thinking(reply).strip()).splitlines()):
        named = {int(n) for n in _NUMBER.findall(line)}
        if len(named) > 1:
            raise Malformed(f"it names several numbers ({', '.join(map(str, sorted(named)))}); one is wanted")
        if named and not named <= set(range(1, most + 1)):
            raise Malformed(f"there is no number {named.pop()}; the numbers go from 1 to {most}")
        if named:
            return named.pop()
    raise Malformed(f"it names no number from 1 to {most}")


def says_yes(reply: str) -> bool:
    """Whether a reply says yes; its first word of yes or no in the last line that has one counts.

    >>> says_yes("Yes."), says_yes("I looked at it.\\nNo, it does not."), says_yes("是"), says_yes("不是")
    (True, False, True, False)
    """
    for line in reversed(without_thinking(reply).strip().splitlines()):
        if found := _YES_NO.search(line):
            return found.lastgroup in ("yes", "zh_yes")
    raise Malformed("it says neither yes nor no")


def short_text(reply: str) -> str:
    """A sentence or a few, on one line, without a heading.

    >>> short_text("Sentence: Gout hurts\\nat night.")
    'Gout hurts at night.'
    """
    text = " ".join(_HEADED.sub("", without_thinking(reply).strip()).split())
    if not re.search(r"[^\W\d_]", text) or "\ufffd" in text:
        raise Malformed("it holds no sentence")
    if len(text) > LONGEST:
        raise Malformed(f"it is longer than {LONGEST} characters; one sentence is wanted")
    return text


def nonempty_strings(reply: str, key: str) -> list[str]:
    """The strings under a key, at least one (see `structured.strings`).

    >>> nonempty_strings('{"thoughts": ["a"]}', "thoughts")
    ['a']
    """
    found = strings(reply, key)
    if not found:
        raise Malformed(f'the list under "{key}" is empty')
    return found


def known_strings(reply: str, key: str, known: Sequence[str]) -> list[str]:
    """Those of the strings under a key that are known, by their known spelling, in the order of the reply.

    >>> known_strings('["Has symptom", "cures"]', "relations", ["has_symptom", "treats"])
    ['has_symptom']
    """
    by_key = {bare_name(name): name for name in known}
    found = [by_key[bare_name(text)] for text in strings(reply, key) if bare_name(text) in by_key]
    if not found:
        raise Malformed(f"it names none of: {', '.join(known)}")
    return list(dict.fromkeys(found))


def numbers_under(reply: str, key: str, most: int) -> list[int]:
    """The numbers from 1 to `most` under a key, each once, in the order of the reply; there may be none.

    >>> numbers_under('Sure: {"facts": [2, 1, 2, 9]}', "facts", 3), numbers_under('{"facts": []}', "facts", 3)
    ([2, 1], [])
    """
    found = next((v[key] for v in values(reply) if isinstance(v, dict) and isinstance(v.get(key), list)), None)
    if found is None:
        raise Malformed(f'it must be {{"{key}": [...]}} with numbers in the list')
    kept = [n for n in dict.fromkeys(n for n in found if type(n) is int) if 1 <= n <= most]
    if found and not kept:
        raise Malformed(f"none of the numbers is one from 1 to {most}")
    return kept


def without_example(found: list[str], *, example: str, given: str) -> list[str]:
    """What a reply lists, without what the prompt's example lists too and what it was `given` does not say.

    Small models repeat the example. Raises `Malformed` where nothing else is left.

    >>> without_example(["Gout", "flu"], example='["gout", "cough"]', given="Is it flu?")
    ['flu']
    """
    own, there = set(map(bare_name, _QUOTED.findall(example))), bare_name(given)
    kept = [one for one in found if bare_name(one) not in own or bare_name(one) in there]
    if found and not kept:
        raise Malformed("it repeats the example and says nothing of what was asked")
    return kept


def bare_name(text: str) -> str:
    """The name in small letters, with single blanks for what is between its words."""
    return " ".join(text.replace("_", " ").casefold().split())


# --- Reasoning in what a model wrote: MindMap's three outputs, the steps that cite evidence, and the tree.
# The grammar is that of MindMap (Wen et al. 2024): `P1('fever'->'possible disease'->'flu')->N2('flu'->'test'->'PCR')
# ->result 1('flu')`; "Path-based Evidence 1" and 路径证据1 mean P1, "Neighbor-based Evidence 2" and 邻居证据2 mean N2.


_MARKER = re.compile(
    r"^[#*_>\-\[【( \t]*(?:output|输出)[ \t]*([123一二三])[ \t]*[*_\])】]*[ \t]*[:：.、\-]?[ \t]*[*_]*",
    re.IGNORECASE | re.MULTILINE,
)
_NUMERAL = {"一": "1", "二": "2", "三": "3"}
_LABEL = (
    r"(?:path[- ]?based\s+evidence|路径证据|基于路径的证据)\s*(?P<path>\d{1,3})"
    r"|(?:neighbou?r[- ]?based\s+evidence|邻居证据|基于邻居的证据)\s*(?P<near>\d{1,3})"
    r"|(?<![A-Za-z0-9])(?P<kind>[PNE])\s?(?P<number>\d{1,3})(?![A-Za-z0-9])"
)
_CITED = re.compile(_LABEL, re.IGNORECASE)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _LABEL)
_BRACKETED = re.compile(rf"[(（\[【［]\s*(?:(?:{_UNNAMED})[\s,;、，；]*)+[)）\]】］]", re.IGNORECASE)
_GROUP = r"\s*\((?P<inside>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
_STEP = re.compile(rf"(?:{_LABEL}|(?P<result>(?:result|结果)(?:\s*+\d++)?)){_GROUP}", re.IGNORECASE)
_ARROW = re.compile(r"(?:(?<!\s)\s++)?(<-+|<=+|←|(?<!-)-++>|(?<!=)=++>|→|—>)\s*")
_DRAWN = re.compile(r"^(?P<lead>[\s│|┃├└┌─━┣┗+`\\\-—>*•]*)(?P<text>.*)$")
_QUOTES = "'\"`‘’“”「」* "


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reasoning chain: what is said to lead from where to where, by which evidence."""

    label: str  # P1, N2, E3; "" = none cited
    start: str
    relation: str  # "" = not said
    end: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a decision tree, with the labels of the evidence it names."""

    text: str
    labels: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The three parts of a reply, "" where one is missing."""

    summary: str
    inference: str = ""
    tree: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningGraph:
    """The steps in the order of the text, and the results that they end in."""

    steps: tuple[Step, ...] = ()
    results: tuple[str, ...] = ()


def outputs(reply: str) -> Outputs:
    """The parts of a reply by their headings, in any order; without any heading all of it is the summary.

    >>> outputs("Output 1: It is flu.\\n**Output 3**：\\nflu"), outputs("输出1：流感。").summary
    (Outputs(summary='It is flu.', inference='', tree='flu'), '流感。')
    """
    pieces = _MARKER.split(reply)
    found: dict[str, str] = {}
    for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
        found.setdefault(_NUMERAL.get(number, number), text.strip("\n").rstrip().strip("`"))
    lead = pieces[0].strip()
    summary = found.get("1", "").strip() or ("" if found and not lead else lead)
    return Outputs(summary, found.get("2", "").strip(), found.get("3", "").strip("\n"))


def cited_labels(text: str) -> tuple[str, ...]:
    """The labels that a text names, each once, in order.

    >>> cited_labels("fever (Path-based Evidence 1)(N2), 邻居证据 3; P1 again, vitamin B12")
    ('P1', 'N2', 'N3')
    """
    return tuple(dict.fromkeys(_label(m) for m in _CITED.finditer(unicodedata.normalize("NFKC", text))))


def with_marks(text: str, number: Mapping[str, int]) -> str:
    """The text with marks [1] in place of bracketed labels; those without a number stay as they are.

    >>> with_marks("Flu (P1, N2). 发热（路径证据1）。 Gout (P9).", {"P1": 1, "N2": 4})
    'Flu [1][4]. 发热[1]。 Gout (P9).'
    """

    def mark(match: re.Match[str]) -> str:
        named = cited_labels(match[0])
        known = all(label in number for label in named)
        return "".join(f"[{number[label]}]" for label in named) if known else match[0]

    return _BRACKETED.sub(mark, text)


def bracketed_labels(text: str) -> tuple[str, ...]:
    """The labels that stand in brackets: outside them P2 may be a heart sound and N95 a mask.

    >>> bracketed_labels("A loud P2 (N3).")
    ('N3',)
    """
    return tuple(dict.fromkeys(label for m in _BRACKETED.finditer(text) for label in cited_labels(m[0])))


def reasoning_graph(text: str) -> ReasoningGraph:
    """The steps of a chain; a group of entities and relations in turn gives a step for each relation.

    A left arrow turns its step around: what it points at is the end.

    >>> reasoning_graph("P1('fever'->'sign of'->'flu')->result 1('flu')").steps
    (Step(label='P1', start='fever', relation='sign of', end='flu'),)
    """
    found = list(_STEP.finditer(unicodedata.normalize("NFKC", text)))
    steps = [step for m in found if not m["result"] for step in _steps(_label(m), m["inside"])]
    results = [_name(m["inside"]) for m in found if m["result"]]
    return ReasoningGraph(tuple(steps), tuple(dict.fromkeys(r for r in results if r)))


def tree(text: str) -> tuple[Node, ...]:
    """The trees drawn in a text by indentation, bars or bullets; a deeper line hangs under the one before it.

    >>> tree("flu (P1)\\n├── fever\\n│   └── cough (N2)\\n└── rest")[0].children[0].children
    (Node(text='cough', labels=('N2',), children=()),)
    """
    rows = [(len(m["lead"].expandtabs(4)), m["text"].strip()) for m in map(_DRAWN.match, text.splitlines()) if m]
    return _nested([row for row in rows if re.search(r"\w", row[1])])


def _nested(rows: Sequence[tuple[int, str]]) -> tuple[Node, ...]:
    """The trees of rows (depth, text); built from the last row, so that no depth of nesting is too much."""
    waiting: list[tuple[int, Node]] = []  # trees that no row above has taken yet, the nearest row last
    for depth, text in reversed(rows):
        children: list[Node] = []
        while waiting and waiting[-1][0] > depth:
            children.append(waiting.pop()[1])
        waiting.append((depth, Node(_without_labels(text), cited_labels(text), tuple(children))))
    return tuple(node for _, node in reversed(waiting))


def _without_labels(text: str) -> str:
    """The text of a node without the labels in brackets, without arrows and quotes around it."""
    return _BRACKETED.sub("", unicodedata.normalize("NFKC", text)).strip("-> ").strip(_QUOTES) or text.strip()


def _label(match: re.Match[str]) -> str:
    """P, N or E with the number."""
    if match["path"] or match["near"]:
        return f"P{int(match['path'])}" if match["path"] else f"N{int(match['near'])}"
    return f"{match['kind'].upper()}{int(match['number'])}"


def _steps(label: str, inside: str) -> Iterator[Step]:
    """The steps of one group; two names without a relation between them are a step too."""
    parts = _ARROW.split(inside)
    said, turned = [_name(p) for p in parts[::2]], [p[0] in "<←" for p in parts[1::2]]
    if len(said) == 2:
        yield _step(label, said[0], "", said[1], turned=turned[0])
    for i in range(0, len(said) - 2, 2):
        yield _step(label, said[i], said[i + 1], said[i + 2], turned=turned[i] or turned[i + 1])


def _step(label: str, start: str, relation: str, end: str, *, turned: bool) -> Step:
    return Step(label, end, relation, start) if turned else Step(label, start, relation, end)


def _name(text: str) -> str:
    return text.strip().strip(_QUOTES).replace("_", " ").strip()
