"""The Frontier Reward against values worked out by hand."""

import pytest

from kernelzero.rewards import frontier, score_proposal

RULES = dict(shape="quadratic", invalid_penalty=-0.5, duplicate_scale=0.25)


@pytest.mark.parametrize("k, n, value", [(0, 8, 0.0), (8, 8, 0.0), (4, 8, 1.0), (2, 8, 0.75), (1, 8, 0.4375), (1, 3, 8 / 9), (1, 1, 0.0)])
def test_quadratic(k, n, value):
    assert frontier(k, n) == pytest.approx(value)


@pytest.mark.parametrize("k, n, value", [(0, 8, 0.0), (8, 8, 0.0), (4, 8, 1.0), (2, 8, 0.5), (7, 8, 0.25)])
def test_tent(k, n, value):
    assert frontier(k, n, "tent") == pytest.approx(value)


@pytest.mark.parametrize("k, n", [(-1, 4), (5, 4), (0, 0)])
def test_counts_that_cannot_be(k, n):
    with pytest.raises(ValueError, match="kernels"):
        frontier(k, n)


def outcome(**changes):
    state = dict(valid=True, missing_apis=False, duplicate=False, flaky=False, k=4, n=8)
    scored = score_proposal(**{**state, **changes}, **RULES)
    return scored.reward, scored.kind


def test_the_first_rule_that_applies_decides():
    assert outcome() == (1.0, "frontier")
    assert outcome(valid=False, duplicate=True) == (-0.5, "penalty")
    assert outcome(missing_apis=True) == (0.0, "missing_apis")
    assert outcome(n=0, k=0) == (None, "unscored")
    assert outcome(flaky=True) == (0.0, "flaky")
    assert outcome(duplicate=True) == (0.25, "duplicate")
    assert outcome(duplicate=True, k=8) == (0.0, "duplicate")
