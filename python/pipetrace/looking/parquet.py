"""Parquet files of a run, by pyarrow: of one table, or a folder with all tables and the findings."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pipetrace.looking.library import Error
from pipetrace.looking.table import needed

if TYPE_CHECKING:
    import pyarrow

    from pipetrace.looking.run import Finding

_ENDING = ".parquet"


def is_parquet(path: str) -> bool:
    """Whether it is NAME.parquet, or NAME.parquet/."""
    return path.rstrip(os.sep).endswith(_ENDING)


def is_folder(path: str) -> bool:
    """NAME.parquet is a folder where it ends with a slash, or is one already."""
    return path.endswith(os.sep) or os.path.isdir(path)


class Files:
    """Files that appear together once all are written: commit() puts them in their places. The end
    of the `with` block removes those that it did not."""

    def __init__(self) -> None:
        self._written: list[tuple[str, str]] = []  # where a file is, and where it belongs
        self._folders: list[str] = []

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def add(self, path: str | os.PathLike[str], table: pyarrow.Table) -> None:
        """NAME.parquet"""
        with _cannot_write(path):
            self._add(os.fspath(path), self._folder_beside(path), table)

    def add_folder(self, path: str, tables: Mapping[str, pyarrow.Table]) -> None:
        """NAME.parquet/, with a file for each table."""
        if os.path.exists(path.rstrip(os.sep)) and not os.path.isdir(path):
            raise Error(f"cannot write {path}: it is a file, and no folder")
        with _cannot_write(path):
            new = self._folder_beside(path.rstrip(os.sep))
            for name, table in tables.items():
                self._add(os.path.join(path, name + _ENDING), new, table)

    def commit(self) -> None:
        for source, target in self._written:
            with _cannot_write(target):
                os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
                os.replace(source, target)

    def _folder_beside(self, path: str | os.PathLike[str]) -> str:
        """A new folder on the same file system."""
        folder = tempfile.mkdtemp(prefix=".parquet-", dir=os.path.dirname(os.path.abspath(path)))
        self._folders.append(folder)
        return folder

    def _add(self, target: str, folder: str, table: pyarrow.Table) -> None:
        source = os.path.join(folder, os.path.basename(target))
        needed("pyarrow.parquet").write_table(table, source)
        self._written.append((source, target))


@contextlib.contextmanager
def _cannot_write(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Error(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def findings_table(findings: Iterable[Finding]) -> pyarrow.Table:
    """A row for each finding, the most expensive first; its evidence is JSON."""
    arrow: Any = needed("pyarrow")
    numbers = arrow.list_(arrow.int32())
    schema = arrow.schema(
        [
            ("kind", arrow.string()),
            ("ranks", numbers),
            ("stages", numbers),
            ("links", arrow.list_(arrow.struct([("from", arrow.int32()), ("to", arrow.int32())]))),
            ("steps", numbers),
            ("severity", arrow.string()),
            ("cost_ns", arrow.int64()),
            ("gain", arrow.float64()),
            ("sentence", arrow.string()),
            ("advice", arrow.string()),
            ("minor", arrow.bool_()),
            ("evidence", arrow.string()),
        ]
    )
    rows = [
        {
            **{name: getattr(finding, name) for name in schema.names},
            "links": [{"from": link[0], "to": link[1]} for link in finding.links],
            "evidence": json.dumps(finding.evidence),
        }
        for finding in findings
    ]
    return arrow.Table.from_pylist(rows, schema)
