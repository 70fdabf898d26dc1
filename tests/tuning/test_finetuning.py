"""The training loop on tiny random models: it learns, resumes to the same bits, and survives a lack of memory."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import evalign.training.checkpoint as checkpoint_module
from evalign.errors import ModelError, SpecError
from evalign.training.trainee import LOSSES, Watch, add_gradients, cosines
from evalign.training.training_loop import fit
from tiny_training import PLAN, rated_pairs, same_bits, trainee, weights

PAIRS = rated_pairs()
STEPS = 12  # 30 training pairs in batches of 8, three epochs


class Stop(BaseException):
    """As a kill: nothing on the way catches it."""


@pytest.fixture(scope="module")
def bert(tiny):
    return tiny("bert")


@pytest.fixture(scope="module")
def undisturbed(bert, tmp_path_factory):
    """The weights and the result of a run that nobody stopped."""
    model = trainee(bert)
    result = fit(model, PAIRS, PLAN, tmp_path_factory.mktemp("undisturbed"))
    return weights(model), result


def test_it_learns(bert, undisturbed):
    trained, result = undisturbed
    assert [epoch.number for epoch in result.epochs] == [0, 1, 2, 3]
    assert (result.train_pairs, result.dev_pairs, result.resumed_at) == (30, 10, 0)
    assert result.epochs[3].loss < result.epochs[1].loss
    assert result.best == max(result.epochs, key=lambda epoch: epoch.dev_spearman)
    assert result.best.number > 0
    assert not same_bits(trained, weights(trainee(bert)))


def test_the_best_epoch_is_what_is_kept(bert, tmp_path):
    """Epochs are scored as they end; the weights that come back are those of the best one."""
    model, seen = trainee(bert), {}
    watch = Watch(evaluated=lambda epoch: seen.setdefault(epoch.number, weights(model)))
    result = fit(model, PAIRS, replace(PLAN, rate=3e-2), tmp_path, watch)
    assert same_bits(weights(model), seen[result.best.number])
    assert not model._model.training


def test_it_stops_early(bert, tmp_path):
    """With a rate that ruins the model no epoch beats the start."""
    model, told = trainee(bert), []
    plan = replace(PLAN, epochs=50, rate=0.5, stop_after=2, warmup=0)
    result = fit(model, PAIRS, plan, tmp_path, Watch(evaluated=told.append))
    assert len(result.epochs) == result.best.number + 3
    assert tuple(told) == result.epochs


def test_without_dev_the_last_epoch_is_kept(bert, tmp_path):
    model = trainee(bert)
    result = fit(model, PAIRS, replace(PLAN, dev=0.0), tmp_path)
    assert (result.train_pairs, result.dev_pairs) == (40, 0)
    assert (result.best.number, result.best.dev_spearman) == (3, None)


def test_the_same_run_gives_the_same_bits_and_another_seed_others(bert, undisturbed, tmp_path):
    torch.manual_seed(99)  # what the caller drew before does not matter
    state = torch.get_rng_state()
    again = trainee(bert)
    fit(again, PAIRS, PLAN, tmp_path / "again")
    assert same_bits(weights(again), undisturbed[0])
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    other = trainee(bert)
    fit(other, PAIRS, replace(PLAN, seed=6), tmp_path / "other")
    assert not same_bits(weights(other), undisturbed[0])


def stopped_after(steps):
    done = 0

    def stepped(_loss):
        nonlocal done
        done += 1
        if done >= steps:
            raise Stop

    return Watch(stepped=stepped)


@pytest.mark.parametrize(
    ("step", "seconds"),
    [(1, 0.0), (4, 0.0), (9, 0.0), (STEPS, 0.0), (5, 1e9), (STEPS, 1e9)],  # a checkpoint at every step, or per epoch
)
def test_a_stopped_run_ends_at_the_same_bits(bert, undisturbed, tmp_path, step, seconds):
    with pytest.raises(Stop):
        fit(trainee(bert), PAIRS, PLAN, tmp_path, stopped_after(step), seconds)
    model = trainee(bert)
    result = fit(model, PAIRS, PLAN, tmp_path, checkpoint_seconds=seconds)
    assert result.resumed_at == (step - 1 if seconds == 0 else (step - 1) // 4 * 4)
    assert same_bits(weights(model), undisturbed[0])
    assert replace(result, resumed_at=0) == undisturbed[1]


@pytest.mark.slow
def test_stopped_again_and_again(bert, undisturbed, tmp_path):
    """Every run gets one step further than the one before."""
    stops = 0
    while True:
        model, calls = trainee(bert), []

        def called(value, calls=calls):
            calls.append(value)
            if len(calls) == 3:  # the resume, a step that is saved, a step that is not
                raise Stop

        try:
            fit(model, PAIRS, PLAN, tmp_path, Watch(stepped=called, resumed=called), 0.0)
            break
        except Stop:
            stops += 1
    assert stops == STEPS - 2
    assert same_bits(weights(model), undisturbed[0])


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["tensors", "index", "tidying"])
def test_stopped_while_a_checkpoint_is_written(bert, undisturbed, tmp_path, monkeypatch, moment):
    """Before the index is replaced the old checkpoint counts, after it the new one."""
    target = {"tensors": "save", "index": "asdict", "tidying": "_tidy"}[moment]
    whole, calls = getattr(checkpoint_module, target), []

    def breaking(*arguments):
        calls.append(arguments)
        if len(calls) == 7:
            raise Stop
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module, target, breaking)
        with pytest.raises(Stop):
            fit(trainee(bert), PAIRS, PLAN, tmp_path, checkpoint_seconds=0.0)
    model = trainee(bert)
    result = fit(model, PAIRS, PLAN, tmp_path, checkpoint_seconds=0.0)
    assert 0 < result.resumed_at < STEPS
    assert same_bits(weights(model), undisturbed[0])
    assert len(list(tmp_path.iterdir())) == 3  # the index, the step's tensors, the best ones: no remains


def test_checkpoints_are_safetensors_and_json(bert, tmp_path):
    with pytest.raises(Stop):
        fit(trainee(bert), PAIRS, PLAN, tmp_path, stopped_after(6), 0.0)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json", ".safetensors", ".safetensors"]
    assert json.loads((tmp_path / "checkpoint.json").read_text())["position"]["step"] == 5


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "index", "changed digit", "lost"])
def test_a_damaged_checkpoint_starts_anew_to_the_same_end(bert, undisturbed, tmp_path, damage):
    with pytest.raises(Stop):
        fit(trainee(bert), PAIRS, PLAN, tmp_path, stopped_after(6), 0.0)
    (tensors,) = tmp_path.glob("step-*.safetensors")
    if damage == "cut":
        tensors.write_bytes(tensors.read_bytes()[:-100])
    elif damage == "lost":
        tensors.unlink()
    elif damage == "changed digit":
        index = (tmp_path / "checkpoint.json").read_text()
        (tmp_path / "checkpoint.json").write_text(index.replace('"step": 5', '"step": 4'))
    else:
        (tmp_path / "checkpoint.json").write_text('{"run": ')
    model = trainee(bert)
    assert fit(model, PAIRS, PLAN, tmp_path).resumed_at == 0
    assert same_bits(weights(model), undisturbed[0])


@pytest.mark.parametrize(("changes", "named"), [({"rate": 1e-4}, "rate"), ({"seed": 6, "epochs": 4}, "epochs, seed")])
def test_another_plan_does_not_resume(bert, tmp_path, changes, named):
    with pytest.raises(Stop):
        fit(trainee(bert), PAIRS, PLAN, tmp_path, stopped_after(6), 0.0)
    with pytest.raises(SpecError, match=f"an unfinished training with another {named}; repeat its command"):
        fit(trainee(bert), PAIRS, replace(PLAN, **changes), tmp_path)
    with pytest.raises(SpecError, match="another pairs"):
        fit(trainee(bert), PAIRS[1:], PLAN, tmp_path)
    with pytest.raises(SpecError, match="another model"):
        fit(trainee(bert, pooling="cls"), PAIRS, PLAN, tmp_path)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("micro", [1, 3, 5])
def test_parts_have_the_gradient_of_the_whole(bert, loss, micro):
    """Exactly what CoSENT needs: its pairs of pairs lie in different parts."""
    gradients = []
    for size in (len(PAIRS), micro):
        model = trainee(bert)
        model.train(False)  # without dropout, which every part draws for itself
        value = add_gradients(model, PAIRS, LOSSES[loss], size, (1, 2))
        gradients.append([value, *(parameter.grad for parameter in model.parameters())])
    whole, parts = gradients
    assert parts[0] == pytest.approx(whole[0], rel=1e-5)
    for one, other in zip(whole[1:], parts[1:], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-5)


def short_of_memory(model, most, error):
    """The model, which fails beyond `most` texts at once as torch does."""
    whole, sizes = model.vectors, []

    def vectors(texts):
        sizes.append(len(texts))
        if len(texts) > most:
            raise error
        return whole(texts)

    model.vectors = vectors
    return sizes


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("can't allocate memory"), MemoryError()]
)
def test_out_of_memory_goes_on_in_smaller_parts(tiny, tmp_path, error):
    still = tiny("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    plan, told = replace(PLAN, epochs=1), []
    expected, model = trainee(still), trainee(still)
    fit(expected, PAIRS, plan, tmp_path / "whole")
    sizes = short_of_memory(model, 7, error)
    result = fit(model, PAIRS, plan, tmp_path / "parts", Watch(tell=told.append))
    assert result.micro_batch == 2  # of 8 pairs first 4, then 2: four texts
    assert max(sizes) == 16
    assert told == [f"out of memory: from now on in parts of {count} pairs, with the same batches" for count in (4, 2)]
    np.testing.assert_allclose(cosines(model, PAIRS, 2), cosines(expected, PAIRS, 20), atol=1e-4)


@pytest.mark.slow
def test_a_resume_keeps_to_the_smaller_parts(bert, tmp_path):
    whole = trainee(bert)
    short_of_memory(whole, 7, MemoryError())
    fit(whole, PAIRS, PLAN, tmp_path / "whole")
    first = trainee(bert)
    short_of_memory(first, 7, MemoryError())
    with pytest.raises(Stop):
        fit(first, PAIRS, PLAN, tmp_path / "stopped", stopped_after(5), 0.0)
    second = trainee(bert)  # with all the memory it wants
    assert fit(second, PAIRS, PLAN, tmp_path / "stopped").micro_batch == 2
    assert same_bits(weights(second), weights(whole))


def test_no_memory_at_all_is_said(bert, tmp_path):
    model = trainee(bert)
    short_of_memory(model, 0, MemoryError())
    with pytest.raises(ModelError, match="out of memory with a single pair of texts; lower `max_length`"):
        fit(model, PAIRS, PLAN, tmp_path)


def test_other_failures_are_not_taken_for_a_lack_of_memory(bert, tmp_path):
    model = trainee(bert)
    short_of_memory(model, 0, RuntimeError("index out of range"))
    with pytest.raises(RuntimeError, match="index out of range"):
        fit(model, PAIRS, PLAN, tmp_path)


def test_a_diverging_run_is_said(tiny, tmp_path):
    model = trainee(tiny("bert"))
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(ModelError, match=r"training diverged at step 1: .* lower the learning rate \(`rate`\)"):
        fit(model, PAIRS, replace(PLAN, dev=0.0), tmp_path / "without dev")
    with pytest.raises(ModelError, match="after epoch 0 the model gives NaN or infinite vectors"):
        fit(model, PAIRS, PLAN, tmp_path / "with dev")
