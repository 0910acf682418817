"""The two rewards as plain functions on numbers: the Proposer's Frontier Reward and the Coder's CA-GRPO.

No model code, no store, no torch. `docs/method.md` gives each formula with its source.
"""

from kernelzero.rewards.ca_grpo import GroupOutcome, Rollout, score_groups
from kernelzero.rewards.frontier import Scored, frontier, score_proposal

__all__ = ["GroupOutcome", "Rollout", "Scored", "frontier", "score_groups", "score_proposal"]
