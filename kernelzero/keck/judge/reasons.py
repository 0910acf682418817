"""The fixed list of reasons why a candidate went no further, and what each means in one phrase.

A table groups failures by these words, so a reason is added here or not at all. Details for people are in
`Judgement.detail`.
"""

from enum import StrEnum


class Reason(StrEnum):
    # the answer itself (used by the extraction and the screen in kernelzero.kernels)
    NO_ANSWER = "no_answer"
    CUT_OFF = "cut_off"
    INCOMPLETE_ANSWER = "incomplete_answer"
    SCREENED_OUT = "screened_out"
    NAMED_MODEL = "named_model"
    MODEL_NOT_DEFINED = "model_not_defined"
    NO_KERNEL = "no_kernel"
    # the source does not load
    SYNTAX_ERROR = "syntax_error"
    IMPORT_ERROR = "import_error"
    UNDEFINED_NAME = "undefined_name"
    LOAD_ERROR = "load_error"
    NO_MODEL_NEW = "no_model_new"
    # it loads, but no launch tape comes of it
    CONSTRUCTOR_ARGUMENTS = "constructor_arguments"
    CONSTRUCTOR_ERROR = "constructor_error"
    FORWARD_ARGUMENTS = "forward_arguments"
    FORWARD_ERROR = "forward_error"
    LAUNCH_ERROR = "launch_error"
    CPU_TENSOR = "cpu_tensor"
    NEEDS_VALUES = "needs_values"
    OUTPUT_TYPE = "output_type"
    STALE_WEIGHTS = "stale_weights"
    UNSUPPORTED = "unsupported"
    BAD_TAPE = "bad_tape"
    # the rules
    TORCH_OPERATOR = "torch_operator"
    NO_LAUNCH = "no_launch"
    NO_KERNEL_WORK = "no_kernel_work"
    PARAMETERS = "parameters"
    KERNEL_LANGUAGE = "kernel_language"
    COMPILE_ERROR = "compile_error"
    # running it
    KERNEL_ERROR = "kernel_error"
    OPERATOR_ERROR = "operator_error"
    OUT_OF_BOUNDS = "out_of_bounds"
    RACE = "race"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    EXITED = "exited"
    OUTPUT_TOO_LARGE = "output_too_large"
    # comparing
    STRUCTURE = "structure"
    SHAPE = "shape"
    DTYPE = "dtype"
    INPUT_MODIFIED = "input_modified"
    NON_FINITE = "non_finite"
    WRONG_VALUES = "wrong_values"


MEANING = {
    Reason.NO_ANSWER: "no source could be taken out of the model's text",
    Reason.CUT_OFF: "the sampler cut the answer off",
    Reason.INCOMPLETE_ANSWER: "the answer points to code that it does not contain",
    Reason.NAMED_MODEL: "its class is called Model; it must be ModelNew, and nothing is renamed",
    Reason.MODEL_NOT_DEFINED: "ModelNew inherits from a Model that the answer does not define",
    Reason.NO_KERNEL: "it defines no kernel of the backend",
    Reason.SCREENED_OUT: "the static screen refused it",
    Reason.SYNTAX_ERROR: "the source does not parse",
    Reason.IMPORT_ERROR: "it imports something that is not there",
    Reason.UNDEFINED_NAME: "it uses a name that it does not define",
    Reason.LOAD_ERROR: "running the source's top level failed",
    Reason.NO_MODEL_NEW: "it defines no class ModelNew(nn.Module)",
    Reason.CONSTRUCTOR_ARGUMENTS: "ModelNew does not take the reference's constructor arguments",
    Reason.CONSTRUCTOR_ERROR: "ModelNew.__init__ failed",
    Reason.FORWARD_ARGUMENTS: "forward does not take the reference's inputs",
    Reason.FORWARD_ERROR: "forward failed while its launches were recorded",
    Reason.LAUNCH_ERROR: "a kernel was launched with arguments or a grid that Triton refuses",
    Reason.CPU_TENSOR: "a kernel was given a tensor in host memory",
    Reason.NEEDS_VALUES: "control flow needs tensor values, which a launch tape does not hold",
    Reason.OUTPUT_TYPE: "an output is no plain tensor",
    Reason.STALE_WEIGHTS: "__init__ computes with weights before they are loaded; compute it in forward",
    Reason.UNSUPPORTED: "it uses something that the tape cannot hold",
    Reason.BAD_TAPE: "what came out of the recording process is no tape",
    Reason.TORCH_OPERATOR: "policy strict: a torch operator other than allocation, view, fill or copy",
    Reason.NO_LAUNCH: "no kernel was launched",
    Reason.NO_KERNEL_WORK: "an output does not depend on anything that a kernel stored",
    Reason.PARAMETERS: "parameters or buffers differ from the reference's in name, shape or dtype",
    Reason.KERNEL_LANGUAGE: "a kernel uses Python that is not Triton's language",
    Reason.COMPILE_ERROR: "Triton's front end refuses a kernel",
    Reason.KERNEL_ERROR: "a kernel failed while it ran",
    Reason.OPERATOR_ERROR: "a recorded torch operator failed while it ran",
    Reason.OUT_OF_BOUNDS: "a kernel touched memory outside the tensors it was given",
    Reason.RACE: "two programs of a launch touch one cell, one of them stores, and nothing orders them",
    Reason.TIMEOUT: "it ran past its time",
    Reason.OUT_OF_MEMORY: "it ran past its memory",
    Reason.CRASHED: "its process was killed by a signal",
    Reason.EXITED: "its process left without a result",
    Reason.OUTPUT_TOO_LARGE: "it sent more data than the limit",
    Reason.STRUCTURE: "the outputs are arranged differently",
    Reason.SHAPE: "an output has another shape",
    Reason.DTYPE: "an output has another dtype",
    Reason.INPUT_MODIFIED: "it changed an input or a weight in place",
    Reason.NON_FINITE: "NaN or infinity in other places than the reference has them",
    Reason.WRONG_VALUES: "the error is past the bound",
}

NEXT = {
    Reason.NO_ANSWER: "put the whole source into one fenced block, with a class ModelNew",
    Reason.CUT_OFF: "raise the limit of output tokens, or ask for a shorter answer",
    Reason.INCOMPLETE_ANSWER: "put the missing source into the answer",
    Reason.NAMED_MODEL: "rename the class to ModelNew",
    Reason.MODEL_NOT_DEFINED: "derive ModelNew from nn.Module",
    Reason.NO_KERNEL: "write the computation as @triton.jit kernels",
    Reason.SCREENED_OUT: "look at the line that the sentence names",
    Reason.SYNTAX_ERROR: "run python -m py_compile on the file",
    Reason.IMPORT_ERROR: "use torch, triton and the standard library only",
    Reason.UNDEFINED_NAME: "define or import the name",
    Reason.LOAD_ERROR: "import the file in Python: its top level raises",
    Reason.NO_MODEL_NEW: "define class ModelNew(nn.Module)",
    Reason.CONSTRUCTOR_ARGUMENTS: "give ModelNew.__init__ the arguments of the reference's Model.__init__",
    Reason.CONSTRUCTOR_ERROR: "build ModelNew(*get_init_inputs()) in Python",
    Reason.FORWARD_ARGUMENTS: "give forward the arguments of the reference's forward",
    Reason.FORWARD_ERROR: "look at the line that the sentence names; shapes and strides are those of get_inputs()",
    Reason.LAUNCH_ERROR: "compare the launch's arguments and grid with the kernel's signature",
    Reason.CPU_TENSOR: "allocate with device=x.device, or empty_like",
    Reason.NEEDS_VALUES: "decide by shapes only: no .item(), no if on a tensor's value",
    Reason.OUTPUT_TYPE: "return plain tensors",
    Reason.STALE_WEIGHTS: "move the computation from __init__ to forward",
    Reason.UNSUPPORTED: "docs/keck.md says what a launch tape holds",
    Reason.BAD_TAPE: "the candidate tampers with what records it; see docs/keck.md",
    Reason.TORCH_OPERATOR: "do it in a kernel, or verify with --policy kernelbench",
    Reason.NO_LAUNCH: "launch the kernel in forward, kernel[grid](...)",
    Reason.NO_KERNEL_WORK: "store the output from a kernel",
    Reason.PARAMETERS: "declare the reference's parameters by the same names, shapes and dtypes",
    Reason.KERNEL_LANGUAGE: "use only Triton's language inside a kernel",
    Reason.COMPILE_ERROR: "look at the compiler's sentence: types, shapes of blocks, constexprs",
    Reason.KERNEL_ERROR: "look at the line that the sentence names",
    Reason.OPERATOR_ERROR: "look at the operator's sentence",
    Reason.OUT_OF_BOUNDS: "mask every load and store with the tensor's size",
    Reason.RACE: "give every cell to one program, use tl.atomic_*, or split the work into two launches",
    Reason.TIMEOUT: "look for a loop without end, or for far too many programs",
    Reason.OUT_OF_MEMORY: "allocate less: blocks and temporaries",
    Reason.CRASHED: "look for ctypes, recursion or memory that is not its own",
    Reason.EXITED: "take out exit calls",
    Reason.OUTPUT_TOO_LARGE: "return what the reference returns",
    Reason.STRUCTURE: "return the same nest of tuples, lists and dicts",
    Reason.SHAPE: "compare the shape of the allocation with the reference's output",
    Reason.DTYPE: "allocate the output in the reference's dtype",
    Reason.INPUT_MODIFIED: "write to a tensor of your own: x.clone() or empty_like",
    Reason.NON_FINITE: "look at what the kernel does with large, infinite and masked values at that index",
    Reason.WRONG_VALUES: "compute the element at that index by hand: mask, padding value, index arithmetic, formula",
}
