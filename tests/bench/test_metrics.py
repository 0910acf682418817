"""pass@k and fast_p@k against values worked by hand, against enumeration, and their properties."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelzero.bench.metrics import (
    Sample,
    TaskSamples,
    bootstrap,
    fast_p_at_k,
    metric,
    paired_difference,
    pass_at_k,
    summarise,
)
from kernelzero.errors import UserError


def samples(correct: int, wrong: int, speedup: float | None = 1.0, tokens: int = 10) -> tuple[Sample, ...]:
    return (Sample(True, speedup, tokens),) * correct + (Sample(False, None, tokens),) * wrong


@st.composite
def counts(draw):
    n = draw(st.integers(1, 9))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def test_pass_at_k_by_hand():
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    assert pass_at_k(4, 2, 2) == pytest.approx(5 / 6)  # 1 - C(2,2)/C(4,2)
    assert pass_at_k(10, 1, 5) == pytest.approx(0.5)  # 1 - C(9,5)/C(10,5) = 1 - 126/252
    assert pass_at_k(5, 3, 3) == 1.0  # two wrong ones cannot fill three places
    assert pass_at_k(8, 0, 8) == 0.0
    assert pass_at_k(1, 1, 1) == 1.0


def test_pass_at_k_stays_exact_where_binomials_overflow_a_float():
    exact = 1 - comb(3990, 200) / comb(4000, 200)
    assert pass_at_k(4000, 10, 200) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_pass_at_k_refuses_impossible_counts(n, c, k):
    with pytest.raises(ValueError, match="between"):
        pass_at_k(n, c, k)


@given(counts())
def test_pass_at_k_is_the_share_of_drawn_sets_with_a_correct_one(numbers):
    n, c, k = numbers
    drawn = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(one) for one in drawn) / len(drawn))


@given(st.integers(2, 300), st.data())
def test_pass_at_k_grows_with_c_and_k_and_starts_at_the_rate(n, data):
    c, k = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n - 1))
    value = pass_at_k(n, c, k)
    assert 0.0 <= value <= 1.0
    assert pass_at_k(n, c + 1, k) >= value - 1e-12
    assert pass_at_k(n, c, k + 1) >= value - 1e-12
    assert pass_at_k(n, c, 1) == c / n


def test_fast_p_counts_correct_and_strictly_faster():
    four = (Sample(True, 2.0), Sample(True, 1.0), Sample(False, 9.0), Sample(True, 0.6))
    assert fast_p_at_k(four, 0.0, 1) == 0.75
    assert fast_p_at_k(four, 0.5, 1) == 0.75
    assert fast_p_at_k(four, 0.8, 1) == 0.5
    assert fast_p_at_k(four, 1.0, 1) == 0.25  # 1.0 is not faster than 1
    assert fast_p_at_k(four, 2.0, 1) == 0.0
    assert fast_p_at_k(four, 1.0, 2) == pytest.approx(0.5)  # 1 - C(3,2)/C(4,2)


def test_a_correct_sample_without_a_time_is_correct_but_never_fast():
    untimed = (Sample(True, None), Sample(False))
    assert fast_p_at_k(untimed, 0.0, 1) == 0.5
    assert fast_p_at_k(untimed, 0.5, 1) == 0.0


def test_what_was_not_judged_shrinks_n_and_is_no_failure():
    three = (Sample(True, 1.5), Sample(False), Sample(False, judged=False))
    assert fast_p_at_k(three, 1.0, 1) == 0.5
    assert metric("pass@1")(three) == 0.5


def test_summary_by_hand():
    tasks = [TaskSamples("a", samples(2, 2, 1.2, tokens=40)), TaskSamples("b", samples(0, 4, tokens=60))]
    found = summarise(tasks, ks=(1, 2, 5))
    assert found.pass_at == {1: pytest.approx(0.25), 2: pytest.approx(5 / 12)}  # k = 5 has too few samples
    assert found.fast_at_1 == {0.0: 0.25, 0.5: 0.25, 0.8: 0.25, 1.0: 0.25, 1.5: 0.0, 2.0: 0.0}
    assert found.mean_tokens == 50
    assert (found.tasks, found.samples, found.unjudged_samples, found.untimed_correct) == (2, 8, 0, 0)
    assert found.intervals["pass@1"].low == 0.0 and found.intervals["pass@1"].high == 0.5


def test_summary_says_over_how_many_tasks_and_what_was_not_judged():
    lost = Sample(False, judged=False)
    tasks = [TaskSamples("a", samples(1, 1)), TaskSamples("b", (Sample(True), lost)), TaskSamples("c", (lost, lost))]
    found = summarise(tasks, ks=(1, 2))
    assert found.tasks_at == {1: 2, 2: 1}
    assert found.pass_at == {1: 0.75, 2: 1.0}
    assert (found.unjudged_samples, found.unjudged_tasks, found.untimed_correct) == (3, 1, 1)


def test_nothing_judged_is_an_error_and_so_is_a_task_given_twice():
    with pytest.raises(UserError, match="nothing to summarise"):
        summarise([TaskSamples("a", (Sample(False, judged=False),))])
    with pytest.raises(UserError, match="occurs twice"):
        summarise([TaskSamples("a", samples(1, 0)), TaskSamples("a", samples(0, 1))])


def test_bootstrap_is_repeatable_and_narrows_with_more_tasks():
    few, many = [0.0, 1.0] * 8, [0.0, 1.0] * 128
    assert bootstrap(few, seed=3) == bootstrap(few, seed=3)
    narrow, wide = bootstrap(many), bootstrap(few)
    assert narrow.estimate == wide.estimate == 0.5
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3  # 1/sqrt(16) would be a quarter
    # normal approximation: 0.5 +- 1.96 * 0.5 / sqrt(256)
    assert narrow.low == pytest.approx(0.439, abs=0.012) and narrow.high == pytest.approx(0.561, abs=0.012)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 5))
def test_interval_stays_within_the_values(values, seed):
    found = bootstrap(values, seed=seed, resamples=100)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


def test_a_constant_rise_has_a_certain_paired_difference_however_uneven_the_tasks():
    before = [TaskSamples(str(i), samples(i, 10 - i)) for i in range(9)]
    after = [TaskSamples(str(i), samples(i + 1, 9 - i)) for i in reversed(range(9))]  # order does not matter
    found = paired_difference(before, after, "pass@1")
    assert found.estimate == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1) and found.high == pytest.approx(0.1)


def test_paired_difference_by_hand_and_its_sign():
    before = [TaskSamples("a", samples(1, 1)), TaskSamples("b", samples(0, 2))]
    after = [TaskSamples("a", samples(2, 0)), TaskSamples("b", samples(0, 2))]
    assert paired_difference(before, after).estimate == pytest.approx(0.25)
    assert paired_difference(after, before).estimate == pytest.approx(-0.25)
    assert paired_difference(before, after, "fast_1@1").estimate == 0.0  # speedup 1.0 is not faster than 1


def test_paired_difference_wants_the_same_tasks_and_a_metric_that_exists():
    one, other = [TaskSamples("a", samples(1, 0))], [TaskSamples("b", samples(1, 0))]
    with pytest.raises(UserError, match="differ in 2 tasks"):
        paired_difference(one, other)
    with pytest.raises(UserError, match="no task has the 5 judged samples"):
        paired_difference(one, one, "pass@5")
    for name in ("accuracy", "pass@", "pass@0", "fast_x@1"):
        with pytest.raises(UserError, match="unknown metric"):
            paired_difference(one, one, name)
