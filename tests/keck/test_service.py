"""One pool, several clients; it refuses strangers and ends with its owner."""

import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from kernelzero.keck import Limits, ModuleJob, Task, Verifier, connect, running_service


@pytest.fixture(scope="module")
def address():
    with running_service(workers=2, limits=Limits(seconds=4.0), authkey=b"a key of sixteen") as made:
        yield made


def test_two_clients_at_once_share_the_pool(address, write):
    tasks = [Task(write.SQUARE, write.pointwise() + f"\n# {i}\n") for i in range(6)] + [
        Task(write.SQUARE, write.pointwise("y = x"))
    ]
    found = {}

    def ask(name: str):
        with connect(address, b"a key of sixteen") as client:
            found[name] = [v.correct for v in client.verify(tasks)]

    threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"a": [True] * 6 + [False], "b": [True] * 6 + [False]}


def test_modules_and_a_loop_that_is_left_early(address, write):
    with connect(address) as client:
        for _, verdict in client.verify_iter(
            [Task(write.SQUARE, write.pointwise() + f"\n# early {i}\n") for i in range(4)]
        ):
            assert verdict.correct
            break
        run = client.run_modules([ModuleJob(write.SQUARE, (0, 1), (1.0,))])[0]
    assert run.ok and [c.seed for c in run.cases] == [0, 1] and run.passed_by == "" and run.launches == 2
    x = run.cases[1].inputs[0]
    assert (
        run.cases[1].outputs.equal(x * x + x)
        and str(run.cases[1].outputs64.dtype) == "torch.float64"
        and run.cases[1].repeat_equal
    )


def test_a_wrong_key_is_refused(address, write):
    with pytest.raises((AuthenticationError, OSError, EOFError)):
        connect(address, b"another key")
    with connect(address) as client:
        assert client.verify([Task(write.SQUARE, write.pointwise())])[0].correct
    assert Path(f"{address}.key").stat().st_mode & 0o077 == 0 and Path(address).parent.stat().st_mode & 0o077 == 0


def test_it_ends_with_the_process_that_started_it(tmp_path):
    code = (
        "import os, sys, time\nfrom kernelzero.keck import connect, running_service\n"
        "with running_service(workers=1) as a:\n"
        "    print(connect(a).about()['pid'], a, flush=True)\n    time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid, address = owner.stdout.readline().split()
    service = int(pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    deadline = time.time() + 5
    while time.time() < deadline and _alive(service):
        time.sleep(0.05)
    assert not _alive(service) and not Path(address).parent.exists()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def test_a_service_that_dies_leaves_not_judged(write):
    with running_service(workers=1) as made:
        client = connect(made)
        os.kill(client.about()["pid"], signal.SIGKILL)
        time.sleep(0.2)
        client.timeout_s = 0.1
        verdict = client.verify([Task(write.SQUARE, write.pointwise())])[0]
    assert verdict.judgement is None and verdict.retry and "gone" in verdict.not_judged


def test_equal_questions_have_equal_answers(verifier, write):
    task = Task(write.SQUARE, write.pointwise("y = x * x + x * 1.0005"))
    with Verifier(workers=1, limits=Limits(seconds=4.0)) as other:
        assert other.verify([task])[0].judgement == verifier.verify([task])[0].judgement
    again = verifier.verify([task, task])
    assert again[0] is again[1]
