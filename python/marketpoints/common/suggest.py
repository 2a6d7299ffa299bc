"""Suggestions for unknown names, for messages."""

__all__ = ["did_you_mean"]


def did_you_mean(near: str | None) -> str:
    """The end of such a message: ``; did you mean NEAR?``, or nothing where no name is near."""
    return f"; did you mean {near}?" if near else ""
