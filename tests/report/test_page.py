"""The report of a run, from a database that a few rows fill: everything in it, nothing from outside, same data same page."""

import re

import pytest

from kernelzero.errors import UserError
from kernelzero.report import write_report
from kernelzero.store import Store
from kernelzero.store.records import Evaluation, JudgementRow, Kernel, Module, Proposal, Run, Sample, StageRun

MODULE = "class Model(nn.Module):\n    def forward(self, x):\n        return x < 3  # <script>alert(1)</script>\n"


def verdict(identity, module, kernel, speedup):
    correct = speedup is not None
    return JudgementRow(identity, module, kernel, "triton", "strict", "1", "correct" if correct else "ran",
                        "" if correct else "wrong_values", "", correct, False, 0.1, "float32", "roofline" if correct else "",
                        1e-6 if correct else None, 1e-6 / speedup if correct else None, speedup)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "kernelzero.duckdb")
    store.write([
        Run("run-1", "tiny", 5, {"base": {"device": "cpu", "warm_start": True}, "seed": 5}, "finished", environment={"torch": "2.13.0"}),
        *(StageRun("run-1", round_, stage, "finished", seconds=10, sampling_s=4, verifying_s=3, training_s=2)
          for round_ in (1, 2) for stage in ("proposer", "coder", "evaluate")),
        Module("solved", MODULE, ("torch.relu",), origin="proposer"), Module("unsolved", "class Model: hard", ("torch.sum",)),
        Kernel("slow", "class ModelNew: slow", "triton"), Kernel("fast", "class ModelNew: fast", "triton"),
        Kernel("wrong", "class ModelNew: wrong", "triton"),
        verdict("j1", "solved", "slow", 0.5), verdict("j2", "solved", "fast", 2.5), verdict("j3", "unsolved", "wrong", None),
        *(Sample("run-1", 1, "coder", "train", 1, row, row // 2, module, kernel, judgement, 40, "stop", reward=0.5, advantage=0.1)
          for row, (module, kernel, judgement) in enumerate([
              ("solved", "slow", "j1"), ("solved", "fast", "j2"), ("unsolved", "wrong", "j3"), ("unsolved", "wrong", "j3")])),
        *(Proposal("run-1", round_, "proposer", 1, row, 0, module, "", 50, k, 4, 0.5, "frontier", 0.1)
          for round_ in (1, 2) for row, (module, k) in enumerate([("solved", 2), ("unsolved", round_ - 1)])),
        *(Evaluation("run-1", round_, "mini", "triton", "strict", "pass@1", 0.1 * round_, 48, 8) for round_ in (0, 1, 2)),
    ])
    return store


def test_everything_is_on_one_page_without_network(store, tmp_path):
    path = tmp_path / "new folder" / "report.html"
    write_report(store, "latest", path)
    page = path.read_text()
    assert page.count("<svg") == 4 and page.count("<h2>") == 16
    for words in ("run-1", "roofline <em>estimate", "planted mistakes", "torch.relu", "class ModelNew: fast", "2.50x eager (roofline)",
                  "class ModelNew: wrong", "wrong_values (came as far as: ran)", "2.13.0", "Where the wall time went", "frontier_occupancy"):
        assert words in page, words
    assert "class ModelNew: slow" not in page
    names = ("http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg")  # names of XML, never fetched
    assert set(re.findall(r"https?://[^\s\"'<>]+", page)) <= set(names)
    assert not re.search(r"<script|<link|<iframe|@import|url\((?!#)|<img", page)
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_sources_are_text_not_markup(store, tmp_path):
    write_report(store, "run-1", tmp_path / "report.html")
    assert "&lt;script&gt;alert(1)" in (tmp_path / "report.html").read_text()


def test_the_same_data_give_the_same_page(store, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(store, "run-1", tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_run_that_has_only_begun(store, tmp_path):
    store.write([Run("run-2", "tiny", 5, {}, "failed", error="the disk is full")])
    write_report(store, "run-2", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "the disk is full" in page and "No correct kernel was timed" in page and page.count("Nothing to show.") >= 10


def test_bad_input(store, tmp_path):
    with pytest.raises(UserError, match="no run 'other'"):
        write_report(store, "other", tmp_path / "report.html")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot write the report"):
        write_report(store, "run-1", tmp_path / "file" / "report.html")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot write the report"):
        write_report(store, "run-1", tmp_path / "folder")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder", "kernelzero.duckdb"]
