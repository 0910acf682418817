"""The front door: one clear sentence and status 2 for bad input, the verifier by hand, and commands before there is a run."""

import subprocess
import sys
from pathlib import Path

import pytest

KERNELZERO = Path(sys.executable).with_name("kernelzero")
REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0


def get_inputs():
    return [torch.randn(8, 33)]


def get_init_inputs():
    return []
"""
CANDIDATE = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0) + 1.0, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
"""


def kernelzero(*arguments: str, cwd: Path) -> tuple[int, str]:
    done = subprocess.run([KERNELZERO, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidate.py").write_text(CANDIDATE)
    (tmp_path / "no_inputs.py").write_text(REFERENCE.replace("get_inputs", "give_inputs"))
    (tmp_path / "syntax.py").write_text(REFERENCE.replace("return torch", "return (torch"))
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00\x81")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a_file").write_text("")
    return tmp_path


@pytest.mark.parametrize("arguments, sentence", [
    (["run", "--profile", "tny"], "unknown profile 'tny'"),
    (["run", "--set", "coder.stepz=2"], "did you mean 'coder.steps'"),
    (["run", "--set", "base.model=nowhere"], "model folder nowhere does not exist"),
    (["run", "--set", "base.model=empty"], "holds no config.json"),
    (["evaluate", "nowhere"], "model folder nowhere does not exist"),
    (["run", "--home", "a_file/inside"], "give another folder with --home"),
    (["run", "--profile", "", "--run-id", "none", "--set", "seed=1"], "takes no others"),
    (["runs"], "there is no database"),
    (["show", "abc"], "there is no database"),
    (["sql", "curriculum"], "there is no database"),
    (["verify", "missing.py", "candidate.py"], "cannot read missing.py"),
    (["verify", "no_inputs.py", "candidate.py"], "the reference is not a task: get_inputs"),
    (["verify", "syntax.py", "candidate.py"], "the reference is not a task: line"),
    (["verify", "binary.py", "candidate.py"], "not a text file"),
    (["verify", "reference.py", "candidate.py", "--policy", "lax"], "unknown policy 'lax'"),
    (["verify", "reference.py", "candidate.py", "--seeds", "0"], "--seeds must be at least 1"),
])
def test_bad_input_is_one_sentence_and_status_2(folder, arguments, sentence):
    before = sorted(folder.rglob("*"))
    status, said = kernelzero(*arguments, cwd=folder)
    assert status == 2 and sentence in said and said.startswith("kernelzero: ") and said.count("\n") == 1, said
    assert sorted(folder.rglob("*")) == before  # nothing was begun


def test_a_correct_kernel(folder):
    status, said = kernelzero("verify", "reference.py", "candidate.py", cwd=folder)
    assert status == 0 and said.startswith("correct") and "estimated by the roofline, not measured" in said, said


@pytest.mark.parametrize("old, new, reason", [
    ("tl.maximum(x, 0.0) + 1.0", "tl.maximum(x, 0.0)", "wrong_values"),
    ("return y", "return (y", "syntax_error"),
    ("class ModelNew", "class Model", "named_model"),
    ("        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)\n", "        y = torch.relu(x) + 1.0\n", "torch_operator"),
])
def test_a_wrong_kernel_has_status_1_and_a_reason(folder, old, new, reason):
    (folder / "candidate.py").write_text(CANDIDATE.replace(old, new))
    status, said = kernelzero("verify", "reference.py", "candidate.py", cwd=folder)
    assert status == 1 and reason in said, said


def test_profiles_and_settings_explain_themselves(folder):
    assert "tiny" in kernelzero("profiles", cwd=folder)[1]
    assert "coder.tau" in kernelzero("settings", cwd=folder)[1]
