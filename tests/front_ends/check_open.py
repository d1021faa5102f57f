#!/usr/bin/env python3
"""Checks that Perfetto's UI loads the link that `pipe-trace open` prints.

use: check_open.py PIPE_TRACE FOLDER

The UI is the real one; the browser sees it as https://ui.perfetto.dev. Profile and server come from
pipe-trace. FOLDER gets the profiles and a picture of each. Exit code 0: the UI shows as many slices,
arrows and counter samples as pipe-trace printed, and the server ended by itself. Exit code 77: another
program uses port 9001, the only port that the UI may fetch from.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys

from check_profile import findings, what_was_said
from viewers import FrontEnds

SITE = "ui.perfetto.dev"


def port_is_taken():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 9001))
        except OSError:
            return True
    return False


def look(viewers, pipe_trace, profile, said):
    server = subprocess.Popen([pipe_trace, "open", "--no-browser", profile], stdout=subprocess.PIPE,
                              text=True)
    try:
        link = server.stdout.readline().strip()
        start = f"https://{SITE}/#!/"
        if not link.startswith(start):
            return [f"the link is {link!r}"]
        shown = viewers.perfetto_by_link(link[len(start):], profile.with_suffix(".png"))
        print(f"{link}: {({k: v for k, v in shown.items() if not isinstance(v, list)})}")
        wrong = findings(what_was_said(said, profile), shown)
        if server.wait(timeout=30) != 0:
            wrong.append(f"pipe-trace open ended with {server.returncode}")
        return wrong
    finally:
        server.kill()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipe_trace", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    if port_is_taken():
        print("skipped: another program has port 9001")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    logs = options.folder / "logs"
    subprocess.run([options.pipe_trace, "plan", "--schedule", "Interleaved1F1B", "--stages", "4",
                    "--chunks", "2", "--micro-batches", "8", "-o", f"{logs}/"], check=True,
                   stdout=subprocess.DEVNULL)
    profiles = [options.folder / name for name in ("profile.json", "of a run, 100 %.pftrace")]
    said = subprocess.run([options.pipe_trace, logs, "-o", profiles[0], "-o", profiles[1]], check=True,
                          capture_output=True, text=True).stdout
    wrong = []
    with FrontEnds(site=SITE) as viewers:
        for profile in profiles:
            wrong += [f"{profile.name}: {it}" for it in
                      look(viewers, options.pipe_trace, profile, said)]
    for sentence in wrong:
        print("WRONG", sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
