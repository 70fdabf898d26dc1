"""Adapters on tiny random models: they learn through the matching, resume to the same bytes, and score as trained."""

import math
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
import torch

import evalign
import tiny_architectures
from evalign.encoders.adapter import INDEX, TENSORS, read_adapter
from evalign.encoders.torch_hf import torch_threads
from evalign.errors import LayerError, ModelError, SpecError, UnsupportedModelError
from evalign.training.adapter_objective import CeilingPenalty, _distance
from evalign.training.adapter_trainee import AdapterTrainee
from evalign.training.losses import GREEDY, SOFT_METHODS
from evalign.training.plan import ADAPTER_PLAN, MATCHINGS, AdapterSettings
from evalign.training.rated_pairs import RatedPair, RatedPairs, split
from evalign.training.trainee import Watch
from evalign.training.training_loop import fit, train_to
from tiny_models import SENTENCES
from tiny_training import rated_pairs, same_bits, weights

PLAN = replace(ADAPTER_PLAN, epochs=2, batch=8, rate=5e-3, dev=0.0, seed=5, threads=1)
SETTINGS = AdapterSettings(rank=2, layer="1+3")
MIXED = [  # rated, of several references, and ordered
    replace(pair, more_references=(SENTENCES[number % 12],)) if number % 4 == 1
    else replace(pair, worse=f"{SENTENCES[number % 12]} not", similarity=1.0) if number % 4 == 2
    else pair
    for number, pair in enumerate(rated_pairs(24))
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


class Stop(BaseException):
    """As a kill: nothing on the way catches it."""


def trainee(directory, anchors=(), **changes):
    return AdapterTrainee(str(directory), replace(SETTINGS, **changes), seed=5, anchors=anchors)


@pytest.mark.parametrize(
    ("family", "matching"),
    [("bert", "greedy"), ("mpnet", "greedy"), ("albert", "greedy"), ("distilbert", "envelope")],
)
def test_metrics_give_the_numbers_of_training_without_torch(tiny, tmp_path, family, matching):
    model = trainee(tiny(family), matching=matching)
    pairs = [pair for pair in MIXED if not pair.worse]
    train_to(tmp_path / "adapter", model, RatedPairs(pairs, "as they are", {}), PLAN)
    kind = evalign.BERTScore if matching == "greedy" else evalign.LiSAScore
    metric = kind(model=str(tiny(family)), adapter=str(tmp_path / "adapter"), threads=1)
    report = metric.score([pair.first for pair in pairs], [pair.references for pair in pairs])
    ours = np.stack([report[name] for name in report.fields], axis=-1)
    theirs, _ = model.objective("").compared(pairs, 4)
    assert read_adapter(metric.adapter).output(ours) == pytest.approx(theirs, abs=1e-4)  # fields by 30 to a deviation
    with torch.no_grad():
        read = model.read([text for pair in pairs for text in pair.texts])
        fields = model.objective("")._matched([(pair.first, pair.second) for pair in pairs[::4]], read)
    single = metric.score([pair.first for pair in pairs[::4]], [pair.second for pair in pairs[::4]])
    assert single["f1"] == pytest.approx(fields[:, 2].numpy(), abs=1e-5)
    plain = replace(metric, adapter="", layer="1+3").score([pair.first for pair in pairs], ["a"] * len(pairs))
    assert np.abs(plain["f1"] - report["f1"]).max() > 1e-3


def test_families_that_run_with_torch_alone(tmp_path):
    directory, pairs = tiny_architectures.build("modernbert", tmp_path / "modernbert"), rated_pairs(16)
    model = AdapterTrainee(str(directory), AdapterSettings(rank=2, layer="last"))
    train_to(tmp_path / "adapter", model, RatedPairs(pairs, "as they are", {}), PLAN)
    metric = evalign.BERTScore(model=str(directory), adapter=str(tmp_path / "adapter"), threads=1)
    report = metric.score([pair.first for pair in pairs], [pair.second for pair in pairs])
    with torch.no_grad():
        read = model.read([text for pair in pairs for text in pair.texts])
        fields = model.objective("")._matched([(pair.first, pair.second) for pair in pairs], read)
    assert report["f1"] == pytest.approx(fields[:, 2].numpy(), abs=1e-5)


def test_a_model_without_linear_layers_is_refused(tmp_path):
    directory = tiny_architectures.build("gpt2", tmp_path / "gpt2")  # whose layers are convolutions
    with pytest.raises(UnsupportedModelError, match="no linear layer"):
        AdapterTrainee(str(directory), AdapterSettings(layer="2"))


def test_it_learns_and_leaves_the_encoder_as_it_was(tiny, tmp_path):
    model = trainee(tiny("bert"))
    before = {name: tensor.clone() for name, tensor in model._texts.model.state_dict().items()}
    result = fit(model, rated_pairs(32), replace(PLAN, epochs=4), tmp_path)
    assert result.epochs[4].loss < 0.8 * result.epochs[1].loss
    assert all(torch.equal(before[name], tensor) for name, tensor in model._texts.model.state_dict().items())
    output = model.output()
    assert min(output.weights) >= 0
    assert (output.weights[0], output.scales[0]) == (output.weights[1], output.scales[1]), "P and R count the same"
    assert model.importance.abs().max() > 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_training_starts_at_the_plain_metric_with_a_fitted_output_layer(tiny, symmetric):
    model, pairs = trainee(tiny("bert"), symmetric=symmetric), rated_pairs(32)
    model.objective("").begin(pairs, 8)
    said, wanted = model.objective("").compared(pairs, 8)
    assert np.mean((said - wanted) ** 2) < np.var(wanted)
    metric = evalign.BERTScore(model=str(tiny("bert")), layer="1+3", threads=1)
    report = metric.score([pair.first for pair in pairs], [pair.second for pair in pairs])
    assert np.mean(report["f1"]) == pytest.approx(model.means[2].item(), abs=1e-5)
    precision, recall, _ = np.divide(model.output().weights, model.output().scales)
    assert (precision == recall) == symmetric


def test_tokens_of_anchor_texts_stay_where_they_were(tiny, tmp_path):
    """Training that moves all tokens moves those of the anchors far less, vectors and importance."""
    anchors = SENTENCES[6:]
    free, held = (trainee(tiny("bert"), texts) for texts in ((), anchors))
    with torch.no_grad():
        before = free.read(anchors)
    moved = []
    for number, model in enumerate((free, held)):
        fit(model, rated_pairs(32), replace(PLAN, epochs=6), tmp_path / str(number))
        with torch.no_grad():
            now = model.read(anchors)
        moved.append([float(_distance(now[text], before[text])) for text in anchors])
        plain = model.read_plain(anchors)
        assert all(torch.equal(plain[text].vectors, before[text].vectors) for text in anchors)
        assert all(torch.equal(plain[text].weights, before[text].weights) for text in anchors)
    assert np.mean(moved[1]) < 0.5 * np.mean(moved[0])


def test_other_anchors_are_another_run(tiny):
    names = {trainee(tiny("bert"), texts).name for texts in ((), ("a",), ("a", "b"))}
    assert len(names) == 3


def test_only_linear_layers_below_the_chosen_layer_are_changed(tiny):
    names = {name.rpartition(".")[0] for name in trainee(tiny("bert"), layer="2").state() if "layer" in name}
    assert {name.split(".")[2] for name in names} == {"0", "1"}
    assert len(names) == 2 * 6


def test_pairs_of_one_reference_follow_each_other_so_that_a_batch_reads_it_once(tiny):
    pairs = [replace(pair, second=f"reference {number % 5}") for number, pair in enumerate(rated_pairs(40))]
    objective = trainee(tiny("bert")).objective("")
    order = objective.order(pairs, np.random.default_rng(3))
    assert sorted(order) == list(range(40))
    runs = [len(list(run)) for _, run in groupby(order, key=lambda place: pairs[place].second)]
    assert set(runs) <= {4, 8, 12}  # runs of 4, of which two of one reference may meet
    assert order == objective.order(pairs, np.random.default_rng(3)) != objective.order(pairs, np.random.default_rng(4))


def test_a_candidate_is_penalties_against_a_reference_of_another_text(tiny):
    pairs = [replace(pair, second=f"{'one' if number < 3 else 'two'} reference was here") for number, pair in
             enumerate(rated_pairs(5))]  # fmt: skip
    objective = trainee(tiny("bert"), negatives=1.0, damage=1.0).objective("")
    held = objective._penalties(pairs, range(5), (5, 3, 0))
    unrelated = [down for down in held if not down.share]
    assert [down.texts[1][:3] for down in unrelated] == ["two"] * 3 + ["one"] * 2
    damaged = [(down.of, down.texts[1][:3], down.drop > 0) for down in held if down.share]
    assert damaged == [(0, "one", True), (3, "two", True)]  # once per reference
    alone = [replace(pair, second="the same reference") for pair in pairs]
    assert objective._penalties(alone, range(5), (5, 3, 0)) == []


@pytest.mark.parametrize("setting", [{"rank": 0}, {"opposites": -1.0}, {"kept": 1.0}, {"kept": math.nan}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(SpecError, match=f"`{next(iter(setting))}="):
        AdapterSettings(**setting)


def test_opposites_are_penalties_unless_both_texts_are_turned(tiny):
    pair = RatedPair("She was late.", "She is late.", 0.3, "1")
    objective = trainee(tiny("bert"), opposites=0.5, kept=0.3).objective("")
    held = objective._penalties([pair, replace(pair, first="She is here.")], range(2), (5, 3, 0))
    turned = [(("She is not late.", "She is late."), None), (("She was not late.", "She is late."), 0),
              (("She was late.", "She is not late."), 0), (("No", "Yes"), None)]  # fmt: skip
    assert held == [CeilingPenalty(texts, 0.5, 0.3, of=whole) for texts, whole in turned]
    first = RatedPair("An apple fell.", "Apples fell.", 0.3, "2")
    answers, *_ = objective._penalties([first, pair], range(1, 2), (5, 3, 0))
    assert answers.texts == ("No, She is not late.", "Yes, She is late.")
    (both,) = objective._both_opposed([pair], range(1))
    assert (both.first, both.second, both.similarity, both.weight) == (
        "She was not late.",
        "She is not late.",
        0.3,
        0.5,
    )
    long = replace(pair, first="It is so " * 10)
    of_long = objective._penalties([long], range(1), (5, 3, 0))
    assert [down.texts[0] for down in of_long] == ["She is not late.", long.first, "No"]
    assert objective._both_opposed([long], range(1)) == []


def test_of_a_pair_that_is_rated_low_only_the_reference_is_turned(tiny):
    pair = RatedPair("She was late.", "She is late.", -0.3, "1")
    objective = trainee(tiny("bert"), opposites=0.5, kept=0.3).objective("")
    held = objective._penalties([pair], range(1), (5, 3, 0))
    assert [down.texts for down in held] == [("She is not late.", "She is late."), ("No", "Yes")]
    assert objective._both_opposed([pair], range(1)) == []


def test_every_file_has_its_own_zero_and_slope(tiny):
    pairs = [replace(pair, similarity=pair.similarity * 2 + 2 if number % 2 else pair.similarity, file=number % 2)
             for number, pair in enumerate(rated_pairs(32))]  # fmt: skip
    errors = []
    for files in (1, 2):
        model = AdapterTrainee(str(tiny("bert")), SETTINGS, 5, files=files)
        model.objective("").begin([replace(pair, file=pair.file % files) for pair in pairs], 8)
        said, wanted = model.objective("").compared([replace(pair, file=pair.file % files) for pair in pairs], 8)
        errors.append(float(np.mean((said - wanted) ** 2)))
    assert errors[0] > 0.9 > 0.3 > errors[1]
    slopes = (model.ratings(torch.ones(2), [0, 1]) - model.ratings(torch.zeros(2), [0, 1])).tolist()
    assert slopes[0] == 1, "scores are on the scale of the first file"
    assert slopes[1] / slopes[0] == pytest.approx(2, abs=0.5)


@pytest.mark.parametrize("parts", [{}, {"negatives": 0.5, "damage": 0.5, "opposites": 0.5, "anchors": SENTENCES}])
def test_a_batch_in_parts_has_the_gradient_of_the_whole(tiny, parts):
    gradients = []
    for micro in (8, 3):
        model = trainee(tiny("bert"), **parts)
        objective = model.objective("")
        objective.begin(MIXED, 8)
        loss = objective.add_gradients(MIXED[:8], micro, (5, 3, 0))
        gradients.append([loss, *(parameter.grad.flatten() for parameter in model.parameters())])
    whole, divided = gradients
    assert whole[0] == pytest.approx(divided[0], rel=1e-5)
    for one, other in zip(whole[1:], divided[1:], strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("matching", ["greedy", pytest.param("gumbel-sinkhorn", marks=pytest.mark.slow)])
def test_a_stopped_run_ends_at_the_same_bytes(tiny, tmp_path, matching):
    data, settings = RatedPairs(MIXED, "as they are", {}), {"matching": matching, "negatives": 0.1, "damage": 0.1}
    plan = replace(PLAN, dev=0.45)
    train_to(tmp_path / "whole", trainee(tiny("bert"), **settings), data, plan)
    steps = []

    def stepped(loss):
        steps.append(loss)
        if len(steps) == 3:
            raise Stop

    with pytest.raises(Stop):
        train_to(tmp_path / "stopped", trainee(tiny("bert"), **settings), data, plan, Watch(stepped=stepped), 0.0)
    done = train_to(tmp_path / "stopped", trainee(tiny("bert"), **settings), data, plan, Watch(), 0.0)
    assert not done.found_finished
    for name in (TENSORS, INDEX, "training.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_folder_says_how_it_was_trained(tiny, tmp_path):
    train_to(tmp_path / "adapter", trainee(tiny("bert")), RatedPairs(MIXED, "as they are", {}), PLAN)
    trained = read_adapter(str(tmp_path / "adapter")).trained
    assert (trained["run"]["loss"], trained["mapping"], trained["train_pairs"]) == ("rating-mse", "as they are", 24)
    assert [epoch["number"] for epoch in trained["epochs"]] == [0, 1, 2]
    assert "rank:2|layer:1+3|matching:greedy" in trained["run"]["model"]


def test_ordered_pairs_alone_are_learned(tiny, tmp_path):
    pairs = [replace(pair, worse=f"{number} not at all", similarity=1.0) for number, pair in enumerate(rated_pairs(24))]
    model = trainee(tiny("bert"))
    result = fit(model, pairs, replace(PLAN, epochs=3), tmp_path)
    said, wanted = model.objective("").compared(pairs, 8)
    assert (np.sign(said) == wanted).mean() > 0.9
    assert result.epochs[3].loss < result.epochs[1].loss


def test_penalties_texts_score_lower_than_without(tiny, tmp_path):
    apart = [RatedPair(pair.first, rated_pairs(32)[number - 5].second, 0.0, "") for number, pair in
             enumerate(rated_pairs(32))]  # fmt: skip
    means = []
    for negatives in (0.0, 1.0):
        model = trainee(tiny("bert"), negatives=negatives)
        fit(model, rated_pairs(32), replace(PLAN, epochs=8), tmp_path / str(negatives))
        means.append(model.objective("").compared(apart, 8)[0].mean())
    assert means[1] < means[0] - 0.05


def test_a_rate_that_is_too_high_is_said_in_one_sentence(tiny, tmp_path):
    data = RatedPairs(rated_pairs(24), "as they are", {})
    with pytest.raises(ModelError, match="lower the learning rate"):
        train_to(tmp_path / "adapter", trainee(tiny("bert")), data, replace(PLAN, rate=1e4, warmup=0))
    assert list(tmp_path.iterdir()) == []


def test_another_setting_or_seed_is_another_run(tiny):
    names = {trainee(tiny("bert")).name, trainee(tiny("bert"), damage=0.1).name, trainee(tiny("bert"), layer="2").name}
    assert len(names) == 3
    one, other = (AdapterTrainee(str(tiny("bert")), SETTINGS, seed=seed) for seed in (5, 6))
    assert not same_bits(weights(one), weights(other))


def test_layers_that_the_model_does_not_have_are_refused(tiny):
    with pytest.raises(LayerError, match="layer=9: this model has layers 0"):
        trainee(tiny("bert"), layer="9")
    with pytest.raises(SpecError, match="expected a rank"):
        AdapterSettings(rank=0)


def test_the_names_of_matchings_are_those_of_the_losses():
    assert set(MATCHINGS) == {GREEDY, *SOFT_METHODS}


def test_texts_of_an_ordered_pair_stay_on_one_side_of_the_split():
    pairs = [RatedPair(f"a{n}", f"r{n}", n % 3, str(n), worse=f"w{n % 10}") for n in range(40)]
    train, dev = split(pairs, 0.25, 1)
    assert not {pair.worse for pair in train} & {pair.worse for pair in dev}
