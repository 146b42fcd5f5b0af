"""The exceptions of Cenote, each also one of Python's own where there is one.

All messages are one line that says what is wrong, where, and what to do.
"""


class CenoteError(Exception):
    """Any error of Cenote."""

    def __str__(self) -> str:
        # KeyError shows the representation of its message.
        return str(self.args[0]) if self.args else ""


class CorruptGraph(CenoteError):
    """A file is damaged, incomplete or not a graph."""


class MemoryBudget(CenoteError, MemoryError):
    """The budget given as `memory` is too small; the message says what would do."""


class InvalidInput(CenoteError, ValueError):
    """An option is outside its range, or an input cannot be used."""


class UnknownVertex(CenoteError, KeyError):
    """No vertex has this id."""


class GraphLocked(CenoteError):
    """The graph is in use by another process, thread or handle."""


class Unsupported(CenoteError):
    """The graph lacks something that is needed, or has a newer version."""


class FileError(CenoteError, OSError):
    """A file could not be opened, read or written; `errno` is that of the system."""


class FileMissing(FileError, FileNotFoundError):
    """There is no such file."""


class DeviceError(CenoteError, OSError):
    """A drive failed, or the system refused threads or memory."""


class CenoteWarning(UserWarning):
    """A condition that a caller should know and that is not an error."""
