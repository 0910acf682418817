"""Checkpoints as folders: written whole or not at all, known by a digest, loaded with a clear sentence when they cannot be.

`kernelzero_model.json` in a folder names the prompt style and marks the folder as complete; it is written last.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path

from kernelzero.errors import UserError

MARK = "kernelzero_model.json"
PROBE = "import torch\nclass ModelNew(nn.Module):\n    x = x + 1\n"  # its token ids must be the same after a reload


def digest_folder(folder: str | Path) -> str:
    """sha256 over the names and bytes of the weights and the tokenizer of a checkpoint."""
    total = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        if path.suffix == ".safetensors" or path.name == "tokenizer.json":
            total.update(path.name.encode())
            with path.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def save(model, tokenizer, folder: str | Path, style: str) -> str:
    """Write model and tokenizer into `folder` by a rename of a finished sibling; returns the digest."""
    folder = Path(folder)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    digest = digest_folder(partial)
    (partial / MARK).write_text(json.dumps({"style": style, "digest": digest, "probe": tokenizer(PROBE)["input_ids"]}))
    _sync(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return digest


def _sync(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def saved_digest(folder: str | Path) -> str | None:
    """The digest of a complete checkpoint of ours, None for anything else."""
    return _mark(folder).get("digest")


def _mark(folder: str | Path) -> dict:
    path = Path(folder) / MARK
    return json.loads(path.read_text()) if path.is_file() else {}


def load(folder: str | Path, style: str | None = None, dtype: str = "float32", device: str = "cpu"):
    """(model, tokenizer) of a checkpoint folder, or of a Hub id where one can be reached.

    UserError: the folder is missing, holds no model, or its weights differ from the digest that was written with them.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from kernelzero.models.tokenizer import load_tokenizer

    path = Path(folder)
    looks_local = path.is_absolute() or str(folder).startswith(".") or path.exists()
    if looks_local:
        check(path)
    mark = _mark(path)
    style = style or mark.get("style", "chat")
    try:
        model = AutoModelForCausalLM.from_pretrained(str(folder), dtype=getattr(torch, dtype)).to(device)
        tokenizer = load_tokenizer(folder, compact=style == "compact")
    except Exception as error:  # transformers, safetensors and the Hub client raise a dozen kinds
        reason = " ".join(str(error).split())[:200]
        if looks_local:
            raise UserError(f"the model in {folder} cannot be loaded, it looks damaged: {reason}") from error
        raise UserError(f"no model folder {folder} here, and it cannot be fetched from the Hub ({reason}); give a folder") from error
    if "probe" in mark and tokenizer(PROBE)["input_ids"] != mark["probe"]:
        raise UserError(f"the tokenizer in {folder} does not give the token ids that it gave when it was saved; the installed "
                        "transformers reads it otherwise: use the versions in requirements.lock")
    if model.get_input_embeddings().num_embeddings < len(tokenizer):
        raise UserError(f"the model in {folder} has {model.get_input_embeddings().num_embeddings} embeddings for "
                        f"{len(tokenizer)} tokens; model and tokenizer do not belong together")
    return model, tokenizer


def check(path: Path) -> None:
    """UserError unless the folder holds a model, and, for one of ours, the very bytes that were saved."""
    if not path.is_dir():
        raise UserError(f"model folder {path} does not exist; give a folder that holds config.json and weights")
    if not (path / "config.json").is_file():
        raise UserError(f"{path} holds no config.json, so it is not a model; give the folder of a checkpoint")
    known = saved_digest(path)
    if known is not None and digest_folder(path) != known:
        raise UserError(f"the checkpoint in {path} is damaged: its files differ from the digest saved with them; "
                        "delete the folder and run again, the run continues from the last good one")
