"""Honest candidates of many kinds are accepted, with the right counts."""

import pytest

from kernelzero.keck import Task

ROWS = """
@triton.jit
def e(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    \"\"\"try: nothing of the sort; except this sentence, pass.\"\"\"
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=mask, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + tl.program_id(0) * n + cols, x / tl.sum(x, axis=0), mask=mask)
"""
ROW_LAUNCH = (
    "y = torch.empty_like(x)\ne[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))\nreturn y"
)


def accepted(judgement):
    assert judgement.correct, (judgement.reason, judgement.detail)
    assert judgement.reason == "" and judgement.max_error < 0.8 and not judgement.flaky


def test_elementwise_is_counted_by_hand(verifier, write):
    verdict = verifier.verify([Task(write.SQUARE, write.pointwise())])[0]
    accepted(verdict.judgement)
    measured = verdict.measurement
    # 12 x 40 floats read once and written once; eager: a product (two reads, a write), a sum (two reads, a write)
    assert (measured.launches, measured.bytes_moved) == (1, 2 * 480 * 4)
    assert (measured.reference_launches, measured.reference_bytes) == (2, 6 * 480 * 4)
    assert measured.timer == "roofline" and measured.speedup > 2
    assert "float32" in verdict.judgement.tolerance


def test_rows_with_a_short_name_and_words_in_the_docstring(judge, write):
    accepted(judge(write.module("return torch.softmax(x, dim=-1)"), write.candidate(ROWS, ROW_LAUNCH)))


@pytest.mark.parametrize(
    "decorator, arguments",
    [
        (
            "@triton.autotune(configs=[triton.Config({'BLOCK': 64}), "
            "triton.Config({'BLOCK': 256}, num_warps=8)], key=['n'])",
            "",
        ),
        ("@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(min(256, args['n']))})", ""),
    ],
    ids=["autotune", "heuristics"],
)
def test_decorated_kernels(judge, write, decorator, arguments):
    kernel = write.POINTWISE.format(body="y = x * x + x").replace("@triton.jit", f"{decorator}\n@triton.jit")
    forward = """
    y = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, x.numel())
    return y
    """
    accepted(judge(write.SQUARE, write.candidate(kernel, forward)))


def test_helper_kernels_constants_and_a_reduction_of_its_own(judge, write):
    top = (
        "LIMIT = tl.constexpr(6.0)\n\n\n@triton.jit\ndef clip(x, low: tl.constexpr):\n"
        "    return tl.minimum(tl.maximum(x, low), LIMIT)\n\n\n"
        "@triton.jit\ndef larger(a, b):\n    return tl.maximum(a, b)\n"
    )
    kernel = (
        ROWS.replace("tl.max(x, axis=0)", "tl.reduce(x, 0, larger)")
        .replace("mask=mask, other=-float", "mask=mask, other=-float")
        .replace("    x = tl.exp(", "    x = tl.where(mask, clip(x, 0.0), -float('inf'))\n    x = tl.exp(")
    )
    accepted(
        judge(write.module("return torch.softmax(F.relu6(x), dim=-1)"), write.candidate(kernel, ROW_LAUNCH, top=top))
    )


def test_weights_by_name_and_prepacking_in_forward(judge, write):
    reference = write.module(
        "return x * self.scale.weight[0]", "torch.randn(7, 16)", init="self.scale = nn.Linear(16, 1)"
    )
    kernel = """
    @triton.jit
    def kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        tl.store(y_ptr + i, x * tl.load(w_ptr + i % 16), mask=i < n)
    """
    forward = """
    if self.packed is None:
        self.packed = self.scale.weight.detach().reshape(-1).contiguous()
    y = torch.empty_like(x)
    kernel[(1,)](x, self.packed, y, x.numel(), BLOCK=128)
    return y
    """
    init = "self.scale = nn.Linear(16, 1)\nself.register_buffer('packed', None, persistent=False)"
    accepted(judge(reference, write.candidate(kernel, forward, init=init)))


def test_a_table_made_in_the_constructor(judge, write):
    kernel = """
    @triton.jit
    def kernel(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * tl.load(t_ptr + i % 16, mask=i < n), mask=i < n)
    """
    forward = "y = torch.empty_like(x)\nkernel[(1,)](x, self.table, y, x.numel(), BLOCK=128)\nreturn y"
    init = "self.register_buffer('table', torch.exp(torch.arange(16, dtype=torch.float32) / 16))"
    reference = write.module("return x * torch.exp(torch.arange(16, dtype=torch.float32) / 16)", "torch.randn(7, 16)")
    accepted(judge(reference, write.candidate(kernel, forward, init=init)))


@pytest.mark.parametrize(
    "expression, body, dtype, shape",
    [
        ("x > 0.3", "y = x > 0.3", "torch.bool", "x.shape"),
        ("(x > 0).to(torch.int64)", "y = (x > 0).to(tl.int64)", "torch.int64", "x.shape"),
        ("x.half()", "y = x.to(tl.float16)", "torch.float16", "x.shape"),
    ],
    ids=["bool", "int64", "float16"],
)
def test_other_dtypes(judge, write, expression, body, dtype, shape):
    forward = write.LAUNCH.replace("torch.empty_like(x)", f"torch.empty({shape}, dtype={dtype}, device=x.device)")
    accepted(judge(write.module(f"return {expression}"), write.pointwise(body, forward)))


def test_tuple_of_a_row_sum_and_a_scalar(judge, write):
    kernel = """
    @triton.jit
    def kernel(x_ptr, rows_ptr, all_ptr, n, BLOCK: tl.constexpr):
        cols = tl.arange(0, BLOCK)
        total = tl.sum(tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=0.0), axis=0)
        tl.store(rows_ptr + tl.program_id(0), total)
        tl.atomic_add(all_ptr, total)
    """
    forward = """
    rows = torch.empty(x.shape[0], device=x.device)
    total = torch.zeros((), device=x.device)
    kernel[(x.shape[0],)](x, rows, total, x.shape[1], BLOCK=64)
    return rows, total
    """
    accepted(judge(write.module("return x.sum(dim=1), x.sum()"), write.candidate(kernel, forward)))


def test_views_keep_their_strides_and_plain_values_pass_through(judge, write):
    reference = write.module(
        "return x * factor if mask is None else x * mask",
        "torch.randn(5, 24).t(), None, 3, True, 0.5",
        args="x, mask, n, flag, factor",
    )
    kernel = """
    @triton.jit
    def kernel(x_ptr, y_ptr, rows, cols, sx, sy, factor, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        mask = i < rows * cols
        x = tl.load(x_ptr + (i // cols) * sx + (i % cols) * sy, mask=mask)
        tl.store(y_ptr + i, x * factor, mask=mask)
    """
    forward = """
    y = torch.empty(x.shape, device=x.device)
    kernel[(1,)](x, y, x.shape[0], x.shape[1], x.stride(0), x.stride(1), factor, BLOCK=128)
    return y
    """
    accepted(judge(reference, write.candidate(kernel, forward, args="x, mask, n, flag, factor")))
    ignores = forward.replace("x.stride(0), x.stride(1)", "x.shape[1], 1")
    assert judge(reference, write.candidate(kernel, ignores, args="x, mask, n, flag, factor")).reason == "wrong_values"


@pytest.mark.parametrize(
    "top, name",
    [
        ("from triton.language.extra import libdevice\n", "libdevice.tanh"),
        ("", "tl.extra.cuda.libdevice.tanh"),
        ("from triton.language.extra.libdevice import tanh\n", "tanh"),
    ],
)
def test_device_math_functions(judge, write, top, name):
    accepted(judge(write.module("return torch.tanh(x)"), write.pointwise(f"y = {name}(x)", top=top)))


def test_tiled_matmul_with_weights(judge, write):
    kernel = """
    @triton.jit
    def kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, T: tl.constexpr):
        r = tl.program_id(0) * T + tl.arange(0, T)
        c = tl.program_id(1) * T + tl.arange(0, T)
        acc = tl.zeros((T, T), dtype=tl.float32)
        for k in range(0, K, T):
            j = k + tl.arange(0, T)
            x = tl.load(x_ptr + r[:, None] * K + j[None, :], mask=(r[:, None] < M) & (j[None, :] < K), other=0.0)
            w = tl.load(w_ptr + c[None, :] * K + j[:, None], mask=(c[None, :] < N) & (j[:, None] < K), other=0.0)
            acc += tl.dot(x, w, input_precision="ieee")
        acc += tl.load(b_ptr + c, mask=c < N, other=0.0)[None, :]
        tl.store(y_ptr + r[:, None] * N + c[None, :], acc, mask=(r[:, None] < M) & (c[None, :] < N))
    """
    forward = """
    M, K = x.shape
    y = torch.empty(M, 24, device=x.device)
    kernel[(triton.cdiv(M, 16), 2)](x, self.linear.weight, self.linear.bias, y, M, 24, K, T=16)
    return y
    """
    reference = write.module("return self.linear(x)", "torch.randn(20, 40)", init="self.linear = nn.Linear(40, 24)")
    accepted(judge(reference, write.candidate(kernel, forward, init="self.linear = nn.Linear(40, 24)")))


def test_policy_kernelbench_lets_torch_compute_and_counts_it(verifier, write):
    source = write.pointwise("y = x * x + x", write.LAUNCH.replace("return y", "return torch.softmax(y, dim=-1)"))
    reference = write.module("return torch.softmax(x * x + x, dim=-1)")
    strict, free = verifier.verify([Task(reference, source), Task(reference, source, policy="kernelbench")])
    assert strict.judgement.reason == "torch_operator" and "softmax" in strict.judgement.detail
    accepted(free.judgement)
    assert free.measurement.launches == 2 and free.measurement.bytes_moved == 4 * 480 * 4


def test_constructor_arguments_and_other_sizes_by_case(judge, write):
    reference = write.module(
        "return x * self.factor",
        "torch.randn(int(torch.randint(3, 9, ())), 10)",
        init="self.factor = factor",
        takes=", factor",
        values="2.5",
    )
    source = write.candidate(
        write.POINTWISE.replace("n, BLOCK", "n, factor, BLOCK").format(body="y = x * factor"),
        "y = torch.empty_like(x)\nkernel[(1,)](x, y, x.numel(), self.factor, BLOCK=128)\nreturn y",
        init="self.factor = factor",
        takes=", factor, spare=3",
    )
    accepted(judge(reference, source))
    fixed = source.replace("x.numel(), self", "30, self")
    assert judge(reference, fixed).reason in ("wrong_values", "non_finite")


def test_indexing_moving_and_asking_the_device(judge, write):
    kernel = """
    @triton.jit
    def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)
    """
    forward = """
    assert x.is_cuda and torch.cuda.is_available()
    x = x.to("cuda").t().contiguous()[1:, ..., 2]
    y = torch.empty(x.shape, device=x.device)
    y[0] = 3.0
    parts = x.contiguous()
    with torch.cuda.device(x.device):
        units = torch.cuda.get_device_properties(x.device).multi_processor_count
        kernel[(min(1, units),)](parts, y, parts.numel(), BLOCK=32)
    return y.view(-1, 1)[:, 0]
    """
    accepted(judge(write.module("return x[2, 1:] * 2", "torch.randn(12, 20)"), write.candidate(kernel, forward)))
