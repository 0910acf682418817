"""The tiny model's tokenizer: a byte-level BPE whose merges may span a whole line but never a line break.

Boilerplate lines become one token each, so a module of twenty lines is about thirty tokens and an answer about sixty;
split at words they would be four times that. Load it by `load_tokenizer` only: `AutoTokenizer` beside a Qwen2 config
silently swaps the pre-tokenizer, which turns every prompt into other ids.
"""

from pathlib import Path

END = "<|endoftext|>"
PAD = "<|pad|>"


def train_tokenizer(texts: list[str], vocabulary: int):
    """A PreTrainedTokenizerFast of at most `vocabulary` tokens. A BPE may stop below it; `len(tokenizer)` tells."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[^\n]*\n"), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=[END, PAD], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    core.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END, pad_token=PAD, padding_side="left",
                                   clean_up_tokenization_spaces=False)


def load_tokenizer(folder: str | Path, compact: bool):
    """The tokenizer of a checkpoint folder; `compact` marks ours. Padding on the left, as sampling needs."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if compact:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
    else:
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
