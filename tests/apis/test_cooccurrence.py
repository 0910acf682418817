import json

import numpy as np
import pytest

from kernelzero.apis import CoOccurrence
from kernelzero.errors import UserError

SETS = [("torch.relu", "torch.softmax")] * 6 + [("nn.Linear", "torch.relu")] * 3 + [("torch.exp",)]
SOURCE = (
    "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n"
    "        return torch.relu(x).sum()\n"
)


def test_counts():
    made = CoOccurrence.from_sets(SETS)
    assert made.single == {"torch.relu": 9, "torch.softmax": 6, "nn.Linear": 3, "torch.exp": 1}
    assert made.pair("torch.softmax", "torch.relu") == 6
    assert made.pair("nn.Linear", "torch.softmax") == 0
    assert made.size_distribution() == {1: 0.1, 2: 0.9}


def test_sources_and_updates():
    made = CoOccurrence.from_sources([SOURCE, "x = 1\n"])
    assert made.apis == ("torch.relu", "torch.sum")
    assert made.update([SOURCE], weight=0.5).pair("torch.relu", "torch.sum") == 1.5
    assert made.sizes == {2: 1.5}


def test_conditional_by_hand():
    """alpha 0.1, V 4: given relu (9), softmax has (6 + 0.1) and Linear (3 + 0.1), exp 0.1; they sum to 9.3."""
    given = CoOccurrence.from_sets(SETS).conditional(("torch.relu",))
    assert given == pytest.approx({"nn.Linear": 3.1 / 9.3, "torch.exp": 0.1 / 9.3, "torch.softmax": 6.1 / 9.3})


def test_samples_follow_the_corpus():
    made, rng = CoOccurrence.from_sets(SETS), np.random.default_rng(0)
    drawn = [made.sample(rng) for _ in range(2000)]
    share = sum(s == ("torch.relu", "torch.softmax") for s in drawn) / len(drawn)
    # 0.9 x (P(relu first) 9.1/19.4 x 6.1/9.3 + P(softmax first) 6.1/19.4 x 6.1/6.3)
    assert share == pytest.approx(0.9 * (9.1 / 19.4 * 6.1 / 9.3 + 6.1 / 19.4 * 6.1 / 6.3), abs=0.035)
    assert any(s == ("nn.Linear", "torch.softmax") for s in drawn), "smoothing keeps unseen pairs possible"


def test_one_seed_one_sequence_whatever_the_order_of_the_corpus():
    made, other = CoOccurrence.from_sets(SETS), CoOccurrence.from_sets(SETS[::-1])
    one, two = np.random.default_rng(7), np.random.default_rng(7)
    first = [made.sample(one) for _ in range(50)]
    assert first == [other.sample(two) for _ in range(50)]
    assert first != [made.sample(np.random.default_rng(8)) for _ in range(50)]


def test_json_round_trip():
    made = CoOccurrence.from_sets(SETS, alpha=0.3, support=["torch.sin"])
    text = json.dumps(made.to_dict())
    again = CoOccurrence.from_dict(json.loads(text))
    assert json.dumps(again.to_dict()) == text
    assert again.sample(np.random.default_rng(1)) == made.sample(np.random.default_rng(1))


def test_support_reaches_apis_never_seen():
    made, rng = CoOccurrence.from_sets(SETS, alpha=1.0, support=["torch.sin"]), np.random.default_rng(0)
    assert any("torch.sin" in made.sample(rng) for _ in range(300))


def test_sizes_bound_the_draw():
    made, rng = CoOccurrence.from_sets([*SETS, ("nn.Linear", "torch.exp", "torch.relu")]), np.random.default_rng(0)
    assert {len(made.sample(rng, sizes=(2, 3))) for _ in range(200)} == {2, 3}
    assert len(made.sample(rng, size=4)) == 4


@pytest.mark.parametrize(
    "act, words",
    [
        (lambda: CoOccurrence().sample(np.random.default_rng(0)), "empty"),
        (lambda: CoOccurrence(alpha=0), "alpha"),
        (lambda: CoOccurrence.from_sets(SETS).sample(np.random.default_rng(0), size=9), "9"),
        (lambda: CoOccurrence.from_sets(SETS).sample(np.random.default_rng(0), sizes=(8, 9)), "8 to 4"),
        (lambda: CoOccurrence.from_sets([("torch.rleu",)]), "torch.relu"),
        (lambda: CoOccurrence.from_dict({"alpha": 1}), "estimate it again"),
        (lambda: CoOccurrence.from_dict([]), "estimate it again"),
    ],
)
def test_bad_input_is_one_sentence(act, words):
    with pytest.raises(UserError, match=words):
        act()
