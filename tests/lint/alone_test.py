#!/usr/bin/env python3
"""Checks that tools/lint/alone.py finds files that do not compile alone, and says which.

  alone_test.py COMPILER
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint" / "alone.py"
COMPILER = sys.argv.pop()
CLANG = "clang++-16"
FINE = '#include "fine.h"\n\nint fine(int number) { return number; }\n'
SHADOWS = "int shadows(int number) {\n  if (int number = 1) return number;\n  return number;\n}\n"


class AloneTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.entries = []
        self.write("fine.h", "#pragma once\n\nint fine(int number);\n")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def source(self, name, text, options=()):
        self.write(name, text)
        self.entries.append({
            "directory": str(self.folder), "file": name,
            "arguments": [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Wshadow", *options,
                          "-o", f"{name}.o", "-c", name]})

    def check(self, *options):
        self.write("compile_commands.json", json.dumps(self.entries))
        done = subprocess.run(
            [sys.executable, CHECK, "--root", self.folder, *options, self.folder],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def test_fine_sources_pass(self):
        self.source("fine.cpp", FINE)
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn("all compile alone: 1 sources in 1 compilations, and 0 headers", said)
        self.assertFalse((self.folder / "fine.cpp.o").exists())

    def test_all_parts_together_are_all_files(self):
        names = {f"fine_{number}.cpp" for number in range(20)}
        for name in names:
            self.source(name, FINE)
        parts = [set(self.check("--list", "--part", f"{number}/3")[1].split()) & names
                 for number in range(4, 7)]
        self.assertEqual(set.union(*parts), names)
        self.assertEqual(sum(map(len, parts)), len(names))
        self.assertEqual(self.check("--part", "3")[0], 2)

    def test_header_of_a_source_in_another_part_is_left_to_it(self):
        self.source("fine.cpp", FINE)
        for number in range(2):
            self.assertNotIn("1 headers", self.check("--list", "--part", f"{number}/2")[1])

    def test_shadowing_source_is_named_with_its_reason(self):
        self.source("fine.cpp", FINE)
        self.source("shadows.cpp", SHADOWS)
        code, said = self.check()
        self.assertEqual(code, 1, said)
        self.assertIn("-Werror=shadow", said)
        self.assertIn("failed: shadows.cpp\n1 of 2 files do not compile alone", said)
        self.assertEqual(self.check("--path", "^fine")[0], 0)

    def test_precompiled_header_does_not_stand_in_for_an_include(self):
        self.write("cmake_pch.hxx", "#include <vector>\n")
        self.source("lacks.cpp", "std::vector<int> lacks;\n", ("-include", "cmake_pch.hxx"))
        code, said = self.check()
        self.assertEqual(code, 1, said)
        self.assertIn("failed: lacks.cpp", said)

    def test_precompiled_header_of_clang_is_left_out(self):
        words = ("-include-pch", "cmake_pch.hxx.pch", "-include", "cmake_pch.hxx")
        options = [part for word in words for part in ("-Xclang", word)]
        self.source("fine.cpp", FINE, options)
        code, said = self.check()
        self.assertEqual(code, 0, said)

    def test_header_that_lacks_an_include_is_found(self):
        self.write("lacks.h", "#pragma once\n\ninline int lacks() { return fine(1); }\n")
        self.source("uses.cpp", '#include "fine.h"\n#include "lacks.h"\n\nint uses() { return lacks(); }\n')
        code, said = self.check()
        self.assertEqual(code, 1, said)
        self.assertIn("failed: lacks.h\n1 of 2 files", said)

    def test_sources_are_compiled_once_for_options_that_count(self):
        self.source("fine.cpp", FINE)
        self.source("fine.cpp", FINE, ("-O2", "-g1", "-DNDEBUG", "-fsanitize=thread"))
        self.source("asserts.cpp", "#include <cassert>\n\nvoid asserts() { assert(true); }\n")
        self.source("asserts.cpp", self.folder.joinpath("asserts.cpp").read_text(), ("-DNDEBUG",))
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn("2 sources in 3 compilations", said)

    def test_only_ndebug_fails(self):
        text = "#include <cassert>\n\nvoid asserts(bool wrong) {\n  const bool right = !wrong;\n  assert(right);\n}\n"
        self.source("asserts.cpp", text)
        self.source("asserts.cpp", text, ("-DNDEBUG",))
        code, said = self.check()
        self.assertEqual(code, 1, said)
        self.assertIn("1 of 1 files do not compile alone", said)

    def test_file_that_nothing_compiles_is_listed(self):
        self.source("fine.cpp", FINE)
        self.write("left.cpp", FINE)
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn("not checked, as nothing compiles it here: left.cpp", said)

    @unittest.skipUnless(shutil.which(CLANG), f"{CLANG} is missing")
    def test_precompiled_headers_hide_no_missing_include(self):
        self.write("words.h", "#pragma once\n\n#include <string>\n#include <vector>\n\n"
                              "using Words = std::vector<std::string>;\n")
        # Seen alone only when its source comes to it first, though that includes what it lacks.
        self.write("lacks.h", "#pragma once\n\nstd::string lacks();\n")
        for number in range(6):
            self.source(f"words{number}.cpp", f'#include "words.h"\n\nWords words{number};\n')
        self.source("first.cpp", '#include "lacks.h"\n\n#include "words.h"\n\nWords first;\n')
        self.source("second.cpp", '#include "fine.h"\n\nstd::vector<int> second;\n')
        self.source("third.cpp", '#ifdef NONE\n#include "words.h"\n#endif\n\nWords third;\n')
        for entry in self.entries:
            entry["arguments"][0] = CLANG
        code, said = self.check("--precompile", str(self.folder / "precompiled"))
        self.assertEqual(code, 1, said)
        self.assertIn("1 precompiled headers", said)
        self.assertIn("failed: first.cpp\nfailed: second.cpp\nfailed: third.cpp\n3 of 9", said)

    def test_nothing_to_check_is_no_success(self):
        self.assertEqual(self.check()[0], 2)


if __name__ == "__main__":
    unittest.main()
