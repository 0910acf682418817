"""Candidates and modules that attack or fall over: each yields a verdict with a reason, and the next is judged as if
nothing had been.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from kernelzero.keck import ModuleJob, Task

SPIN = "y = x\n    while tl.sum(x, axis=0) < 1e30:\n        y = y + 0.0"


def hostile(write, folder: Path) -> dict:
    """name -> (candidate, reasons that are right)."""
    launch, p = write.LAUNCH, write.pointwise
    first = lambda line: p(forward=line + launch)  # noqa: E731
    victim = folder / "precious"
    return {
        "loops in forward": (first("while True: pass"), {"timeout"}),
        "loops in a kernel": (p(SPIN), {"timeout"}),
        "eats memory": (p(top="hoard = [bytearray(1 << 26) for _ in range(400)]"), {"out_of_memory", "timeout"}),
        "leaves with 0": (first("import os; os._exit(0)"), {"exited"}),
        "leaves by sys.exit": (p(top="import sys\nsys.exit(0)"), {"exited"}),
        "prints a gigabyte": (p(top="for _ in range(1024): print('x' * (1 << 20))"), {""}),
        "segfaults": (p(top="import ctypes\nctypes.string_at(0)"), {"crashed"}),
        "aborts": (p(top="import os\nos.abort()"), {"crashed"}),
        "deletes files": (p(top=f"import os\nos.remove({str(victim)!r})"), {"load_error"}),
        "empties folders": (p(top=f"import shutil\nshutil.rmtree({str(folder)!r})"), {"load_error"}),
        "overwrites files": (p(top=f"open({str(victim)!r}, 'w').write('gone')"), {"load_error"}),
        "leaves files": (p(top="open('here', 'w').write('left')"), {"load_error"}),
        "bombs with forks": (p(top="import os\nwhile True: os.fork()"), {"load_error"}),
        "starts a program": (p(top="import subprocess\nsubprocess.run(['true'])"), {"load_error"}),
        "calls home": (p(top="import socket\nsocket.create_connection(('127.0.0.1', 22), 1)"), {"load_error"}),
        "kills everything": (p(top="import os, signal\nos.kill(-1, signal.SIGKILL)"), {"load_error"}),
        "kills its parent": (p(top="import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"), {"load_error"}),
        "threads without end": (
            first("import threading\nwhile True: threading.Thread(target=input).start()\n"),
            {"timeout", "forward_error", "out_of_memory", "crashed"},
        ),
        "recurses": (first("def f(): f()\nf()"), {"forward_error"}),
        "raises a base exception": (first("raise KeyboardInterrupt"), {"exited"}),
        "writes on every descriptor": (
            p(
                top="import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'x' * 4096)\n"
                "    except OSError:\n        pass\nos._exit(0)"
            ),
            {"output_too_large", "bad_tape", "exited"},
        ),
        "forges a tape": (
            p(
                top="import os, json, struct\n"
                "text = json.dumps({'tape': {'sources': [], 'init': [], 'forward': [], 'kernels': [], "
                "'output': {'s': 1}}, 'parameters': []}).encode()\n"
                "os.write(3, struct.pack('<QI', len(text), len(text)) + text)\nos._exit(0)"
            ),
            {"structure"},
        ),
        "forges a verdict": (
            p(
                top="import os, json, struct\n"
                "text = json.dumps({'judgement': {'stage': 'correct'}, 'parameters': []}).encode()\n"
                "os.write(3, struct.pack('<QI', len(text), len(text)) + text)\nos._exit(0)"
            ),
            {"bad_tape"},
        ),
        "sends nested brackets": (
            p(
                top="import os, struct\ntext = b'[' * 100000\n"
                "os.write(3, struct.pack('<QI', len(text), len(text)) + text)\nos._exit(0)"
            ),
            {"bad_tape"},
        ),
        "looks for outputs": (
            write.candidate(
                "",
                "import gc\nfor t in gc.get_objects():\n    if type(t) is torch.Tensor and t.shape == x.shape:\n"
                "        return t.clone()\nreturn torch.zeros_like(x)",
            ),
            {"no_launch", "torch_operator", "unsupported"},
        ),
        "patches torch": (
            p(
                top="torch.allclose = lambda *a, **k: True\ntorch.equal = lambda *a: True\n"
                "torch.empty_like = torch.zeros_like",
                body="y = x",
            ),
            {"wrong_values"},
        ),
    }


def test_each_gets_a_verdict_and_the_next_is_judged(verifier, write, tmp_path):
    todo = hostile(write, tmp_path)
    (tmp_path / "precious").write_text("kept")
    attacks = [Task(write.SQUARE, source) for source, _ in todo.values()]
    healthy = [Task(write.SQUARE, write.pointwise() + f"\n# {i}\n") for i in range(len(attacks))]
    verdicts = verifier.verify([t for pair in zip(attacks, healthy, strict=True) for t in pair])
    wrong = []
    for (name, (_, reasons)), verdict in zip(todo.items(), verdicts[::2], strict=True):
        if verdict.judgement is None or verdict.judgement.reason not in reasons:
            wrong.append((name, verdict.judgement or verdict.not_judged))
    assert not wrong
    assert [v.correct for v in verdicts[1::2]] == [True] * len(healthy)
    assert (tmp_path / "precious").read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["precious"]


def test_what_the_sandbox_holds_here(verifier):
    if os.environ.get("CI_WITHOUT_NAMESPACES"):
        pytest.skip("this host forbids user namespaces")
    assert verifier.isolation() == {"namespaces": True, "read_only": True, "proc_hidden": True, "seccomp": True}


def test_modules_are_sandboxed_too(verifier, write):
    jobs = [
        ModuleJob(write.module("while True: pass"), (0,), (1.0,)),
        ModuleJob("import os\nos._exit(0)\n"),
        ModuleJob(write.module("return x", "open('/etc/passwd', 'a')")),
        ModuleJob(write.SQUARE),
    ]
    runs = verifier.run_modules(jobs)
    assert [r.ok for r in runs] == [False, False, False, True]
    assert [r.reason for r in runs[:2]] == ["timeout", "exited"] and not any(r.fault for r in runs)


def test_a_dead_warm_process_is_replaced(verifier, write):
    before = verifier.pool.current()
    os.kill(before.process.pid, signal.SIGKILL)
    before.process.wait()
    verdicts = verifier.verify([Task(write.SQUARE, write.pointwise() + f"\n# again {i}\n") for i in range(3)])
    assert all(v.correct for v in verdicts)
    assert verifier.pool.current() is not before


def test_killed_in_the_middle_is_a_fault_and_tried_again(verifier, write):
    import threading

    task = Task(
        write.SQUARE,
        write.pointwise(forward="import time\nend = time.time() + 0.8\nwhile time.time() < end: pass\n" + write.LAUNCH),
    )
    process = verifier.pool.current().process
    killer = threading.Timer(0.3, process.kill)
    killer.start()
    start = time.time()
    verdict = verifier.verify([task])[0]
    killer.join()
    assert verdict.correct and time.time() - start > 1.0
