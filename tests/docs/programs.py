"""What programs and scripts say of themselves: options, defaults, exit codes."""
import functools
import os
import re
import subprocess

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*")
EXIT_CODES = re.compile(r"Exit codes?: (0 .*?)(?:\.(?=\s|$)|\n\n|\Z)", re.S)


@functools.cache
def run(*command):
    environment = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="100")
    environment.pop("WORLD_SIZE", None)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exits with {done.returncode}: {done.stderr}")
    return done.stdout


def exit_codes(text):
    """The lists "0 done; 2 could not" of a text, each as one line."""
    lists = [" ".join(found.replace("`", "").split()) for found in EXIT_CODES.findall(text)]
    return {codes for codes in lists if ";" in codes}


class Help:
    """One --help."""

    def __init__(self, text):
        self.text = text
        self.options = {}  # each with its whole entry on one line
        names = []
        for line in text.split("\n"):
            if re.match(r"\s+-", line):
                names = OPTION.findall(re.split(r"\s{2,}", line.strip())[0])
                names = [n for n in names if n not in ("--help",)]
                for name in names:
                    self.options[name] = ""
            elif not line.startswith("    "):
                names = []
            for name in names:
                self.options[name] += " " + " ".join(line.split())
        self.exit_codes = exit_codes(text)

    def default(self, option):
        """The text of "(default: …)", or what stands before "(default)"; "" if there is none."""
        entry = self.options[option]
        value = re.search(r"^\s*\S+ [A-Z]+(?:\S* in \[.*?\]|\S*?)=(\S+)", entry)  # as CLI11 writes it
        if value:
            return value[1]
        found = re.search(r"\(?[Dd]efault:? ([^);]+)", entry)
        if found:
            return found[1]
        found = re.search(r"([^,;|]*)\(default\)", entry)
        return found[1] if found else ""


def helps_of(folder):
    """The --help of every program and each of its commands, by "pipe-trace plan"."""
    found = {}
    for program in ("pipe-run", "pipe-trace", "pipe-view", "sample-bert", "sample-gpipe-mlp",
                    "sample-char-transformer"):
        path = os.path.join(folder, program)
        found[program] = Help(run(path, "--help"))
        for command in re.findall(rf"^  {program} ([a-z-]+) \.\.\.", found[program].text, re.M):
            found[f"{program} {command}"] = Help(run(path, command, "--help"))
    return found


def helps_of_scripts(root):
    """The --help of the scripts of tools/ that have one, by "tools/demo.sh"."""
    found = {}
    for name in sorted(os.listdir(os.path.join(root, "tools"))):
        path = os.path.join(root, "tools", name)
        if not name.endswith((".sh", ".py")):
            continue
        with open(path, encoding="utf-8") as file:
            if not re.search("--help|argparse", file.read()):
                continue
        text = run("bash" if name.endswith(".sh") else "python3", path, "--help")
        found[f"tools/{name}"] = Help(text)
        # Scripts also have options in their first lines, as "format.sh --check".
        for option in OPTION.findall(text):
            found[f"tools/{name}"].options.setdefault(option, "")
    return found
