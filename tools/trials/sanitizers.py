"""Builds under AddressSanitizer and UBSan: what their programs need, and what they report."""

import os
import re
import shutil
from pathlib import Path

SLOWER = 2  # times the seconds that a usual build has
EXIT_CODE = 99  # with which no run ends by itself
MOST_LINES = 12  # of a report
# Debian's clang 16 looks for the first alone.
SYMBOLIZERS = ("llvm-symbolizer-16", "llvm-symbolizer", "llvm-symbolizer-14")
# What LibTorch leaks, which a sanitizer knows by the names of functions.
KNOWN_LEAKS = Path(__file__).resolve().parents[2] / "runtime/testing/leak_sanitizer.supp"
REPORT = re.compile(r"^.*(?:ERROR: \w+Sanitizer|runtime error: ).*$", re.M)
REPORTED = re.compile(r"^(?:.*(?:ERROR: \w+Sanitizer|runtime error: |leak of ).*| *#\d+ .*)$", re.M)


def is_sanitized(build):
    try:
        cache = (Path(build) / "CMakeCache.txt").read_text()
    except OSError:
        return False
    return re.search(r"^PIPETRACE_SANITIZE:\w+=.", cache, re.M) is not None


def environment(folder):
    """Variables that send each report to a file of the folder, as a rank may have closed its stderr.
    Programs without a sanitizer do not read them."""
    usual = os.environ.get("ASAN_OPTIONS", "")
    options = [usual] if usual else []
    options += [f"exitcode={EXIT_CODE}", f"log_path='{folder}/report'"]
    symbolizer = next(filter(None, map(shutil.which, SYMBOLIZERS)), "")
    options.append(f"external_symbolizer_path='{symbolizer}'" if symbolizer else "detect_leaks=0")
    return {"ASAN_OPTIONS": ":".join(options), "UBSAN_OPTIONS": "print_stacktrace=1",
            "LSAN_OPTIONS": f"suppressions='{KNOWN_LEAKS}':print_suppressions=0"}


def reports(folder, outputs):
    """Complaints about reports, in files of the folder or in the outputs, which are by rank."""
    texts = [file.read_text(errors="replace") for file in sorted(Path(folder).iterdir())]
    complaints = [f"a sanitizer reports: {shortened(text)}" for text in texts if REPORT.search(text)]
    return complaints + [f"a sanitizer reports in the output of {name}: {shortened(text)}"
                         for name, text in outputs.items() if REPORT.search(text)]


def shortened(text):
    lines = [line.strip() for line in REPORTED.findall(text[REPORT.search(text).start():])]
    return "\n      ".join(lines[:MOST_LINES])
