"""Values of vertices, for an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 1 << 14
"""Rows that go to the native part at a time."""

Column: TypeAlias = "list[str] | tuple[str, bytes]"

EXPECTED = "expected a mapping of ids to numbers, two arrays, or a table with two columns"


def values_of(values: Any) -> Any:
    """What the native part reads: an Arrow object, or chunks of two columns."""
    is_arrow = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    if values is None or is_arrow:
        return values
    if isinstance(values, Mapping):
        return _of_mapping(values)
    if isinstance(values, tuple) and len(values) == 2:
        ids, numbers = (np.asarray(column) for column in values)
        if ids.ndim != 1 or ids.shape != numbers.shape:
            reason = f"ids of shape {ids.shape}, numbers of shape {numbers.shape}"
            raise InvalidInput(f"values: {reason}: expected two arrays of one length")
        _code(numbers.dtype)
        return _of_arrays(ids, numbers)
    raise TypeError(f"values: a {type(values).__name__}: {EXPECTED}")


def _of_arrays(ids: NDArray[Any], numbers: NDArray[Any]) -> Iterator[tuple[Column, Column]]:
    are_integers = ids.dtype.kind in "iu"
    kind = None if are_integers or len(ids) == 0 else type(ids[:1].tolist()[0])
    for start in range(0, len(ids), ROWS):
        part = slice(start, start + ROWS)
        if are_integers:
            column: Column = _words(ids[part])
        else:
            column = _ids(ids[part].tolist(), is_of_names=kind is str)
        yield column, _words(numbers[part])


def _of_mapping(values: Mapping[Any, Any]) -> Iterator[tuple[Column, Column]]:
    dtype = _type_of(values)
    is_of_names = isinstance(next(iter(values), None), str)
    rows = iter(values.items())
    while chunk := list(islice(rows, ROWS)):
        ids, numbers = zip(*chunk, strict=True)
        yield _ids(list(ids), is_of_names), _words(np.asarray(numbers, dtype))


def _type_of(values: Mapping[Any, Any]) -> np.dtype[Any]:
    """The type that holds all numbers of a mapping."""
    dtype: np.dtype[Any] = np.dtype(np.uint64)
    least = most = 0
    for id, value in values.items():
        if isinstance(value, float | np.floating):
            dtype = np.dtype(np.float64)
        elif isinstance(value, int | np.integer) and not isinstance(value, bool):
            least, most = min(least, int(value)), max(most, int(value))
        else:
            raise InvalidInput(f"values: {value!r} of {id!r}: expected a number")
    lowest, highest = -(2**53), 2**53
    if dtype.kind != "f":
        dtype = np.dtype(np.int64 if least < 0 else np.uint64)
        lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for integer in (least, most):
        if not lowest <= integer <= highest:
            raise InvalidInput(f"values: {integer}: {dtype} holds not all of these numbers exactly")
    return dtype


def _ids(ids: list[Any], is_of_names: bool) -> Column:
    if is_of_names:
        for id in ids:
            if not isinstance(id, str):
                raise InvalidInput(f"values: the id {id!r}: expected a string, as those before")
        return ids
    for id in ids:
        is_integer = isinstance(id, int | np.integer) and not isinstance(id, bool)
        if not is_integer or not 0 <= id < 2**64:
            reason = "expected an integer from 0 to 2^64 - 1"
            raise InvalidInput(f"values: the id {id!r}: {reason}")
    return _words(np.asarray(ids, np.uint64))


def _words(numbers: NDArray[Any]) -> tuple[str, bytes]:
    code = _code(numbers.dtype)
    return code, numbers.astype(f"<{code}", copy=False).tobytes()


def _code(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in "iuf":
        raise InvalidInput(f"values: numbers of type {dtype}: expected integers or floats")
    return f"{dtype.kind}8"
