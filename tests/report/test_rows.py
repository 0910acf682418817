"""What a terminal shows of rows is readable at 80 and at 120 columns: no word is broken, no cell is a few letters wide."""

import io

import pytest
from rich.console import Console

from kernelzero.report import print_rows

LONG = "seed 0, scale 1: the output: error 0.1 against a bound of 3.12e-05, 133 of 264 elements past it"
SOURCE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
RUN = {"run_id": "20261207-110436-tiny-0123456789", "profile": "tiny", "seed": 0, "status": "finished", "rounds": 4, "started_at": "2026-12-07 11:04:36",
       "minutes": 8.5, "modules": 480, "kernels": 5120, "pass_at_1_first": 0.44, "pass_at_1_last": 0.503, "origin_run_id": None, "error": None}


def printed(width: int, show) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show(console)
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return lines


@pytest.mark.parametrize("width", [80, 120])
def test_a_wide_row_is_a_record_with_whole_words(width):
    row = RUN | {"reason": "wrong_values", "detail": LONG}
    lines = printed(width, lambda console: print_rows(console, [row, row]))
    assert sum(line.split() == ["run_id", RUN["run_id"]] for line in lines) == 2
    assert any(line.rstrip().split(maxsplit=1) == ["reason", "wrong_values: the error is past the bound"] for line in lines)
    assert " ".join(" ".join(lines).split()).count(LONG) == 2
    assert not any(line.startswith(("origin_run_id", "error ")) for line in lines)  # nothing to say


def test_what_fits_is_a_table():
    lines = printed(80, lambda console: print_rows(console, [{"round": 1, "kernels": 5}, {"round": 2, "kernels": 7}]))
    assert [line.strip("│┃ ").split() for line in lines if "5" in line or "7" in line] == [["1", "│", "5"], ["2", "│", "7"]]


@pytest.mark.parametrize("width", [80, 120])
def test_sources_stand_below(width):
    row = {"module_id": "a" * 64, "kernel_id": "b" * 64, "speedup": 1.5, "source": SOURCE}
    lines = printed(width, lambda console: print_rows(console, [row]))
    heading = lines.index("source of kernel bbbbbbbbbbbb")
    assert [line.rstrip() for line in lines[heading + 1:]] == SOURCE.rstrip().splitlines()
    assert not any("import" in line for line in lines[:heading])
