"""The network against the equations of the paper, written as loops."""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

import torch
from torch.nn import functional

from kgmed.models.fakes import TrigramEncoder
from kgmed.models.w2ner import Architecture
from kgmed.models.w2ner_network import (
    W2NER,
    Biaffine,
    Convolutions,
    Embeddings,
    Grid,
    Vocabulary,
    buckets,
    loss,
    mask,
    vocabulary,
)

TINY = Architecture(embedding=4, hidden=8, distance=3, region=2, channels=5, biaffine=6, perceptron=7, dropout=0.0)
KNOWN = Vocabulary(("痛", "胃"), ("胃 痛",))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(1)


def network(architecture: Architecture = TINY) -> W2NER:
    encoder = Embeddings(KNOWN, architecture.embedding)
    return W2NER(architecture, encoder, encoder.width, 4).eval()


def test_the_grid_is_the_perceptron_over_normalised_pair_distance_and_region() -> None:
    grid, h = Grid(TINY).eval(), torch.randn(2, 4, 8)
    weights = torch.cat([grid.of_pair.weight, grid.of_distance.weight, grid.of_region.weight], 1)
    made = grid(h)
    for b in range(2):
        for i in range(4):
            for j in range(4):
                normal = (h[b, j] - h[b, j].mean()) / (h[b, j].var(unbiased=False) + 1e-5).sqrt()
                pair = grid.scale(h[b, i]) * normal + grid.shift(h[b, i])
                distance = grid.distance.weight[int(buckets(torch.tensor(j - i)))]
                both = torch.cat([pair, distance, grid.region.weight[int(j >= i)]])
                wanted = functional.gelu(weights @ both + grid.of_pair.bias)
                assert torch.allclose(made[b, :, i, j], wanted, atol=1e-5)


def test_the_biaffine_scores_are_those_of_each_pair() -> None:
    biaffine, h = Biaffine(8, 6, 4, 0.0).eval(), torch.randn(1, 3, 8)
    s, o, made = biaffine.subject(h)[0], biaffine.object(h)[0], biaffine(h)[0]
    for i in range(3):
        for j in range(3):
            wanted = torch.stack([s[i] @ u @ o[j] for u in biaffine.both])
            wanted = wanted + biaffine.of_subject(s[i]) + biaffine.of_object(o[j])
            assert torch.allclose(made[i, j], wanted, atol=1e-5)


def test_each_dilation_reaches_as_far_as_it_says() -> None:
    for rate in (1, 2, 3):
        layer = Convolutions(1, [rate], 0.0).eval()
        layer.load_state_dict({"layers.0.weight": torch.ones(1, 1, 3, 3), "layers.0.bias": torch.zeros(1)})
        one = torch.zeros(1, 1, 9, 9)
        one[0, 0, 4, 4] = 1
        reached = layer(one, torch.ones(1, 9, 9, dtype=torch.bool))[0, 0].nonzero().tolist()
        assert reached == [[i, j] for i in (4 - rate, 4, 4 + rate) for j in (4 - rate, 4, 4 + rate)]


def test_a_text_gets_the_same_scores_alone_and_beside_a_longer_one() -> None:
    short, long = ["胃", "痛"], ["痛"] * 7
    with torch.inference_mode():
        alone, together = network()([short]), network()([long])
        torch.manual_seed(1)
        net = network()
        alone, together = net([short])[0], net([long, short])[1]
    assert torch.allclose(alone, together[:2, :2], atol=1e-5)


def test_distances_of_one_order_of_magnitude_share_a_bucket_and_signs_do_not() -> None:
    found = buckets(torch.arange(-1000, 1001))
    assert int(found.min()) == 0
    assert int(found.max()) == 18
    assert found.tolist() == sorted(found.tolist())
    assert int(buckets(torch.tensor(4))) == int(buckets(torch.tensor(7))) != int(buckets(torch.tensor(8)))


def test_the_loss_is_the_mean_of_the_texts_means_and_ignores_padding() -> None:
    scores, relations = torch.randn(2, 3, 3, 4), torch.randint(4, (2, 3, 3))
    inside = mask(torch.tensor([3, 2]))
    log = scores.log_softmax(-1)
    cells = [[log[b, i, j, relations[b, i, j]] for i in range(n) for j in range(n)] for b, n in ((0, 3), (1, 2))]
    wanted = torch.stack([-torch.stack(of_text).mean() for of_text in cells]).mean()
    assert torch.allclose(loss(scores, relations, inside), wanted)
    scores[1, 2] += 100 * torch.randn(3, 4)
    assert torch.allclose(loss(scores, relations, inside), wanted)


def test_before_training_nearly_every_pair_has_no_relation() -> None:
    with torch.inference_mode():
        assert bool((network()([["胃", "痛", "吗"]]).softmax(-1)[..., 0] > 0.9).all())


def test_embeddings_know_a_unit_by_itself_its_neighbours_and_the_frozen_vector() -> None:
    frozen = TrigramEncoder()
    encoder = Embeddings(KNOWN, 4, frozen)
    made = encoder([["胃", "痛"], ["癌"]])
    assert made.shape == (2, 2, encoder.width)
    assert torch.equal(made[0, 0, :4], encoder.unit.weight[2])
    assert torch.equal(made[0, 0, 8:12], encoder.pair.weight[1])  # 胃 with what follows
    assert torch.equal(made[0, 1, 4:8], encoder.pair.weight[1])  # 痛 with what stands before
    assert torch.equal(made[1, 0, :4], encoder.unit.weight[0])  # unknown
    assert torch.allclose(made[1, 0, 12:], torch.from_numpy(frozen(["癌"]))[0])
    assert bool((made[1, 1] == 0).all())
    assert [name for name, _ in encoder.named_parameters()] == ["unit.weight", "pair.weight"]


def test_the_vocabulary_holds_what_is_seen_twice_in_small_letters_and_numbers_by_length() -> None:
    assert vocabulary([["HIV", "12", "a"], ["hiv", "34"]]) == Vocabulary(("00", "hiv"), ("\n hiv", "hiv 00"))


def test_dilations_and_widths_follow_the_settings() -> None:
    net = network(replace(TINY, dilations=(1, 2, 3, 4), channels=2))
    assert [layer.dilation for layer in net.convolutions.layers] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert net([["胃"] * 5]).shape == (1, 5, 5, 4)
