"""The kind of NumPy's values, told without loading NumPy."""

__all__ = ["dtype_kind"]


def dtype_kind(value: object) -> str:
    """The letter of a value's or an array's dtype, such as ``M`` for times; an empty text for what has none."""
    kind: str = getattr(getattr(value, "dtype", None), "kind", "")
    return kind
