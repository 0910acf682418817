"""CA-GRPO, the Coder's correctness-aware group reward: speed counts only once a group is correct often enough.

    r_i = c_i                       while rho <  tau
    r_i = c_i (1 + lambda s_i)      once  rho >= tau          rho = mean of c over the group

The gate sees the whole group, wherever its members were sampled: rows carry the id of their group, and the caller passes all
rows of all processes. Groups are formed by that id, never by position.
"""

import math
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Rollout:
    """One completion's outcome. correct: None when it was not judged (it then counts in no mean and gets no reward)."""

    group: int
    correct: bool | None
    speedup: float | None = None  # over PyTorch eager; None when not timed


@dataclass(frozen=True)
class GroupOutcome:
    """The gate's decision. size: judged members; rho: share correct; nonzero: some advantage is not 0."""

    group: int
    size: int
    rho: float
    gate_open: bool
    nonzero: bool


def normalised_speedup(speedup: float | None, floor: float, cap: float) -> float:
    """s in [0, 1]: log(speedup) / log(cap), clipped; 0 below `floor`, the timer's resolution."""
    if speedup is None or speedup < floor:
        return 0.0
    return min(1.0, math.log(speedup) / math.log(cap))


def reward(kind: str, correct: bool, s: float, gate_open: bool, lam: float) -> float:
    """One member's reward. kind: ca_grpo, or an ablation: correct (c), speed (c s), mixed (c (1 + lambda s), no gate)."""
    c = float(correct)
    if kind == "correct":
        return c
    if kind == "speed":
        return c * s
    if kind == "mixed" or (kind == "ca_grpo" and gate_open):
        return c * (1 + lam * s)
    if kind == "ca_grpo":
        return c
    raise ValueError(f"unknown reward {kind}")


def score_groups(rollouts: list[Rollout], *, group_size: int, kind: str, tau: float, lam: float, floor: float,
                 cap: float) -> tuple[list[float | None], list[float], list[GroupOutcome]]:
    """Rewards and advantages (reward minus the mean of its group's judged members), one a rollout, and the groups by id.

    Raises ValueError when a group has not exactly `group_size` rows: a gate that sees part of a group decides wrongly.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for index, rollout in enumerate(rollouts):
        members[rollout.group].append(index)
    rewards: list[float | None] = [None] * len(rollouts)
    advantages = [0.0] * len(rollouts)
    outcomes = []
    for group, indices in sorted(members.items()):
        if len(indices) != group_size:
            raise ValueError(f"group {group} has {len(indices)} rows, not {group_size}: the gate must see whole groups")
        judged = [i for i in indices if rollouts[i].correct is not None]
        rho = sum(rollouts[i].correct for i in judged) / len(judged) if judged else 0.0
        gate_open = bool(judged) and rho >= tau
        for i in judged:
            s = normalised_speedup(rollouts[i].speedup, floor, cap)
            rewards[i] = reward(kind, rollouts[i].correct, s, gate_open, lam)
        mean = sum(rewards[i] for i in judged) / len(judged) if judged else 0.0
        for i in judged:
            advantages[i] = rewards[i] - mean
        nonzero = any(abs(advantages[i]) > 1e-9 for i in judged)
        outcomes.append(GroupOutcome(group, len(judged), rho, gate_open, nonzero))
    return rewards, advantages, outcomes
