"""Which torch operators policy `strict` leaves to torch, and which cost nothing: allocation, views, fills, copies.

`strict` is a list of what is allowed, not of what is forbidden: an operator that nobody thought of is refused. A cast
is a copy (`_to_copy`), and so are `cat`, `stack` and padding with a constant: they move elements and compute none.
"""

ALLOCATIONS = frozenset(["empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"])
FILLS = frozenset(
    ["zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "fill",
     "fill_", "zero", "zero_", "scalar_tensor", "arange", "eye", "lift_fresh", "lift_fresh_copy", "lift"]
)
VIEWS = frozenset(
    ["view", "_unsafe_view", "reshape", "_reshape_alias", "permute", "transpose", "t", "expand", "squeeze",
     "unsqueeze", "slice", "select", "split", "split_with_sizes", "unbind", "as_strided", "alias", "detach",
     "narrow", "chunk", "unfold", "diagonal", "view_as", "movedim", "flatten", "unflatten", "numpy_T", "swapaxes",
     "swapdims", "expand_as", "tensor_split", "hsplit", "vsplit", "_conj", "_neg_view", "view_as_real",
     "view_as_complex", "real", "imag", "squeeze_", "unsqueeze_", "transpose_", "t_", "detach_", "as_strided_",
     "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes", "adjoint", "mT", "mH", "sym_size", "sym_stride",
     "sym_numel", "sym_storage_offset", "is_contiguous", "is_non_overlapping_and_dense", "size", "stride"]
)
COPIES = frozenset(
    ["clone", "copy", "copy_", "contiguous", "_to_copy", "to", "cat", "stack", "constant_pad_nd", "split_copy",
     "slice_scatter", "select_scatter", "resolve_conj", "resolve_neg"]
)
STRICT = ALLOCATIONS | FILLS | VIEWS | COPIES

# They need tensor values: a tape cannot hold what comes of them.
VALUES = frozenset(
    ["_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero", "masked_select", "unique", "_unique2",
     "unique_consecutive", "allclose"]
)


def name_of(func) -> str:
    """'add' of torch.ops.aten.add.Tensor."""
    return func._schema.name.split("::")[1]


def is_free(func) -> bool:
    """Views and allocations move no bytes and launch nothing."""
    name = name_of(func)
    return name in VIEWS or name in ALLOCATIONS or name in ("lift_fresh", "_local_scalar_dense")
