#!/usr/bin/env python3
"""Compares documents with what programs, scripts, presets and sources say of themselves.

  check_documents.py BIN [ROOT]     BIN: the folder of the built programs; ROOT: the repository

- Options: each that a document names is in a --help; in a command line, in the --help of that
  command. Each of a --help is in the documents of its program. Defaults of both are equal.
- Schedules: each of `pipe-trace plan --list` has its heading in docs/schedules.md, and no document
  spells one in a way that is not in that list.
- Exit codes: the lists of documents and of --help are the same.
- Environment variables of documents are in the sources, and those of the sources in documents.
- Presets: the README's table is that of CMakePresets.json.

Exit code 1 when it finds something, with a line for each.
"""
import functools
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from exceptions import (DEFAULTS_IN_WORDS, FOREIGN_OPTIONS, FOREIGN_VARIABLES, OWN_DOCUMENTS,
                        UNDOCUMENTED, WORDS_LIKE_SCHEDULES)
from programs import OPTION, exit_codes, helps_of, helps_of_scripts, run

CODE = re.compile(r"`([^`\n]+)`")
VARIABLE = re.compile(r"\b(?:PIPETRACE(?:_[A-Z]+)*|[A-Z]+(?:_[A-Z]+)+|COLUMNS|RANK|DISPLAY)\b(?!\()")


class Documents:
    def __init__(self, root):
        self.texts = {}
        for folder, names in [(".", os.listdir(root))] + [
                (os.path.relpath(f, root), n) for f, _, n in os.walk(os.path.join(root, "docs"))]:
            for name in names:
                path = os.path.normpath(os.path.join(folder, name))
                if name.endswith(".md") and name != "CHANGELOG.md":
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        self.texts[path] = file.read()

    def snippets(self, path):
        """Each piece of code of a document with its line: spans in back quotes, lines of blocks."""
        pending, first, fenced = "", 0, False
        for number, line in enumerate(self.texts[path].split("\n"), 1):
            if line.startswith("```"):
                fenced = not fenced
                continue
            if fenced or line.startswith("    "):
                first = first or number
                pending += line.rstrip("\\") + " "
                if not line.endswith("\\"):
                    yield first, re.sub(r"\s#\s.*", "", pending.strip())
                    pending, first = "", 0
            else:
                for code in CODE.findall(line):
                    yield number, code


def commands_in(code, helps):
    """The command lines in a piece of code, as (name of the help, its arguments)."""
    for part in re.split(r"[|;&]+(?![^'\"]*['\"]\s)|\$\(|<\(", code):
        words = part.replace("$ ", "", 1).split()
        while words and (re.fullmatch(r"\w+=\S*", words[0]) or words[0] in ("bash", "python3")):
            words = words[1:]
        if not words:
            continue
        name = words[0] if words[0].startswith("tools/") else os.path.basename(words[0])
        name = name.removeprefix("./")
        if name not in helps:
            continue
        arguments = part[part.index(words[0]) + len(words[0]):]
        if len(words) > 1 and f"{name} {words[1]}" in helps:
            name = f"{name} {words[1]}"
        yield name, arguments.split(" -- ")[0]


def check_options(documents, helps, findings):
    foreign = {option for options in FOREIGN_OPTIONS.values() for option in options.split()}
    known = {option for each in helps.values() for option in each.options} | {"--help"}
    for path in documents.texts:
        for line, code in documents.snippets(path):
            seen = set()
            for name, arguments in commands_in(code, helps):
                for option in OPTION.findall(arguments):
                    seen.add(option)
                    if option not in helps[name].options and option != "--help":
                        findings.append(f"{path}:{line}: {name} has no option {option}")
            if re.search(r"^python3 tests/", code, re.M):
                continue  # scripts of the tests have options of their own
            for option in OPTION.findall(code):
                if option not in known | seen and option not in foreign:
                    findings.append(f"{path}:{line}: no program has an option {option}")
    for name, each in helps.items():
        program = name.split()[0]
        own = OWN_DOCUMENTS.get(name, OWN_DOCUMENTS.get(program))
        texts = [documents.texts[p] for p in (own or documents.texts) if p in documents.texts]
        named = {o for text in texts for o in OPTION.findall(text)}
        for option in each.options:
            if option not in named and option not in UNDOCUMENTED.get(program, "").split():
                findings.append(f"{option} of {name} is in none of: {', '.join(own or ['the documents'])}")
        for option in UNDOCUMENTED.get(program, "").split():
            if all(option not in helps[n].options for n in helps if n.split()[0] == program):
                findings.append(f"tests/docs/exceptions.py: {program} has no option {option}")


def defaults_of(text):
    """The defaults that a document states, as (line, options, value)."""
    for number, line in enumerate(text.split("\n"), 1):
        cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else [line]
        options = OPTION.findall(" ".join(CODE.findall(cells[0]))) if len(cells) > 1 else []
        for cell in cells:
            for match in re.finditer(
                    r"`([^`]+)` \((?:the )?default\)|\(default:? ([^)]+)\)|\bdefault:? (`[^`]+`|\d[\w.]*)"
                    r"|(?:are|is) (\w+) by default|`([^`]+)`, the default", cell):
                value = next(g for g in match.groups() if g)
                before = OPTION.findall(cell[:match.start()])
                near = options or before[-1:]
                if near:
                    yield number, near, value


def check_defaults(documents, helps, findings):
    for path, text in documents.texts.items():
        for line, options, value in defaults_of(text):
            given = {h.default(o) for o in options for h in helps.values() if o in h.options} - {""}
            value = DEFAULTS_IN_WORDS.get((options[0], value), value)
            if not any(said_equal(value, each) for each in given):
                findings.append(f"{path}:{line}: default {value} of {', '.join(options)}; the help "
                                f"says {' or '.join(sorted(given)) or 'none'}")


def said_equal(value, given):
    plain = [re.sub(r"[^\w.]+", " ", text).strip().lower() for text in (value, given)]
    return bool(plain[1]) and re.search(rf"(?<!\w){re.escape(plain[0])}(?!\w)", plain[1]) is not None


def check_schedules(documents, folder, findings):
    listed = run(os.path.join(folder, "pipe-trace"), "plan", "--list")
    names, others = [], set()
    for line in listed.split("\n"):
        if re.match(r"\S", line):
            names.append(line.split()[0])
        also = re.search(r"\(?also:? ([^)]*)", line)
        if also:
            others.update(o.strip(" .,") for o in also[1].split(","))
    if len(names) < 10:
        findings.append(f"`pipe-trace plan --list` names only {len(names)} schedules")
    text = documents.texts["docs/schedules.md"]
    headings = re.findall(r"^### (\S.*)$", text, re.M)
    rows = re.findall(r"^\| (\S+) \| \d+ \|", text, re.M)
    for what, found in (("heading", headings), ("row", rows)):
        for name in names:
            if name not in found:
                findings.append(f"docs/schedules.md: the schedule {name} has no {what}")
        for name in found:
            if name not in names:
                findings.append(f"docs/schedules.md: the {what} {name} is no schedule of --list")
    plain = {re.sub(r"\W", "", n).lower(): n for n in names}
    for path, text in documents.texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            prose = re.sub(r"\]\([^)]*\)|\b\w+://\S+", "]", CODE.sub("", line))
            for word in re.findall(r"(?<![\w/.-])[\w-]*[A-Z][\w-]*(?![\w/])", prose):
                name = plain.get(re.sub(r"\W", "", word).lower())
                if name and word != name and word not in others | WORDS_LIKE_SCHEDULES:
                    findings.append(f"{path}:{number}: {word} is spelled {name}")


def check_exit_codes(documents, helps, findings):
    in_documents = {}
    for path, text in documents.texts.items():
        for codes in exit_codes(text):
            in_documents[codes] = path
        table = re.search(r"^\| exit code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.M)
        if table:
            rows = re.findall(r"^\| (.*?) \| (.*?) \|$", table[1], re.M)
            in_documents["; ".join(f"{code} {meaning}" for code, meaning in rows)] = path
    said = {codes: name for name, each in helps.items() for codes in each.exit_codes}
    for codes, path in in_documents.items():
        if codes not in said:
            findings.append(f"{path}: no --help has the exit codes: {codes}")
    for codes, name in said.items():
        if not name.startswith("tools/") and codes not in in_documents:
            findings.append(f"no document has the exit codes of {name}: {codes}")


@functools.cache
def variables_of_sources(root):
    """The capital words in the sources, and the variables that programs read."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True)
    words, read = set(), set()
    for name in listed.stdout.decode().split("\0"):
        if not name.endswith((".cpp", ".h", ".cmake", "CMakeLists.txt", ".sh", ".py")):
            continue
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if not name.startswith("tests/docs/"):
            words.update(re.findall(r"\b[A-Z][A-Z_]+\b", text))
        if name.endswith((".cpp", ".h")) and not re.search(r"_test\.|(^|/)(testing|tests|bench)/", name):
            read.update(re.findall(r'"(PIPETRACE(?:_[A-Z]+)*)"', text))
    return words, read


def check_variables(documents, root, findings):
    words, read = variables_of_sources(root)
    named = set()
    for path in documents.texts:
        for line, code in documents.snippets(path):
            for variable in VARIABLE.findall(code.replace("-D", "")):
                named.add(variable)
                if variable not in words and variable not in FOREIGN_VARIABLES:
                    findings.append(f"{path}:{line}: no source knows {variable}")
    for variable in sorted(read - named):
        findings.append(f"the variable {variable}, which sources read, is in no document")


def check_presets(documents, root, findings):
    with open(os.path.join(root, "CMakePresets.json"), encoding="utf-8") as file:
        presets = {p["name"]: p for p in json.load(file)["configurePresets"]}

    def value(preset, variable):
        variables = presets[preset].get("cacheVariables", {})
        if variable in variables:
            return variables[variable]
        bases = presets[preset].get("inherits", [])
        values = [value(base, variable) for base in ([bases] if isinstance(bases, str) else bases)]
        return next((v for v in values if v is not None), None)

    shown = {name for name, preset in presets.items() if not preset.get("hidden")}
    text = documents.texts["README.md"]
    rows = re.findall(r"^\| `([\w-]+)`[^|]*\| (.*?) ?\| (.*?) ?\|$", text, re.M)
    table = {name: (torch, qt) for name, torch, qt in rows if name in shown or torch + qt in ("", "yes", "yesyes")}
    suffixed = re.finditer(r"^((?:`\w+`(?:, | and )?)+) exist as ((?:`-\w+`(?:, | and )?)+)", text, re.M)
    named = set(table)
    for each in suffixed:
        named |= {b + s for b in CODE.findall(each[1]) for s in CODE.findall(each[2])}
    for name in sorted(shown - named):
        findings.append(f"README.md: the preset {name} is missing")
    for name in sorted(named - shown):
        findings.append(f"README.md: there is no preset {name}")
    for name in sorted(set(table) & shown):
        needs = tuple("yes" if value(name, v) == "ON" else ""
                      for v in ("PIPETRACE_RUNTIME", "PIPETRACE_VIEWER"))
        if table[name] != needs:
            findings.append(f"README.md: the row of the preset {name} is not that of CMakePresets.json")
    for path, text in documents.texts.items():
        for preset in re.findall(r"--preset ([a-z][\w-]*)", text):
            if preset not in shown:
                findings.append(f"{path}: there is no preset {preset}")


def findings_of(folder, root):
    documents = Documents(root)
    helps = {**helps_of(folder), **helps_of_scripts(root)}
    findings = []
    check_options(documents, helps, findings)
    check_defaults(documents, helps, findings)
    check_schedules(documents, folder, findings)
    check_exit_codes(documents, helps, findings)
    check_variables(documents, root, findings)
    check_presets(documents, root, findings)
    return findings


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip())
        return 2
    root = sys.argv[2] if len(sys.argv) == 3 else os.path.dirname(os.path.dirname(HERE))
    findings = findings_of(sys.argv[1], root)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
