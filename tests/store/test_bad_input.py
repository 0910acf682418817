"""What a user can meet: each is one UserError that says what is wrong and what to do, and nothing is half-written."""

import os
import subprocess
import sys
import textwrap

import duckdb
import pytest

from kernelzero.errors import UserError
from kernelzero.store import Store
from kernelzero.store.records import Kernel, Metric

ROWS = [Kernel("k", "s", "triton")]


def one_sentence(caught):
    text = str(caught.value)
    assert "\n" not in text and "Traceback" not in text
    return text


def both_ways(store):
    for action in (lambda: store.write(ROWS), lambda: store.query("SELECT 1")):
        with pytest.raises(UserError) as caught:
            action()
        yield one_sentence(caught)


def test_no_database_yet(store):
    for ask in (lambda: store.query("SELECT 1"), lambda: store.named("curriculum"), lambda: store.resolve_run()):
        with pytest.raises(UserError) as caught:
            ask()
        assert "there is no database at" in one_sentence(caught)
    assert store.rows(Kernel) == []
    assert not store.path.exists()


def test_a_database_without_runs(store):
    store.write(ROWS)
    with pytest.raises(UserError, match="holds no run yet"):
        store.named("curriculum")


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\x00" + bytes(5000), b"x" * 20000])
def test_a_file_that_is_no_database(store, content):
    store.path.write_bytes(content)
    for text in both_ways(store):
        assert "not a KernelZero database" in text
    assert store.path.read_bytes() == content


def test_a_folder_in_its_place(tmp_path):
    for text in both_ways(Store(tmp_path)):
        assert "is a folder" in text


def test_a_path_through_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="a part of that path is a file"):
        Store(tmp_path / "file" / "deep" / "a.duckdb").write(ROWS)


@pytest.mark.parametrize("at", [4096 + 50, 12288 + 200])
def test_a_corrupt_file(filled, at):
    content = bytearray(filled.path.read_bytes())
    content[at : at + 500] = b"\x5a" * 500
    if at == 4096 + 50:
        content[8192 + 50 : 8192 + 550] = b"\x5a" * 500  # the second copy of the header
    filled.path.write_bytes(content)
    for text in both_ways(Store(filled.path)):
        assert "is damaged" in text and "snapshot" in text
    assert filled.path.read_bytes() == content


def test_a_corrupt_block_of_a_table(store):
    store.write([Kernel(f"k{i}", os.urandom(2000).hex(), "triton") for i in range(500)])
    content = bytearray(store.path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 300_000] = b"\x5a" * 300_000
    store.path.write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        Store(store.path).query("SELECT sum(length(source)) FROM kernels")


def test_a_truncated_file(store):
    store.write([Kernel(f"k{i}", os.urandom(2000).hex(), "triton") for i in range(500)])
    store.path.write_bytes(store.path.read_bytes()[: 600 * 1024])
    with pytest.raises(UserError, match="is damaged"):
        Store(store.path).query("SELECT sum(length(source)) FROM kernels")


def test_a_locked_database_names_the_holder(filled):
    code = f"import duckdb, sys; c = duckdb.connect({str(filled.path)!r}); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        store = Store(filled.path, patience_s=0.5)
        for text in both_ways(store):
            assert f"process {holder.pid}" in text and "close it there" in text and "kernelzero.snapshot.duckdb" in text
    finally:
        holder.communicate("")
    assert Store(filled.path).write(ROWS) == 1


def test_open_in_this_very_process(filled):
    mine = duckdb.connect(str(filled.path))
    try:
        with pytest.raises(UserError, match="this process already has"):
            Store(filled.path, patience_s=0.5).query("SELECT 1")
    finally:
        mine.close()


def test_moved_away_in_use(filled):
    filled.query("SELECT 1")
    filled.path.rename(filled.path.with_name("moved.duckdb"))
    with pytest.raises(UserError, match="moved or deleted while in use"):
        filled.write(ROWS)
    assert not filled.path.exists()


def as_nobody(code, tmp_path):
    """Run code as a user without rights to others' files (as root: a dropped user id)."""
    drop = "import os\nif os.getuid() == 0:\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    prepare = "import duckdb, polars, pyarrow, psutil, tenacity\nfrom kernelzero.errors import UserError\nfrom kernelzero.store import Store\n" \
              "from kernelzero.store.records import Kernel\nimport importlib.resources, kernelzero.store.migrations as m; m.load()\n"
    return subprocess.run([sys.executable, "-c", prepare + drop + textwrap.dedent(code)], capture_output=True, text=True, timeout=60,
                          cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)})


def open_to_all(tmp_path):
    """pytest's temporary folders are the user's own: let the other user pass through."""
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.name.startswith(("pytest-", "test_")):
            folder.chmod(0o755)


def test_an_unwritable_folder_and_file(filled, tmp_path):
    open_to_all(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    filled.path.chmod(0o444)
    done = as_nobody(f"""
        for path in ({str(closed / 'a.duckdb')!r}, {str(closed / 'deep' / 'a.duckdb')!r}, {str(filled.path)!r}):
            try:
                Store(path, patience_s=1).write([Kernel('k', 's', 'triton')])
            except UserError as error:
                print(error)
        """, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and all("cannot write" in line and "permission" in line for line in lines), done.stdout
    assert list(closed.iterdir()) == []


def test_a_read_only_database_answers(filled, tmp_path):
    open_to_all(tmp_path)
    filled.path.chmod(0o444)
    done = as_nobody(f"print(Store({str(filled.path)!r}).query('SELECT count(*) AS n FROM samples').item())", tmp_path)
    assert done.stdout == "21\n", done.stderr


FULL = """
import resource, sys
from kernelzero.errors import UserError
from kernelzero.store import Store
from kernelzero.store.records import Kernel
import os
store = Store(sys.argv[1])
def big(name, count=800): return [Kernel(f'{name}{i}', os.urandom(2000).hex(), 'triton') for i in range(count)]
if sys.argv[2] == 'later':
    store.write(big('first'))
    store.publish()
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for action in (lambda: store.write(big('second', 2000)), store.publish) if sys.argv[2] == 'later' else (lambda: store.write(big('first')),):
    try:
        action()
        print('written')
    except UserError as error:
        print(error)
"""


def test_a_full_disk_in_mid_run(store):
    """A limit on the size of a file stands for the disk: the database has 4 MB, the step needs 8, a file may have 4."""
    done = subprocess.run([sys.executable, "-c", FULL, str(store.path), "later", str(4 << 20)], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "disk is full" in lines[0] and "\n" not in lines[0], done.stdout + done.stderr
    # room again: what was acknowledged is whole, what was refused left no row, and writing goes on
    fresh = Store(store.path)
    names = {row.kernel_id.rstrip("0123456789") for row in fresh.rows(Kernel)}
    assert names == {"first"} and len(fresh.rows(Kernel)) == 800
    assert len(Store(store.snapshot_path).rows(Kernel)) == 800
    fresh.write([Metric("r", 1, "coder", 1, "loss", 1.0)])
    assert not [entry for entry in store.path.parent.iterdir() if entry.name.endswith(".new")]


def test_a_full_disk_at_the_very_start(store):
    done = subprocess.run([sys.executable, "-c", FULL, str(store.path), "first", str(100 << 10)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "disk is full" in done.stdout, done.stdout + done.stderr
    assert list(store.path.parent.iterdir()) == []
