"""Ids that are strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _cenote
from ._visit import array_of

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import NDArray

SHOWN = 3
"""The strings that a representation shows."""


class Strings:
    """Strings in Arrow's format, for `pyarrow.array`, `polars.Series`, `pandas.Series` and others.

    An index is that of a NumPy array of as many strings: a number, a slice, an array of numbers, or
    a mask. The strings are copied to Python when they are read.

    Example:
        >>> ids = g.ids()
        >>> ids
        Strings(64245: '0ad', '0ad-data', '0ad-data-common', ..)
        >>> ids[g.vertex_of("bash")], ids[:2].tolist(), ids[[5, -1]].shape
        ('bash', ['0ad', '0ad-data'], (2,))
    """

    def __init__(self, native: _cenote.Strings) -> None:
        self._native = native

    def __len__(self) -> int:
        """How many there are."""
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        return (self._native[at] for at in range(len(self)))

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> str: ...

    @overload
    def __getitem__(self, key: slice | NDArray[Any] | Iterable[int]) -> NDArray[Any]: ...

    def __getitem__(
        self, key: int | np.integer[Any] | slice | NDArray[Any] | Iterable[int]
    ) -> str | NDArray[Any]:
        """A string; of a slice, an array of numbers or a mask an array of strings."""
        if isinstance(key, slice):
            return _array(self._native[at] for at in range(len(self))[key])
        places = array_of(key)
        if places.dtype == bool and places.shape != (len(self),):
            raise IndexError(f"a mask of shape {places.shape} of {len(self)} strings")
        if places.dtype == bool:
            places = np.flatnonzero(places)
        if places.dtype.kind not in "iu" and places.size > 0:
            raise IndexError(f"an index of type {places.dtype}: expected integers or booleans")
        if places.ndim == 0:
            return self._native[int(places)]
        found = _array(self._native[at] for at in places.ravel().tolist())
        return found.reshape(places.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them as an array of Python strings, which is a copy."""
        if copy is False:
            raise ValueError("strings of Arrow are copied to an array of NumPy: copy is False")
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def to_pylist(self) -> list[str]:
        """The strings as a list.

        Example:
            >>> g.ids().to_pylist()[:2]
            ['0ad', '0ad-data']
        """
        return self._native.to_pylist()

    def tolist(self) -> list[str]:
        """As `to_pylist`: what an array of integer ids has, too.

        Example:
            >>> g.ids().tolist() == g.ids().to_pylist()
            True
        """
        return self.to_pylist()

    def to_numpy(self) -> NDArray[Any]:
        """The strings as an array of Python strings: `object`, shape (strings,).

        Example:
            >>> names = g.ids().to_numpy()
            >>> names.shape, names.dtype, names[g.vertex_of("bash")]
            ((64245,), dtype('O'), 'bash')
        """
        return _array(self.to_pylist())

    def to_arrow(self) -> pyarrow.Array:
        """The strings in pyarrow, without a copy.

        Example:
            >>> names = g.ids().to_arrow()
            >>> str(names.type), len(names), names[g.vertex_of("bash")].as_py()
            ('large_string', 64245, 'bash')
        """
        import pyarrow

        return pyarrow.array(self)

    def to_pandas(self) -> pandas.Series:
        """The strings in pandas.

        Example:
            >>> int(g.ids().to_pandas().str.startswith("lib").sum())
            28803
        """
        import pandas

        return pandas.Series(self.to_numpy())

    def __repr__(self) -> str:
        shown = [repr(self._native[at]) for at in range(min(SHOWN, len(self)))]
        more = [".."] if len(self) > SHOWN else []
        return f"Strings({len(self)}: {', '.join(shown + more)})" if shown else "Strings(0)"


def _array(strings: Iterable[str]) -> NDArray[Any]:
    listed = list(strings)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found
