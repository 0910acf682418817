"""The recording process: runs the candidate's Python on fake tensors and hands over the launch tape.

Nothing here has values: inputs and weights are shapes, the GPU is hidden, and what the candidate does to this process
it does to itself. The tape that leaves is data from an untrusted process; the replay and the judge check all of it
again.
"""

import inspect
import linecache
import sys
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from kernelzero.keck.confine import wire
from kernelzero.keck.judge.reasons import Reason
from kernelzero.keck.language.operators import STRICT
from kernelzero.keck.record import driver, fake_cuda, tape
from kernelzero.keck.reference.job import explain

NAME = "candidate"


class Failure(Exception):
    """stage: the last one reached."""

    def __init__(self, stage: str, reason: Reason, detail: str):
        super().__init__(detail)
        self.stage, self.reason, self.detail = stage, reason, detail


def load(source: str):
    """ModelNew of the candidate's source."""
    module = types.ModuleType(NAME)
    filename = f"<{NAME}>"
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[NAME] = module
    try:
        exec(compile(source, filename, "exec"), module.__dict__)
    except SyntaxError as error:
        raise Failure("screened", Reason.SYNTAX_ERROR, explain(error, NAME)) from None
    except ImportError as error:
        raise Failure("screened", Reason.IMPORT_ERROR, explain(error, NAME)) from None
    except NameError as error:
        raise Failure("screened", Reason.UNDEFINED_NAME, f"{error} in the answer") from None
    except MemoryError:
        raise
    except Exception as error:
        raise Failure("screened", Reason.LOAD_ERROR, explain(error, NAME)) from None
    model = module.__dict__.get("ModelNew")
    if not isinstance(model, type) or not issubclass(model, torch.nn.Module):
        named = "; it has a class Model, which is the reference's name" if "Model" in module.__dict__ else ""
        raise Failure("screened", Reason.NO_MODEL_NEW, f"the answer defines no class ModelNew(nn.Module){named}")
    return model


def build(model_class, init: list):
    try:
        inspect.signature(model_class).bind(*init)
    except TypeError as error:
        wants = ", ".join(p for p in inspect.signature(model_class).parameters)
        raise Failure(
            "built",
            Reason.CONSTRUCTOR_ARGUMENTS,
            f"ModelNew({wants}) does not take the reference's {len(init)} constructor arguments: {error}",
        ) from None
    except ValueError:
        pass
    try:
        return model_class(*init).eval()
    except NameError as error:
        raise Failure("built", Reason.UNDEFINED_NAME, explain(error, NAME)) from None
    except (tape.NeedsValues, tape.Unsupported, MemoryError):
        raise
    except Exception as error:
        raise Failure("built", Reason.CONSTRUCTOR_ERROR, explain(error, NAME)) from None


def adopt(model, recorder: tape.Recorder, shared: set) -> tuple[list, list, set]:
    """Moves weights to the fake device. Returns the listing, the tape's sources and the storages the weights had."""
    listing, sources, weights = [], [], set()
    persistent = set(model.state_dict())
    seen = {}
    for prefix, module in model.named_modules():
        for table, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for key, old in table.items():
                if old is None:
                    continue
                name = f"{prefix}.{key}" if prefix else key
                listing.append(
                    [
                        name,
                        kind if kind == "parameter" or name in persistent else "temporary",
                        list(old.shape),
                        str(old.dtype).removeprefix("torch."),
                    ]
                )
                if id(old) in seen:
                    table[key] = seen[id(old)]
                    continue
                seen[id(old)] = table[key] = _moved(old, kind, name, recorder, shared, sources, weights)
    return listing, sources, weights


def _moved(old, kind, name, recorder, shared, sources, weights):
    with_modes_off = torch.empty_strided(old.shape, old.stride(), dtype=old.dtype, device="cuda")
    new = torch.nn.Parameter(with_modes_off, requires_grad=old.requires_grad) if kind == "parameter" else with_modes_off
    number = recorder.new_id(new)
    if kind == "parameter" or name in shared:
        weights.add(recorder.storage(old))
        sources.append({"weight": name, "out": number})
    else:
        sources.append({"move": recorder.tensor(old), "out": number})
    return new


def fake_inputs(node, recorder: tape.Recorder, sources: list):
    def leaf(spec):
        wire.check_tensor(spec, 1 << 60)
        tensor = torch.empty_strided(spec["shape"], spec["stride"], dtype=getattr(torch, spec["dtype"]), device="cuda")
        sources.append({"input": len([s for s in sources if "input" in s]), "out": recorder.new_id(tensor)})
        return tensor

    return wire.decode_nest(node, leaf)


def call(model, inputs: list, recorder, launches):
    try:
        inspect.signature(model.forward).bind(*inputs)
    except TypeError as error:
        raise Failure(
            "built", Reason.FORWARD_ARGUMENTS, f"forward does not take the reference's inputs: {error}"
        ) from None
    except ValueError:
        pass
    try:
        return model(*inputs)
    except Exception as error:
        raise _forward_failure(error, recorder, launches) from None


def _forward_failure(error: Exception, recorder, launches) -> Failure:
    if recorder.needs_values or isinstance(error, tape.NeedsValues):
        return Failure(
            "built", Reason.NEEDS_VALUES, f"forward asks for the value of a tensor ({recorder.needs_values})"
        )
    if recorder.subclass:
        return Failure(
            "built",
            Reason.OUTPUT_TYPE,
            f"forward makes a tensor subclass ({recorder.subclass}); outputs are plain tensors",
        )
    problem = launches.problem or error
    reason = {
        driver.LaunchError: Reason.LAUNCH_ERROR,
        driver.CpuTensor: Reason.CPU_TENSOR,
        tape.Unsupported: Reason.UNSUPPORTED,
    }.get(type(problem))
    if reason:
        return Failure("built", reason, str(problem))
    if isinstance(error, MemoryError):
        return Failure("built", Reason.OUT_OF_MEMORY, "forward runs past its memory")
    if isinstance(error, NameError):
        return Failure("built", Reason.UNDEFINED_NAME, explain(error, NAME))
    return Failure("built", Reason.FORWARD_ERROR, explain(error, NAME))


def output_nest(out, recorder):
    def leaf(tensor):
        if type(tensor) not in (FakeTensor, torch.nn.Parameter) or tensor.layout != torch.strided:
            raise Failure("built", Reason.OUTPUT_TYPE, f"an output is a {type(tensor).__name__}, no plain tensor")
        return recorder.tensor(tensor)

    try:
        return wire.encode_nest(out, leaf)
    except wire.NotData as error:
        raise Failure("built", Reason.OUTPUT_TYPE, f"an output is {error}") from None


def reads_of(nodes: list, output) -> set[int]:
    """Numbers of all tensors that forward and the output refer to."""
    found = set()
    stack = [[(n.get("args"), n.get("kwargs"), n.get("arguments")) for n in nodes if n["section"] == "forward"], output]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if type(item.get("t")) is int:
                found.add(item["t"])
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
    return found


def record(request: dict, state: dict) -> tuple[dict, bytes]:
    """One tape. `state` receives the parameter listing as soon as it is known, for a failure's answer."""
    recorder = tape.Recorder()
    launches = driver.LaunchRecorder(recorder)
    launches.install()

    def asked(name: str):
        recorder.needs_values = recorder.needs_values or name
        raise tape.NeedsValues(recorder.needs_values)

    def subclass(name: str):
        recorder.subclass = recorder.subclass or name
        raise tape.Subclass(name)

    fake_cuda.install(asked, subclass)
    sources: list[dict] = []
    with torch.no_grad(), FakeTensorMode():
        with recorder:
            model_class = load(request["source"])
            init = wire.decode_nest(
                request["init"], lambda spec: torch.empty(spec["shape"], dtype=getattr(torch, spec["dtype"]))
            )
            model = build(model_class, init)
        state["parameters"], moved, weights = adopt(model, recorder, set(request["shared"]))
        sources += moved
        inputs = fake_inputs(request["inputs"], recorder, sources)
        recorder.section = "forward"
        with recorder:
            out = call(model, inputs, recorder, launches)
    if recorder.needs_values:
        raise Failure("built", Reason.NEEDS_VALUES, f"forward asks for the value of a tensor ({recorder.needs_values})")
    output = output_nest(out, recorder)
    init_nodes = _needed(recorder, sources, output, weights)
    forward = [n for n in recorder.nodes if n["section"] == "forward"]
    if request["policy"] == "strict":
        _only_allowed(forward)
    if not launches.launches:
        raise Failure("built", Reason.NO_LAUNCH, "forward launches no kernel")
    for node in (*init_nodes, *forward):
        for key in ("reads", "storage", "random", "section"):
            node.pop(key, None)
    return {
        "sources": sources,
        "init": init_nodes,
        "forward": forward,
        "kernels": launches.kernels,
        "output": output,
    }, recorder.packer.blob


def _needed(recorder, sources, output, weights) -> list[dict]:
    wanted = reads_of(recorder.nodes, output) | {
        s["move"] for s in sources if "move" in s and s["out"] in reads_of(recorder.nodes, output)
    }
    nodes, stale = tape.needed_init(recorder.nodes, wanted, weights)
    if stale:
        raise Failure(
            "recorded", Reason.STALE_WEIGHTS, f"{stale}; weights are loaded after __init__, so compute it in forward"
        )
    kept = {number for node in nodes for number in node["out"]}
    sources[:] = [s for s in sources if "move" not in s or s["move"] in kept]
    return nodes


def _only_allowed(forward: list[dict]) -> None:
    for node in forward:
        if "op" in node and node["op"][0].split("::")[1] not in STRICT:
            raise Failure(
                "recorded", Reason.TORCH_OPERATOR, f"forward computes with torch: {node['op'][0].replace('::', '.')}"
            )


def run(sock, header: dict, blob) -> None:
    """Answers with one frame: the tape, or why there is none."""
    state: dict = {"parameters": None}
    data = b""
    try:
        body, data = record(header, state)
        answer = {"tape": body}
    except Failure as failure:
        answer = {"failed": failure.reason, "stage": failure.stage, "detail": failure.detail}
    except MemoryError:
        answer = {"failed": Reason.OUT_OF_MEMORY, "stage": "built", "detail": "it runs past its memory"}
    except tape.NeedsValues as error:
        answer = {
            "failed": Reason.NEEDS_VALUES,
            "stage": "built",
            "detail": f"__init__ asks for the value of a tensor ({error})",
        }
    except tape.Unsupported as error:
        answer = {"failed": Reason.UNSUPPORTED, "stage": "built", "detail": str(error)}
    except Exception as error:
        answer = {"failed": Reason.UNSUPPORTED, "stage": "built", "detail": explain(error, NAME)}
    wire.send(sock, answer | {"parameters": state["parameters"]}, data)
