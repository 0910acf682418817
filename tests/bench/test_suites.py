"""Task files: what loads, and the one sentence that a broken folder or file gets."""

import os
from pathlib import Path

import pytest

from kernelzero.bench.suites import load_kernelbench, load_suite
from kernelzero.errors import UserError

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x


def get_inputs():
    return [torch.ones(2)]


def get_init_inputs():
    return []
"""


def write(root: Path, name: str, text: str = TASK) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_mini_has_24_single_operators_and_24_fused_tasks():
    tasks = load_suite("mini")
    assert [sum(task.level == level for task in tasks) for level in (1, 2)] == [24, 24]
    assert len({task.task_id for task in tasks}) == len({task.source for task in tasks}) == 48
    assert all(task.suite == "mini" for task in tasks)


@pytest.mark.parametrize("inner", ["", "KernelBench/"])
def test_a_checkout_by_its_root_or_its_folder_sorted_by_number(tmp_path, inner):
    for name in ("level1/10_b.py", "level1/9_a.py", "level2/1_c.py"):
        write(tmp_path, inner + name)
    tasks = load_kernelbench(tmp_path, levels=(2, 1))
    assert [task.task_id for task in tasks] == ["kernelbench/1/9", "kernelbench/1/10", "kernelbench/2/1"]
    assert tasks[0].name == "9_a" and tasks[0].source == TASK
    assert [task.name for task in load_kernelbench(str(tmp_path), levels=[2])] == ["1_c"]


def test_missing_and_empty_folders(tmp_path):
    with pytest.raises(UserError, match="that folder does not exist"):
        load_kernelbench(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no folder level1"):
        load_kernelbench(tmp_path)
    (tmp_path / "level1").mkdir()
    with pytest.raises(UserError, match="level1 is empty"):
        load_kernelbench(tmp_path, levels=(1,))
    write(tmp_path, "level1/1_a.py")
    with pytest.raises(UserError, match="no folder level3 at .*: there are level1"):
        load_kernelbench(tmp_path, levels=(1, 3))
    with pytest.raises(UserError, match="unknown suite 'maxi'"):
        load_suite("maxi")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TASK.replace("return x", "return x x"), "syntax error in line 7"),
        (TASK.replace("get_inputs", "inputs"), "does not define get_inputs"),
        (TASK.replace("class Model", "class Net").replace("get_init_inputs", "f"), "Model or get_init_inputs"),
    ],
)
def test_a_broken_task_names_the_file_and_what_is_wrong(tmp_path, text, words):
    write(tmp_path, "level1/3_bad.py", text)
    with pytest.raises(UserError, match=f"3_bad.py.*{words}"):
        load_kernelbench(tmp_path, levels=(1,))


def test_names_and_numbers_and_encodings(tmp_path):
    write(tmp_path, "level1/1_a.py")
    write(tmp_path, "level1/01_b.py")
    with pytest.raises(UserError, match="a number names one task"):
        load_kernelbench(tmp_path, levels=(1,))
    (tmp_path / "level1/01_b.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "level1/1_a.py").unlink()
    with pytest.raises(UserError, match="not a text in UTF-8"):
        load_kernelbench(tmp_path, levels=(1,))
    write(tmp_path, "level2/notes.py")
    with pytest.raises(UserError, match="not named like a task"):
        load_kernelbench(tmp_path, levels=(2,))


@pytest.mark.skipif("KERNELBENCH_PATH" not in os.environ, reason="set KERNELBENCH_PATH to a KernelBench checkout")
def test_a_real_checkout():
    tasks = load_kernelbench(os.environ["KERNELBENCH_PATH"])
    assert [sum(task.level == level for task in tasks) for level in (1, 2, 3)] == [100, 100, 50]
