"""Profiles, overrides, and the sentence for each wrong one."""

import subprocess
import sys

import pytest

from kernelzero import config
from kernelzero.errors import UserError


def test_the_profiles_are_valid_and_described():
    known = config.profiles()
    assert {"smoke", "tiny"} <= known.keys() and all(known.values())
    for name in known:
        assert config.load(name).profile == name


def test_overrides_reach_the_setting_with_its_type():
    loaded = config.load("smoke", ["coder.steps=2", "evaluate.suites=[\"mini\"]", "seed=7", "coder.reward=mixed"])
    assert (loaded.coder.steps, loaded.evaluate.suites, loaded.seed, loaded.coder.reward) == (2, ("mini",), 7, "mixed")


@pytest.mark.parametrize("profile, overrides, sentence", [
    ("tny", [], "unknown profile 'tny'; the profiles are: .*did you mean 'tiny'"),
    ("nothere.toml", [], "nothere.toml does not exist"),
    ("tiny", ["coder.stepz=2"], "unknown setting 'coder.stepz'; did you mean 'coder.steps'"),
    ("tiny", ["coder.steps"], "section.key=value"),
    ("tiny", ["coder.steps=many"], "setting coder.steps: .*given: 'many'"),
    ("tiny", ["coder.tau=1.5"], "setting coder.tau"),
    ("tiny", ["coder.group=1"], "setting coder.group"),
    ("tiny", ["apis.sizes=[3,1]"], "apis.sizes"),
    ("tiny", ["coder.micro_batch=60"], "does not divide .* 128; 32 would"),
    ("tiny", ["evaluate.suites=[\"kernelbench:1\"]"], "evaluate.kernelbench is empty"),
])
def test_wrong_settings_are_one_sentence(profile, overrides, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        config.load(profile, overrides)
    assert "\n" not in str(caught.value)


def test_a_profile_that_is_no_toml(tmp_path):
    (tmp_path / "mine.toml").write_text("rounds = = 2")
    with pytest.raises(UserError, match="not valid TOML"):
        config.load(str(tmp_path / "mine.toml"))


def test_every_setting_is_listed():
    assert {"rounds", "coder.tau", "proposer.kernels", "warm_start.mistakes"} <= set(config.known_settings())


def test_importing_the_library_loads_no_model_code():
    code = "import sys, kernelzero, kernelzero.config, kernelzero.cli; print({'torch', 'transformers', 'prefect', 'mlflow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"
