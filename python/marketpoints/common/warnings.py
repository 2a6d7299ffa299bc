"""The package's warnings, as classes for :mod:`warnings` filters."""

__all__ = [
    "ExposedKeysWarning",
    "ExposedServiceWarning",
    "ForeignFileWarning",
    "OutdatedDataWarning",
    "RenamedFieldWarning",
    "UnknownSymbolWarning",
]


class ExposedKeysWarning(UserWarning):
    """Other users of this machine may read a file that holds keys: ``chmod 600 FILE`` ends that."""


class ExposedServiceWarning(UserWarning):
    """A local service listens on an address that other machines reach."""


class ForeignFileWarning(UserWarning):
    """An archive's folder contains a file of another program; the file is ignored. Move it away."""


class OutdatedDataWarning(UserWarning):
    """A local service serves data that ended long before its clock: ``now=`` sets that."""


class UnknownSymbolWarning(UserWarning):
    """The service may not have a symbol or coin, but its listing is incomplete: a paid answer may be empty."""


class RenamedFieldWarning(UserWarning):
    """A price is 0 in every row of an answer, and there are fields that this version does not know: was it renamed?

    ``decode_points(…, strict=True)`` raises :class:`~marketpoints.DecodeError` instead.
    """
