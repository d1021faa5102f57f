"""Tables of a run: Arrow data of the C library, for pyarrow, pandas, polars, duckdb and others."""

from __future__ import annotations

import ctypes
import html
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from pipetrace.looking.library import Error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]

_CAPSULE = b"arrow_array_stream"
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

# Streams that capsules hold, by address.
_streams: dict[int, _Stream] = {}


def _release_stream(capsule: int) -> None:
    stream = _streams.pop(_pointer_of(capsule, _CAPSULE), None)
    if stream is not None and stream.release:
        stream.release(ctypes.addressof(stream))


_end_capsule = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_release_stream)


class Source(Protocol):
    """Fills in a stream with a table, at its address."""

    def __call__(self, address: int) -> None: ...


_NUMPY = {"c": "int8", "s": "int16", "i": "int32", "l": "int64", "g": "float64"}
_CTYPES: dict[str, Any] = {
    "c": ctypes.c_int8,
    "s": ctypes.c_int16,
    "i": ctypes.c_int32,
    "l": ctypes.c_int64,
    "g": ctypes.c_double,
}


class _Column:
    """A column, whose values lie in the memory of the library."""

    def __init__(self, schema: _Schema, array: _Array, owner: _Held) -> None:
        self.name = schema.name.decode()
        self.format = schema.format.decode()
        self.length = array.length
        self.missing = array.null_count
        self._owner = owner  # the memory is there as long as it is
        self._validity, self._data = array.buffers[0], array.buffers[1]
        self.words: list[str] | None = None
        if schema.dictionary:
            self.words = _texts(array.dictionary.contents)

    def _bytes(self, address: int | None, size: int) -> Any:
        memory: Any = (
            (ctypes.c_char * size)()
            if not address
            else (ctypes.c_char * size).from_address(address)
        )
        memory.owner = self._owner
        return memory

    def _bits(self, address: int | None, count: int) -> list[bool]:
        raw = bytes(self._bytes(address, (count + 7) // 8))
        return [bool(raw[i >> 3] >> (i & 7) & 1) for i in range(count)]

    def values(self, most: int | None = None) -> list[Any]:
        """As Python's values, None where one is missing. Those of the first rows, or all."""
        count = self.length if most is None else min(most, self.length)
        plain: list[Any]
        if self.format == "b":
            plain = self._bits(self._data, count)
        else:
            kind = _CTYPES[self.format]
            size = ctypes.sizeof(kind) * count
            plain = list((kind * count).from_buffer_copy(self._bytes(self._data, size)))
        words = self.words
        if words is not None:
            plain = [words[place] if place >= 0 else None for place in plain]
        if self.missing:
            known = self._bits(self._validity, count)
            plain = [value if there else None for value, there in zip(plain, known)]
        return plain

    def _numpy_bits(self, address: int | None) -> Any:
        import numpy

        raw = numpy.frombuffer(self._bytes(address, (self.length + 7) // 8), numpy.uint8)
        return numpy.unpackbits(raw, count=self.length, bitorder="little").view(bool)

    def to_pandas(self) -> Any:
        import numpy
        import pandas

        if self.format == "b":
            return self._numpy_bits(self._data)
        kind = numpy.dtype(_NUMPY[self.format])
        memory = self._bytes(self._data, kind.itemsize * self.length)
        plain = numpy.frombuffer(memory, kind)
        if self.words is not None:
            categories = pandas.Index(self.words, dtype=object)
            return pandas.Categorical.from_codes(plain, categories, validate=False)
        if not self.missing:
            return plain
        return pandas.arrays.IntegerArray(plain, ~self._numpy_bits(self._validity))


def _texts(array: _Array) -> list[str]:
    offsets = (ctypes.c_int32 * (array.length + 1)).from_address(array.buffers[1])
    raw = ctypes.string_at(array.buffers[2], offsets[array.length]) if array.length else b""
    return [raw[offsets[i] : offsets[i + 1]].decode(errors="replace") for i in range(array.length)]


class _Held:
    """An array of the library, released when nobody needs it any more."""

    def __init__(self) -> None:
        self.array = _Array()

    def __del__(self) -> None:
        if self.array.release:
            self.array.release(ctypes.byref(self.array))


class _Batch:
    """The columns of the one batch of a stream."""

    def __init__(self, source: Source) -> None:
        stream, schema, held = _Stream(), _Schema(), _Held()
        source(ctypes.addressof(stream))
        try:
            for get, out in ((stream.get_schema, schema), (stream.get_next, held.array)):
                if get(ctypes.addressof(stream), ctypes.byref(out)) != 0:
                    raise MemoryError
        finally:
            stream.release(ctypes.addressof(stream))
        self.length = held.array.length
        self.columns = [
            _Column(schema.children[i].contents, held.array.children[i].contents, held)
            for i in range(held.array.n_children)
        ]
        schema.release(ctypes.byref(schema))


class Table:
    """A table of a run, of shape (rows, columns).

    Anything that reads the Arrow PyCapsule interface takes it as it is: `pyarrow.table(t)`,
    `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, or its name in a query of duckdb after
    `t = run.jobs.to_arrow()`. Nothing is copied but by to_pandas() and the like where they must.
    Times, in columns that end in _ns, are whole nanoseconds since the Unix epoch in rank 0's clock,
    lengths are nanoseconds. A value that is not known is missing.
    """

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self._source = source
        self._kept: _Batch | None = None

    def _batch(self) -> _Batch:
        if self._kept is None:
            self._kept = _Batch(self._source)
        return self._kept

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of an ArrowArrayStream, of one batch. `requested_schema` has no effect."""
        stream = _Stream()
        address = ctypes.addressof(stream)
        self._source(address)
        _streams[address] = stream
        return _new_capsule(address, _CAPSULE, ctypes.cast(_end_capsule, ctypes.c_void_p))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns."""
        return self._batch().length, len(self._batch().columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self._batch().columns]

    def __len__(self) -> int:
        return int(self._batch().length)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column; None where one is missing. For tables that are not large."""
        for each in self._batch().columns:
            if each.name == column:
                return each.values()
        raise KeyError(f"{self.name} has no column {column}; it has {', '.join(self.columns)}")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Its rows as dictionaries. For tables that are not large."""
        names = self.columns
        for values in zip(*(column.values() for column in self._batch().columns)):
            yield dict(zip(names, values))

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas, which needs no other package. Texts are categories; integers of
        which some are missing have pandas' types with missing values, such as Int64."""
        needed("pandas")
        import pandas

        columns = {column.name: column.to_pandas() for column in self._batch().columns}
        return pandas.DataFrame(columns, copy=False)

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow, without a copy. Texts are dictionaries."""
        return needed("pyarrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """A data frame of polars. Texts are categories."""
        needed("polars")
        import polars

        return polars.DataFrame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes NAME.parquet, by pyarrow."""
        if not os.fspath(path).endswith(".parquet"):
            raise Error(f"cannot write {path}: a table is written as NAME.parquet")
        from pipetrace.looking import parquet

        with parquet.Files() as files:
            files.add(path, self.to_arrow())
            files.commit()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<pipetrace.Table {self.name}: {rows} rows, {columns} columns>"

    def _repr_html_(self) -> str:
        most = 10
        head = [column.values(most) for column in self._batch().columns]
        names = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{'' if v is None else html.escape(str(v))}</td>" for v in row)
            + "</tr>"
            for row in zip(*head)
        )
        return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>" + (
            f"<p>{len(self)} rows, {len(self.columns)} columns</p>"
        )


def needed(package: str) -> Any:
    """A package, or a module of it. Raises Error where it is not installed."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise Error(f"this needs {name}: pip install {name}") from None
