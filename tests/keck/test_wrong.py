"""Wrong candidates: each gets its own reason, and the stage that it reached."""


from kernelzero.keck import Task

LINEAR = "self.linear = nn.Linear(16, 4)"


def cases(write):
    """name -> (reference, candidate, stage, reason)."""
    p, m, c, square = write.pointwise, write.module, write.candidate, write.SQUARE
    kernel = write.POINTWISE.format(body="y = x * x + x")
    small = m("return x * 1e-6", "0.1 * torch.rand(12, 40)")
    linear = m("return x * self.linear.weight[0]", "torch.randn(5, 16)", init=LINEAR)
    launch = write.LAUNCH.strip()
    return {
        "zeros of a small output": (small, p("y = x - x"), "ran", "wrong_values"),
        "slightly off": (square, p("y = x * x + x * 1.0005"), "ran", "wrong_values"),
        "half precision inside": (
            square,
            p("h = x.to(tl.float16)\n    y = (h * h + h).to(tl.float32)"),
            "ran",
            "wrong_values",
        ),
        "ignores its input": (square, p("y = tl.full((BLOCK,), 0.7, tl.float32)"), "ran", "wrong_values"),
        "right at scale one only": (
            m("return F.relu6(x)"),
            p("y = tl.minimum(tl.maximum(x, 0.0), 3.5)"),
            "ran",
            "wrong_values",
        ),
        "NaN everywhere": (square, p("y = x * float('nan')"), "ran", "non_finite"),
        "leaves half of it unwritten": (
            square,
            p(forward=launch.replace("triton.cdiv(x.numel(), 128)", "2")),
            "ran",
            "non_finite",
        ),
        "another shape": (square, p(forward=launch.replace("return y", "return y.view(40, 12)")), "ran", "shape"),
        "another dtype": (square, p(forward=launch.replace("return y", "return y.double()")), "ran", "dtype"),
        "a tuple": (square, p(forward=launch.replace("return y", "return (y,)")), "ran", "structure"),
        "changes its input": (
            square,
            p(forward=launch.replace("empty_like(x)", "empty_like(x)\nx.fill_(1.0)")),
            "ran",
            "input_modified",
        ),
        "writes into its input": (
            square,
            p(forward=launch.replace("kernel[(", "y = x\nkernel[(")),
            "ran",
            "input_modified",
        ),
        "returns no kernel's work": (
            m("return torch.zeros_like(x), x * x + x"),
            p(forward=launch.replace("return y", "return torch.zeros_like(x), y")),
            "ran",
            "no_kernel_work",
        ),
        "reads out of bounds": (
            square,
            p().replace("mask=mask, other", "mask=i < n + 1, other"),
            "parameters",
            "out_of_bounds",
        ),
        "writes far away": (
            square,
            p().replace("y_ptr + i, y", "y_ptr + (i.to(tl.int64) << 32), y"),
            "parameters",
            "out_of_bounds",
        ),
        "unknown function": (square, p("y = tl.tanhh(x)"), "built", "kernel_language"),
        "types that do not fit": (square, p("y = x @ 3"), "built", "compile_error"),
        "a block that is no power of two": (
            square,
            p("z = tl.arange(0, 100)\n    y = x * x + x"),
            "built",
            "compile_error",
        ),
        "python in a branch": (
            square,
            p("if n < 0:\n        y = ().__class__\n    y = x * x + x"),
            "built",
            "kernel_language",
        ),
        "an import in a kernel": (square, p("import os\n    y = x * x + x"), "built", "kernel_language"),
        "torch computes": (
            square,
            c(kernel, "y = torch.empty_like(x)\nkernel[(1,)](x, y, 8, BLOCK=8)\nreturn x * x + x"),
            "recorded",
            "torch_operator",
        ),
        "falls back in an except": (
            square,
            c(kernel, "try:\n    kernel[(1,)](x)\nexcept Exception:\n    return x * x + x"),
            "recorded",
            "torch_operator",
        ),
        "launches nothing": (square, c(kernel, "return torch.empty_like(x)"), "built", "no_launch"),
        "asks for a value": (
            square,
            c(kernel, "if x.sum().item() > 0:\n    return x\n" + launch),
            "built",
            "needs_values",
        ),
        "asks for values": (square, c(kernel, "seen = tuple(x[0].tolist())\n" + launch), "built", "needs_values"),
        "branches on a tensor": (
            square,
            c(kernel, "if x[0, 0] > 0:\n    return x\n" + launch),
            "built",
            "needs_values",
        ),
        "output in host memory": (
            square,
            p(forward=launch.replace("empty_like(x)", "empty(x.shape)")),
            "built",
            "cpu_tensor",
        ),
        "a misspelt launch argument": (
            square,
            p(forward=launch.replace("BLOCK=128", "BLOK=128")),
            "built",
            "launch_error",
        ),
        "a grid of floats": (
            square,
            p(forward=launch.replace("triton.cdiv(x.numel(), 128)", "x.numel() / 128")),
            "built",
            "launch_error",
        ),
        "no parse": (square, "def f(:\n", "screened", "syntax_error"),
        "an import of nothing": (square, "import no_such_package\n" + p(), "screened", "import_error"),
        "no ModelNew": (square, p().replace("ModelNew", "Model"), "screened", "no_model_new"),
        "inherits from the reference": (
            square,
            p().replace("ModelNew(nn.Module)", "ModelNew(Model)"),
            "screened",
            "undefined_name",
        ),
        "right in the end only": (square, p("y = tl.where(i < 300, 0.0, x * x + x)"), "ran", "wrong_values"),
        "fails at the top": (square, p() + "\n1 / 0\n", "screened", "load_error"),
        "wants arguments": (square, p(takes=", block"), "built", "constructor_arguments"),
        "constructor fails": (square, p(init="raise ValueError('no')"), "built", "constructor_error"),
        "forward wants arguments": (square, p(args="x, y"), "built", "forward_arguments"),
        "forward fails": (square, c(kernel, "return x.nothing"), "built", "forward_error"),
        "own names for weights": (linear, p(init="self.w = nn.Parameter(torch.ones(16))"), "recorded", "parameters"),
        "another shape of weights": (linear, p(init="self.linear = nn.Linear(16, 5)"), "recorded", "parameters"),
        "weights packed too early": (
            linear,
            p(
                init=LINEAR + "\nself.register_buffer('early', self.linear.weight.detach().clone())",
                forward="y = torch.empty_like(x)\nkernel[(1,)](self.early, y, 64, BLOCK=64)\nreturn y",
            ),
            "recorded",
            "stale_weights",
        ),
        "a lazy subclass": (
            square,
            p(
                top="""
            class Later(torch.Tensor):
                pass
            """,
                forward=launch.replace("return y", "return y.as_subclass(Later)"),
            ),
            "built",
            "output_type",
        ),
        "a lazy promise": (
            square,
            p(
                top="""
            class Later(torch.Tensor):
                pass
            """,
                forward=launch.replace("return y", "return torch.Tensor._make_subclass(Later, y)"),
            ),
            "built",
            "output_type",
        ),
    }


def test_each_gets_its_reason(verifier, write):
    todo = cases(write)
    verdicts = verifier.verify([Task(reference, source) for reference, source, _, _ in todo.values()])
    wrong = []
    for name, (_, _, stage, reason), verdict in zip(todo, todo.values(), verdicts, strict=True):
        judgement = verdict.judgement
        got = (judgement.stage.value, judgement.reason) if judgement else (None, verdict.not_judged)
        if got[0] != stage or (reason is not None and got[1] != reason):
            wrong.append((name, got, judgement and judgement.detail))
    assert not wrong
    assert not any(v.correct or v.measurement for v in verdicts)


def test_the_sentences_help(judge, write):
    own = judge(
        write.module("return x * self.linear.weight[0]", "torch.randn(5, 16)", init=LINEAR),
        write.pointwise(init="self.w = nn.Parameter(torch.ones(16))"),
    )
    assert "lacks linear.weight, linear.bias" in own.detail and "has its own w" in own.detail
    assert "class Model" in judge(write.SQUARE, write.pointwise().replace("ModelNew", "Model")).detail
    off = judge(write.SQUARE, write.pointwise("y = x * x + x * 1.0005"))
    assert "seed 0" in off.detail and off.max_error > 1 and "float64" in off.tolerance


def test_right_on_some_cases_is_flaky(judge, write):
    judgement = judge(
        write.module("return F.relu6(x)"), write.pointwise("y = tl.minimum(tl.maximum(x, 0.0), 4.9)"), scales=(0.5, 3.0)
    )
    assert judgement.reason == "wrong_values" and judgement.flaky


def test_not_judged(verifier, write):
    tasks = [
        Task(write.module("return x * 0 + 2"), write.pointwise()),
        Task(write.module("return x.bfloat16()"), write.pointwise()),
        Task(write.module("return x / missing"), write.pointwise()),
        Task(write.SQUARE, "", backend="cuda"),
        Task(write.module("return x + 1"), write.pointwise("y = (x.to(tl.bfloat16) + 1).to(tl.float32)")),
        Task(write.module("return torch.relu(-torch.abs(x))"), write.pointwise()),
    ]
    verdicts = verifier.verify(tasks)
    assert [v.judgement for v in verdicts] == [None] * 6 and not any(v.retry for v in verdicts)
    for verdict, word in zip(
        verdicts,
        ("a constant would pass", "bfloat16", "the reference fails", "CUDA", "limit of the device", "(zeros)"),
        strict=True,
    ):
        assert word in verdict.not_judged
