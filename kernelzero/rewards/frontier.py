"""The Proposer's Frontier Reward: a module is worth most when the Coder solves it about half of the time."""

from dataclasses import dataclass


def frontier(k: int, n: int, shape: str = "quadratic") -> float:
    """Reward in [0, 1] of a module that k of n kernels solve: 1 at k/n = 1/2, 0 at 0 and at 1.

    quadratic: 4 p (1 - p); tent: 1 - |2p - 1|; p = k/n is the plug-in estimate, so the expected quadratic value is
    (n - 1)/n of the true one: k and n are stored beside it. Raises ValueError unless 0 <= k <= n and n >= 1.
    """
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"k = {k} of n = {n} kernels")
    p = k / n
    if shape == "quadratic":
        return 4 * p * (1 - p)
    if shape == "tent":
        return 1 - abs(2 * p - 1)
    raise ValueError(f"unknown shape {shape}")


@dataclass(frozen=True)
class Scored:
    """reward, or None when nothing could be judged (the row is then left out of its group); kind says which rule gave it."""

    reward: float | None
    kind: str  # frontier | penalty | duplicate | missing_apis | flaky | unscored


def score_proposal(*, valid: bool, missing_apis: bool, duplicate: bool, flaky: bool, k: int, n: int,
                   shape: str, invalid_penalty: float, duplicate_scale: float) -> Scored:
    """One proposal's reward, the first rule that applies.

    Invalid: the penalty. Leaves out APIs that it was given: 0 (half a reward erodes coverage). Nothing judged: None.
    Correct for some seeds only, or an error at the tolerance: 0, else the Proposer learns to manufacture one half.
    Repeats a module of its step or of the archive: the frontier reward times `duplicate_scale`.
    """
    if not valid:
        return Scored(invalid_penalty, "penalty")
    if missing_apis:
        return Scored(0.0, "missing_apis")
    if n == 0:
        return Scored(None, "unscored")
    if flaky:
        return Scored(0.0, "flaky")
    reward = frontier(k, n, shape)
    if duplicate:
        return Scored(duplicate_scale * reward, "duplicate")
    return Scored(reward, "frontier")
