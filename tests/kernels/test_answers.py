"""What is taken for the answer in completions of every shape that models produce."""

import ast
import time
from textwrap import indent

import pytest

from kernelzero.kernels.answers import code_blocks, extract_answer
from kernelzero.source import digest

IMPORTS = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"
KERNEL = """

@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)
"""
MODULE = """

class ModelNew(nn.Module):
    MARK = "last"

    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out
"""
GOOD = IMPORTS + KERNEL + MODULE
DRAFT = GOOD.replace('"last"', '"draft"')


def fenced(code: str, tag: str = "python") -> str:
    return f"```{tag}\n{code}```\n"


def answer(completion: str, finish: str = "stop", backend: str = "triton"):
    return extract_answer(completion, backend, finish)


def is_good(found) -> bool:
    return found.reason == "" and found.source is not None and digest(found.source) == digest(GOOD)


@pytest.mark.parametrize(
    "completion",
    [
        GOOD,
        GOOD.rstrip("\n"),
        fenced(GOOD),
        fenced(GOOD, "py"),
        fenced(GOOD, "Python"),
        fenced(GOOD, ""),
        fenced(GOOD, "cpp"),  # a wrong word on the fence does not change what the block is
        fenced(GOOD, "python title=model.py"),
        "```python " + GOOD + "```",
        "```" + GOOD + "```",
        "~~~python\n" + GOOD + "~~~\n",
        "````python\n" + GOOD + "````\n",
        "Sure! Here it is: ```python\n" + GOOD + "```\nDone.",
        "```python\n" + GOOD.rstrip("\n") + "```",
        "1. The module:\n\n   ```python\n" + indent(GOOD, "   ") + "   ```\n",
        "```markdown\nMy answer.\n" + fenced(GOOD) + "```\n",
        fenced(GOOD) + "<|im_end|>\nuser\nThanks",
        "<answer>\n" + GOOD + "</answer>\n",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_the_same_answer_in_many_wrappings(completion):
    assert is_good(answer(completion))


def test_lost_and_half_fences():
    assert is_good(answer("Here.\n\n```python\n" + GOOD))
    assert is_good(answer("```python\n" + GOOD + "``"))
    assert is_good(answer("```python\n" + GOOD.rstrip("\n") + "`"))
    assert is_good(answer(GOOD + "```"))
    assert is_good(answer(GOOD + "```\n\nIt reads x once.\n"))
    assert is_good(answer("```python\n" + GOOD + "\nI hope that this helps you, it is quite fast.\n"))
    assert is_good(answer("```python\nx = 1\n" + fenced(GOOD)))  # the first fence was never closed


def test_bare_code_among_prose_keeps_its_first_word_and_loses_the_prose():
    found = answer("Here is the module that you asked for.\n\n" + GOOD + "\nHope this helps! It is one launch.\n")
    assert is_good(found)
    assert found.source.startswith("import torch\n")


def test_a_remark_about_code_after_bare_code_is_no_code():
    assert is_good(answer(GOOD + "\nHere tl.load(x_ptr) is masked.\n"))
    assert is_good(answer(GOOD + "\n**Note:** `double` is launched once.\n- one load\n- one store\n"))


def test_reasoning_is_dropped_whatever_it_contains():
    bare = "class ModelNew(nn.Module):\n    def forward(self, x): return x\n"
    inside = f"A draft:\n{fenced(DRAFT)}\n{bare}Also ```cuda is out``` and\n```python\n"
    for opening, closing in (
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<Reasoning>", "</Reasoning>"),
        ("[THINK]", "[/THINK]"),
        ("", "</think>"),  # the prompt had opened it
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ):
        assert is_good(answer(f"{opening}\n{inside}\n{closing}\n\n{fenced(GOOD)}")), opening
        assert is_good(answer(f"{opening}\n{inside}\n{closing}\n\n{GOOD}")), opening


def test_reasoning_that_never_ends_holds_no_answer():
    completion = f"<think>\nPerhaps\n{fenced(DRAFT)}"
    assert answer(completion).reason == "no_answer" and answer(completion).source is None
    assert answer(completion, "length").reason == "cut_off"


def test_the_last_block_that_is_an_answer_wins_not_the_last_block():
    usage = fenced("model = ModelNew()\nprint(model(torch.randn(4)))\n")
    reference = fenced(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x\n"
    )
    output = "```text\ntensor([1.])\n```\n"
    versions = "First:\n" + fenced(DRAFT) + "Better:\n" + fenced(GOOD)
    assert is_good(answer(reference + versions + "Usage:\n" + usage + output))
    sketch = fenced("class ModelNew(nn.Module):\n    def forward(self, x):\n        ...\n")
    assert is_good(answer(fenced(GOOD) + "In short:\n" + sketch))
    assert is_good(answer("```bash\npip install triton\n```\n" + fenced(GOOD)))


def test_an_answer_in_parts_is_joined_in_order():
    usage = fenced("print(ModelNew())\n")
    found = answer("The kernel:\n" + fenced(IMPORTS + KERNEL) + "The module:\n" + fenced(MODULE) + usage)
    assert ast.dump(ast.parse(found.source)) == ast.dump(ast.parse(GOOD))
    assert found.repaired == ("joined_blocks",)
    three = answer(fenced(IMPORTS) + "then\n" + fenced(KERNEL) + "then\n" + fenced(MODULE))
    assert ast.dump(ast.parse(three.source)) == ast.dump(ast.parse(GOOD))


def test_nothing_is_joined_that_is_not_needed():
    helper = fenced("import numpy\n\n\ndef unused():\n    return numpy.pi\n")
    assert is_good(answer(helper + fenced(GOOD)))


def test_a_changed_class_takes_its_kernel_from_the_version_before():
    found = answer(fenced(DRAFT) + "Only the class changes:\n" + fenced(MODULE))
    assert found.source.count("class ModelNew") == 2 and found.source.rindex('"last"') > found.source.rindex('"draft"')


def test_fences_inside_a_docstring_are_text():
    code = '"""Doubles.\n\n```\nout = ModelNew()(x)\n```\n"""\n' + GOOD
    assert digest(answer(fenced(code)).source) == digest(code)


@pytest.mark.parametrize("cut", ["retu", "return la", "out = torch.empty_like(", "return x.conti", ""])
def test_cut_off_is_a_reason_of_its_own(cut):
    head = GOOD[: GOOD.index("out = torch")] + cut
    for completion in ("```python\n" + head, head):
        found = answer(completion, "length")
        assert found.reason == "cut_off" and "cut off in line" in found.detail
        assert found.source.startswith("import torch\n")
    assert answer(IMPORTS + KERNEL, "length").reason == "cut_off"
    assert answer("```python\n" + IMPORTS + KERNEL, "length").reason == "cut_off"


def test_a_whole_answer_at_the_limit_is_whole():
    assert is_good(answer(GOOD, "length"))
    assert is_good(answer("```python\n" + GOOD.rstrip("\n"), "length"))
    assert is_good(answer(fenced(GOOD) + "This works since every pro", "length"))


def test_a_broken_answer_is_an_answer_and_not_repaired_by_leaving_lines_out():
    broken = GOOD.replace("        return out\n", "        return out out\n")
    assert digest(answer(broken).source) == digest(broken)
    assert digest(answer(fenced(broken)).source) == digest(broken)
    fragment = GOOD.replace("    i = tl.program_id(0)", "tl.constexpr): i = tl.program_id(0)")
    assert "tl.constexpr): i" in answer(fragment).source


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "   \n",
        "Use `ModelNew` and `tl.load`; remember `import triton`.",
        "```python\n```",
        "I cannot do that.",
        "```bash\npip install torch\n```",
        "```python\nprint(1)\n```",
    ],
)
def test_no_answer(completion):
    found = answer(completion)
    assert (found.source, found.reason) == (None, "no_answer") and found.detail


def test_a_patch_is_not_code_whatever_its_fence_says():
    patch = "--- a/model.py\n+++ b/model.py\n@@ -1,2 +1,2 @@\n class ModelNew(nn.Module):\n-    pass\n+    x = 1\n"
    for tag in ("diff", "patch", "python", ""):
        found = answer(fenced(patch, tag))
        assert (found.source, found.reason) == (None, "no_answer") and "patch" in found.detail
    assert answer(patch).source is None


def test_odd_characters_are_repaired_outside_strings_and_keep_the_identity():
    spaced = "\n".join(line.replace("    ", "\u00a0 \u00a0 ") for line in GOOD.split("\n"))
    tabbed = "\n".join(line.replace("    ", "\t") for line in GOOD.split("\n"))
    for code, name in (
        (GOOD.replace("\n", "\r\n"), "line_ends"),
        ("\ufeff" + GOOD, "byte_order_mark"),
        (spaced, "wide_spaces"),
        (tabbed, "tabs"),
        (GOOD.replace("    def forward", "    \u200bdef forward"), "zero_width"),
        (GOOD.replace('"last"', "\u201clast\u201d"), "curly_quotes"),
    ):
        for completion in (code, fenced(code)):
            found = answer(completion)
            if name == "tabs" and completion == code:  # a file that parses is the answer as it stands
                assert (found.source, found.repaired) == (code, ())
                continue
            assert is_good(found), name
            # a byte-order mark inside a fence is one zero-width character of many
            expected = "zero_width" if name == "byte_order_mark" and completion != code else name
            assert expected in found.repaired
    assert answer(GOOD).repaired == ()


def test_string_literals_keep_their_characters():
    literal = '    NOTE = "wide\u00a0space, \u201cquoted\u201d, a\u2013b, tab\tend"\n'
    literal += '    """doc\u00a0one\n\tindented \u201ctoo\u201d"""\n'
    code = GOOD.replace('    MARK = "last"\n', literal)
    assert digest(answer(fenced(code)).source) == digest(code)


def test_code_blocks_are_the_blocks_in_order():
    native = "**k.cu**\n" + fenced("int x;\n", "cuda")
    blocks = code_blocks("Hi\n" + fenced("a = 1\n") + "and\n" + native + "```python\nb = 2\n")
    assert [(b.language, b.text, b.closed, b.name) for b in blocks] == [
        ("python", "a = 1\n", True, ""),
        ("cuda", "int x;\n", True, "k.cu"),
        ("python", "b = 2\n", False, ""),
    ]
    (bare,) = code_blocks(GOOD)
    assert (bare.language, bare.text) == ("", GOOD)
    assert code_blocks("<think>\n" + fenced(GOOD) + "</think>\nNo.") == []
    assert [b.text for b in code_blocks("A module:\n\n" + GOOD + "\nThat is all there is.\n")] == [GOOD]


def test_bare_code_is_read_at_more_than_a_thousand_a_second():
    start = time.perf_counter()
    for _ in range(200):
        extract_answer(GOOD)
    assert time.perf_counter() - start < 2.0  # 0.1 s on an idle core


@pytest.mark.parametrize(
    "completion",
    [
        "x = 1\n" * 30_000,
        "import torch\n" * 10_000,
        "```\n" * 5_000,
        "```python\n" * 5_000,
        "<think>" * 20_000,
        "</think><think>" * 10_000,
        '"""\n' * 5_001 + "```\n" * 50,
        "import torch\nThis is a line of prose.\n" * 4_000,
        "(" * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_model_that_repeats_itself_does_not_hold_up_the_rest(completion):
    start = time.perf_counter()
    assert answer(completion).source is None
    assert time.perf_counter() - start < 3.0


@pytest.mark.parametrize("inside", [
    'NOTE = """write it as\n```python\nclass ModelNew: ...\n```\nor not"""',
    "# ``` a fence in a comment",
    "if True:\n\tTABS = 1",
    'NAME = "caf\u00e9 \u2013 \u201cquoted\u201d"  # \u03b1\u03b2',
    'DOC = "<think>no reasoning</think>"',
])
def test_a_file_that_parses_and_defines_it_is_the_answer_whole(inside):
    source = "import torch\nimport triton\n\n" + inside + "\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    for text in (source, '"""A docstring."""\n' + source, "x = 1\n" + source):
        answer = extract_answer(text)
        assert (answer.source, answer.reason, answer.repaired) == (text, "", ())
