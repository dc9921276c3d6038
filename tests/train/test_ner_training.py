"""Training of a tagger, small enough for seconds: it learns, stops, goes on, and refuses what it cannot do."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.linking import Parts, Sample
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.w2ner import Architecture, FoundEntity, Training
from kgmed.models.w2ner_network import PLAN, WEIGHTS, open_labeller
from kgmed.train.tagger import FIGURES, LAST, LOG, TrainingOutput, Unlearnable, examples, relations, train

TINY = Architecture(embedding=12, hidden=32, channels=8, biaffine=12, perceptron=12, dropout=0.0, window=16, overlap=8)
QUICK = Training(epochs=40, batch=2, rate=1e-2, warmup=0.05, patience=40)
SAMPLES = [
    Sample(
        "细胞减少与肺内病变相关",
        (FoundEntity("sym", ((0, 4),)), FoundEntity("bod", ((0, 2),)), FoundEntity("dis", ((5, 9),))),
    ),
    Sample("手和脚疼痛", (FoundEntity("sym", ((0, 1), (3, 5))), FoundEntity("sym", ((2, 5),)))),
    Sample("Aspirin treats fever.", (FoundEntity("dru", ((0, 7),)), FoundEntity("sym", ((15, 20),)))),
    Sample("无异常", ()),
]
TWICE = SAMPLES * 2  # what stands only once in the texts has no embedding of its own
ALL = Parts(TWICE, SAMPLES, SAMPLES)


def trained(folder: Path, parts: Parts = ALL, **change: Any) -> dict[str, Any]:
    return train(parts, folder, architecture=TINY, training=replace(QUICK, **change))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ner") / "tagger"
    trained(made)
    return made


def test_a_handful_of_sentences_is_learnt_by_heart_nested_and_discontinuous_entities_too(folder: Path) -> None:
    found = open_labeller(folder)([s.text for s in SAMPLES])
    assert [set(f) for f in found] == [set(s.entities) for s in SAMPLES]


def test_the_figures_say_what_was_trained_and_how_well(folder: Path) -> None:
    figures = json.loads((folder / FIGURES).read_text("utf-8"))
    assert figures["test"]["all"]["f1"] == figures["dev"]["all"]["f1"] == 1
    assert figures["samples"] == {"train": 8, "dev": 4, "test": 4}
    assert figures["test"]["type sym"]["gold"] == 4
    assert figures["training"]["rate"] == QUICK.rate
    rows = [json.loads(line) for line in (folder / LOG).read_text("utf-8").splitlines()]
    assert [row["step"] for row in rows] == list(range(1, figures["epochs"] + 1))
    assert rows[-1]["loss"] < rows[0]["loss"] / 10
    assert max(row["dev"]["f1"] for row in rows) == 1
    assert rows[figures["best_epoch"] - 1]["dev"]["f1"] == 1


def test_asking_again_for_a_finished_training_trains_nothing(folder: Path) -> None:
    before = (folder / WEIGHTS).stat().st_mtime_ns, (folder / LAST).stat().st_mtime_ns
    assert trained(folder) == json.loads((folder / FIGURES).read_text("utf-8"))
    assert before == ((folder / WEIGHTS).stat().st_mtime_ns, (folder / LAST).stat().st_mtime_ns)


class Stopped(Exception):
    """A training is stopped from outside."""


def stop_after(epoch: int) -> TrainingOutput:
    """A listener that stops the training in the middle of the epoch after that."""

    def at(text: str) -> None:
        if text.startswith(f"epoch {epoch + 1}/") and "step 2/" in text:
            raise Stopped

    return TrainingOutput(at=at)


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    change = {"epochs": 6, "seed": 3}
    parts = replace(ALL, dev=SAMPLES[:1], test=SAMPLES[1:])
    architecture, training = replace(TINY, dropout=0.3), replace(QUICK, **change)
    whole = train(parts, tmp_path / "whole", architecture=architecture, training=training)
    for epoch in (0, 2, 4):
        with pytest.raises(Stopped):
            train(parts, tmp_path / "cut", architecture=architecture, training=training, tell=stop_after(epoch))
    assert train(parts, tmp_path / "cut", architecture=architecture, training=training) == whole
    for name in (WEIGHTS, LAST):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    logs = [[json.loads(t) for t in (tmp_path / f / LOG).read_text("utf-8").splitlines()] for f in ("cut", "whole")]
    cut, whole_log = ([{**row, "seconds": 0} for row in rows] for rows in logs)
    assert cut == whole_log


def test_another_seed_gives_another_tagger(tmp_path: Path) -> None:
    for seed in (0, 1):
        trained(tmp_path / str(seed), epochs=1, seed=seed)
    assert (tmp_path / "0" / WEIGHTS).read_bytes() != (tmp_path / "1" / WEIGHTS).read_bytes()


def test_it_stops_where_dev_gets_no_better(tmp_path: Path) -> None:
    nothing = Parts(TWICE, [Sample("无", (FoundEntity("other", ((0, 1),)),))], SAMPLES)
    figures = trained(tmp_path / "t", nothing, patience=2)
    assert (figures["best_epoch"], figures["epochs"]) == (1, 3)


def test_a_folder_of_another_training_or_of_other_things_is_left_alone(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="other data or settings"):
        trained(folder, seed=5)
    with pytest.raises(BadInput, match="other data or settings"):
        trained(folder, Parts(SAMPLES, SAMPLES[:1], SAMPLES))
    (tmp_path / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="holds no training"):
        trained(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(BadInput, match=r"letter\.txt is not empty and holds no training"):
        trained(tmp_path / "letter.txt")


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be written"):
        trained(tmp_path / "file" / "t")


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (Parts(SAMPLES, [], SAMPLES), "part dev"),
        (Parts([Sample("无", ())], SAMPLES, SAMPLES), "nothing to learn"),
    ],
)
def test_data_that_nothing_can_be_learnt_or_told_from_is_refused(parts: Parts, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says):
        trained(tmp_path / "t", parts)
    assert not (tmp_path / "t").exists()


def test_entities_of_dev_that_cannot_be_learnt_still_count_as_missed(tmp_path: Path) -> None:
    within = Sample("SARS", (FoundEntity("dis", ((0, 2),)),))
    figures = trained(tmp_path / "t", Parts([*SAMPLES, within], [within], [within]), epochs=1)
    assert figures["not_learnable"] == {"within_a_unit": 1, "of_two_types": 0, "beyond_the_window": 0}
    assert (figures["test"]["all"]["gold"], figures["test"]["all"]["recall"]) == (1, 0)


def test_windows_hold_the_entities_that_lie_in_them_and_the_rest_is_counted() -> None:
    long = "甲" * 20
    sample = Sample(
        long,
        (
            FoundEntity("a", ((0, 2),)),
            FoundEntity("a", ((10, 12),)),
            FoundEntity("a", ((0, 18),)),
            FoundEntity("b", ((0, 2),)),
        ),
    )
    lost = Unlearnable()
    made = examples([sample], TINY, lost)
    assert [(len(e.words), e.entities) for e in made] == [
        (16, [("a", (0, 1)), ("a", (10, 11))]),
        (12, [("a", (2, 3))]),
    ]
    assert lost == Unlearnable(of_two_types=1, beyond_the_window=1)
    assert relations(made, ["a"]).nonzero().tolist() == [
        [0, 0, 1], [0, 1, 0], [0, 10, 11], [0, 11, 10], [1, 2, 3], [1, 3, 2]
    ]  # fmt: skip


@pytest.mark.parametrize("name", [PLAN, WEIGHTS])
def test_a_damaged_tagger_is_refused_by_the_name_of_its_file(folder: Path, tmp_path: Path, name: str) -> None:
    for damage in (b"", b"{}", b"\x80\x04}."):
        for path in folder.iterdir():
            (tmp_path / path.name).write_bytes(damage if path.name == name else path.read_bytes())
        with pytest.raises(SourceError, match=name):
            open_labeller(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(SourceError, match="is not there"):
        open_labeller(tmp_path)


def test_weights_of_another_network_are_refused(folder: Path, tmp_path: Path) -> None:
    trained(tmp_path / "other", Parts(SAMPLES[:1], SAMPLES, SAMPLES), epochs=1)
    (tmp_path / "other" / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes())
    with pytest.raises(SourceError, match="other weights"):
        open_labeller(tmp_path / "other")


def test_frozen_vectors_are_used_kept_out_of_the_file_and_asked_for_when_opened(tmp_path: Path) -> None:
    frozen = TrigramEncoder()
    train(ALL, tmp_path / "t", architecture=TINY, training=QUICK, vectors=frozen)
    assert open_labeller(tmp_path / "t", frozen)([SAMPLES[1].text])[0] == sorted(
        SAMPLES[1].entities, key=lambda f: f.parts
    )
    named = json.loads((tmp_path / "t" / PLAN).read_text("utf-8"))
    assert named["architecture"]["vectors"] == frozen.name
    other = TrigramEncoder(dimensions=32)
    if other.name != frozen.name:
        with pytest.raises(BadInput, match="vectors of"):
            open_labeller(tmp_path / "t", other)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small transformer with random weights, saved as any other is."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    letters = sorted({c for s in SAMPLES for c in s.text.lower() if c.strip()})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters if c.isascii())]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_transformer_is_tuned_and_opened_without_the_folder_it_came_from(bert: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path in bert.iterdir():
        (source / path.name).write_bytes(path.read_bytes())
    architecture = replace(TINY, encoder=str(source))
    training = replace(QUICK, rate=1e-2, encoder_rate=1e-3)
    figures = train(ALL, tmp_path / "t", architecture=architecture, training=training)
    for path in source.iterdir():
        path.unlink()
    assert figures["dev"]["all"]["f1"] == 1
    found = open_labeller(tmp_path / "t")([s.text for s in SAMPLES])
    assert [set(f) for f in found] == [set(s.entities) for s in SAMPLES]


def test_a_word_of_many_pieces_does_not_push_the_rest_beyond_what_the_transformer_reads(bert: Path) -> None:
    from kgmed.models.w2ner_network import Transformer

    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModel.from_pretrained(bert)
    encoder = Transformer(model, transformers.AutoTokenizer.from_pretrained(bert))
    with torch.inference_mode():
        made = encoder([["aspirin"] * 12 + ["手"], ["手"]])
    assert made.shape == (2, 13, 32)
    assert bool((made[1, 1:] == 0).all())
    assert bool((made[0].abs().sum(1) > 0).all())


def test_an_encoder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot load the model: there is no folder"):
        train(ALL, tmp_path / "t", architecture=replace(TINY, encoder=str(tmp_path / "none")), training=QUICK)
    assert not (tmp_path / "t").exists()


def test_a_tagger_whose_transformer_was_taken_away_is_refused(bert: Path, tmp_path: Path) -> None:
    train(ALL, tmp_path / "t", architecture=replace(TINY, encoder=str(bert)), training=replace(QUICK, epochs=1))
    for path in (tmp_path / "t" / "encoder").iterdir():
        path.unlink()
    with pytest.raises(SourceError, match="is no encoder"):
        open_labeller(tmp_path / "t")


def test_a_damaged_checkpoint_and_damaged_figures_are_refused(folder: Path, tmp_path: Path) -> None:
    for name, damage in ((LAST, b"\x80"), (FIGURES, b"{")):
        for path in folder.iterdir():
            (tmp_path / path.name).write_bytes(damage if path.name == name else path.read_bytes())
        with pytest.raises(SourceError, match=name):
            trained(tmp_path)


@pytest.mark.parametrize("name", [LAST, WEIGHTS])
@pytest.mark.parametrize("place", [0.6, 0.99])
def test_weights_in_which_a_bit_is_turned_are_refused(folder: Path, tmp_path: Path, name: str, place: float) -> None:
    data = bytearray((folder / name).read_bytes())
    data[int(place * len(data))] ^= 1
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(data if path.name == name else path.read_bytes())
    with pytest.raises(SourceError, match=rf"{name}: cannot be read \(its content is not what was written\)"):
        trained(tmp_path) if name == LAST else open_labeller(tmp_path)
