"""The front door: `kernelzero run`, `sql`, `show`, `verify` and the rest. Parses, calls, prints; no algorithm lives here.

The one place of the library that knows that flows exist: a command that starts one loads it by name.
"""

import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from kernelzero import __version__
from kernelzero.errors import UserError

app = App(name="kernelzero", version=__version__, help="Two language models train each other to write fast, correct GPU kernels.")
Home = Annotated[str, Parameter(help="workspace: database, checkpoints, caches", env_var="KERNELZERO_HOME")]
Overrides = Annotated[list[str] | None, Parameter(name="--set", help="override a setting, as in --set coder.steps=2", negative=())]
HOME = ".kernelzero"


@app.command
def run(*, profile: str = "tiny", set_: Overrides = None, run_id: str = "", home: Home = HOME) -> None:
    """Run the whole co-evolution, or continue it: with --run-id of an earlier run what is done is not done again.

    Parameters
    ----------
    profile: one of `kernelzero profiles`, or a TOML file.
    run_id: name of the run; a new one when left out. For one that exists, give --profile "" to keep its stored settings.
    """
    _check(profile, set_ or [])
    _flow("evolve", home)(profile=profile, overrides=set_ or [], run_id=run_id, home=home)


@app.command
def evaluate(model: str, *, profile: str = "tiny", set_: Overrides = None, home: Home = HOME) -> None:
    """Evaluate a model folder on the profile's suites: pass@k, fast_p@k, mean output tokens."""
    _check(profile, [*(set_ or []), "base.warm_start=false", f"base.model={model}"])
    _flow("evaluate", home)(model=model, profile=profile, overrides=set_ or [], home=home)


@app.command
def profiles() -> None:
    """The profiles, a line each."""
    from kernelzero.config import profiles as known
    for name, line in known().items():
        _console().print(f"[bold]{name:8}[/bold] {line}")


@app.command
def settings(profile: str = "tiny", *, set_: Overrides = None) -> None:
    """Every setting of a profile with its value and what it means."""
    from kernelzero.config import load
    from kernelzero.report import settings_table
    _console().print(settings_table(load(profile, set_ or [])))


@app.command
def runs(*, home: Home = HOME) -> None:
    """The runs in the database, newest first."""
    _show_query("runs", {}, home)


@app.command
def sql(name: str = "", *params: str, list_: Annotated[bool, Parameter(name="--list", negative=())] = False, home: Home = HOME) -> None:
    """Answer a named query, or any SELECT: `kernelzero sql curriculum run_id=latest`, `kernelzero sql "select count(*) from kernels"`.

    Parameters
    ----------
    name: a query's name (see --list), or SQL.
    params: name=value of the query's parameters.
    """
    if list_ or not name:
        for query, question in _store(home).queries():
            _console().print(f"[bold]{query}[/bold]  {question}")
        return
    if " " in name.strip():
        _print_frame(_existing(home).query(name))
        return
    given = {}
    for item in params:
        key, equals, value = item.partition("=")
        if not equals:
            raise UserError(f"parameters of a query are given as name=value, as in run_id=latest; got '{item}'")
        given[key] = value
    _show_query(name, given, home)


@app.command
def show(id: str, *, home: Home = HOME) -> None:
    """Everything about a module or a kernel, by its id or the beginning of it."""
    from kernelzero.report import print_description
    from kernelzero.store import describe
    print_description(_console(), describe(_existing(home), id))


@app.command
def verify(
    reference: str,
    *candidates: str,
    policy: str = "strict",
    seeds: int = 3,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Judge candidates against a reference module; ends with 0 when all are correct, 1 when one is rejected, 3 when one could not be judged.

    Parameters
    ----------
    reference: a file in the task format (Model, get_inputs, get_init_inputs).
    candidates: files that define ModelNew, answers of a model that hold it, or folders of those (*.py, *.md, *.txt).
    policy: strict (compute by own kernels only) or kernelbench (torch operators allowed).
    seeds: number of input draws.
    json: print one JSON document (docs/verdict.schema.json) instead of prose.
    """
    source, texts = _read(reference), _candidates(candidates, reference)
    from kernelzero.keck import Verifier
    with Verifier(workers=min(os.cpu_count() or 1, len(texts))).start() as verifier:  # it warms up while the rest is imported
        from kernelzero.keck.judge.document import documents
        from kernelzero.report import print_verdicts
        from kernelzero.verify import verify_sources
        console = _console()
        verdicts = verify_sources(verifier, source, texts, policy, seeds)
    if json:
        print(documents(reference, "triton", policy, seeds, verdicts).model_dump_json(indent=1))
    else:
        print_verdicts(console, verdicts, policy)
    sys.exit(1 if any(v.judgement and not v.correct for v in verdicts.values()) else 3 if any(v.judgement is None for v in verdicts.values()) else 0)


@app.command
def report(run_id: str = "latest", *, output: str = "", home: Home = HOME) -> None:
    """Write the HTML report of a run."""
    from kernelzero.report import write_report
    store = _existing(home)
    run_id = store.resolve_run(run_id)
    path = Path(output or Path(home) / "runs" / run_id / "report.html")
    write_report(store, run_id, path)
    _console().print(f"wrote {path}")


def _check(profile: str, overrides: list[str]) -> None:
    """Say what is wrong with the settings before Prefect is started for them, which takes seconds."""
    from kernelzero.config import load
    from kernelzero.models.checkpoints import check
    if not profile:
        if overrides:
            raise UserError("--set needs a profile: a run that goes on with its stored settings (--profile \"\") takes no others")
        return
    config = load(profile, overrides)
    if config.base.model != "tiny":
        check(Path(config.base.model))


def _flow(name: str, home: str):
    """The flow by name, after Prefect was told to live in the workspace and to be quiet."""
    workspace = Path(home).absolute()
    try:
        (workspace / "prefect").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write into {home}: {error.strerror}; give another folder with --home") from None
    quiet = {"PREFECT_HOME": str(workspace / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_LOGGING_LEVEL": "CRITICAL",
             "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL", "MLFLOW_DISABLE_TELEMETRY": "true", "TOKENIZERS_PARALLELISM": "false", "MLFLOW_LOGGING_LEVEL": "ERROR"}
    for key, value in quiet.items():
        os.environ.setdefault(key, value)
    return getattr(import_module(f"kernelzero_flows.{name}"), name)


def _store(home: str):
    from kernelzero.store import Store
    return Store(Path(home) / "kernelzero.duckdb")


def _existing(home: str):
    store = _store(home)
    if not store.exists():
        raise UserError(f"there is no database in {home} yet; `kernelzero run` makes one, or name its folder with --home")
    return store


def _show_query(name: str, params: dict, home: str) -> None:
    _print_frame(_existing(home).named(name, **params))


def _print_frame(frame) -> None:
    from kernelzero.report import print_rows
    if frame.height:
        print_rows(_console(), frame.to_dicts())
    else:
        _console().print("no rows")


def _console():
    from rich.console import Console
    return Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a text file in UTF-8") from None


def _candidates(paths: tuple[str, ...], reference: str) -> dict[str, str]:
    """path -> text of every candidate; a folder stands for its files, the reference left out."""
    if not paths:
        raise UserError("name at least one candidate: a file that defines ModelNew, or a folder of such files")
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(p for p in path.iterdir() if p.suffix in (".py", ".md", ".txt") and p.is_file()) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"{path} holds no candidate: no .py, .md or .txt file")
        files += [p for p in inside if not path.is_dir() or p.resolve() != Path(reference).resolve()]
    if not files:
        raise UserError(f"{paths[0]} holds nothing but the reference")
    return {str(path): _read(str(path)) for path in files}


def main(arguments: list[str] | None = None) -> None:
    """Entry of the console script: a UserError is one sentence and status 2."""
    logging.captureWarnings(True)
    try:
        app(arguments)
    except UserError as error:
        print(f"kernelzero: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("kernelzero: stopped; the same command with the same --run-id goes on from here", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
