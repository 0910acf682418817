"""Triton's interpreter, made quick and watchful: patched once, memory accesses checked against the tensors, bytes
counted.

The interpreter of the triton package runs a kernel's source as Python over numpy. It patches the language at every
launch and at every call of a standard function, which is where its time goes; here the patches are collected once in
the zygote (`prepare`) and put on around a launch. Loads and stores go through `Memory`: an address outside the storages
of the launch's arguments raises OutOfBounds instead of ending in a segmentation fault, and every byte that is not
masked is counted.
"""

import ast
import contextlib
import dataclasses
import math
import types

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter as ti
from triton.runtime.jit import JITFunction

from kernelzero.keck.language import kernels
from kernelzero.keck.replay import libdevice
from kernelzero.keck.replay.memory import DeviceLimit, Memory
from kernelzero.keck.replay.races import Races

MEMORY = Memory()
RACES = Races()
_changes: list[tuple[object, str, object]] = []
_standard: dict[JITFunction, object] = {}


def _masked_load(self, ptrs, mask, other, cache_modifier, eviction_policy, is_volatile):
    dtype_tt = ptrs.get_element_ty()
    _refuse(dtype_tt)
    dtype = ti._get_np_dtype(dtype_tt)
    data, live = ptrs.data, np.broadcast_to(mask.data, ptrs.data.shape)
    MEMORY.loaded += MEMORY.touch(data, live, dtype.itemsize, False)
    if RACES.watching:
        RACES.note(data[live], dtype.itemsize, "load", MEMORY.ranges)
    other = np.zeros(data.shape, dtype=dtype) if other is None else other.data
    return ti.TensorHandle(ti._interpreter.load(data, mask.data, other, dtype), dtype_tt)


def _masked_store(self, ptrs, value, mask, cache_modifier, eviction_policy):
    _refuse(ptrs.get_element_ty())
    dtype = ti._get_np_dtype(ptrs.get_element_ty())
    live = np.broadcast_to(mask.data, ptrs.data.shape)
    MEMORY.stored += MEMORY.touch(ptrs.data, live, dtype.itemsize, True)
    if RACES.watching:
        _watch_store(ptrs.data, live, np.broadcast_to(value.data, ptrs.data.shape).astype(dtype, copy=False), dtype)
    return ti._interpreter.store(ptrs.data, value.data, mask.data)


def _watch_store(pointers, live, values, dtype) -> None:
    present = ti._interpreter.load(pointers, live, np.zeros(pointers.shape, dtype=dtype), dtype)
    bits = np.dtype(("V", dtype.itemsize))
    differs = np.ascontiguousarray(present[live]).view(bits) != np.ascontiguousarray(values[live]).view(bits)
    RACES.check_lanes(pointers[live], values[live])
    RACES.note(pointers[live], dtype.itemsize, "store", MEMORY.ranges, differs)


def _atomic_rmw(self, op, ptr, val, mask, sem, scope):
    size = ti._get_np_dtype(ptr.get_element_ty()).itemsize
    live = np.broadcast_to(mask.data, ptr.data.shape)
    MEMORY.stored += 2 * MEMORY.touch(ptr.data, live, size, True)
    if RACES.watching:
        RACES.note(ptr.data[live], size, "atomic", MEMORY.ranges)
    return _original_rmw(self, op, ptr, val, mask, sem, scope)


def _atomic_cas(self, ptr, cmp, val, sem, scope):
    size = ti._get_np_dtype(ptr.get_element_ty()).itemsize
    MEMORY.stored += 2 * MEMORY.touch(ptr.data, np.ones_like(ptr.data, dtype=bool), size, True)
    if RACES.watching:
        RACES.note(ptr.data.reshape(-1), size, "atomic", MEMORY.ranges)
    return _original_cas(self, ptr, cmp, val, sem, scope)


def _refuse(dtype) -> None:
    if dtype is tl.bfloat16 or dtype.is_fp8():
        raise DeviceLimit(f"{dtype} is wrong in Triton's interpreter")


def _cast(self, src, dst_type):
    _refuse(dst_type.scalar)
    return _original_cast(self, src, dst_type)


def _known(dtype) -> bool:
    try:
        ti._get_np_dtype(dtype)
    except KeyError:
        return False
    return True


def _not_here(what: str):
    def refuse(self, *args, **kwargs):
        raise DeviceLimit(f"Triton's interpreter has no {what}")

    return refuse


_original_rmw = ti.InterpreterBuilder.create_atomic_rmw
_original_cas = ti.InterpreterBuilder.create_atomic_cas
_original_broadcast = TritonSemantic.broadcast_impl_value
_original_cast = ti.InterpreterBuilder.cast_impl


_NP_DTYPES = {d.name: ti._get_np_dtype(d) for d in kernels.DTYPES if d.name != "void" and _known(d)}
_SHAPES: dict[tuple, tuple] = {}
_BLOCKS: dict[tuple, tl.block_type] = {}


def _np_dtype(dtype):
    """`interpreter._get_np_dtype`, which builds its table at every call."""
    element = dtype.element_ty if isinstance(dtype, tl.block_type) else dtype
    return _UINT64 if isinstance(element, tl.pointer_type) else _NP_DTYPES[element.name]


_UINT64 = np.dtype(np.uint64)


def _tensor_init(self, handle, type):
    """`tensor.__init__` with the constexprs of a shape made once."""
    shape = tuple(type.shape.values) if type.is_block() else ()
    known = _SHAPES.get(shape)
    if known is None:
        known = _SHAPES[shape] = tuple(tl.constexpr(s) for s in shape), tl.constexpr(math.prod(shape))
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.shape, self.numel = known


def _with_element(self, element):
    if isinstance(element, tl.pointer_type):
        return tl.block_type(element, self.shape)
    key = (element.name, *self.shape.values)
    if key not in _BLOCKS:
        _BLOCKS[key] = tl.block_type(element, self.shape)
    return _BLOCKS[key]


def _broadcast(self, lhs, rhs):
    """The frequent cases of `broadcast_impl_value`: equal shapes, or a scalar beside a block."""
    left, right = lhs.type, rhs.type
    if left.is_block():
        if right.is_block():
            if left.shape.values == right.shape.values:
                return lhs, rhs
            return _original_broadcast(self, lhs, rhs)
        return lhs, _splat(rhs, left)
    return (_splat(lhs, right), rhs) if right.is_block() else (lhs, rhs)


def _splat(scalar, block):
    data = scalar.handle.data
    handle = ti.TensorHandle(np.full(block.shape.values, data.reshape(-1)[0], dtype=data.dtype), scalar.dtype)
    return tl.tensor(handle, block.with_element_ty(scalar.dtype))


def _patch_attr(obj, name, member, builder, scope) -> None:
    """As the interpreter's, with the builtin called directly and not through two wrappers."""
    inner = getattr(member, "__wrapped__", member)

    def call(*args, **kwargs):
        kwargs["_semantic"] = ti.interpreter_semantic
        return inner(*args, **kwargs)

    scope.set_attr(obj, name, call)


def prepare() -> None:
    """In the zygote: the builder's methods are ours, the language's patches are collected, standard functions
    rewritten.
    """
    ti._get_np_dtype, ti._patch_attr = _np_dtype, _patch_attr
    # wraps around as a device does; the check would cost a third of the time
    ti.interpreter_builder.options = dataclasses.replace(ti.interpreter_builder.options, sanitize_overflow=False)
    builder = ti.InterpreterBuilder
    builder.create_masked_load, builder.create_masked_store = _masked_load, _masked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = _atomic_rmw, _atomic_cas
    builder.cast_impl = _cast
    builder.create_inline_asm, builder.create_extern_elementwise = (
        _not_here("inline assembly"),
        _not_here("external function"),
    )
    probe = types.FunctionType((lambda: None).__code__, {"tl": tl, "core": tl.core})
    scope = ti._patch_lang(probe)
    latest = {(id(obj), name): (obj, name) for obj, name, _ in scope._changes}
    _changes.extend((obj, name, getattr(obj, name)) for obj, name in latest.values())
    scope.restore()
    _changes.extend(
        [
            (JITFunction, "__call__", _call_standard),
            (tl.tensor, "__init__", _tensor_init),
            (tl.block_type, "with_element_ty", _with_element),
            (TritonSemantic, "broadcast_impl_value", _broadcast),
        ]
    )
    _changes.extend(libdevice.replacements())
    import triton.language.random as random
    import triton.language.standard as standard

    for module in (standard, random):
        for value in list(vars(module).values()):
            if isinstance(value, JITFunction) and value.module == module.__name__:
                _rewritten(value)


def _rewritten(function: JITFunction):
    if function not in _standard:
        _standard[function] = ti.FunctionRewriter(function.fn).rewrite_ast()
    return _standard[function]


def _call_standard(self, *args, **kwargs):
    return _rewritten(self)(*args, **kwargs)


@contextlib.contextmanager
def patched():
    """The language means the interpreter's inside this block."""
    missing = object()
    saved = [(obj, name, vars(obj).get(name, missing)) for obj, name, _ in _changes]
    for obj, name, value in _changes:
        setattr(obj, name, value)
    try:
        yield
    finally:
        for obj, name, value in reversed(saved):
            if value is missing:
                delattr(obj, name)
            else:
                setattr(obj, name, value)


def function_of(source: str, name: str, namespace: dict):
    """The Python function that interprets a kernel (checked before by `kernels.check`)."""
    tree = ast.parse(source)
    tree = ast.fix_missing_locations(ti.FunctionRewriter.ast_transformer.visit(tree))
    scope = {key: _for_interpreter(value) for key, value in namespace.items()}
    scope |= {"__builtins__": kernels.safe_builtins(), "interpreter_semantic": ti.interpreter_semantic}
    exec(compile(tree, f"<kernel {name}>", "exec"), scope)
    function = scope[name]
    function.fn = function
    return function


def _for_interpreter(value):
    if isinstance(value, types.ModuleType) and libdevice.is_libdevice(value):
        return libdevice.Functions()
    if isinstance(value, types.FunctionType) and value.__module__.startswith("triton.language.extra"):
        return getattr(libdevice.Functions(), value.__name__)
    if not isinstance(value, (JITFunction, type)) and tl.core.is_builtin(value):
        return lambda *args, **kwargs: value(*args, **kwargs, _semantic=ti.interpreter_semantic)
    return value


def _argument(value):
    """What a compiled kernel is given for a host value: a float is an fp32 scalar there (upstream hands on the Python float)."""
    if isinstance(value, float):
        return tl.tensor(ti.TensorHandle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
    if isinstance(value, tuple):
        return ti._tuple_create(value, map(_argument, value))
    return ti._implicit_cvt(value)


def launch(function, names: list[str], constexprs: set[str], arguments: dict, grid: list[int], ranges) -> None:
    """Every program of the grid, one after the other."""
    MEMORY.enter(ranges)
    RACES.enter()
    builder = ti.interpreter_builder
    with patched(), np.errstate(all="ignore"):
        values = {n: arguments[n] if n in constexprs else _argument(arguments[n]) for n in names}
        builder.set_grid_dim(*grid)
        for x in range(grid[0]):
            for y in range(grid[1]):
                for z in range(grid[2]):
                    builder.grid_idx = (x, y, z)
                    RACES.program = (z * grid[1] + y) * grid[0] + x
                    function(**values)
