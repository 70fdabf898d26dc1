"""Transport against linear programs solved by HiGHS, POT's other solvers and moverscore_v2's arithmetic."""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from evalign.errors import InputError, SpecError
from evalign.matching import transport
from evalign.matching.similarity import cosines
from evalign.matching.transport import (
    COSTS,
    cosine_cost,
    cost_matrix,
    euclidean_cost,
    exact_plan,
    mover_score,
    partial_plan,
    sinkhorn_plan,
    unbalanced_plan,
)

KINDS = ("square", "wide", "tall", "zero masses", "ties", "equal masses", "one token", "equal texts")
SEEDS = range(15)
METHODS = {
    "exact": exact_plan,
    "sinkhorn": lambda *problem: sinkhorn_plan(*problem, regularization=0.1),
    "partial": lambda *problem: partial_plan(*problem, fraction=0.6),
    "unbalanced": lambda *problem: unbalanced_plan(*problem, penalty=0.3),
}


def random_problem(kind, seed):
    random = np.random.default_rng([KINDS.index(kind), seed])
    n, m = random.integers(2, 12, size=2)
    n, m = {"square": (n, n), "wide": (n, n + 7), "tall": (m + 7, m), "one token": (1, m)}.get(kind, (n, m))
    vectors = random.normal(size=(n, 5)), random.normal(size=(m, 5))
    if kind == "equal texts":
        vectors = vectors[0], vectors[0][random.permutation(n)]
    cost = euclidean_cost(cosines(*vectors))
    if kind == "ties":
        cost = np.round(cost)
    a, b = random.random(len(vectors[0])), random.random(len(vectors[1]))
    if kind == "equal texts":
        b = a = np.ones(n)
    if kind == "equal masses":
        a, b = np.ones(n), np.ones(m)
    if kind == "zero masses":
        a[random.random(n) < 0.4] = 0
        b[random.random(m) < 0.4] = 0
        a[random.integers(n)] = b[random.integers(m)] = 1
    return cost, a, b


def problems(kind):
    return [random_problem(kind, seed) for seed in SEEDS]


def program(cost, a, b, fraction=None, penalty=None):
    """The optimum by HiGHS, over the plan written row by row; masses normalised here once more."""
    n, m = cost.shape
    marginals = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    masses = np.concatenate([a / a.sum(), b / b.sum()])
    if fraction is not None:
        found = linprog(cost.ravel(), marginals, masses, np.ones((1, n * m)), [fraction])
    elif penalty is not None:
        slack = np.hstack([marginals, np.eye(n + m)])
        found = linprog(np.concatenate([cost.ravel(), np.full(n + m, penalty)]), None, None, slack, masses)
    else:
        found = linprog(cost.ravel(), None, None, marginals, masses)
    assert found.status == 0, found.message
    return found.fun


def check_marginals(result, a, b):
    assert result.plan.min() >= 0
    np.testing.assert_allclose(result.plan.sum(1) + result.unmatched_candidate, a / a.sum(), atol=1e-11)
    np.testing.assert_allclose(result.plan.sum(0) + result.unmatched_reference, b / b.sum(), atol=1e-11)
    assert min(result.unmatched_candidate.min(), result.unmatched_reference.min()) >= 0


@pytest.mark.parametrize("kind", KINDS)
class TestAgainstLinearPrograms:
    def test_exact(self, kind):
        for cost, a, b in problems(kind):
            result = exact_plan(cost, a, b)
            assert result.total == pytest.approx(program(cost, a, b), abs=1e-7)
            assert result.total == pytest.approx((result.plan * cost).sum(), abs=1e-12)
            assert result.converged
            assert not result.unmatched_candidate.any()
            assert not result.unmatched_reference.any()
            check_marginals(result, a, b)

    @pytest.mark.parametrize("fraction", [0.05, 0.5, 0.95])
    def test_partial(self, kind, fraction):
        for cost, a, b in problems(kind):
            result = partial_plan(cost, a, b, fraction)
            assert result.total == pytest.approx(program(cost, a, b, fraction=fraction), abs=1e-7)
            assert result.moved == pytest.approx(fraction, abs=1e-11)
            assert result.converged
            check_marginals(result, a, b)

    @pytest.mark.parametrize("penalty", [0.05, 0.4, 0.7])
    def test_unbalanced(self, kind, penalty):
        for cost, a, b in problems(kind):
            result = unbalanced_plan(cost, a, b, penalty)
            assert result.total == pytest.approx(program(cost, a, b, penalty=penalty), abs=1e-7)
            assert result.penalties == pytest.approx(penalty * 2 * (1 - result.moved), abs=1e-11)
            assert not result.plan[cost > 2 * penalty + 1e-9].any()
            assert result.converged
            check_marginals(result, a, b)

    @pytest.mark.parametrize("name", METHODS)
    def test_symmetric(self, kind, name):
        # Sinkhorn ends on the rows, so the two directions are only as equal as its tolerance.
        method, tolerance = METHODS[name], 2e-6 if name == "sinkhorn" else 1e-12
        for cost, a, b in problems(kind):
            assert method(cost, a, b).total == pytest.approx(method(cost.T, b, a).total, abs=tolerance)

    def test_everything_moves_in_the_limits(self, kind):
        for cost, a, b in problems(kind):
            optimum = exact_plan(cost, a, b).total
            assert partial_plan(cost, a, b, 1).total == optimum
            assert partial_plan(cost, a, b, 1 - 1e-9).total == pytest.approx(optimum, abs=1e-8)
            assert unbalanced_plan(cost, a, b, 1e6).total == pytest.approx(optimum, abs=1e-9)
            assert unbalanced_plan(cost, a, b, 1e6).moved == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_sinkhorn_goes_to_exact(kind):
    """cost(P_r) - cost(P) <= r (entropy(P_r) - entropy(P)) <= r log(n m)."""
    for cost, a, b in problems(kind)[::4]:
        optimum = exact_plan(cost, a, b).total
        gaps = []
        for regularization in (1.0, 0.1, 0.02):
            result = sinkhorn_plan(cost, a, b, regularization, max_rounds=20_000)
            check_marginals(result, a, b)
            assert result.moved == pytest.approx(1, abs=1e-11)
            assert result.converged
            gaps.append(result.total - optimum)
            assert -1e-11 <= gaps[-1] <= regularization * np.log(cost.size) + 1e-6
        assert gaps[0] >= gaps[1] - 1e-6
        assert gaps[1] >= gaps[2] - 1e-6
        assert gaps[2] < 0.03


def test_sinkhorn_is_smooth_where_exact_is_not():
    result = sinkhorn_plan(np.array([[0.0, 1], [1, 0]]), np.ones(2), np.ones(2), regularization=1)
    # POT's documentation of ot.sinkhorn
    np.testing.assert_allclose(result.plan, [[0.36552929, 0.13447071], [0.13447071, 0.36552929]], atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_is_that_of_pot(seed):
    import ot

    cost, a, b = random_problem("square", seed)
    a, b = a / a.sum(), b / b.sum()
    theirs = ot.partial.partial_wasserstein(a, b, cost, m=0.3)
    assert partial_plan(cost, a, b, 0.3).total == pytest.approx((theirs * cost).sum(), abs=1e-9)


@pytest.mark.parametrize("fraction", [1e-17, 1e-6, 0.3, 1 - 2**-53, 1])
def test_partial_moves_its_fraction_where_moving_is_free(fraction):
    """POT's own partial_wasserstein lets its dummies trade here, and moves everything."""
    result = partial_plan(np.zeros((3, 4)), np.ones(3), np.ones(4), fraction)
    assert result.moved == pytest.approx(fraction, abs=1e-12)
    check_marginals(result, np.ones(3), np.ones(4))


def test_by_hand():
    cost = np.array([[0.0, 1.0], [0.5, 0.2]])
    result = exact_plan(cost, np.array([1.0, 1]), np.array([3.0, 1]))
    np.testing.assert_allclose(result.plan, [[0.5, 0], [0.25, 0.25]], atol=1e-12)
    assert result.total == pytest.approx(0.25 * 0.5 + 0.25 * 0.2)

    result = partial_plan(cost, np.array([1.0, 1]), np.array([3.0, 1]), 0.6)
    np.testing.assert_allclose(result.plan, [[0.5, 0], [0, 0.1]], atol=1e-12)
    np.testing.assert_allclose(result.unmatched_candidate, [0, 0.4], atol=1e-12)
    np.testing.assert_allclose(result.unmatched_reference, [0.25, 0.15], atol=1e-12)

    result = unbalanced_plan(cost, np.array([1.0, 1]), np.array([3.0, 1]), 0.2)
    np.testing.assert_allclose(result.plan, [[0.5, 0], [0, 0.25]], atol=1e-12)  # 0.5 is dearer than 2 * 0.2
    assert (result.total, result.penalties) == pytest.approx((0.25 * 0.2 + 0.5 * 0.2, 0.5 * 0.2))
    np.testing.assert_allclose(result.unmatched_reference, [0.25, 0], atol=1e-12)


COST_TABLES = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.floats(0, 1e3)),
        arrays(np.float64, shape[0], elements=st.floats(0, 1e6, allow_subnormal=False)).filter(np.any),
        arrays(np.float64, shape[1], elements=st.floats(0, 1e6, allow_subnormal=False)).filter(np.any),
    )
)


@pytest.mark.parametrize("name", METHODS)
@given(problem=COST_TABLES)
@settings(deadline=None, max_examples=60)
def test_laws(name, problem):
    cost, a, b = problem
    before = cost.copy(), a.copy(), b.copy()
    regular = cost / max(cost.max(), 1)
    result = METHODS[name](regular, a, b)
    check_marginals(result, a, b)
    assert 0 <= result.total <= 1 + 1e-9
    assert not result.plan[a == 0].any()
    assert not result.plan[:, b == 0].any()
    louder = METHODS[name](regular, a * 7, b / 3)
    assert louder.total == pytest.approx(result.total, abs=1e-7)
    backwards = METHODS[name](regular[::-1, ::-1], a[::-1], b[::-1])
    assert backwards.total == pytest.approx(result.total, abs=1e-7)
    assert all(np.array_equal(old, new) for old, new in zip(before, problem, strict=True))


@given(COST_TABLES, st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=60)
def test_the_unit_of_cost_does_not_matter(problem, unit):
    cost, a, b = problem
    assert exact_plan(cost * unit, a, b).total == pytest.approx(
        exact_plan(cost, a, b).total * unit, rel=1e-9, abs=1e-200
    )


@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e200, 1e307])
@pytest.mark.parametrize("name", ["exact", "partial", "unbalanced"])
def test_extreme_numbers_stay_numbers(name, unit):
    random = np.random.default_rng(3)
    result = METHODS[name](random.random((4, 5)) * unit, np.full(4, 1.7e308), 10.0 ** random.uniform(-320, 0, 5))
    assert np.isfinite(result.total)
    assert np.isfinite(result.plan).all()
    assert result.converged


@pytest.mark.parametrize("seed", SEEDS)
def test_a_solver_that_is_stopped_says_so_and_hands_out_a_valid_plan(seed, monkeypatch, capfd):
    cost, a, b = random_problem("tall", seed)
    best = {name: method(cost, a, b).total for name, method in METHODS.items()}
    for pivots in (1, 3, 6, 12):
        monkeypatch.setattr(transport, "MAX_PIVOTS", pivots)
        assert_stopped_plans(cost, a, b, pivots, best)
    assert capfd.readouterr() == ("", "")


def assert_stopped_plans(cost, a, b, pivots, best):
    """Plans of solvers that may take so many steps: their marginals hold, and they are no better than `best`."""
    stopped = {name: METHODS[name](cost, a, b) for name in ("exact", "partial", "unbalanced")}
    stopped["sinkhorn"] = sinkhorn_plan(cost, a, b, 1e-3, max_rounds=1)
    for name, result in stopped.items():
        assert pivots > 1 or not result.converged, name
        check_marginals(result, a, b)
        assert result.total >= (best["exact"] if name == "sinkhorn" else best[name]) - 1e-9, name
    for name in ("exact", "sinkhorn"):
        assert stopped[name].moved == pytest.approx(1, abs=1e-11)
    assert stopped["partial"].moved == pytest.approx(0.6, abs=1e-11)


@pytest.mark.parametrize(("kind", "seed", "fraction", "pivots"), [("equal texts", 30, 0.1, 6), ("wide", 4, 0.9, 25)])
def test_a_stopped_partial_moves_no_more_than_its_fraction(kind, seed, fraction, pivots, monkeypatch):
    """With POT 0.9.7 the plan, once its marginals are put right, moves too much in these."""
    monkeypatch.setattr(transport, "MAX_PIVOTS", pivots)
    assert partial_plan(*random_problem(kind, seed), fraction).moved == pytest.approx(fraction, abs=1e-11)


def test_threads_leave_the_warning_filters_alone():
    before, interval = list(warnings.filters), sys.getswitchinterval()
    squares = [random_problem("square", seed) for seed in range(200)]
    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as pool:
            totals = list(pool.map(lambda problem: exact_plan(*problem).total, squares))
    finally:
        sys.setswitchinterval(interval)
    assert list(warnings.filters) == before
    assert totals == [exact_plan(*problem).total for problem in squares]


def test_first_use_loads_no_framework_and_leaves_the_environment_alone():
    """`import ot` by itself loads torch and scikit-learn where they are installed, and a program may want just that."""
    code = (
        "import os, sys; before = dict(os.environ)\n"
        "from evalign.matching.transport import exact_plan\n"
        "assert 'ot' not in sys.modules and 'scipy' not in sys.modules\n"
        "total = exact_plan([[0.5]], [1], [2]).total\n"
        "heavy = {'torch', 'sklearn', 'networkx', 'pandas'} & set(sys.modules)\n"
        "import ot, sklearn; assert ot.emd2([1], [1], [[0.25]]) == 0.25 and 'sklearn.cluster' in sys.modules\n"
        "print(total, bool(heavy), dict(os.environ) == before)"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("POT_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean)
    assert (done.stdout.split(), done.stderr) == (["0.5", "False", "True"], "")


def test_costs():
    random = np.random.default_rng(0)
    one, other = random.normal(size=(6, 9)), random.normal(size=(4, 9))
    other[0] = one[2] * 3
    unit = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (one, other)]
    distances = np.linalg.norm(unit[0][:, None] - unit[1][None], axis=2)
    table = cosines(one, other)
    np.testing.assert_allclose(euclidean_cost(table), distances, atol=1e-7)
    np.testing.assert_allclose(cosine_cost(table), 1 - table, atol=1e-12)
    for name, function in COSTS.items():
        assert np.array_equal(cost_matrix(table, name), function(table))


def test_costs_forgive_rounding():
    table = np.array([[1 + 1e-7, -1 - 1e-7]], dtype=np.float32)
    assert euclidean_cost(table).tolist() == [[0, 2]]
    assert cosine_cost(table).tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("total", "form", "score"),
    [(0, "inverse", 1), (1, "inverse", 0.5), (0.25, "inverse", 0.8), (0, "one-minus", 1), (1.5, "one-minus", -0.5)],
)
def test_mover_score(total, form, score):
    assert mover_score(total, form) == score


ONES = np.ones(2)
COST = np.ones((2, 2))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ((np.array([[1, np.nan], [0, 1]]), ONES, ONES), "cost: holds NaN or infinite"),
        ((np.array([[1, np.inf], [0, 1]]), ONES, ONES), "cost: holds NaN or infinite"),
        ((-COST, ONES, ONES), "cost: expected no negative costs, got -1"),
        ((ONES, ONES, ONES), r"cost: expected a matrix .* got shape \(2,\)"),
        (([["a", "b"]], ONES, ONES), "cost: expected an array of numbers"),
        (([[1, 2], [3]], ONES, ONES), "cost: expected an array of numbers"),
        ((np.ones((0, 2)), np.ones(0), ONES), "a side without tokens"),
        ((np.ones((2, 0)), ONES, np.ones(0)), "a side without tokens"),
        ((COST, np.array([1, np.nan]), ONES), "candidate_masses: holds NaN or infinite"),
        ((COST, ONES, np.array([1, np.inf])), "reference_masses: holds NaN or infinite"),
        ((COST, np.array([2.0, -1]), ONES), "candidate_masses: expected no negative masses, got -1"),
        ((COST, ONES, np.array([2.0, -1])), "reference_masses: expected no negative masses, got -1"),
        ((COST, np.zeros(2), ONES), "candidate_masses: all masses are zero"),
        ((COST, ONES, np.zeros(2)), "reference_masses: all masses are zero"),
        ((COST, np.ones(3), ONES), r"candidate_masses: expected one mass per token, shape \(2,\), got \(3,\)"),
        ((COST, ONES, COST), r"reference_masses: expected one mass per token, shape \(2,\), got \(2, 2\)"),
    ],
)
def test_bad_problems(problem, message):
    for method in METHODS.values():
        with pytest.raises(InputError, match=message):
            method(*problem)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_bad_settings(value):
    with pytest.raises(SpecError, match=r"regularization=.*: expected a positive number"):
        sinkhorn_plan(COST, ONES, ONES, value)
    with pytest.raises(SpecError, match=r"penalty=.*: expected a positive number"):
        unbalanced_plan(COST, ONES, ONES, value)
    with pytest.raises(SpecError, match=r"fraction=.*: expected a share"):
        partial_plan(COST, ONES, ONES, value)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: partial_plan(COST, ONES, ONES, 1.0001), SpecError, "fraction=1.0001"),
        (lambda: sinkhorn_plan(COST, ONES, ONES, 1e-9), SpecError, "too small for costs up to 1; use exact"),
        (lambda: sinkhorn_plan(COST, ONES, ONES, 0.1, max_rounds=0), SpecError, "max_rounds=0"),
        (lambda: cost_matrix(COST, "euclid"), SpecError, "unknown cost 'euclid'; did you mean euclidean"),
        (lambda: mover_score(1.0, "one minus"), SpecError, "unknown form 'one minus'; did you mean one-minus"),
        (lambda: mover_score(np.nan), InputError, "total=nan"),
        (lambda: mover_score(-0.1), InputError, "total=-0.1"),
        (lambda: euclidean_cost(COST * 3), InputError, "expected cosines"),
        (lambda: cosine_cost(COST * np.nan), InputError, "similarity: holds NaN"),
    ],
)
def test_bad_values(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def published_score(reference, candidate, reference_idf, candidate_idf):
    """moverscore_v2's arithmetic: one problem over the tokens of both texts, each with mass on one side only."""
    import ot

    raw = np.concatenate([reference, candidate]).astype(np.float64)
    raw /= np.linalg.norm(raw, axis=-1, keepdims=True) + 1e-30
    squares = (raw**2).sum(-1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * raw @ raw.T, 1e-30))
    c1, c2 = np.zeros(len(raw)), np.zeros(len(raw))
    c1[: len(reference)] = reference_idf
    c2[len(reference) :] = candidate_idf
    c1 /= c1.sum() + 1e-30
    c2 /= c2.sum() + 1e-30
    return 1 / (1 + np.sum(ot.emd(c1, c2, distances) * distances))


def our_score(reference, candidate, reference_idf, candidate_idf):
    cost = euclidean_cost(cosines(candidate, reference))
    return mover_score(exact_plan(cost, candidate_idf, reference_idf).total)


def test_published_arithmetic_on_random_vectors():
    for seed in range(40):
        random = np.random.default_rng(seed)
        n, m = random.integers(1, 30, size=2)
        reference, candidate = random.normal(size=(n, 16)) + 0.5, random.normal(size=(m, 16)) + 0.5
        candidate[: m // 2] = reference[random.integers(n, size=m // 2)]  # shared words
        idf = random.random(n), random.random(m)
        if min(n, m) > 1:  # a stop word: moverscore_v2 blanks its vector and its mass
            reference[0] = idf[0][0] = idf[1][-1] = 0
        arguments = reference, candidate, *idf
        assert our_score(*arguments) == pytest.approx(published_score(*arguments), abs=1e-7), seed


def test_published_arithmetic_on_real_texts(minilm, real_pairs):
    import evalign

    pairs = real_pairs[::20]
    sides = evalign.BERTScore(layer="6").scorer().weigh([text for pair in pairs for text in pair])[0]
    for candidate, reference in [*pairs, (pairs[0][1], pairs[0][1])]:
        ours, theirs = sides[candidate], sides[reference]
        arguments = theirs.embedded.vectors[0], ours.embedded.vectors[0], theirs.weights, ours.weights
        assert our_score(*arguments) == pytest.approx(published_score(*arguments), abs=1e-5)
    assert our_score(*arguments) == pytest.approx(1, abs=1e-6)  # the last pair is a text with itself
