"""What the Coder is asked: a module in, one source with ModelNew out, in one of two styles.

'compact' is for models that were trained from nothing on exactly these lines; 'chat' is for instruct models, with one
worked example. Which of them a model gets is a setting of the run. How the answer is read back: `answers.py`.
"""

from kernelzero.errors import UserError
from kernelzero.kernels.backends import EXAMPLE_MODULE, Backend, backend_named

STYLES = ("compact", "chat")

_SYSTEM = "You write fast and correct GPU kernels for PyTorch modules."

_TASK = """Replace the PyTorch module below with one that computes the same with your own {title} kernels and is fast.

Rules:
- Call the class `ModelNew`. It takes the same constructor arguments as `Model` and the same inputs in `forward`, and
  returns an output of the same structure, shape and dtype.
- If `Model` has parameters or buffers, `ModelNew` has the same ones under the same names and initialises them likewise.
- {how} PyTorch itself is for allocating and viewing tensors.
- Do not print, do not test, do not fall back to PyTorch.
- Answer with one block of code, from the imports to the end of `ModelNew`, and nothing after it.

An example. For this module:

```python
{example_module}```

an answer is:

```{fence}
{example_answer}```

Now the module to replace:

```python
{module}```
"""


def coder_prompt(module_source: str, backend: str = "triton", style: str = "compact") -> str | list[dict[str, str]]:
    """The prompt for one module: a string for 'compact', chat messages for 'chat'. Raises UserError for another style
    or backend."""
    target = backend_named(backend)
    if style == "compact":
        return f"# backend: {target.name}\n{_ends_line(module_source)}# kernel\n"
    if style == "chat":
        return [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": _chat_text(module_source, target)},
        ]
    raise UserError(f"unknown prompt style {style!r}: it must be one of {', '.join(STYLES)}")


def _chat_text(module_source: str, target: Backend) -> str:
    # by replacement and not by format: a module's source is full of braces
    text = _TASK.replace("{title}", target.title).replace("{how}", target.how).replace("{fence}", target.fence)
    text = text.replace("{example_module}", EXAMPLE_MODULE).replace("{example_answer}", target.example)
    return text.replace("{module}", _ends_line(module_source))


def _ends_line(source: str) -> str:
    return source if source.endswith("\n") else source + "\n"
