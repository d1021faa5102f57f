"""A copy of the sources. Mutants are made there, so the sources of the user never change."""

import contextlib
import os
import pathlib
import shutil

LEFT_OUT = ("build", "__pycache__")


def files_below(root):
    found = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [n for n in folders if n not in LEFT_OUT and not n.startswith(".")]
        inside = pathlib.Path(folder).relative_to(root)
        found.update((inside / name).as_posix() for name in names if not name.startswith("."))
    return found


class WorkTree:
    def __init__(self, source, copy):
        self.source, self.copy = source, copy

    def refresh(self):
        """Makes the copy equal to the sources. Files that are equal keep their time, so they are not
        compiled again; what an earlier run left changed is changed back."""
        wanted = files_below(self.source)
        for path in files_below(self.copy) - wanted:
            (self.copy / path).unlink()
        for path in sorted(wanted):
            self._take(path)
        # Some tests read reference data that lies beside a checkout.
        beside, link = self.source.parent / "shared", self.copy.parent / "shared"
        if beside.is_dir() and not link.exists():
            link.symlink_to(beside.resolve())

    def _take(self, path):
        source, copy = self.source / path, self.copy / path
        content = source.read_bytes()
        if copy.is_file() and copy.read_bytes() == content:
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        shutil.copymode(source, copy)

    @contextlib.contextmanager
    def changed(self, path, text):
        file = self.copy / path
        before = file.read_bytes()
        try:
            file.write_text(text)
            yield
        finally:
            file.write_bytes(before)
