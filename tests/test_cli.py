"""The front door: one clear sentence and status 2 for bad input, the verifier by hand, and commands before there is a run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelzero.keck.judge.document import SCHEMA, VerdictsDocument
from kernelzero.keck.judge.reasons import MEANING, NEXT, Reason

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
    (["verify", "reference.py"], "name at least one candidate"),
    (["verify", "reference.py", "empty"], "empty holds no candidate"),
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


def documents(folder, *arguments: str) -> tuple[int, dict]:
    status, said = kernelzero("verify", "reference.py", *arguments, "--json", cwd=folder)
    return status, json.loads(said)


def test_the_first_difference_is_named_in_words_and_in_json(folder):
    # the second of two launches' tail is never stored: 8 x 33 elements, 256 of them written, so the first unwritten is (7, 25)
    (folder / "candidate.py").write_text(CANDIDATE.replace("(triton.cdiv(x.numel(), 128),)", "(2,)"))
    status, found = documents(folder, "candidate.py")
    verdict = found["verdicts"][0]
    place = verdict["first_difference"]
    assert status == 1 and found["version"] == SCHEMA and found["judged_by"] == "interpreter" and len(found["unproven"]) == 4
    assert verdict["status"] == "rejected" and verdict["reason"] == "non_finite" and verdict["speed"] is None and verdict["next"]
    assert (place["index"], place["shape"], place["got"], place["wrong"], place["call"]) == ([7, 25], [8, 33], "NaN", 8, 1)
    said = kernelzero("verify", "reference.py", "candidate.py", cwd=folder)[1]
    assert "output 0 of shape [8, 33] at [7, 25]" in " ".join(said.split()) and "got      NaN" in said and "next: " in said


def test_a_folder_has_one_document_and_the_worst_status(folder):
    kernels = folder / "kernels"
    kernels.mkdir()
    (kernels / "a.py").write_text(CANDIDATE)
    (kernels / "b.md").write_text("The kernel:\n\n```python\n" + CANDIDATE.replace("+ 1.0", "+ 1.5") + "```\n")
    (kernels / "notes.rst").write_text("no candidate")
    status, found = documents(folder, "kernels")
    assert status == 1 and [(v["candidate"], v["status"]) for v in found["verdicts"]] == [("kernels/a.py", "correct"), ("kernels/b.md", "rejected")]
    place = found["verdicts"][1]["first_difference"]
    assert place["index"] == [0, 0] and place["got"] == pytest.approx(place["expected"] + 0.5) and place["error"] == pytest.approx(0.5)
    said = kernelzero("verify", "reference.py", "kernels", cwd=folder)[1]
    assert "2 candidates: 1 correct, 1 rejected, 0 not judged" in said and "leaves unproven" in said


def test_what_cannot_be_judged_has_status_3(folder):
    (folder / "reference.py").write_text(REFERENCE.replace("torch.relu(x) + 1.0", "x * 0.0"))  # zeros would pass
    status, found = documents(folder, "candidate.py")
    assert status == 3 and found["verdicts"][0]["status"] == "not_judged" and "constant" in found["verdicts"][0]["not_judged"]


def test_the_share_of_its_own_kernels(folder):
    # the kernel moves 2 x 1056 bytes in one launch (61.12 ns); torch.add reads and writes as many: half of the estimate
    half = CANDIDATE.replace("+ 1.0, mask", ", mask").replace("return y", "return y + 1.0")
    (folder / "candidate.py").write_text(half)
    status, found = documents(folder, "candidate.py", "--policy", "kernelbench")
    assert status == 0 and found["verdicts"][0]["speed"]["own_share"] == pytest.approx(0.5)
    assert "its own kernels take 50% of that time" in kernelzero("verify", "reference.py", "candidate.py", "--policy", "kernelbench", cwd=folder)[1]


def test_the_documented_schema_is_the_one_that_is_printed(folder):
    written = Path(__file__).parents[1] / "docs" / "verdict.schema.json"
    assert json.loads(written.read_text()) == VerdictsDocument.model_json_schema()
    VerdictsDocument.model_validate(documents(folder, "candidate.py")[1])


def test_every_reason_says_what_it_means_and_what_to_look_at():
    assert set(NEXT) == set(MEANING) == set(Reason)


def test_profiles_and_settings_explain_themselves(folder):
    assert "tiny" in kernelzero("profiles", cwd=folder)[1]
    assert "coder.tau" in kernelzero("settings", cwd=folder)[1]
