"""Shows that the comparison finds a change: compares a build with itself, changed by a wrapper."""

import stat
import sys

from .case import Case
from .comparison import compare_all
from .report import Expected, Report

WRAPPER = """#!{python}
import pathlib, sqlite3, subprocess, sys
done = subprocess.run([{real!r}, *sys.argv[1:]], capture_output=True)
out, err, code = done.stdout, done.stderr, done.returncode
def edit(name, change):
    path = pathlib.Path(name)
    if path.exists():
        path.write_bytes(change(path.read_bytes()))
def flip(name):
    edit(name, lambda data: data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1])
         + data[len(data) // 2 + 1:])
{change}
sys.stdout.buffer.write(out)
sys.stderr.buffer.write(err)
sys.exit(code)
"""
ADD_KEY = "edit('p.json', lambda data: data.replace(b'\"written\":', b'\"misuses\":7,\"written\":'))"
CHANGE_ROW = """if pathlib.Path('p.sqlite').exists():
    database = sqlite3.connect('p.sqlite')
    database.execute("UPDATE counter SET value = 77 WHERE id = 1")
    database.commit()"""
MORE_OUT = "out += b'one more line\\n'"

# What the wrapper changes, where the change has to be found, the keys ignored, what is expected.
CHANGES = [
    ("nothing", "pass", None, (), ""),
    ("a byte of a Chrome JSON", "flip('p.json')", "json", (), ""),
    ("a byte of a Perfetto trace", "flip('p.pftrace')", "pftrace", (), ""),
    ("a byte of a CSV", "flip('p.csv')", "csv", (), ""),
    ("a byte of a picture", "flip('p.svg')", "svg", (), ""),
    ("a value of a table", CHANGE_ROW, "sqlite", (), ""),
    ("a line of output", MORE_OUT, "stdout", (), ""),
    ("an error's text", "err = err.replace(b'missing', b'lost')", "stderr", (), ""),
    ("an exit code", "code += code == 2", "exit code", (), ""),
    ("a file that is not written", "pathlib.Path('p.csv').unlink(missing_ok=True)", "csv", (), ""),
    ("a file too many", "pathlib.Path('p.log').write_text('')", "log", (), ""),
    ("a key more", ADD_KEY, "json", (), ""),
    ("a key more that is ignored", ADD_KEY, None, ("misuses",), ""),
    ("a line that is expected", MORE_OUT, None, (),
     "[More lines]\n^(profiles|plan|errors): stdout \\| \\+one more"),
    ("a line that is expected of another group", MORE_OUT, "stdout", (),
     "[More lines]\n^plan: stdout \\| \\+one more"),
    ("another line than expected", MORE_OUT, "stdout", (), "[More lines]\nstdout \\| \\+no such"),
]


def cases_of():
    profile = ["../inputs/plain", "-o", "p.json", "-o", "p.pftrace", "-o", "p.sqlite", "-o", "p.csv"]
    plan = ["plan", "--schedule", "GPipe", "--stages", "2", "--micro-batches", "2", "-o", "p.svg"]
    return [Case("profiles", "plain", "pipe-trace", profile), Case("plan", "", "pipe-trace", plan),
            Case("errors", "", "pipe-trace", ["missing"])]


def wrap(before, folder, change):
    folder.mkdir(exist_ok=True)
    script = folder / "pipe-trace"
    script.write_text(WRAPPER.format(python=sys.executable, real=str(before / "pipe-trace"),
                                     change=change))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


def self_test(before, work, write):
    """True if every change is found where it is, and nothing else. Needs `work`/inputs/plain."""
    passed = True
    for name, change, where, keys, expected in CHANGES:
        report = Report(Expected(expected))
        changed = wrap(before, work / "changed", change)
        compare_all(cases_of(), before, changed, work, report, keys=keys)
        found = {place for place, _ in report.changes}
        good = found == ({where} if where else set()) and not report.unsteady
        passed = passed and good
        write(f"self-test: {name}: {'good' if good else f'WRONG, found {sorted(found)}'}")
    return passed
