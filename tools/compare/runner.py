"""Runs a case in one build: the same folder, environment and paths for both."""

import os
import shutil
import signal
import subprocess

from .case import Outcome

KEPT = ("PATH", "HOME", "USER", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR", "ASAN_OPTIONS")


def environment():
    """No columns, no other language, no display: nothing that is of this terminal."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return dict(kept, LC_ALL="C.UTF-8", TZ="UTC", QT_QPA_PLATFORM="offscreen", TERM="dumb")


def left_files(folder):
    found = {}
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def exit_text(code):
    return code if code >= 0 else f"signal {signal.Signals(-code).name}"


def run_case(case, programs, folder, timeout):
    """Runs `case` with the programs in the folder `programs`, in `folder`, which it clears after."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, source in case.copies.items():
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)
    given = b"".join(path.read_bytes() for path in case.stdin)
    started = subprocess.Popen([case.program, *case.args], executable=programs / case.program,
                               cwd=folder, env=environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        stdout, stderr = started.communicate(given, timeout=timeout)
        code = exit_text(started.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        stdout, stderr, code = b"", b"", "ran too long"
    try:
        return Outcome(code, stdout, stderr, {} if code == "ran too long" else left_files(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
