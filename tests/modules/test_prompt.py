import subprocess
import sys

import pytest

from kernelzero.apis import VOCABULARY, api_set
from kernelzero.errors import UserError
from kernelzero.modules import check_source, extract_module, proposer_prompt
from kernelzero.modules.prompt import _EXAMPLE, _EXAMPLE_APIS


def test_compact_is_one_line():
    assert proposer_prompt(("torch.softmax", "torch.relu"), "compact") == "# apis: torch.relu, torch.softmax\n"


def test_chat_names_the_apis_with_their_rules_and_shows_an_example():
    system, user = proposer_prompt(["nn.LayerNorm", "torch.clip"], "chat")
    assert (system["role"], user["role"]) == ("system", "user")
    for words in (
        "APIs: nn.LayerNorm, torch.clamp",
        VOCABULARY["nn.LayerNorm"].arguments,
        VOCABULARY["torch.clamp"].shapes,
        _EXAMPLE,
    ):
        assert words in user["content"]


def test_the_worked_example_keeps_its_own_rules():
    assert check_source(_EXAMPLE) is None
    assert api_set(_EXAMPLE) == _EXAMPLE_APIS
    assert extract_module(f"```python\n{_EXAMPLE}```") == _EXAMPLE


def test_every_api_fits_a_prompt():
    for name in VOCABULARY:
        assert len(proposer_prompt([name], "chat")[1]["content"]) < 2500


@pytest.mark.parametrize(
    "apis, style, words",
    [
        ([], "compact", "empty"),
        (["torch.rleu"], "chat", "torch.relu"),
        (["torch.relu"], "verse", "unknown prompt style 'verse'"),
    ],
)
def test_bad_input(apis, style, words):
    with pytest.raises(UserError, match=words):
        proposer_prompt(apis, style)


def test_importing_the_folder_loads_no_torch():
    code = "import sys, kernelzero.apis, kernelzero.modules; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
