"""The Python program of docs/profiler-languages.md, run as it stands there.

usage: documented_python.py LIBRARY FOLDER PAGE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys


def main():
    library, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = pathlib.Path(sys.argv[3]).read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shutil.rmtree(folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PIPETRACE")}
    environment["LD_LIBRARY_PATH"] = str(library.parent)
    environment["PIPETRACE_LOG_DIR"] = str(folder)
    off = subprocess.run([sys.executable, "-c", program], env=environment, check=True,
                         stderr=subprocess.PIPE, text=True).stderr
    assert not folder.exists(), "off unless it is switched on"
    assert "recording is off; set PIPETRACE=1 to record into " + str(folder) in off, off
    environment["PIPETRACE"] = "1"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    log = (folder / "workerlog.0").read_text()
    for step in range(3):
        for kind in ("lr", "forward", "backward", "optimizer"):
            assert re.search(rf"type = {kind}, .* step = {step}, stage = 0, .*action = step{step}$",
                             log, re.MULTILINE), (kind, step, log)
    assert log.count("Profiler Counter: name = loss,") == 3, log
    assert "written = 15, dropped = 0, errors = 0" in log, log


if __name__ == "__main__":
    main()
