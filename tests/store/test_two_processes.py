"""A second process reads while a run writes; a writer that is killed leaves whole steps only."""

import os
import signal
import subprocess
import sys
import time

from kernelzero.store import Store
from kernelzero.store.records import Group, Run, Sample

ROWS = 40  # samples a step, and as many groups: a reader must never see one without the other

WRITER = """
import sys, time
from kernelzero.store import Store
from kernelzero.store.records import Group, Run, Sample
store, name, steps = Store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for step in range(1, steps + 1):
    store.write([Run(name, 'smoke', 0, {}, 'running')]
                + [Sample(name, 1, 'coder', 'train', step, i, i, 'm', f'k{step}-{i}', '', 5, 'stop') for i in range(40)]
                + [Group(name, 1, 'coder', step, i, 'm', 8, 0.5, 0.5, True, True) for i in range(40)])
    print(step, flush=True)
    time.sleep(0.02)
"""


def writer(path, name="r", steps=25):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(steps)], stdout=subprocess.PIPE, text=True)


def test_a_reader_sees_whole_steps_while_another_process_writes(tmp_path):
    store = Store(tmp_path / "shared.duckdb")
    store.write([Run("r", "smoke", 0, {}, "running")])
    process = writer(store.path)
    seen, slowest = set(), 0.0
    while process.poll() is None:
        begun = time.monotonic()
        samples, groups = store.query("SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM groups)").row(0)
        slowest = max(slowest, time.monotonic() - begun)
        assert samples == groups and samples % ROWS == 0
        seen.add(samples)
        time.sleep(0.05)
    assert process.returncode == 0 and process.stdout.read().splitlines()[-1] == "25"
    assert len(seen) >= 3, "the reader never read in between"
    assert slowest < 10
    assert len(store.rows(Sample)) == 25 * ROWS


def test_two_writers_that_both_make_the_database(tmp_path):
    path = tmp_path / "new" / "shared.duckdb"
    processes = [writer(path, name, steps=8) for name in ("a", "b")]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    store = Store(path)
    assert {run.run_id for run in store.rows(Run)} == {"a", "b"}
    assert len(store.rows(Group)) == 2 * 8 * ROWS
    assert [entry.name for entry in path.parent.iterdir()] == ["shared.duckdb"]


def test_a_killed_writer_loses_no_acknowledged_step(tmp_path):
    path = tmp_path / "shared.duckdb"
    process = writer(path, steps=1000)
    acknowledged = 0
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == 6:
            time.sleep(0.03)  # somewhere inside the next step
            os.kill(process.pid, signal.SIGKILL)
            break
    acknowledged = max([acknowledged, *(int(line) for line in process.stdout)])
    process.wait()
    store = Store(path)
    steps = store.query("SELECT step, count(*) AS n FROM samples GROUP BY step ORDER BY step").rows()
    assert [n for _, n in steps] == [ROWS] * len(steps)
    assert acknowledged <= len(steps) <= acknowledged + 1
    assert len(store.rows(Group)) == len(steps) * ROWS
