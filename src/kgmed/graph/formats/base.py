"""What the readers of files share: lines with true line numbers, delimited records, and what a relation means by its
name.
"""

import csv
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

from kgmed import toml
from kgmed.errors import BadInput, SourceError
from kgmed.graph.packed import bearable, unpacking
from kgmed.records import Relation, Role

# --- Text files line by line, with true line numbers, and every way in which a file cannot be read as one clear error.


_BLOCK = 1 << 17  # bytes; what is made of a block stays in the processor's cache
_LARGEST = 1 << 30  # bytes of a file that is read as a whole
_LONGEST = 1 << 24  # bytes of one line; a longer one is no line of any of these formats
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def check_file(path: Path) -> None:
    """Nothing, if the path is a readable regular file; raises `SourceError` if not."""
    with reading(path):
        if path.is_dir():
            raise SourceError(path, 0, "is a folder, not a file", "name the file in it")
        if path.exists() and not path.is_file():
            raise SourceError(path, 0, "is a pipe or a device", "save it as a file, it is read more than once")
        with path.open("rb"):
            pass


def need_file(path: Path | None, what: str) -> Path:
    """The path, checked; raises `BadInput` where none is given."""
    if path is None:
        raise BadInput(f"a graph of the format {what} needs a file; name one")
    check_file(path)
    return path


def name_of(path: Path) -> str:
    """What a graph is called that is read from a file and was given no name.

    >>> name_of(Path("graphs/emckg.train.txt")), name_of(Path(".tsv"))
    ('emckg', 'tsv')
    """
    return path.name.lstrip(".").split(".")[0] or "graph"


@contextmanager
def reading(path: Path, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """A block in which what the file system or the compression says becomes a `SourceError`."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise SourceError(path, line(), f"the compressed data is damaged ({error})", "fetch the file again") from error
    except FileNotFoundError as error:
        raise SourceError(path, 0, "there is no such file", "check the path") from error
    except PermissionError as error:
        raise SourceError(path, 0, "may not be read", "check its permissions") from error
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeError | json.JSONDecodeError):
            raise
        raise SourceError(path, line(), f"cannot be read ({error})", "check the path and the disk") from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzip, xz or bzip2 by its first bytes, as far as is bearable.

    Raises `SourceError` for one that unpacks to far more than a file of its size can be.
    """
    with path.open("rb") as file, unpacking(path, file) as plain:
        yield plain


def whole_text(path: Path) -> str:
    """The text of a whole file, unpacked, without a byte order mark; raises `SourceError`.

    One that is too large is refused before any of it is held.
    """
    with reading(path):
        if bearable(path.stat().st_size) > _LARGEST:
            _check_size(path)
        with open_bytes(path) as file:
            data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(path, 0, f"is not UTF-8 text at byte {error.start}", "save it as UTF-8") from None


def _check_size(path: Path) -> None:
    """Nothing, if a file can be read as a whole: its bytes, unpacked, are counted one piece after the other."""
    size = 0
    with open_bytes(path) as file:
        while piece := file.read(_BLOCK):
            size += len(piece)
            if size > _LARGEST:
                raise SourceError(path, 0, "is larger than 1,024 MB", "split it")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line without its end, numbered from 1; one at a time, whatever the size of the file.

    Raises `SourceError` for what is no UTF-8 text, NUL bytes and lines above 16 MB.
    """
    number = 0
    for text in blocks(path):
        for line in text.split("\n"):
            number += 1
            yield number, line


def first_lines(path: Path, most: int) -> list[str]:
    """At most so many first lines; of one that is longer than what is read at once its beginning; raises as `lines`."""
    with reading(path), open_bytes(path) as file:
        data = file.read(_BLOCK).removeprefix(_BOM)
    if len(data) < _BLOCK - len(_BOM) or b"\n" in data:
        return [line for _, line in islice(lines(path), most)]
    return [_decoded(path, data[: len(data) - _part(data)], 0)]


def _part(data: bytes) -> int:
    """How many bytes at the end are a character that is not whole."""
    return next((i for i in range(1, 4) if data[-i] >= 0xC0), 0) if data and data[-1] >= 0x80 else 0


def blocks(path: Path) -> Iterator[str]:
    """Whole lines of the file, many at a time, without the last newline of each block; raises as `lines`."""
    for data, done in _whole_lines(path, _BLOCK):
        yield _decoded(path, data, done).replace("\r\n", "\n").removesuffix("\r")


def byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    """What `blocks` gives, as UTF-8 and in blocks of about `size` bytes."""
    for data, done in _whole_lines(path, size):
        if not data.isascii() or b"\0" in data:
            _decoded(path, data, done)
        yield data.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in data else data


def _whole_lines(path: Path, size: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines without the last newline, and how many lines stand before."""
    done, rest, parts = 0, b"", list[bytes]()  # parts of a line that is longer than a block
    with reading(path, lambda: done + 1), open_bytes(path) as file:
        rest = file.read(size).removeprefix(_BOM)
        while block := file.read(size):
            cut = block.rfind(b"\n")
            if cut < 0:
                parts.append(rest)
                rest = block
                if len(parts) * size > _LONGEST:
                    raise SourceError(path, done + 1, "is longer than 16 MB", "check that this is a text file")
                continue
            whole, rest, parts = b"".join((*parts, rest, block[:cut])), block[cut + 1 :], []
            yield whole, done
            done += whole.count(b"\n") + 1
        if last := b"".join((*parts, rest)):
            yield last.removesuffix(b"\n"), done


def _decoded(path: Path, data: bytes, done: int) -> str:
    """The text of whole lines of which `done` lines stand before."""
    if (at := data.find(b"\0")) >= 0:
        number = done + data.count(b"\n", 0, at) + 1
        if not done and data.startswith(_UTF_16):
            raise SourceError(path, number, "is UTF-16 text", "save the file as UTF-8")
        raise SourceError(path, number, "holds a NUL byte", "check that this is a text file and not damaged")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number = done + data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, number, "is not UTF-8 text", "save the file as UTF-8") from error


def parse_json(path: Path, number: int, text: str) -> Any:
    """The value of a JSON text that starts in line `number`; raises `SourceError` with the line of the fault."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise SourceError(path, number + error.lineno - 1, f"is no JSON: {error.msg}", "mend that line") from error
    except UnicodeEncodeError as error:
        raise SourceError(path, number, "holds half a character (a lone surrogate)", "mend that line") from error
    except (ValueError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else "holds a number that is too long"
        raise SourceError(path, number, problem, "mend that line") from error
    return value


def empty(path: Path) -> SourceError:
    """The error for a file in which there is nothing."""
    return SourceError(path, 0, "is empty", "give a file with at least one record")


# --- Delimited text, record by record: what the separator is, where the columns are, and quoted cells.


_SEPARATORS = ("\t", ",", ";", "|")
_LONGEST_CELL = 1 << 22  # characters in one quoted cell that spans lines; more is a forgotten quote


def separator(line: str, columns: int) -> str:
    """The separator that cuts a line into at least so many cells; "" if none does.

    >>> separator("a b\\tr\\tc, d", 3), separator("a,r,b", 3), separator("a b c", 3)
    ('\\t', ',', '')
    """
    return next((s for s in _SEPARATORS if len(line.split(s)) >= columns), "")


def records(path: Path, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of every record that is not blank, with the number of its first line.

    Quotes mean something in all but tab-separated files, in which they are ordinary characters. A quoted cell may
    span lines.
    """
    numbered = lines(path)
    quoting = mark != "\t"
    for number, line in numbered:
        if quoting and '"' in line:
            yield number, _quoted(path, number, line, numbered, mark)
        elif line and not line.isspace():
            yield number, line.split(mark)


def _quoted(path: Path, number: int, line: str, more: Iterator[tuple[int, str]], mark: str) -> list[str]:
    """The cells of a record with quotes, taking further lines while a quote is open."""
    parts, size, is_open = [line], len(line), line.count('"') % 2
    while is_open:
        _, line = next(more, (0, ""))
        if not _ or (size := size + len(line)) > _LONGEST_CELL:
            raise SourceError(path, number, "opens a quote that is never closed", 'close it or write "" for a quote')
        parts.append(line)
        is_open ^= line.count('"') % 2
    try:
        return next(csv.reader(["\n".join(parts)], delimiter=mark, strict=True))
    except (csv.Error, StopIteration) as error:
        raise SourceError(path, number, f"has quotes in the wrong place ({error})", 'write "" for a quote') from error


def column(header: Sequence[str], names: Sequence[str]) -> int:
    """The place of the first column whose name, in any case, is among `names`; -1 if there is none.

    >>> column(["Head", "Relation", "Tail"], ["relation", "rel"])
    1
    """
    return next((i for i, cell in enumerate(header) if cell.strip().casefold() in names), -1)


# --- What a relation means, from its name: the only place where names of relations are matched.
# Readers of one certain graph declare their relations; the readers of files that anybody may write (triples, RDF, OBO)
# leave it to `infer`, and a user who knows better says so in a TOML table (`roles_from_toml`).


Kinds = tuple[str, str]  # of the head, of the tail

# the kinds at the two ends of a role in its canonical direction; "" = it does not say
ENDS: Mapping[Role, Kinds] = {
    Role.FINDING: ("disease", "symptom"),
    Role.EXCLUDES: ("disease", "symptom"),
    Role.TREATS: ("drug", "disease"),
    Role.CONTRAINDICATED: ("drug", "disease"),
    Role.ADVERSE: ("drug", "symptom"),
    Role.INTERACTS: ("drug", "drug"),
    Role.PRECAUTION: ("drug", ""),
    Role.DOSAGE: ("drug", ""),
    Role.INGREDIENT: ("drug", "ingredient"),
    Role.TESTS: ("test", "disease"),
    Role.CAUSE: ("disease", "cause"),
    Role.RISK: ("disease", "risk factor"),
    Role.COMPLICATION: ("disease", "disease"),
    Role.PREVENTION: ("disease", "prevention"),
    Role.LOCATION: ("disease", "body part"),
    Role.GENE: ("disease", "gene"),
    Role.INHERITANCE: ("disease", "inheritance"),
    Role.ONSET: ("disease", "onset"),
    Role.CARE: ("disease", "department"),
    Role.FOOD: ("disease", "food"),
    Role.AVOID: ("disease", "food"),
    Role.DIFFERENTIAL: ("disease", "disease"),
    Role.ASSOCIATED: ("disease", "disease"),
    Role.IS_A: ("", ""),
    Role.SAME_AS: ("", ""),
    Role.OTHER: ("", ""),
}

_NOT = re.compile(r"\b(?:not|non?|without|absen(?:t|ce)|lacks?)\b|^(?:不(?!良)|无|非|没有|未(?!病))")
_NEGATED = {Role.FINDING: Role.EXCLUDES, Role.FOOD: Role.AVOID, Role.EXCLUDES: Role.EXCLUDES, Role.AVOID: Role.AVOID}

# In this order; the first that matches decides. `<` = against the canonical direction of the role.
_RULES: tuple[tuple[str, str], ...] = (
    ("other", r"drugs of\b|生产药品|produce"),
    ("other", r"^(?!drug|disease)(\w+) \1$|^(?!disease)\w+ protein$"),
    ("same_as", r"same as|synonym|equivalent|exact match|also known|alias|trade ?name|brand"),
    ("same_as", r"通用名|商品名|同义|别名|别称|又称|俗称"),
    ("contraindicated <", r"has contraindicated|contraindicated (?:drug|medication)|contraindicated by"),
    ("contraindicated", r"contra ?indicat|禁忌|禁用|忌用|忌服|禁服"),
    ("interacts", r"interact|drug drug|相互作用|配伍"),
    ("adverse <", r"(?:side effect|adverse (?:effect|reaction|event)) of|induced by drug|药物引起"),
    ("adverse", r"side effect|adverse|drug effect|不良反应|副作用|毒副"),
    ("precaution", r"precaution|caution|warning|注意事项|慎用|警示"),
    ("dosage", r"dosage|\bdose\b|posology|用法|用量|剂量|服药"),
    ("ingredient <", r"ingredient of|component of drug"),
    ("ingredient", r"ingredient|composition|成份|成分|组成"),
    ("inheritance", r"inherit|遗传方式|遗传模式"),
    ("onset", r"\bonset\b|age of|发病年龄|起病|病程"),
    ("differential", r"differential|distinguish|鉴别"),
    ("complication <", r"complication of|manifests? as complication|是.*并发症"),
    ("complication", r"complicat|ac?company|sequela|并发|合并症|后遗症"),
    ("avoid", r"(?:not?|avoid)\s?(?:to )?(?:eat|food)|avoid|忌口|忌食|不宜|忌吃|不可以吃|不能吃|避免"),
    ("food", r"\beat\b|food|diet|recipe|nutrition|宜吃|宜食|可以吃|推荐吃|食物|饮食|食谱|食疗"),
    ("care", r"department|special(?:i?ty|ist)|clinic to|科室|专科"),
    ("prevention <", r"\bprevents?\b.*(?:disease)?$(?<!prevention)"),
    ("prevention", r"prevent|prophyla|预防"),
    ("risk <", r"risk factor (?:of|for)|increases risk|predispos(?:es|ing)"),
    ("risk", r"\brisk|susceptib|高危|风险|危险因素|易感|诱因|诱发"),
    ("excludes", r"exclud|phenotype negative|phenotype absent|排除"),
    ("tests", r"(?:can )?(?:check|test|detect|diagnos|screen|measur)\w*(?: for| the)? disease|diagnos(?:e\b|es|tic of)|"
     r"tests? for|检查出|可检|诊断疾病"),
    ("tests <", r"\b(?:check|test)s?\b|diagnos|examination|laborator|imaging|screening|检查|检验|化验|筛查|检测|必检"),
    ("treats", r"cure disease|\btreats?\b|\bcures?\b|\bpalliat|\balleviat|\brelieves|indicat(?:ion|ed)|off label|"
     r"therap(?:y|eutic) for|(?:drug|"
     r"medication|medicine|treatment|therapy|remedy) (?:of|for)|适应症|适应证|主治|适用|用于|可治|治疗疾病"),
    ("treats <", r"treat|drug|medicat|medicine|therap|cure|remedy|surgery|药|治疗|治法|疗法|疗程|手术|化疗|放疗"),
    ("gene <", r"gene (?:associated )?(?:with|of|to|for) disease|gene (?:of|for)|gene disease|causes? disease gene"),
    ("gene", r"\bgenes?\b|protein|基因"),
    ("location <", r"(?:site|location) of\b"),
    ("location", r"location|located|finding site|body ?part|anatom|affected (?:organ|site)|部位|侵犯|器官"),
    ("finding <", r"(?:symptom|sign|finding|manifestation|phenotype) of|possible disease|indicates? disease|"
     r"phenotype disease|症状对应疾病|可能疾病|可能患"),
    ("finding", r"symptom|\bsigns?\b|finding|manifest|phenotype|presents? with|症状|体征|表现|症候|征象"),
    ("cause <", r"\bcauses?\b(?!d| of)\s?\w+|^causes$|cause of|causative agent of|leads? to|induces|导致|引起|致病$"),
    ("cause", r"\bcaused?\b|causative|etiology|aetiology|due to|induced by|病因|原因|起因"),
    ("is_a <", r"inverse is ?a|has child|\bchild(?:ren)?\b|narrower|has sub|superclass of|parent of|下位|子类|包括"),
    ("is_a", r"\bis ?a\b|sub ?class|broader|parent|belongs? to|category|type of|\btype$|上位|父类|属于|分类|类别"),
    ("associated", r"related|associat|disease disease|co ?occur|comorbid|相关疾病|相关|伴随|关联"),
)  # fmt: skip


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Role, bool, re.Pattern[str]], ...]:
    """The rules, made when a graph is read in: an answer, which infers nothing, does not wait for them."""
    return tuple((Role(what.split()[0]), what.endswith("<"), re.compile(pattern)) for what, pattern in _RULES)


_LONGEST_RELATION = 200  # characters of a relation's name that are read; longer ones are no names


@lru_cache(maxsize=4096)
def infer(relation_name: str) -> Relation:
    """The relation with the role and direction that its English or Chinese name suggests; `Role.OTHER` if none.

    >>> [(r.role.value, r.reverse) for r in map(infer, ("has_symptom", "possible_disease", "need_medical_test"))]
    [('finding', False), ('finding', True), ('tests', True)]
    >>> infer("not_has_symptom").role.value, infer("药物治疗").reverse
    ('excludes', True)
    """
    words = _words(relation_name[:_LONGEST_RELATION])
    for role, reverse, pattern in _compiled():
        if pattern.search(words):
            role = _NEGATED.get(role, _unless_warning(role)) if _NOT.search(words) else role
            return Relation(relation_name, role, reverse and role is not Role.OTHER)
    return Relation(relation_name)


def _unless_warning(role: Role) -> Role:
    """What is left of a role under a negation: a warning stays one, of the rest nothing is known."""
    return role if role.is_safety or role in (Role.ADVERSE, Role.PRECAUTION) else Role.OTHER


def _words(name: str) -> str:
    """The name in lower case with single spaces; camelCase is taken apart.

    >>> _words("hasSymptom"), _words("may_be_treated_by"), _words("诊断依据_鉴别诊断")
    ('has symptom', 'may be treated by', '鉴别诊断')
    """
    last = re.sub(r"^[^\x00-\x7f]+_", "", name)
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", last)
    return " ".join(re.sub(r"[\W_]+", " ", apart).casefold().split())


def kinds_of(relation: Relation) -> Kinds:
    """The kinds of head and tail that a relation's role and direction imply; "" where they do not say.

    >>> kinds_of(Relation("need_medication", Role.TREATS, reverse=True))
    ('disease', 'drug')
    """
    subject, object_ = ENDS[relation.role]
    return (object_, subject) if relation.reverse else (subject, object_)


# what published graphs call a kind -> what kgmed calls it
KINDS: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "disease": "disease disorder condition diagnosis syndrome illness 疾病",
        "drug": "drug compound chemical medication medicine molecule pharmaceutical 药物 药品",
        "symptom": "symptom phenotype phenotypic sign finding effect 症状 临床表现 体征",
        "gene": "gene protein 基因",
        "body part": "anatomy anatomical organ tissue body 部位",
        "test": "test check examination 检查 检验",
        "department": "department 科室",
        "food": "food 食物",
    }.items()
    for word in words.split()
}


@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """What kgmed calls a kind, or the word itself; of several labels the first that it has a word for.

    >>> kind_of("biolink:NamedThing|biolink:PhenotypicFeature"), kind_of("effect/phenotype"), kind_of(":Side Effect")
    ('symptom', 'symptom', 'symptom')
    >>> kind_of("Cellular Component")
    'cellular component'
    """
    labels = [part.partition("biolink:")[2] or part for part in re.split(r"[|;,]|(?<!biolink):", text) if part.strip()]
    for label in labels:
        words = _kind_words(label)
        if known := next((KINDS[w] for w in (*words, "".join(words)) if w in KINDS), ""):
            return known
    return " ".join(_kind_words(labels[0])) if labels else ""


def _kind_words(label: str) -> list[str]:
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)).casefold().split()


@dataclass(frozen=True, slots=True)
class RoleTable:
    """What a user says of the relations of a graph."""

    relations: Mapping[str, Relation]
    kinds: Mapping[str, Kinds]


def roles_from_toml(path: Path) -> RoleTable:
    """The user's own table: one `[relation-name]` each, with `role`, `reverse`, `head`, `tail` (kinds).

    All fields are optional; one that is not there keeps what its name suggests. Raises `SourceError`.
    """
    check_file(path)
    read = {name: _relation(path, name, entry) for name, entry in toml.read(path).items()}
    return RoleTable({n: r for n, (r, _) in read.items()}, {n: k for n, (_, k) in read.items()})


def _relation(path: Path, name: str, entry: Any) -> tuple[Relation, Kinds]:
    """One entry of the table, checked."""
    mend = f'write [{name!r}] with role = "...", reverse = true or false, head = "...", tail = "..."'
    if not isinstance(entry, dict):
        raise SourceError(path, 0, f"{name!r} is not a table", mend)
    guess = infer(name)
    role, reverse = (
        entry.get("role", guess.role.value),
        entry.get("reverse", guess.reverse if "role" not in entry else False),
    )
    unknown = set(entry) - {"role", "reverse", "head", "tail"}
    if unknown:
        raise SourceError(path, 0, f"{name!r} has the unknown field {min(unknown)!r}", mend)
    if role not in list(Role):
        raise SourceError(path, 0, f"{name!r} has the unknown role {role!r}", f"choose from {', '.join(Role)}")
    if not isinstance(reverse, bool):
        raise SourceError(path, 0, f"reverse of {name!r} is not true or false", mend)
    relation = Relation(name, Role(role), reverse)
    head, tail = kinds_of(relation)
    kinds = entry.get("head", head), entry.get("tail", tail)
    if not all(isinstance(kind, str) for kind in kinds):
        raise SourceError(path, 0, f"a kind of {name!r} is not text", mend)
    return relation, kinds
