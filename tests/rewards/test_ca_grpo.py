"""CA-GRPO: the gate, the two traps, groups by id, and rows that could not be judged."""

import math

import pytest

from kernelzero.rewards import Rollout, score_groups
from kernelzero.rewards.ca_grpo import normalised_speedup, reward

RULES = dict(group_size=4, kind="ca_grpo", tau=0.5, lam=0.5, floor=1.01, cap=4.0)


def test_below_the_gate_speed_earns_nothing():
    rewards, advantages, (group,) = score_groups([Rollout(7, True, 4.0), Rollout(7, False), Rollout(7, False), Rollout(7, False)], **RULES)
    assert rewards == [1.0, 0.0, 0.0, 0.0]
    assert advantages == [0.75, -0.25, -0.25, -0.25]
    assert (group.group, group.size, group.rho, group.gate_open, group.nonzero) == (7, 4, 0.25, False, True)


def test_at_the_gate_speed_counts():
    rewards, _, (group,) = score_groups([Rollout(0, True, 4.0), Rollout(0, True, 2.0), Rollout(0, False), Rollout(0, False)], **RULES)
    assert rewards == pytest.approx([1.5, 1.25, 0.0, 0.0])
    assert group.gate_open and group.rho == 0.5


def test_in_an_all_correct_group_lambda_does_not_cancel():
    rows = [Rollout(0, True, 1.0), Rollout(0, True, 2.0), Rollout(0, True, 2.0), Rollout(0, True, 4.0)]
    _, weak, _ = score_groups(rows, **{**RULES, "lam": 0.1})
    _, strong, _ = score_groups(rows, **{**RULES, "lam": 1.0})
    assert strong == pytest.approx([10 * a for a in weak])
    assert weak == pytest.approx([-0.05, 0, 0, 0.05])


def test_timing_noise_teaches_nothing():
    _, advantages, (group,) = score_groups([Rollout(0, True, s) for s in (1.000, 1.003, 0.998, 1.005)], **RULES)
    assert advantages == [0.0] * 4 and not group.nonzero


def test_a_group_that_failed_altogether():
    rewards, advantages, (group,) = score_groups([Rollout(0, False)] * 4, **{**RULES, "tau": 0.0})
    assert rewards == [0.0] * 4 and advantages == [0.0] * 4 and not group.nonzero


def test_what_was_not_judged_counts_nowhere():
    rewards, advantages, (group,) = score_groups([Rollout(0, True, 1.0), Rollout(0, None), Rollout(0, None), Rollout(0, False)], **RULES)
    assert rewards == [1.0, None, None, 0.0] and advantages == [0.5, 0.0, 0.0, -0.5]
    assert group.size == 2 and group.rho == 0.5 and group.gate_open
    _, _, (empty,) = score_groups([Rollout(0, None)] * 4, **{**RULES, "tau": 0.0})
    assert not empty.gate_open and empty.size == 0


def test_groups_are_formed_by_id_in_whatever_order_rows_come():
    a = [Rollout(1, True, 4.0), Rollout(1, True, 1.0), Rollout(1, False), Rollout(1, False)]
    b = [Rollout(2, True, 4.0), Rollout(2, False), Rollout(2, False), Rollout(2, False)]
    straight, _, _ = score_groups(a + b, **RULES)
    mixed, _, groups = score_groups([x for pair in zip(a, b, strict=True) for x in pair], **RULES)
    assert mixed[0::2] == straight[:4] and mixed[1::2] == straight[4:]
    assert [g.group for g in groups] == [1, 2]


def test_part_of_a_group_is_refused():
    with pytest.raises(ValueError, match="group 3 has 3 rows, not 4"):
        score_groups([Rollout(3, True)] * 3, **RULES)


def test_the_scale_of_speed_is_fixed_and_logarithmic():
    assert normalised_speedup(2.0, 1.01, 4.0) == pytest.approx(0.5)
    assert normalised_speedup(9.0, 1.01, 4.0) == 1.0
    assert [normalised_speedup(s, 1.01, 4.0) for s in (None, 0.5, 1.0, 1.009)] == [0.0] * 4
    assert normalised_speedup(1.5, 1.01, 4.0) == pytest.approx(math.log(1.5) / math.log(4))


@pytest.mark.parametrize("kind, value", [("correct", 1.0), ("speed", 0.5), ("mixed", 1.25), ("ca_grpo", 1.0)])
def test_ablations_with_a_closed_gate(kind, value):
    assert reward(kind, True, 0.5, False, 0.5) == value
    assert reward(kind, False, 0.5, False, 0.5) == 0.0
