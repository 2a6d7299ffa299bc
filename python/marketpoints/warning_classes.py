"""What the package warns of, as classes for :mod:`warnings` filters."""

__all__ = ["OutdatedDataWarning", "UnknownSymbolWarning"]


class OutdatedDataWarning(UserWarning):
    """A local service serves data that ended long before its clock: ``now=`` sets that."""


class UnknownSymbolWarning(UserWarning):
    """The service may not have a symbol or coin, but its listing is not sure: what is paid in full may be empty."""
