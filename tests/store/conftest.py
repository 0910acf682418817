"""A store in a temporary folder, and a small history of two rounds whose every rate is worked out by hand beside it."""

import shutil

import pytest

from kernelzero.store import Store
from kernelzero.store.records import (
    ApiSet,
    Checkpoint,
    Evaluation,
    Group,
    JudgementRow,
    Kernel,
    Metric,
    Module,
    Proposal,
    Run,
    Sample,
    StageRun,
    Validation,
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "kernelzero.duckdb", patience_s=5)


def judgement(identity, module, kernel, correct, *, speedup=None, reason="wrong values", stage="ran", flaky=False):
    timed = speedup is not None
    return JudgementRow(
        judgement_id=identity, module_id=module, kernel_id=kernel, backend="triton", policy="strict", verifier="1",
        stage="correct" if correct else stage, reason="" if correct else reason, detail="", correct=correct, flaky=flaky, max_error=0.5,
        tolerance="float32", timer="roofline" if timed else "", reference_s=speedup * 1e-5 if timed else None,
        kernel_s=1e-5 if timed else None, speedup=speedup, device="cpu")


def history(run_id="run-a"):
    """Modules: relu (solved by 2 of 4 kernels), softmax (solved never), both (api pair; 4 of 4). mini/add is a suite's task.

    Round 0: evaluation: 2 samples of mini/add, 1 correct. Round 1: proposer step 1 has 4 completions: relu, softmax, both, invalid.
    Coder step 1: groups of 2: relu (1 of 2 correct), softmax (0 of 2, one of them without an answer). Evaluation: 2 of 2.
    """
    here = {"run_id": run_id}
    modules = [
        Module("relu0000", "class Model: relu", ("torch.relu",), origin="proposer"),
        Module("soft0000", "class Model: softmax", ("torch.softmax",), origin="proposer"),
        Module("both0000", "class Model: both", ("torch.relu", "torch.softmax"), origin="proposer"),
        Module("mini0000", "class Model: add", ("torch.add",), origin="mini", name="mini/add"),
    ]
    kernels = [Kernel(f"k{i}000000", f"class ModelNew: {i}", "triton") for i in range(4)]
    judged = [
        judgement("jr0", "relu0000", "k0000000", True, speedup=2.0), judgement("jr1", "relu0000", "k1000000", False),
        judgement("js0", "soft0000", "k0000000", False), judgement("js1", "soft0000", "k1000000", False, stage="built", reason="no kernel"),
        judgement("jb0", "both0000", "k2000000", True, speedup=0.5), judgement("jb1", "both0000", "k3000000", True, speedup=3.0),
        judgement("jm0", "mini0000", "k0000000", True, speedup=1.5), judgement("jm1", "mini0000", "k1000000", False),
    ]
    def sample(round, stage, role, row, group, module, kernel, judgement_id, **more):
        step = 0 if role == "evaluate" else 1
        return Sample(**here, round=round, stage=stage, role=role, step=step, row=row, group_index=group, module_id=module, kernel_id=kernel,
                      judgement_id=judgement_id, tokens=10, finish_reason="stop", **more)
    mini = {"suite": "mini", "task": "mini/add"}
    samples = [
        sample(0, "evaluate", "evaluate", 0, 0, "mini0000", "k0000000", "jm0", **mini),
        sample(0, "evaluate", "evaluate", 1, 0, "mini0000", "k1000000", "jm1", **mini),
        *(sample(1, "proposer", "reward", i, 0, "relu0000", f"k{i % 2}000000", f"jr{i % 2}") for i in range(4)),
        *(sample(1, "proposer", "reward", 4 + i, 1, "soft0000", f"k{i % 2}000000", f"js{i % 2}") for i in range(4)),
        *(sample(1, "proposer", "reward", 8 + i, 2, "both0000", f"k{2 + i % 2}000000", f"jb{i % 2}") for i in range(4)),
        sample(1, "coder", "train", 0, 0, "relu0000", "k0000000", "jr0", reward=1.5, advantage=0.75),
        sample(1, "coder", "train", 1, 0, "relu0000", "k1000000", "jr1", reward=0.0, advantage=-0.75),
        sample(1, "coder", "train", 2, 1, "soft0000", "k0000000", "js0", reward=0.0, advantage=0.0),
        sample(1, "coder", "train", 3, 1, "soft0000", "", "", reward=0.0, advantage=0.0),
        sample(1, "coder", "train", 4, 1, "soft0000", "k3000000", "", not_judged="the sandbox could not start"),
        sample(1, "evaluate", "evaluate", 0, 0, "mini0000", "k0000000", "jm0", **mini),
        sample(1, "evaluate", "evaluate", 1, 0, "mini0000", "k0000000", "jm0", **mini),
    ]
    proposals = [
        Proposal(**here, round=1, stage="proposer", step=1, row=row, prompt_index=row // 2, module_id=module, completion="...", tokens=20, k=k, n=n,
                 reward=reward, reward_kind=kind, advantage=advantage)
        for row, (module, k, n, reward, kind, advantage) in enumerate([
            ("relu0000", 2, 4, 1.0, "frontier", 0.5), ("soft0000", 0, 4, 0.0, "frontier", -0.5),
            ("both0000", 4, 4, 0.0, "frontier", 0.0), ("", 0, 0, -0.6, "penalty", 0.0)])
    ]
    validations = [
        Validation(**here, round=1, stage="proposer", step=1, row=row, module_id=module, valid=bool(module), failed_step="" if module else "ast",
                   reason="" if module else "does not parse")
        for row, module in enumerate(["relu0000", "soft0000", "both0000", ""])
    ]
    def evaluation(round, metric, value, timer=""):
        return Evaluation(**here, round=round, suite="mini", backend="triton", policy="strict", metric=metric, value=value, tasks=1, samples=2, timer=timer)
    return [
        Run(**here, profile="smoke", seed=0, config={"seed": 0}, status="finished", environment={"torch": "2.13.0"}),
        StageRun(**here, round=0, stage="evaluate", status="finished", seconds=10, sampling_s=6, verifying_s=3),
        StageRun(**here, round=1, stage="proposer", status="finished", seconds=20, sampling_s=4, verifying_s=8, training_s=6, peak_memory_mb=900),
        StageRun(**here, round=1, stage="coder", status="finished", seconds=20, sampling_s=4, verifying_s=8, training_s=8),
        StageRun(**here, round=1, stage="evaluate", status="finished", seconds=10, sampling_s=6, verifying_s=3),
        *(ApiSet(**here, round=1, stage="proposer", prompt_index=i, apis=("torch.relu",), source="co_occurrence") for i in range(2)),
        *modules, *kernels, *judged, *samples, *proposals, *validations,
        Group(**here, round=1, stage="coder", step=1, group_index=0, module_id="relu0000", size=2, rho=0.5, tau=0.5, gate_open=True, nonzero=True),
        Group(**here, round=1, stage="coder", step=1, group_index=1, module_id="soft0000", size=2, rho=0.0, tau=0.5, gate_open=False, nonzero=False),
        Metric(**here, round=1, stage="coder", step=1, name="loss", value=0.25),
        evaluation(0, "pass@1", 0.5), evaluation(0, "fast_1.0@1", 0.5, "roofline"), evaluation(1, "pass@1", 1.0),
        evaluation(1, "fast_1.0@1", 1.0, "roofline"),
        Checkpoint(**here, round=0, role="base", path="base", digest="d0"), Checkpoint(**here, round=1, role="coder", path="c1", digest="d1"),
        Checkpoint(**here, round=1, role="proposer", path="p1", digest="d0"),
    ]


@pytest.fixture
def make_history():
    return history


@pytest.fixture
def make_judgement():
    return judgement


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The history's database, made once: a copy of a closed file is as good as a new one, and 100 times quicker."""
    made = Store(tmp_path_factory.mktemp("template") / "kernelzero.duckdb")
    made.write(history())
    return made.path


@pytest.fixture
def filled(store, template):
    shutil.copyfile(template, store.path)
    return store
