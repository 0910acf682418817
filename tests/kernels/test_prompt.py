"""The Coder's prompts, word for word where a model was trained on the words."""

import ast

import pytest

from kernelzero.errors import UserError
from kernelzero.kernels import code_blocks, coder_prompt, extract_answer
from kernelzero.kernels.backends import BACKENDS, EXAMPLE_MODULE

MODULE = 'import torch\n\n\nclass Model(torch.nn.Module):\n    NAMES = {"module": "{how}"}\n'


def test_compact_is_exactly_this():
    assert coder_prompt(MODULE, "triton", "compact") == f"# backend: triton\n{MODULE}# kernel\n"
    assert coder_prompt(MODULE.rstrip("\n"), "cuda", "compact") == f"# backend: cuda\n{MODULE}# kernel\n"


@pytest.mark.parametrize("name", ["triton", "cuda"])
def test_chat_holds_the_example_its_answer_and_the_module_untouched(name):
    system, user = coder_prompt(MODULE, name, "chat")
    assert (system["role"], user["role"]) == ("system", "user")
    blocks = [block.text for block in code_blocks(user["content"])]
    assert blocks == [EXAMPLE_MODULE, BACKENDS[name].example, MODULE]
    assert BACKENDS[name].title in user["content"] and BACKENDS[name].how in user["content"]


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=str)
def test_an_example_is_read_back_as_an_answer(backend):
    ast.parse(backend.example)
    found = extract_answer(f"```{backend.fence}\n{backend.example}```\n", backend.name)
    assert (found.source, found.reason, found.repaired) == (backend.example, "", ())


def test_unknown_styles_and_backends_are_the_users_error():
    with pytest.raises(UserError, match="unknown prompt style 'essay'.*compact, chat"):
        coder_prompt(MODULE, "triton", "essay")
    with pytest.raises(UserError, match="unknown backend 'metal'.*cuda, triton"):
        coder_prompt(MODULE, "metal")
