"""The one family of exceptions.

::

    XcidError
    ├── InvalidParameter    (ValueError)   a setting that cannot work: m = 1, an unknown kernel
    ├── InvalidData         (ValueError)   a table that cannot be explained: NaN, text, wrong columns
    ├── ModelError          (RuntimeError) the model raised, or its output has the wrong shape or is not finite
    │   └── TooSlow                        it takes longer for a row than it may
    ├── NotEnoughFlips      (RuntimeError) no perturbation of any row changes the output
    ├── EvidenceNotKept     (RuntimeError) the cloud of an explanation was not stored
    ├── InvalidFile         (ValueError)   a file that cannot be read as an explanation, or not be written
    └── MissingDependency   (ImportError)  an extra that is not installed

    XcidWarning             (UserWarning)  the result is usable, but there is something to know

Every message says what is wrong, where, how many, and what to do next.
"""

from __future__ import annotations

__all__ = [
    "EvidenceNotKept",
    "InvalidData",
    "InvalidFile",
    "InvalidParameter",
    "MissingDependency",
    "ModelError",
    "NotEnoughFlips",
    "TooSlow",
    "XcidError",
    "XcidWarning",
]


class XcidError(Exception):
    """Base of everything that xcid raises on purpose."""


class InvalidParameter(XcidError, ValueError):
    """A setting that cannot work."""


class InvalidData(XcidError, ValueError):
    """A table or a row that cannot be explained: ``what`` is wrong, in which ``row`` if in one, and ``more``."""

    def __init__(self, what: str = "", row: int | None = None, more: str = "") -> None:
        super().__init__(what if row is None else f"{what} in row {row}{more}")
        self.what, self.row, self.more = what, row, more

    def at(self, place: str) -> InvalidData:
        """The same about a row that has another place, such as a line of a file."""
        return self if self.row is None else InvalidData(f"{self.what} in {place}{self.more}")


class ModelError(XcidError, RuntimeError):
    """The model failed, or its output cannot be used."""


class TooSlow(ModelError):
    """The model takes longer for a row than it may."""


class NotEnoughFlips(XcidError, RuntimeError):
    """No perturbation of any row changes the output."""


class EvidenceNotKept(XcidError, RuntimeError):
    """The cloud was not stored with the explanation."""


class InvalidFile(XcidError, ValueError):
    """A file that cannot be read as an explanation, or not be written."""


class MissingDependency(XcidError, ImportError):
    """An optional package that is not installed."""


class XcidWarning(UserWarning):
    """The result is usable, but there is something to know about it."""
