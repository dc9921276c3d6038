"""BERTScore, MoverScore and BLEURT on tiny models with random weights, built and saved by the real classes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_makers import run
from kgmed.errors import BadInput, KgmedError, SourceError
from kgmed.evaluate.items import Choices, Gold, Item, Metric
from kgmed.evaluate.metrics import make
from kgmed.records import Question

torch: Any = pytest.importorskip("torch", reason="needs torch and transformers")
transformers: Any = pytest.importorskip("transformers", reason="needs torch and transformers")
linprog: Any = pytest.importorskip("scipy.optimize", reason="needs scipy").linprog

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] fever cough gout and the toe hurts 发 热 , ##er".split()  # noqa: SIM905
ANSWERS = ["fever, and cougher, cough", "gout", "the toe hurts and the fever", "发热 cough", "gout " * 50, "and"]
REFERENCES = ["cough and fever", "the toe hurts", "the toe hurts and the fever", "fever", "gout gout toe", "发热"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder, a RoBERTa and a scorer of pairs."""
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=16)
    size = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 16}
    config = {"vocab_size": len(WORDS), "max_position_embeddings": 16, "initializer_range": 0.5} | size
    transformers.BertModel(transformers.BertConfig(**config)).save_pretrained(folder / "encoder")
    scorer = transformers.BertForSequenceClassification(transformers.BertConfig(**config, num_labels=1))
    scorer.save_pretrained(folder / "bleurt")
    for name in ("encoder", "bleurt"):
        tokenizer.save_pretrained(folder / name)
    return folder


def item(*texts: str, name: str = "q") -> Item:
    return Item(Question("What is it?", id=name), Gold(texts=texts))


ITEMS = [item(text, name=f"q{i}") for i, text in enumerate(REFERENCES)]


def scored(metric: Metric, answers: list[str], items: list[Item]) -> list[float]:
    found = metric.over([run(i.question, a) for a, i in zip(answers, items, strict=True)], items)
    return [x for x in found if x is not None]


def bertscores(saved: Path, items: list[Item] = ITEMS, **more: Any) -> tuple[Metric, ...]:
    return make("bertscore", Choices({"": str(saved / "encoder")}, **more), items)


@pytest.mark.parametrize("layer", [0, 1, 3])
@pytest.mark.parametrize("idf", [False, True])
def test_bertscore_is_what_the_reference_package_says(saved: Path, layer: int, idf: bool) -> None:
    bert_score = pytest.importorskip("bert_score", reason="needs bert-score")
    model, some = str(saved / "encoder"), {"model_type": str(saved / "encoder"), "num_layers": layer, "idf": idf}
    if idf:
        tokenizer = bert_score.utils.get_tokenizer(model)
        some["idf"] = bert_score.utils.get_idf_dict(REFERENCES, tokenizer, nthreads=0)
    theirs = bert_score.score(ANSWERS, REFERENCES, batch_size=1, device="cpu", **some)
    for metric, wanted in zip(bertscores(saved, layer=layer, idf=idf), theirs, strict=True):
        assert scored(metric, ANSWERS, ITEMS) == pytest.approx(wanted.tolist(), abs=1e-5), metric.name


def test_bertscore_by_a_roberta_is_what_the_reference_package_says(tmp_path: Path) -> None:
    bert_score = pytest.importorskip("bert_score", reason="needs bert-score")
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"\u0120abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    transformers.RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=20).save_pretrained(tmp_path)
    size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(1)
    config = transformers.RobertaConfig(
        vocab_size=len(tokens), max_position_embeddings=22, initializer_range=0.5, pad_token_id=1, **size
    )
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    words = ["fever", "cough and fever", "toe pain that hurts a lot"]
    theirs = bert_score.score(words, words[::-1], model_type=str(tmp_path), num_layers=2, batch_size=1, device="cpu")
    items = [item(text) for text in words[::-1]]
    for metric, wanted in zip(make("bertscore", Choices({"": str(tmp_path)}), items), theirs, strict=True):
        assert scored(metric, words, items) == pytest.approx(wanted.tolist(), abs=1e-5)


def test_bertscore_takes_the_best_reference_of_each_number_as_the_package_does(saved: Path) -> None:
    bert_score = pytest.importorskip("bert_score", reason="needs bert-score")
    items = [item("cough and fever", "gout"), item("toe")]
    theirs = bert_score.score(
        ["fever", "gout toe"], [["cough and fever", "gout"], ["toe"]],
        model_type=str(saved / "encoder"), num_layers=2, batch_size=1, device="cpu",
    )  # fmt: skip
    for metric, wanted in zip(bertscores(saved, items, layer=2), theirs, strict=True):
        assert scored(metric, ["fever", "gout toe"], items) == pytest.approx(wanted.tolist(), abs=1e-5)


def test_a_text_is_one_with_itself_and_no_neighbour_changes_a_score(saved: Path) -> None:
    f = bertscores(saved)[2]
    assert scored(f, REFERENCES, ITEMS) == pytest.approx([1] * 6, abs=1e-5)
    together = scored(f, ANSWERS, ITEMS)
    alone = [f.of(run(i.question, a), i) for a, i in zip(ANSWERS, ITEMS, strict=True)]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len({round(x, 3) for x in together}) > 3


def test_an_empty_answer_and_a_failed_run_score_alike_and_no_reference_is_no_number(saved: Path) -> None:
    for metric in bertscores(saved):
        assert metric.of(run(ITEMS[0].question, "  "), ITEMS[0]) == metric.of(None, ITEMS[0]) == 0
        assert metric.of(run(ITEMS[0].question, "gout"), item()) is None


def test_a_baseline_is_taken_from_its_file_by_layer(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "base.tsv"
    path.write_text("LAYER,P,R,F\n1,0.9,0.9,0.9\n2,0.5,0.2,0.25\n", encoding="utf-8")
    plain, scaled = bertscores(saved, layer=2), bertscores(saved, layer=2, baseline=path)
    for a, b, floor in zip(plain, scaled, (0.5, 0.2, 0.25), strict=True):
        was = np.array(scored(a, ANSWERS, ITEMS))
        assert scored(b, ANSWERS, ITEMS) == pytest.approx(((was - floor) / (1 - floor)).tolist(), abs=1e-9)
        assert b.of(None, ITEMS[0]) == b.of(run(ITEMS[0].question, ""), ITEMS[0]) == pytest.approx(-floor / (1 - floor))
        assert "rescaled by base.tsv" in b.source
        assert "not rescaled" in a.source


@pytest.mark.parametrize(
    ("text", "told"),
    [("LAYER,P,R,F\n2,x,1,1\n", "base.tsv:2: is no row"), ("LAYER,P,R,F\n2,1,1,1\n", "base.tsv:2: has a baseline"),
     ("LAYER,P,R,F\n1,0,0,0\n", "no row of layer 2"), ("", "no row of layer 2")],
)  # fmt: skip
def test_a_baseline_that_cannot_be_used_is_refused_by_line(saved: Path, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "base.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=told):
        bertscores(saved, layer=2, baseline=path)
    with pytest.raises(SourceError, match="cannot be read"):
        bertscores(saved, layer=2, baseline=tmp_path / "none")


def test_the_source_names_all_that_a_figure_depends_on(saved: Path) -> None:
    sources = {
        bertscores(saved, **more)[0].source for more in ({}, {"layer": 1}, {"idf": True}, {"layer": 3})
    } | {bertscores(saved, ITEMS[:3], idf=True)[0].source}  # fmt: skip
    assert len(sources) == 4
    assert all(str(saved) not in s and "encoder@" in s for s in sources)
    other = transformers.AutoModel.from_pretrained(saved / "encoder")
    with torch.no_grad():
        other.encoder.layer[0].output.dense.bias[0] += 1e-6
    other.save_pretrained(saved / "other")
    transformers.AutoTokenizer.from_pretrained(saved / "encoder").save_pretrained(saved / "other")
    mark = make("bertscore", Choices({"": str(saved / "other")}), ITEMS)[0].source.split("@")[1].split()[0]
    assert mark not in bertscores(saved)[0].source


def test_a_metric_runs_where_it_is_told_to_and_a_place_that_is_none_is_refused(saved: Path) -> None:
    for name in ("bertscore", "moverscore", "moverscore-v2"):
        choices = Choices({"": str(saved / "encoder")}, device="cpu")
        assert make(name, choices, ITEMS)
        with pytest.raises(KgmedError, match="nowhere"):
            make(name, replace(choices, device="nowhere"), ITEMS)


def test_a_layer_that_is_not_there_is_bad_input(saved: Path) -> None:
    with pytest.raises(BadInput, match="layers 0 to 3, and no layer 4"):
        bertscores(saved, layer=4)


@pytest.mark.parametrize("name", ["moverscore", "moverscore-2"])
def test_moverscore_is_full_for_the_same_words_and_less_for_others(saved: Path, name: str) -> None:
    (metric,) = make(name, Choices({"": str(saved / "encoder")}), ITEMS)
    assert scored(metric, REFERENCES, ITEMS) == pytest.approx([1] * 6, abs=1e-3)
    found = scored(metric, ANSWERS, ITEMS)
    assert found[2] == pytest.approx(1, abs=1e-3)
    assert all(0 <= x < 0.99 for i, x in enumerate(found) if i != 2)
    assert metric.of(run(ITEMS[0].question, ""), ITEMS[0]) == metric.of(None, ITEMS[0]) == 0
    assert metric.of(run(ITEMS[0].question, "gout"), item()) is None


def test_moverscore_of_single_words_is_one_minus_the_distance_of_their_states(saved: Path) -> None:
    items = [item("gout", name="a"), item("fever", name="b")]
    (metric,) = make("moverscore", Choices({"": str(saved / "encoder")}, layer=2), items)
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved / "encoder")
    model = transformers.AutoModel.from_pretrained(saved / "encoder").eval()
    with torch.inference_mode():
        states = [
            model(**tokenizer(w, return_tensors="pt"), output_hidden_states=True).hidden_states[2][0, 1].numpy()
            for w in ("cough", "gout")
        ]
    a, b = (s / np.linalg.norm(s) for s in states)
    wanted = max(0.0, 1 - float(np.linalg.norm(a - b)))
    assert metric.of(run(items[0].question, "cough"), items[0]) == pytest.approx(wanted, abs=1e-4)


def as_the_package(saved: Path, answers: list[str], wanted: list[str], version: int, n: int) -> list[float]:
    """MoverScore of the authors' package, written anew from its description: pair by pair, a dense linear program."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved / "encoder")
    model = transformers.AutoModel.from_pretrained(saved / "encoder").eval()

    def read(text: str) -> tuple[list[int], list[str], Any]:
        tokens = tokenizer(text, truncation=True, max_length=16, return_tensors="pt")
        with torch.inference_mode():
            layers = model(**tokens, output_hidden_states=True).hidden_states
        ids = tokens["input_ids"][0].tolist()
        if version == 2:
            return ids, tokenizer.convert_ids_to_tokens(ids), layers[-1][0].numpy()
        unit = np.stack([x[0].numpy() / np.linalg.norm(x[0].numpy(), axis=1, keepdims=True) for x in layers[1:][-5:]])
        return ids, tokenizer.convert_ids_to_tokens(ids), np.hstack([unit.min(0), unit.mean(0), unit.max(0)])

    def table(texts: list[str]) -> dict[int, float]:
        found = [set(read(t)[0]) for t in texts]
        return {i: np.log((len(texts) + 1) / (sum(i in f for f in found) + 1)) for f in found for i in f}

    def weighed(text: str, idf: dict[int, float]) -> tuple[Any, Any]:
        ids, pieces, rows = read(text)
        kept = [k for k, w in enumerate(pieces) if "##" not in w and w not in set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")]
        size = min(n, len(kept))
        windows = [kept[i : i + size] for i in range(len(kept) - size + 1)]
        weights = np.array([sum(idf[ids[k]] for k in w) for w in windows])
        at = np.array(
            [sum(idf[ids[k]] * rows[k] for k in w) / (h + 1e-30) for w, h in zip(windows, weights, strict=True)]
        )
        return at / (np.linalg.norm(at, axis=1, keepdims=True) + 1e-30), weights / (weights.sum() + 1e-30)

    def score(answer: str, reference: str) -> float:
        (a, of_a), (b, of_b) = weighed(answer, table(answers)), weighed(reference, table(wanted))
        cost = ((a[:, None] - b[None]) ** 2).sum(-1) ** (1 if version == 1 else 0.5)
        rows = [np.outer(np.eye(len(a))[i], np.ones(len(b))).ravel() for i in range(len(a))]
        columns = [np.outer(np.ones(len(a)), np.eye(len(b))[j]).ravel() for j in range(len(b))]
        found = linprog(cost.ravel(), A_eq=[*rows, *columns], b_eq=[*of_a, *of_b])
        return float(1 - found.fun)

    return [score(a, r) for a, r in zip(answers, wanted, strict=True)]


@pytest.mark.parametrize(("name", "version", "n"), [("v1", 1, 1), ("v1-2", 1, 2), ("v2", 2, 1)])
def test_moverscore_of_the_authors_is_what_their_description_gives(
    saved: Path, name: str, version: int, n: int
) -> None:
    (metric,) = make(f"moverscore-{name}", Choices({"": str(saved / "encoder")}), ITEMS)
    found = scored(metric, ANSWERS, ITEMS)
    assert found == pytest.approx(as_the_package(saved, ANSWERS, REFERENCES, version, n), abs=1e-4)
    assert found[2] == pytest.approx(max(found))
    assert len({round(x, 3) for x in found}) > 3
    assert metric.of(run(ITEMS[0].question, ""), ITEMS[0]) == metric.of(None, ITEMS[0]) == 0
    assert metric.of(run(ITEMS[0].question, "gout"), item()) is None


def test_bleurt_is_the_number_of_the_model_for_reference_then_answer(saved: Path) -> None:
    (metric,) = make("bleurt", Choices({"bleurt": str(saved / "bleurt")}), ITEMS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved / "bleurt")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(saved / "bleurt").eval()

    def number(reference: str, answer: str) -> float:
        with torch.inference_mode():
            tokens = tokenizer([reference], [answer], truncation=True, max_length=16, return_tensors="pt")
            return float(model(**tokens).logits[0, 0])

    pairs = list(zip(REFERENCES, ANSWERS, strict=True))
    assert scored(metric, ANSWERS, ITEMS) == pytest.approx([number(*pair) for pair in pairs], abs=1e-5)
    assert metric.of(None, ITEMS[0]) == pytest.approx(np.mean([number(r, "") for r in REFERENCES]), abs=1e-5)
    two = item("gout", "fever")
    best = max(number("gout", "cough"), number("fever", "cough"))
    assert metric.of(run(two.question, "cough"), two) == pytest.approx(best, abs=1e-5)


def test_a_metric_without_its_model_is_refused_in_one_line(tmp_path: Path) -> None:
    for name in ("bertscore", "moverscore", "bleurt", "perplexity"):
        with pytest.raises(BadInput, match=f"{name} needs a model"):
            make(name, Choices(), ITEMS)
        with pytest.raises(KgmedError, match="model"):
            make(name, Choices({"": str(tmp_path)}), ITEMS)
