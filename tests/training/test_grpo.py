"""GRPO by TRL for real: it repeats, resumes from its last whole step to the same bits, and gates groups across processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelzero.config import Grpo
from kernelzero.errors import UserError
from kernelzero.training import grpo

JOB = Path(__file__).with_name("grpo_job.py")


def run_job(model: Path, folder: Path, steps: int = 3, kill_after: int = 0, processes: int = 1) -> tuple[int, list[dict]]:
    log = folder / "log.jsonl"
    folder.mkdir(exist_ok=True)
    python = [sys.executable] if processes == 1 else [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes),
                                                       "--master-port", "0", "--standalone"]
    done = subprocess.run([*python, str(JOB), str(model), str(folder / "trainer"), str(steps), str(kill_after), str(log)],
                          capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}, timeout=240)
    if not kill_after:
        assert done.returncode == 0, done.stderr[-3000:]
    return done.returncode, [json.loads(line) for line in log.read_text().splitlines()]


@pytest.fixture(scope="session")
def undisturbed(small_model, tmp_path_factory):
    return run_job(small_model, tmp_path_factory.mktemp("undisturbed"))[1]


def steps_of(lines: list[dict]) -> dict[int, dict]:
    return {line["step"]: line for line in lines if "step" in line}


def test_every_step_is_trained_and_logged(undisturbed):
    assert sorted(steps_of(undisturbed)) == [1, 2, 3]
    logged = {line["logged"]: line["reward"] for line in undisturbed if "logged" in line}
    for step, line in steps_of(undisturbed).items():
        assert len(line["rows"]) == 8 and logged[step] == pytest.approx(sum(line["rewards"]) / 8, abs=1e-4)


def test_a_killed_stage_goes_on_from_its_last_whole_step(small_model, undisturbed, tmp_path):
    status, _ = run_job(small_model, tmp_path, kill_after=2)
    assert status == -9
    _, lines = run_job(small_model, tmp_path)
    assert [line["resumed"] for line in lines if "resumed" in line] == [0, 2]
    assert steps_of(lines) == steps_of(undisturbed)
    assert lines[-1] == undisturbed[-1]


def test_the_gate_sees_whole_groups_on_two_processes(small_model, tmp_path):
    """Each rank holds two of a group's four rows a pass; what the gate decides must be what it decides on all rows at once."""
    from kernelzero.rewards import Rollout, score_groups
    _, lines = run_job(small_model, tmp_path, steps=2, processes=2)
    for line in steps_of(lines).values():
        assert sorted(row["group"] for row in line["rows"]) == sorted([2 * line["step"] - 2] * 4 + [2 * line["step"] - 1] * 4)
        rewards, advantages, groups = score_groups([Rollout(r["group"], r["correct"], r["speed"]) for r in line["rows"]], group_size=4,
                                                   kind="ca_grpo", tau=0.5, lam=0.5, floor=1.01, cap=4.0)
        assert (rewards, advantages, [g.gate_open for g in groups]) == (line["rewards"], line["advantages"], line["open"])
        logged = [entry["reward"] for entry in lines if entry.get("logged") == line["step"]]
        assert logged == [pytest.approx(sum(rewards) / 8, abs=1e-4)]  # what TRL averaged over both ranks are these rewards


def test_torn_checkpoints_are_found_and_removed(tmp_path):
    for step in (1, 2, 3):
        checkpoint = tmp_path / f"checkpoint-{step}"
        checkpoint.mkdir()
        (checkpoint / "model.safetensors").write_bytes(b"weights" * step)
        if step < 3:
            grpo.seal(checkpoint)
    (tmp_path / "checkpoint-2" / "model.safetensors").write_bytes(b"torn")
    assert grpo.last_sealed(tmp_path) == tmp_path / "checkpoint-1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-1"]


@pytest.mark.parametrize("prompts, group, micro, processes, expected", [
    (16, 8, 64, 1, (64, 2)), (2, 4, 64, 1, (8, 1)), (2, 4, 2, 2, (2, 2)), (2, 4, 4, 2, (4, 1))])
def test_one_optimizer_step_is_one_generation(prompts, group, micro, processes, expected):
    per_device, accumulation = grpo.layout(Grpo(prompts=prompts, group=group, micro_batch=micro), processes)
    assert (per_device, accumulation) == expected and per_device * accumulation * processes == prompts * group


def test_a_layout_that_cannot_be_names_one_that_can():
    with pytest.raises(UserError, match="make micro_batch a divisor of 4"):
        grpo.layout(Grpo(prompts=2, group=4, micro_batch=3), 2)


def test_too_few_prompts_are_refused(small_model, tmp_path):
    """TRL would run no step at all and say nothing."""
    with pytest.raises(ValueError, match="3 rows for 2 steps of 2 prompts"):
        grpo.train(None, None, [{"prompt": "x"}] * 3, None, Grpo(steps=2, prompts=2), None, None, tmp_path, 0, None, None, None)
