"""The Coder's reward function as TRL calls it, on real verdicts: groups by id in any order, rows in the database, a judgement made once."""

import itertools
from types import SimpleNamespace

import pytest

from kernelzero import keck
from kernelzero.config import build, load
from kernelzero.source import digest
from kernelzero.stages.coder import CoderReward
from kernelzero.stages.spec import StageSpec
from kernelzero.store.records import Group, JudgementRow, Kernel, Metric, Sample

HEAD = "import torch\nimport torch.nn as nn\n"
MODULE = HEAD + """

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return {expression}


def get_inputs():
    return [torch.randn(4, 32)]


def get_init_inputs():
    return []
"""
KERNEL = HEAD + """import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, {formula}, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
        return y
"""
RELU, ABS = MODULE.format(expression="torch.relu(x)"), MODULE.format(expression="torch.abs(x)")
TO_RELU, TO_ABS = KERNEL.format(formula="tl.maximum(x, 0.0)"), KERNEL.format(formula="tl.abs(x)")
BROKEN = TO_RELU.replace("return y", "return (y")
GROUPS = [(0, RELU, [TO_RELU, TO_ABS, BROKEN, "no kernel at all"]), (1, ABS, [TO_ABS, TO_ABS, TO_RELU, TO_ABS])]
ROWS = [(group, module, kernel) for group, module, kernels in GROUPS for kernel in kernels]
EXPECTED = {0: [1.0, 0.0, 0.0, 0.0], 1: [1.0, 1.0, 0.0, 1.0]}
END = 9


@pytest.fixture(scope="module")
def verifier():
    with keck.Verifier(workers=2) as started:
        yield started


@pytest.fixture
def context(verifier, tmp_path):
    from kernelzero.stages.context import Context
    config = build({**load("smoke").model_dump(mode="json"), "coder": {"group": 4, "prompts": 2, "lam": 0.0}})
    made = Context(StageSpec("coder", "run", 1, config.model_dump(mode="json"), str(tmp_path), str(tmp_path / "x.duckdb"), 0))
    made._verifier = verifier
    return made


def ask(context, rows, step=0):
    reward = CoderReward(context, END)
    return reward, reward(
        prompts=[""] * len(rows), completions=[kernel for _, _, kernel in rows], completion_ids=[[1, 2, END]] * len(rows),
        trainer_state=SimpleNamespace(global_step=step), module_id=[digest(m) for _, m, _ in rows], module_source=[m for _, m, _ in rows],
        group_index=[g for g, _, _ in rows])


def test_rewards_are_those_of_the_kernels_that_run(context):
    reward, given = ask(context, ROWS)
    assert given == EXPECTED[0] + EXPECTED[1]
    assert reward.step_figures["pass_rate"] == 0.5 and reward.step_figures["gate_open_share"] == 0.5
    samples = context.store.rows(Sample, run_id="run")
    assert [s.advantage for s in samples] == pytest.approx([0.75, -0.25, -0.25, -0.25, 0.25, 0.25, -0.75, 0.25])
    assert [(g.rho, g.gate_open, g.nonzero) for g in context.store.rows(Group, run_id="run")] == [(0.25, False, True), (0.75, True, True)]
    judged = {j.judgement_id: j for j in context.store.rows(JudgementRow)}
    reasons = [judged[s.judgement_id].reason for s in samples]
    assert [bool(r) for r in reasons] == [False, True, True, True, False, False, True, False]
    assert reasons[2] == "syntax_error" and len(set(reasons[1:4])) == 3
    assert {k.source for k in context.store.rows(Kernel)} >= {TO_RELU, TO_ABS}
    assert {m.name for m in context.store.rows(Metric, step=1)} >= {"pass_rate", "nonzero_share", "distinct_kernels"}


@pytest.mark.parametrize("order", ["interleaved", "reversed"])
def test_the_order_of_rows_plays_no_part(context, order):
    rows = ROWS[::-1] if order == "reversed" else list(itertools.chain.from_iterable(zip(ROWS[:4], ROWS[4:], strict=True)))
    _, given = ask(context, rows)
    by_place = {(g, m, k): EXPECTED[g][GROUPS[g][2].index(k)] for g, m, k in ROWS}
    assert given == [by_place[row] for row in rows]


def test_a_group_that_is_not_whole_is_refused(context):
    with pytest.raises(ValueError, match="group 1 has 3 rows, not 4"):
        ask(context, ROWS[:7])


def test_a_judgement_in_the_database_is_not_made_again(context, monkeypatch):
    ask(context, ROWS)
    asked = []
    monkeypatch.setattr(context._verifier, "verify", lambda tasks: asked.extend(tasks) or [])
    _, again = ask(context, ROWS, step=1)
    assert asked == [] and again == EXPECTED[0] + EXPECTED[1]
