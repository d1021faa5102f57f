"""How mutants are built and tested: by CMake and GoogleTest, or by commands (for the self-test)."""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from .commands import run, run_together

BUILD_LIMIT = 3600
TEST_SUITE = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,", re.M)
# Of a compiler or linker, not of Ninja or CMake, which a mutant cannot disturb.
COMPILER_ERROR = re.compile(r"^(?!ninja).*\berror: ", re.M)
FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.M)


class CannotTest(Exception):
    """Without mutants something fails already: exit code 2."""


@dataclass
class Verdict:
    outcome: str  # broken (does not compile), killed or survived
    reason: str = ""  # the test that noticed


class CommandProject:
    """Two commands of the user, run in the copy of the tree."""

    def __init__(self, tree, build, test):
        self.tree, self.commands = tree, (shlex.split(build), shlex.split(test))

    def prepare(self):
        for command in self.commands:
            ended = run(command, self.tree.copy, BUILD_LIMIT)
            if ended.code != 0:
                raise CannotTest(f"{shlex.join(command)} fails without a mutant:\n{ended.output}")
        self.limit = 2 + 10 * ended.seconds

    def is_built(self, path):
        return True

    def judge(self, mutant):
        build, test = self.commands
        if run(build, self.tree.copy, BUILD_LIMIT).code != 0:
            return Verdict("broken")
        ended = run(test, self.tree.copy, self.limit)
        if ended.ran_out:
            return Verdict("killed", "the time limit")
        return Verdict("killed", "the test") if ended.code != 0 else Verdict("survived")


class CMakeProject:
    """The unit tests of a folder: the programs whose sources FOLDER/…_test.cpp are."""

    def __init__(self, tree, build, folder, jobs, say):
        self.tree, self.build, self.folder, self.jobs, self.say = tree, build, folder, jobs, say
        self.programs = []

    def prepare(self):
        self._configure()
        self.programs = self._test_programs()
        if not self.programs:
            raise CannotTest(f"no unit-test program has sources in {self.folder}/")
        self.say(f"building {', '.join(self.programs)}; the first time takes minutes")
        ended = self._build()
        if ended.code != 0:
            raise CannotTest(f"the build fails without a mutant:\n{ended.output[-4000:]}")
        self.built = self._files_of_objects()
        self.unchanged = self._digests()
        self.seconds = {}
        for program in self.programs:
            ended = self._run(program, None, 3600, 0)
            if ended.code != 0:
                raise CannotTest(f"{program} fails without a mutant:\n{ended.output[-4000:]}")
            self.seconds[program] = ended.seconds
        self.say("tests take " + ", ".join(f"{s:.1f} s ({p})" for p, s in self.seconds.items()))

    def _configure(self):
        top = self.folder.split("/")[0]
        runtime = top in ("runtime", "samples")
        options = {
            "CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0 -g0", "PIPETRACE_WERROR": "OFF",
            "PIPETRACE_VIEWER": "ON" if top == "viewer" else "OFF", "PIPETRACE_CUDA": "OFF",
            "PIPETRACE_RUNTIME": "ON" if runtime else "OFF", "PIPETRACE_UNITE": "ON",
            "PIPETRACE_APART_IN": top,
            "CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE": "PRE_TEST"}
        torch = self.tree.source / ".deps" / "torch"
        if runtime and torch.is_dir():
            options["PIPETRACE_TORCH_DIR"] = str(torch)
        if shutil.which("clang++-16"):  # compiles in half the time
            options |= {"CMAKE_CXX_COMPILER": "clang++-16", "CMAKE_C_COMPILER": "clang-16"}
        if shutil.which("ld.mold") or shutil.which("ld.lld"):
            linker = "mold" if shutil.which("ld.mold") else "lld"
            options["CMAKE_EXE_LINKER_FLAGS"] = f"-fuse-ld={linker}"
        if shutil.which("ccache"):
            options["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        command = ["cmake", "-S", str(self.tree.copy), "-B", str(self.build), "-G", "Ninja"]
        ended = run(command + [f"-D{k}={v}" for k, v in options.items()], self.tree.copy, 600)
        if ended.code != 0:
            raise CannotTest(f"cmake fails:\n{ended.output[-4000:]}")

    def _build(self):
        command = ["ninja", "-C", str(self.build), f"-j{self.jobs}", *self.programs]
        return run(command, self.build, BUILD_LIMIT)

    def _test_programs(self):
        """From the commands of the compiler, whose outputs name their targets."""
        found = set()
        folder = f"{self.tree.copy / self.folder}/"
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            target = re.search(r"CMakeFiles/(\w+_test)\.dir/", entry["command"])
            names = [entry["file"]]
            if "/units/" in entry["file"]:
                united = re.findall(r'#include "(.*)"', pathlib.Path(entry["file"]).read_text())
                names = [str(self.tree.copy / name) for name in united]
            if target and any(n.startswith(folder) and n.endswith("_test.cpp") for n in names):
                found.add(target[1])
        return sorted(found)

    def _files_of_objects(self):
        """Every file that the compiler read for the test programs and their libraries."""
        deps = subprocess.run(["ninja", "-C", str(self.build), "-t", "deps"], capture_output=True,
                              text=True, check=True).stdout
        prefix = f"{self.tree.copy}/"
        lines = (os.path.normpath(self.build / line.strip()) for line in deps.split("\n")
                 if line.startswith("    "))
        return {line[len(prefix):] for line in lines if line.startswith(prefix)}

    def is_built(self, path):
        return path in self.built

    def _digests(self):
        return {path.name: hashlib.sha256(path.read_bytes()).digest()
                for path in (self.build / "bin").iterdir() if path.is_file()}

    def _changed_programs(self):
        """The tests that a mutant can fail: a test may also run a program that is none."""
        digests = self._digests()
        changed = [name for name in digests if digests[name] != self.unchanged.get(name)]
        return [p for p in self.programs if p in changed] if set(changed) <= set(self.programs) else \
            self.programs

    def _run(self, program, suites, seconds, cpu_seconds):
        """The first failure, or the last shard."""
        path = str(self.build / "bin" / program)
        arguments = [path, "--gtest_brief=1", "--gtest_fail_fast"]
        if suites:
            arguments.append("--gtest_filter=" + ":".join(f"{s}.*:*/{s}.*" for s in suites))
        commands = [(arguments, {"GTEST_TOTAL_SHARDS": str(self.jobs), "GTEST_SHARD_INDEX": str(i)})
                    for i in range(self.jobs)]
        with tempfile.TemporaryDirectory(prefix="mutants", ignore_cleanup_errors=True) as folder:
            ended = run_together(commands, self.build / self.folder, seconds, cpu_seconds,
                                 {"TMPDIR": folder})
        return ended[-1]

    def _suites_beside(self, path):
        """Test suites of the mutant's own folder: they notice most mutants."""
        suites = []
        for test in sorted((self.tree.copy / path).parent.glob("*_test.cpp")):
            suites += TEST_SUITE.findall(test.read_text())
        return list(dict.fromkeys(suites))

    def judge(self, mutant):
        ended = self._build()
        if ended.code != 0:
            if not COMPILER_ERROR.search(ended.output) or "No space left" in ended.output:
                raise CannotTest(f"the build does not work any more:\n{ended.output[-4000:]}")
            return Verdict("broken")
        programs, beside = self._changed_programs(), self._suites_beside(mutant.path)
        for suites in ([beside] if beside else []) + [None]:
            for program in programs:
                usual = self.seconds[program]
                ended = self._run(program, suites, 30 + 10 * usual, int(20 + 8 * usual))
                if ended.ran_out:
                    return Verdict("killed", "the time limit")
                if ended.code != 0:
                    test = FAILED.search(ended.output)
                    return Verdict("killed", test[1] if test else f"the end of {program}")
        return Verdict("survived")
