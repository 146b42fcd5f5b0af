"""The exceptions of Cenote, each also one of Python's own where there is one.

All messages are one line that says what is wrong, where, and what to do.
"""


class CenoteError(Exception):
    """Any error of Cenote.

    Example:
        >>> try:
        ...     g.bfs("no-package")
        ... except cenote.CenoteError as error:
        ...     print(type(error).__name__)
        ...     print(error)
        UnknownVertex
        packages.cenote: no vertex `no-package`: its 64245 vertices have names
    """

    def __str__(self) -> str:
        # KeyError shows the representation of its message.
        return str(self.args[0]) if self.args else ""


class CorruptGraph(CenoteError):
    """A file is damaged, incomplete or not a graph.

    Example:
        >>> with open("notes.cenote", "w") as file:
        ...     size = file.write("no graph")
        >>> try:
        ...     cenote.open("notes.cenote")
        ... except cenote.CorruptGraph as error:
        ...     print(str(error).partition(" (")[0])
        notes.cenote: not a Cenote graph
    """


class MemoryBudget(CenoteError, MemoryError):
    """The budget given as `memory` is too small; the message says what would do.

    Example:
        >>> try:
        ...     g.pagerank(memory="4KiB")
        ... except MemoryError as error:
        ...     print(str(error).split("; ")[-1])
        give at least 1MiB as `memory`
    """


class InvalidInput(CenoteError, ValueError):
    """An option is outside its range, or an input cannot be used.

    Example:
        >>> try:
        ...     g.pagerank(damping=2.0)
        ... except ValueError as error:
        ...     print(error)
        damping is 2.0: a probability from 0 to 1 is needed
    """


class UnknownVertex(CenoteError, KeyError):
    """No vertex has this id.

    Example:
        >>> try:
        ...     g.neighbors("no-package")
        ... except KeyError as error:
        ...     print(error)
        packages.cenote: no vertex `no-package`: its 64245 vertices have names
    """


class GraphLocked(CenoteError):
    """The graph is in use by another process, thread or handle.

    Example:
        >>> with cenote.update("friends.cenote"):
        ...     try:
        ...         cenote.update("friends.cenote")
        ...     except cenote.GraphLocked as error:
        ...         print(error)
        friends.cenote: another writer of this process is changing the graph: wait until it ends
    """


class Unsupported(CenoteError):
    """The graph lacks something that is needed, or has a newer version.

    Example:
        >>> try:
        ...     g.weighted_neighbors("bash")
        ... except cenote.Unsupported as error:
        ...     print(error)
        packages.cenote: the edges have no weights: import it with `weights`
    """


class FileError(CenoteError, OSError):
    """A file could not be opened, read or written.

    `errno` is that of the system, and `filename` the path.

    Example:
        >>> try:
        ...     cenote.open("data")
        ... except OSError as error:
        ...     print(type(error).__name__, error.errno, error)
        FileError None data: cannot use: it is a directory: give a file
    """


class FileMissing(FileError, FileNotFoundError):
    """There is no such file.

    Example:
        >>> try:
        ...     cenote.open("missing.cenote")
        ... except FileNotFoundError as error:
        ...     print(error)
        missing.cenote: cannot open: No such file or directory (os error 2)
    """


class DeviceError(CenoteError, OSError):
    """A drive failed, or the system refused threads or memory.

    Example:
        >>> try:
        ...     cenote.profile("friends.cenote", quick=True)
        ... except cenote.DeviceError as error:
        ...     print(error)
        profile friends.cenote: requests of 1048576 bytes need a larger file than one of 24576
    """


class CenoteWarning(UserWarning):
    """A condition that a caller should know and that is not an error.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as found:
        ...     warnings.simplefilter("always")
        ...     cenote.open("friends.cenote").close()
        >>> found[0].category, "cenote.profile" in str(found[0].message)
        (<class 'cenote.errors.CenoteWarning'>, True)
    """
