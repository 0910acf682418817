"""Everything that the database knows about one module or one kernel, as plain values; printing it is the front door's work."""

from dataclasses import dataclass

from kernelzero.errors import UserError
from kernelzero.store.store import Store

SHORT = 12  # hex digits of an id that a message shows


@dataclass(frozen=True)
class ModuleStory:
    """A module: its source, where it was proposed, how often it was solved, why its kernels failed, and its fastest kernels.

    The lists hold dicts, one a row, whose keys are the columns: proposed (run_id, round, stage, step, row, given_apis, k, n, reward,
    reward_kind, valid, failed_step, reason, duplicate_of), tries (as the query module_tries), failures (reached, reason, kernels,
    example), fastest (as the query fastest_kernel, one for each timer).
    """

    module_id: str
    name: str
    origin: str
    apis: tuple[str, ...]
    source: str
    proposed: list[dict]
    tries: list[dict]
    failures: list[dict]
    fastest: list[dict]


@dataclass(frozen=True)
class KernelStory:
    """A kernel: its source, its verdicts (columns of judgements plus module_name) and where it was sampled (run_id ... advantage)."""

    kernel_id: str
    backend: str
    source: str
    verdicts: list[dict]
    sampled: list[dict]


def describe(store: Store, id_prefix: str) -> ModuleStory | KernelStory:
    """The story behind the beginning of a module's or kernel's id, or a module's name; UserError when it fits none or several."""
    wanted = id_prefix.strip()
    found = store.query(
        "SELECT 'module' AS kind, module_id AS id, name FROM modules WHERE starts_with(module_id, $lower) OR name = $wanted "
        "UNION ALL SELECT 'kernel', kernel_id, '' FROM kernels WHERE starts_with(kernel_id, $lower) ORDER BY kind DESC, id LIMIT 6",
        {"lower": wanted.lower(), "wanted": wanted}).rows() if wanted else []
    exact = [row for row in found if wanted.lower() == row[1] or wanted == row[2]]
    found = exact or found
    if not found:
        raise UserError(f"no module or kernel has an id that begins with '{id_prefix}'; ids are hexadecimal, as `kernelzero sql fastest_kernel` prints")
    if len(found) > 1:
        some = ", ".join(f"{kind} {identity[:SHORT]}" for kind, identity, _ in found[:5])
        raise UserError(f"'{id_prefix}' fits more than one: {some}{', ...' if len(found) > 5 else ''}; give more digits")
    kind, identity, _ = found[0]
    return _module(store, identity) if kind == "module" else _kernel(store, identity)


def _module(store: Store, module_id: str) -> ModuleStory:
    own = {"id": module_id}
    row = _dicts(store.query("SELECT * FROM modules WHERE module_id = $id", own))[0]
    proposed = store.query(
        "SELECT p.run_id, p.round, p.stage, p.step, p.row, a.apis AS given_apis, p.k, p.n, p.reward, p.reward_kind, v.valid, v.failed_step, v.reason, "
        "v.duplicate_of FROM proposals p LEFT JOIN api_sets a USING (run_id, round, stage, prompt_index) "
        "LEFT JOIN validations v USING (run_id, round, stage, step, row) "
        "WHERE p.module_id = $id ORDER BY p.run_id, p.round, stage_order(p.stage), p.step, p.row", own)
    failures = store.query(
        "SELECT stage AS reached, reason, count(DISTINCT kernel_id) AS kernels, min(kernel_id) AS example FROM judgements "
        "WHERE module_id = $id AND NOT correct GROUP BY stage, reason ORDER BY kernels DESC, reached, reason", own)
    return ModuleStory(
        module_id=module_id, name=row["name"], origin=row["origin"], apis=tuple(row["apis"]), source=row["source"],
        proposed=_dicts(proposed), tries=_dicts(store.named("module_tries", module_id=module_id)), failures=_dicts(failures),
        fastest=_dicts(store.named("fastest_kernel", module_id=module_id)))


def _kernel(store: Store, kernel_id: str) -> KernelStory:
    own = {"id": kernel_id}
    row = _dicts(store.query("SELECT * FROM kernels WHERE kernel_id = $id", own))[0]
    verdicts = store.query(
        "SELECT j.*, m.name AS module_name FROM judgements j LEFT JOIN modules m USING (module_id) WHERE j.kernel_id = $id "
        "ORDER BY j.correct DESC, j.speedup DESC NULLS LAST, j.judgement_id", own)
    sampled = store.query(
        "SELECT run_id, round, stage, role, suite, task, step, row, module_id, judgement_id, not_judged, tokens, reward, advantage FROM samples "
        "WHERE kernel_id = $id ORDER BY run_id, round, stage_order(stage), role, step, row", own)
    return KernelStory(kernel_id=kernel_id, backend=row["backend"], source=row["source"], verdicts=_dicts(verdicts), sampled=_dicts(sampled))


def _dicts(frame) -> list[dict]:
    return frame.to_dicts()
