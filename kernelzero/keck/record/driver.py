"""Triton under our driver: a launch is written down, never done; compiling stops after the front end's TTIR.

The driver stands in for the GPU's (`triton.runtime.driver.set_active`): target sm_90, one device, stream 0. Recording
does not compile: the replay compiles the tape's sources, in a process where the candidate's Python never ran. An
autotuned kernel takes the first of its configurations (after pruning); that is the stated one, and no time is measured.
"""

import torch
import triton
from torch._subclasses.fake_tensor import FakeTensor
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.jit import JITFunction, MockTensor, TensorWrapper

from kernelzero.keck.language import kernels
from kernelzero.keck.record import tape

TARGET = GPUTarget("cuda", 90, 32)
OPTIONS = frozenset(
    ["num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "launch_cooperative_grid",
     "launch_pdl", "ir_override", "supported_fp8_dtypes", "allow_fp8e4nv", "sanitize_overflow",
     "default_dot_input_precision", "extern_libs", "arch", "ptx_version", "cluster_dims",
     "max_num_imprecise_acc_default", "warp_size", "ptx_options", "instrumentation_mode"]
)
GRID_LIMIT = (2**31 - 1, 65535, 65535)
PROPERTIES = {
    "max_shared_mem": 232448,
    "multiprocessor_count": 132,
    "sm_clock_rate": 1980000,
    "mem_clock_rate": 3201000,
    "mem_bus_width": 6144,
    "max_num_regs": 65536,
    "warpSize": 32,
}


class LaunchError(Exception):
    """A launch that Triton would refuse."""


class CpuTensor(Exception):
    """A kernel argument in host memory."""


class _Utils:
    def get_device_properties(self, device=0):
        return dict(PROPERTIES)


class Driver(DriverBase):
    def __init__(self):
        super().__init__()
        self.utils = _Utils()

    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        return TARGET

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return (9, 0)

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        return lambda kernel_call, *, quantiles, **kwargs: [1.0] * len(quantiles)


def front_end(src, target=None, options=None, _env_vars=None):
    """Stands in for `triton.compiler.compile`: the real front end and its TTIR passes, no code generation, no files."""
    from triton._C.libtriton import ir
    from triton.compiler import make_backend

    backend = make_backend(TARGET)
    options = backend.parse_options(dict(options or {}))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = src.make_ir(
        TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    stages = {}
    backend.add_stages(stages, options, src.language)
    stages["ttir"](module, {})
    return object()


def install() -> None:
    """In the zygote: our driver and our compile."""
    triton.runtime.driver.set_active(Driver())
    triton.compiler.compile = front_end


class LaunchRecorder:
    """Replaces `JITFunction.run` in the recording process."""

    def __init__(self, recorder: tape.Recorder):
        self.recorder = recorder
        self.kernels: list[dict] = []
        self.numbers: dict[int, int] = {}
        self.problem = None
        self.launches = 0

    def install(self) -> None:
        this = self

        def run(jit, *args, grid, warmup, **kwargs):
            return this.launch(jit, args, grid, warmup, kwargs)

        JITFunction.run = run
        state = {"next": 0.0}

        def bench(tuner, *args, config, **meta):
            state["next"] += 1.0
            return [state["next"]] * 3

        triton.runtime.autotuner.Autotuner._bench = bench

    def number(self, jit: JITFunction) -> int:
        if id(jit) not in self.numbers:
            self.numbers[id(jit)] = len(self.kernels)
            entry = {"name": jit.fn.__name__, "source": jit._src, "globals": {}}
            self.kernels.append(entry)
            scope = jit.get_capture_scope()
            for name in kernels.referenced_names(jit._src):
                if name in scope:
                    value = kernels.encode_value(scope[name], self.number)
                    if value is not None:
                        entry["globals"][name] = value
        return self.numbers[id(jit)]

    def bind(self, jit: JITFunction, args, kwargs) -> tuple[dict, dict]:
        options = {key: value for key, value in kwargs.items() if key not in jit.arg_names}
        unknown = [key for key in options if key not in OPTIONS]
        if unknown:
            raise LaunchError(f"{jit.fn.__name__}: keyword argument {unknown[0]} was specified but unrecognised")
        try:
            bound = jit.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in jit.arg_names})
        except TypeError as error:
            raise LaunchError(f"{jit.fn.__name__}: {error}") from None
        bound.apply_defaults()
        return dict(bound.arguments), options

    def launch(self, jit, args, grid, warmup, kwargs):
        try:
            for hook in jit.pre_run_hooks:
                hook(*args, **kwargs)
            bound, options = self.bind(jit, args, kwargs)
            if warmup:
                raise tape.Unsupported("warmup of a kernel, which asks about compiled code")
            sizes = self.grid(jit, grid(bound) if callable(grid) else grid)
            number = self.number(jit)
            encoded = {name: self.argument(jit, name, value) for name, value in bound.items()}
        except (LaunchError, CpuTensor, tape.Unsupported) as error:
            self.problem = self.problem or error
            raise
        options = {k: v for k, v in options.items() if isinstance(v, (bool, int, str)) or v is None}
        self.recorder.add(
            {"launch": number, "grid": sizes, "arguments": encoded, "options": options, "out": [], "storage": []}
        )
        self.launches += 1

    def grid(self, jit, grid) -> list[int]:
        grid = grid if isinstance(grid, (tuple, list)) else (grid,)
        if not 1 <= len(grid) <= 3:
            raise LaunchError(f"{jit.fn.__name__}: a grid of {len(grid)} dimensions")
        sizes = []
        for size, limit in zip(grid, GRID_LIMIT, strict=False):
            if isinstance(size, float) or not hasattr(size, "__index__"):
                raise LaunchError(f"{jit.fn.__name__}: grid holds {size!r}, not a whole number")
            if not 0 <= size.__index__() <= limit:
                raise LaunchError(f"{jit.fn.__name__}: a grid of {size}")
            sizes.append(size.__index__())
        return sizes + [1] * (3 - len(sizes))

    def argument(self, jit, name: str, value):
        if isinstance(value, torch.Tensor):
            if value.device.type != "cuda":
                raise CpuTensor(
                    f"argument {name} of {jit.fn.__name__} is a tensor in host memory (give it device=x.device)"
                )
            if not isinstance(value, FakeTensor) and type(value) is not torch.nn.Parameter:
                raise tape.Unsupported(f"argument {name} is a {type(value).__name__}")
            return {"t": self.recorder.tensor(value)}
        if isinstance(value, (TensorWrapper, MockTensor)):
            raise tape.Unsupported(f"argument {name} is a reinterpreted tensor")
        if isinstance(value, torch.dtype):
            raise LaunchError(
                f"argument {name} of {jit.fn.__name__} is a torch dtype; Triton wants its own, as tl.float32"
            )
        encoded = kernels.encode_value(value, self.number)
        if encoded is None:
            raise tape.Unsupported(f"argument {name} of {jit.fn.__name__} is a {type(value).__name__}")
        return encoded
