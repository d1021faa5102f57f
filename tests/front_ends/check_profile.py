#!/usr/bin/env python3
"""Checks a Chrome JSON profile in Perfetto and Catapult against the output of pipe-trace.

use: check_profile.py PROFILE.json --said FILE [--screenshots FOLDER]

FILE holds pipe-trace's output with its line
  wrote PROFILE.json: N jobs, N transfers[, N other events], N bubbles, N arrows, N counter samples
Exit code 0: both front ends load it without error, data loss or warning and count the same.
"""

import argparse
import pathlib
import re
import sys

from viewers import FrontEnds

SAID = re.compile(r"wrote (?P<file>.+): (?P<jobs>\d+) jobs?, (?P<transfers>\d+) transfers?, "
                  r"(?:(?P<others>\d+) other events?, )?"
                  r"(?P<bubbles>\d+) bubbles?, (?P<arrows>\d+) arrows?, "
                  r"(?P<counters>\d+) counter samples?")


def what_was_said(text, profile):
    for match in SAID.finditer(text):
        if pathlib.Path(match["file"]).name == pathlib.Path(profile).name:
            return {k: int(n or 0) for k, n in match.groupdict().items() if k != "file"}
    raise SystemExit(f"no line 'wrote {profile}: …' in the output of pipe-trace:\n{text}")


def findings(said, perfetto, catapult=None):
    """All findings, one sentence each. Catapult reads JSON only."""
    slices = said["jobs"] + said["transfers"] + said["others"] + said["bubbles"]
    wrong = []

    def expect(what, got, want):
        if got != want:
            shown = f"{got[:3]} … {len(got)} in all" if isinstance(got, list) and got[3:] else got
            wrong.append(f"{what}: {shown}, expected {want}")

    expect("Perfetto's error", perfetto["error"], None)
    if not perfetto["error"]:
        expect("Perfetto's problems", perfetto["problems"], [])
        expect("Perfetto's slices", perfetto["slices"], slices)
        expect("Perfetto's arrows", perfetto["flows"], said["arrows"])
        expect("Perfetto's counter samples", perfetto["counters"], said["counters"])
        expect("Perfetto's unfinished slices", perfetto["unfinished"], 0)
        expect("Perfetto's nested slices", perfetto["nested"], 0)
    expect("Catapult's error", catapult and catapult["error"], None)
    if catapult and not catapult["error"]:
        expect("Catapult's warnings", catapult["warnings"], [])
        expect("Catapult's crossing slices", catapult["overlaps"], [])
        expect("Catapult's slices", catapult["slices"], slices)
        expect("Catapult's arrows", catapult["flows"], said["arrows"])
        expect("Catapult's counter samples", catapult["counters"], said["counters"])
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("--said", required=True)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    said = what_was_said(pathlib.Path(options.said).read_text(), options.profile)
    shots = {}
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
        shots = {v: options.screenshots / f"{v}.png" for v in ("perfetto", "catapult")}
    with FrontEnds() as viewers:
        perfetto = viewers.perfetto(options.profile, shots.get("perfetto"))
        catapult = viewers.catapult(options.profile, shots.get("catapult"))
    print(f"pipe-trace said {said}")
    for name, result in (("Perfetto", perfetto), ("Catapult", catapult)):
        print(f"{name}: {({k: v for k, v in result.items() if not isinstance(v, list)})}")
    wrong = findings(said, perfetto, catapult)
    for sentence in wrong:
        print("WRONG", sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
