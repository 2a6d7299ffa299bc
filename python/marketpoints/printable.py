"""Text from files and from the network, before it is shown."""

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""A text on one line that a terminal shows as it is and does not obey.

    Names of symbols, files and keys come from others. Control characters (C0 with escape and line feed, C1), the ones
    that turn the direction of writing, invisible ones and lone surrogates become escapes such as ``\x1b`` or
    ``\u202e``; all others stay, of whatever script.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
