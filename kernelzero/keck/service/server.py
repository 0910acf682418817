"""One verifier for a whole run: a process whose pool many stages share, so that none pays the start of torch and
Triton.

`python -m kernelzero.keck.service.server --address PATH` listens on a Unix socket in a folder that only the user can enter;
the key in PATH.key (made when there is none) is asked of every client. It ends when the process that started it ends.
Clients and service trust each other (both are ours), so they talk by multiprocessing.connection; nothing of a
candidate's process passes here but checked data.
"""

import argparse
import contextlib
import json
import os
import secrets
import select
import sys
import threading
from multiprocessing.connection import Listener
from pathlib import Path

from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.service.client import write_private
from kernelzero.keck.verifier import Verifier


def serve(address: str, workers: int, limits: Limits) -> None:
    """Listens until it is killed or its parent ends."""
    Path(address).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key_file = Path(f"{address}.key")
    if not key_file.exists():
        write_private(key_file, secrets.token_bytes(32))
    key = key_file.read_bytes()
    with contextlib.suppress(FileNotFoundError):
        Path(address).unlink()
    verifier = Verifier(workers, limits)
    verifier.pool.current()  # warm before the first client
    with Listener(address, "AF_UNIX", backlog=64, authkey=key) as listener:
        Path(address).chmod(0o600)
        while True:
            try:
                connection = listener.accept()
            except Exception as error:  # a client with a wrong key, or one that left at once
                print(f"keck: a client was refused: {error}", file=sys.stderr)
                continue
            threading.Thread(target=_attend, args=(connection, verifier), daemon=True).start()


def _attend(connection, verifier) -> None:
    """One client: a request, its answers, the next request."""
    with contextlib.suppress(EOFError, OSError), connection:
        while True:
            kind, body = connection.recv()
            try:
                if kind == "verify":
                    for index, verdict in verifier.verify_iter(body):
                        connection.send(("verdict", (index, verdict)))
                elif kind == "modules":
                    for raw in verifier.run_modules_raw(body):
                        connection.send(("module", _plain(raw)))
                elif kind == "about":
                    zygote = verifier.pool.current()
                    connection.send(
                        ("about", {"isolation": zygote.isolation, "versions": zygote.versions, "pid": os.getpid()})
                    )
                connection.send(("done", None))
            except (EOFError, OSError):
                raise
            except Exception as error:
                connection.send(("error", f"{type(error).__name__}: {error}"))


def _plain(raw):
    """A module's run without memoryviews, which do not travel."""
    reference, job, seconds, fault = raw
    return (
        [(c.header, bytes(c.blob)) for c in reference.cases],
        reference.failed,
        reference.detail,
        reference.passed_by,
        job,
        seconds,
        fault,
    )


def _end_with(parent: int, address: str) -> None:
    """Ends this process when `parent` does; by a descriptor, since PDEATHSIG fires when the starting *thread* ends."""
    with contextlib.suppress(OSError):  # the parent is gone already
        select.select([os.pidfd_open(parent)], [], [])
    for path in (Path(address), Path(f"{address}.key")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a folder that holds something else stays
        Path(address).parent.rmdir()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Keck as a service on a Unix socket")
    parser.add_argument("--address", required=True, help="path of the socket, in a folder of its own")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--parent", type=int, default=None, help="end with this process (default: the one that starts it)"
    )
    parser.add_argument("--limits", type=json.loads, default={}, help="fields of Limits as JSON")
    options = parser.parse_args()
    parent = options.parent or os.getppid()
    threading.Thread(target=_end_with, args=(parent, options.address), daemon=True).start()
    serve(options.address, options.workers, Limits(**options.limits))


if __name__ == "__main__":
    main()
