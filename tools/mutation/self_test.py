"""Tries mutants.py on a made-up folder. Its build and its test are scripts that look at the source."""

import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from self_check import Failure, check

from .changes import find_places

# A line, and all that can become of it. No change: nothing there decides something.
LINES = {
    "if (a < b) ++c;": {"if (a <= b) ++c;", "if (!(a < b)) ++c;", "if (a < b) --c;", "if (a < b) ;"},
    "if (auto x = f(); x == 0) g(x);": {
        "if (auto x = f(); !(x == 0)) g(x);", "if (auto x = f(); x != 0) g(x);",
        "if (auto x = f(); x == 1) g(x);", "if (auto x = f(); x == 0) ;"},
    "for (;;) { if (!done) continue; }": {
        "for (;;) { if (done) continue; }", "for (;;) { if (!(!done)) continue; }",
        "for (;;) { if (!done) ; }"},
    "std::min(a, 3);": {"std::max(a, 3);", "std::min(a, 4);", "std::min(a, 2);", ";"},
    "if (a) return 5; b();": {"if (!(a)) return 5; b();", "if (a) return 6; b();",
                              "if (a) return 4; b();", "if (a) ; b();", "if (a) return 5; ;"},
    "return a && b;": {"return a || b;"},
    "x.y[i].z += w;": {"x.y[i].z -= w;", ";"},
    "const bool all = true;": {"const bool all = false;"},
    "std::map<int, std::array<char, 4>> a;": set(),
    "template <int n = 4, bool yes = true> class A;": set(),
    "auto f(T&& a, const char* b) -> int;": set(),
    "p->q(); // a < b": {"; // a < b"},
    "/* 1 < 2 */ std::string s = \"a && b\" + R\"(1 + 1)\" + '1';": set(),
    "assert(a < 3); static_assert(sizeof(int) == 4);": set(),
    "rows.reserve(2 * n);": {"rows.reserve(2 / n);", "rows.reserve(3 * n);", "rows.reserve(1 * n);"},
    "virtual void f() = 0;": set(),
    "bool operator==(const A&) const = default;": set(),
    "while (i < 1'000u) {}": {"while (i <= 1'000u) {}", "while (i < 1001u) {}",
                              "while (i < 999u) {}"},
}

SOURCE = """namespace made_up {
int noticed(int x) {
  if (x < 10) return x;
  return 11;
}
int unnoticed(int x) { return x + y; }
int endless(int x) { return x ? endless(x - 0x1) : y; }
int unbuildable(int x) { return x == y; }
int equal(int x) { return x / 1; }
}  // namespace made_up
"""
TEST = """import pathlib, sys, time
text = pathlib.Path("made_up/values.cpp").read_text()
if pathlib.Path("slow").exists():
    time.sleep(0.4)
while "endless(x - 0x1)" not in text:
    time.sleep(1)
sys.exit("if (x < 10) return x;" not in text or "return 11;" not in text)
"""
BUILD = """import pathlib, sys
sys.exit("return x == y;" not in pathlib.Path("made_up/values.cpp").read_text())
"""
LIST = """# Made up.
made_up/values.cpp
- int equal(int x) { return x / 1; }
+ int equal(int x) { return x * 1; }
A number is the same when it is multiplied by 1.

made_up/values.cpp
- int gone(int x) { return x / 1; }
+ int gone(int x) { return x * 1; }
The line is gone.
"""
# `<`, 10, the condition, the return, 11, and what never ends; of `x / 1` one is equivalent.
KILLED = 6
SURVIVORS = [r"\+ int equal\(int x\) { return x / [02]; }", r"\+ int unnoticed\(int x\) { return x - y; }"]
RESULTS = KILLED + len(SURVIVORS) + 2


def changes_of(line):
    text = f"void f() {{\n{line}\n}}\n"
    return {(text[:p.begin] + r + text[p.end:])[len("void f() {\n"):-len("\n}\n")]
            for p in find_places(text) for r in p.replacements}


class MadeUp:
    def __init__(self, script, root):
        self.script, self.root = script, root
        (root / "made_up" / "testing").mkdir(parents=True)
        self.write("made_up/values.cpp", SOURCE)
        self.write("made_up/values_test.cpp", "int a = 1 + 1;\n")
        self.write("made_up/testing/help.h", "inline int b = 1 + 1;\n")
        self.write("test.py", TEST)
        self.write("build.py", BUILD)
        self.write("list.txt", LIST)

    def write(self, name, text):
        (self.root / name).write_text(text)

    def start(self, *arguments):
        python = sys.executable
        command = [python, str(self.script), "made_up", *arguments, "--root", str(self.root),
                   "--equivalent", str(self.root / "list.txt"),
                   "--build-with", f"{python} build.py", "--test-with", f"{python} test.py"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments):
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=300)
        self.check_source(output)
        return process.returncode, output

    def check_source(self, output=""):
        if (self.root / "made_up/values.cpp").read_text() != SOURCE:
            raise Failure(f"the source is not as it was\n{output}")

    def run_until_result(self, number):
        """Stops a run by a signal after its first result. Returns the results until then."""
        process = self.start("100", "1")
        tried = 0
        for line in process.stdout:
            tried += is_result(line)
            if tried:
                process.send_signal(number)
                break
        rest = process.stdout.read()
        process.wait()
        self.check_source(rest)
        return tried + results_in(rest), process.returncode, rest


def is_result(line):
    return bool(re.match(r"\d+/\d+ ", line))


def results_in(output):
    return sum(is_result(line) for line in output.split("\n"))


def try_lines():
    for line, expected in LINES.items():
        found = changes_of(line)
        check(found == expected, f"changes of: {line}", f"missing {expected - found}\n"
              f"too many {found - expected}")


def try_outcomes(made_up):
    code, output = made_up.run("100", "1")
    survivors = sorted(re.findall(r"^survives: .*\n.*\n  (.*)", output, re.M))
    check(len(survivors) == 2 and all(map(re.fullmatch, SURVIVORS, survivors)), "the survivors are those that no test notices", output)
    check(f"{KILLED} of {KILLED + 3} killed (1 equivalent, 2 survive; 1 more did not compile): 75.0 %"
          in output, "each mutant is killed, equivalent, surviving or does not compile", output)
    check(code == 1, "too few are killed: exit code 1", output)
    check("killed by the time limit" in output, "a test that never ends is stopped", output)
    check("  - int gone(int x)" in output, "an entry for a line that is gone is reported", output)
    check("help.h" not in output and "values_test" not in output, "tests are not changed", output)
    code, output = made_up.run("100", "1", "--at-least", "75")
    check(code == 0, "enough are killed: exit code 0", output)
    check(results_in(output) == 0, "what is known is not tried again", output)


def try_changes(made_up):
    made_up.write("made_up/values_test.cpp", "int a = 1 + 2;\n")
    _, output = made_up.run("100", "1")
    check(results_in(output) == 3, "with another test only survivors are tried again", output)


def try_stops(made_up):
    made_up.write("slow", "")
    by_ctrl_c, code, output = made_up.run_until_result(signal.SIGINT)
    check(code == 2 and "goes on from here" in output, "Ctrl-C ends a run", output)
    check(0 < by_ctrl_c < RESULTS, "it had results until then", output)
    by_kill, code, output = made_up.run_until_result(signal.SIGKILL)
    check(code == -signal.SIGKILL and by_kill > 0, "a killed run had results", output)
    code, output = made_up.run("100", "1")
    check(code == 1 and f"{KILLED} of {KILLED + 3} killed" in output, "the next run finishes", output)
    check(by_ctrl_c + by_kill + results_in(output) in (RESULTS, RESULTS + 1), "and goes on where they stopped",
          f"{by_ctrl_c} + {by_kill} + {results_in(output)}\n{output}")


def try_failing(made_up):
    made_up.write("test.py", "raise SystemExit('always')\n")
    code, output = made_up.run("100", "1")
    check(code == 2 and "fails without a mutant" in output, "tests that fail anyway are an error",
          output)


def self_test(script):
    try:
        try_lines()
        with tempfile.TemporaryDirectory() as folder:
            made_up = MadeUp(script, Path(folder) / "one")
            try_outcomes(made_up)
            try_changes(made_up)
            try_failing(made_up)
            try_stops(MadeUp(script, Path(folder) / "two"))
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0
