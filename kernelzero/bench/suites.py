"""Loads evaluation tasks: the project's own suite `mini`, and a local checkout of KernelBench.

A task is one Python source with `class Model`, `get_inputs` and `get_init_inputs`; it is read and parsed here and
never run. Files are named `<number>_<name>.py`, in a folder a level.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelzero.errors import UserError

_FILE = re.compile(r"(\d+)_(.+)\.py")
_PARTS = ("Model", "get_inputs", "get_init_inputs")


@dataclass(frozen=True)
class SuiteTask:
    """name: the file's, without .py (`01_relu`). suite: 'mini' | 'kernelbench'. problem_id: the number in the file's
    name."""

    name: str
    source: str
    suite: str
    level: int
    problem_id: int

    @property
    def task_id(self) -> str:
        """Unique over suites and levels, sortable and short: `kernelbench/2/17`."""
        return f"{self.suite}/{self.level}/{self.problem_id}"


def load_suite(name: str = "mini") -> list[SuiteTask]:
    """A suite that comes with the package, by level and number."""
    if name != "mini":
        raise UserError(
            f"unknown suite {name!r}: the package holds 'mini'; a KernelBench checkout is given by its path"
        )
    return load_folder(Path(__file__).parent / "mini", "mini")


def load_kernelbench(path: str | Path, levels: Iterable[int] = (1, 2, 3)) -> list[SuiteTask]:
    """The tasks of a local KernelBench checkout: its root, its `KernelBench` folder, or any folder that holds `level1`
    and so on."""
    root = Path(path).expanduser()
    if not root.is_dir():
        raise UserError(
            f"no KernelBench checkout at {path}: that folder does not exist; clone it and give the path of the clone"
        )
    inner = root / "KernelBench"
    return load_folder(inner if inner.is_dir() else root, "kernelbench", levels)


def load_folder(root: Path, suite: str, levels: Iterable[int] | None = None) -> list[SuiteTask]:
    """All tasks below `root`/level<N>, sorted by level and number. Raises UserError for what is missing, empty or
    broken."""
    present = {int(found[1]): path for path in root.glob("level*") if (found := re.fullmatch(r"level(\d+)", path.name))}
    wanted = sorted(set(levels)) if levels is not None else sorted(present)
    if not present:
        raise UserError(f"no tasks at {root}: it has no folder level1, level2, ...")
    tasks = []
    for level in wanted:
        if level not in present:
            have = ", ".join(f"level{number}" for number in sorted(present))
            raise UserError(f"no folder level{level} at {root}: there are {have}")
        tasks += _load_level(present[level], suite, level)
    return tasks


def _load_level(folder: Path, suite: str, level: int) -> list[SuiteTask]:
    tasks: dict[int, SuiteTask] = {}
    for path in sorted(folder.glob("*.py")):
        match = _FILE.fullmatch(path.name)
        if match is None:
            if path.name == "__init__.py":
                continue
            raise UserError(f"{path} is not named like a task: <number>_<name>.py is expected")
        number = int(match[1])
        if number in tasks:
            raise UserError(f"{path} has the number of {tasks[number].name}.py: a number names one task of a level")
        tasks[number] = SuiteTask(path.stem, read_task(path), suite, level, number)
    if not tasks:
        raise UserError(f"{folder} is empty: it holds no file <number>_<name>.py")
    return [tasks[number] for number in sorted(tasks)]


def read_task(path: Path) -> str:
    """The source of a task file, if it parses and defines what a task must define."""
    try:
        source = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text in UTF-8 ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UserError(f"{path} has a syntax error{where}: {what}") from error
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    missing = [part for part in _PARTS if part not in defined]
    if missing:
        raise UserError(f"{path} is no task: it does not define {' or '.join(missing)}")
    return source
