#!/usr/bin/env python3
"""build_test.py SOURCE_FOLDER BUILD_FOLDER: what is compiled is the same in every clone, and the
presets of the README build no tests."""

import json
import pathlib
import re
import sys
import unittest

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
PRESETS = {p["name"]: p for p in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}


def variable(preset, name):
    """Of a preset, or of those that it inherits: the first that has it."""
    own = PRESETS[preset].get("cacheVariables", {})
    if name in own:
        return own[name]
    inherited = PRESETS[preset].get("inherits", [])
    for parent in [inherited] if isinstance(inherited, str) else inherited:
        found = variable(parent, name)
        if found is not None:
            return found
    return None


class Clones(unittest.TestCase):
    def test_no_macro_holds_the_path_of_a_clone(self):
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        self.assertGreater(len(entries), 50)
        found = {word for entry in entries for word in entry["command"].split()
                 if word.startswith(("-D", "'-D")) and str(SOURCE) in word}
        self.assertEqual(found, set())

    def test_units_name_their_sources_from_the_root(self):
        units = list(BUILD.glob("**/units/*.cpp"))
        if not units:
            self.skipTest("configured with PIPETRACE_UNITE=OFF")
        for unit in units:
            for line in unit.read_text().splitlines():
                self.assertRegex(line, r'^#include "\w[\w/.-]*\.cpp"$', unit)


class Presets(unittest.TestCase):
    def test_presets_of_the_readme_build_no_tests(self):
        text = (SOURCE / "README.md").read_text()
        named = set(re.findall(r"^\| `([a-z-]+)`", text[text.index("## Building"):], re.M))
        self.assertLessEqual({"core", "viewer", "runtime", "all", "profiler"}, named)
        for preset in named - {"runtime-asan"}:
            self.assertEqual(variable(preset, "PIPETRACE_TESTS"), "OFF", preset)

    def test_presets_with_tests_build_in_the_folder_of_the_one_without(self):
        for name, preset in PRESETS.items():
            if name.endswith("-tests"):
                self.assertEqual(variable(name, "PIPETRACE_TESTS"), "ON", name)
                self.assertEqual(preset["binaryDir"],
                                 "${sourceDir}/build/" + name.removesuffix("-tests"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
