import pytest
from module_sources import module

from kernelzero.modules import extract_module

GOOD = module("return torch.relu(x)")
OTHER = module("return torch.sin(x)")


def fence(text, language="python", close="```\n"):
    return f"```{language}\n{text}{close}"


@pytest.mark.parametrize(
    "completion",
    [
        GOOD,
        "\n" + GOOD,
        fence(GOOD),
        fence(GOOD, ""),
        fence(GOOD, "py"),
        "Here is the module.\n\n" + fence(GOOD) + "\nIt uses torch.relu.\n",
        fence(OTHER) + "That is a draft. The final one:\n" + fence(GOOD),
        fence(GOOD) + "Use it so:\n" + fence("model = Model(*get_init_inputs())\nprint(model(*get_inputs()))\n"),
        fence(GOOD) + "The kernel could be:\n" + fence("class ModelNew:\n    pass\n"),
        "<think>\n" + fence(OTHER) + "hmm\n</think>\n" + fence(GOOD),
        "<think>\n" + OTHER + "\n</think>\n" + GOOD,
        fence(GOOD, close=""),
        fence(GOOD.replace("\n", "\r\n")),
    ],
    ids=range(13),
)
def test_the_module_is_found(completion):
    assert extract_module(completion) == GOOD


@pytest.mark.parametrize(
    "completion",
    ["", "I cannot do that.", fence("import torch\n"), fence("class ModelNew:\n    pass\n"), "<think>" + GOOD, "\0"],
)
def test_there_is_no_module(completion):
    assert extract_module(completion) is None


def test_the_whole_module_wins_over_a_later_sketch():
    assert extract_module(fence(GOOD) + fence("class Model:\n    ...\n")) == GOOD


def test_a_cut_off_tail_is_dropped_when_the_contract_stands():
    assert extract_module(fence(GOOD + "\n\ndef test_it(", close="")) == GOOD
    assert extract_module(GOOD + "\n\nif __name__ == '__main_") == GOOD


def test_a_cut_off_module_is_given_as_it_is():
    cut = GOOD[: GOOD.index("def get_init_inputs")] + "def get_in"
    text = extract_module(fence(cut, close=""))
    assert "class Model" in text
    assert cut.startswith(text.rstrip())
    half = GOOD[: GOOD.index("return torch.relu")] + "return torch.re"
    assert "class Model" in extract_module(half)


def test_a_broken_module_is_still_a_proposal():
    broken = GOOD.replace("def forward(self, x):", "def forward(self, x:")
    assert "class Model" in extract_module(fence(broken))
