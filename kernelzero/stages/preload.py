"""What the fork server imports once, so that a stage's process starts in milliseconds instead of seconds."""

import datasets  # noqa: F401
import torch
import transformers
import trl.trainer.grpo_trainer  # noqa: F401
import trl.trainer.sft_trainer  # noqa: F401

transformers.utils.logging.set_verbosity_error()
datasets.disable_progress_bars()
torch.set_num_threads(1)  # no thread pool before the fork; each stage sets its own number
