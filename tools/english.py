#!/usr/bin/env python3
"""Checks the English of documents, comments, messages and test names, and the links of documents.

  english.py [--check] [FILE ...]    default: every file that git tracks
  english.py --count                 how many findings each folder has

Rules: no sentence begins headless with "Of", "What" or "Who" (questions may); no sentence has more
than 30 words; no line of a document has more than 400 characters, tables apart; and the phrases
below are written in another way. A link of a document leads to a file that is there, and to one of
its headings. Code between back quotes counts as one word; SQL is no prose. Exit
code 1 when it finds something.
"""
import os
import re
import subprocess
import sys

MOST_WORDS = 30
LONGEST_LINE = 400
PHRASES = {
    r"\b(?:is|are|was|were|be|been|being|gets?) told\b": "reported, printed, listed",
    r"\bso many\b": "that many, this many",
    r"\bso much\b": "that much",
    r"\bbegin of\b": "start of",
    r"\btold (?:once|in|with|about)\b": "reported",
    r"\b[Ww]ho(?:ever)? (?:asks|reads|calls|writes|includes|links|wants|uses)\b": "name the caller",
    r"\blearnt\b": "learned",
    r"\banew\b": "again",
}
HEADLESS = re.compile(r"^(?:Of|What|Who)\b")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"']*\s+(?=[A-Z`\"'(])")
TEST = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
SQL = re.compile(r"^\s*(?:CREATE|INSERT|UPDATE|SELECT|DELETE) ")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def sentences(text):
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"\b\w+ = [^\s,]+", "CODE", text)  # a pair of a log line
    text = re.sub(r"</?(?:table|tr|td)\b[^>]*>", ". ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|et al|No|Fig)\.", r"\1", text)
    return [s.strip() for s in SENTENCE_END.split(text) if s.strip()]


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


def check_prose(text, place, findings, headless=True):
    for sentence in sentences(text):
        if headless and HEADLESS.match(sentence.lstrip("*_([\"'")) and not sentence.endswith("?"):
            findings.append((place, "headless", sentence[:90]))
        if len(words(sentence)) > MOST_WORDS:
            findings.append((place, f"{len(words(sentence))} words", sentence[:90]))
    check_phrases(text, place, findings)


def check_phrases(text, place, findings):
    for phrase, better in PHRASES.items():
        match = re.search(phrase, text)
        if match:
            findings.append((place, f"write: {better}", match[0]))


def check_document(path, text, findings):
    text = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    block, begin = [], 0

    def flush():
        if block:
            check_prose(" ".join(block), f"{path}:{begin}", findings)
        block.clear()

    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("    ") and not block:
            continue
        if line.startswith("|"):
            flush()
            for cell in line.strip("|").split("|"):
                # A cell names a thing as often as it says something.
                check_prose(cell.strip(), f"{path}:{number}", findings, headless=False)
            continue
        if len(line) > LONGEST_LINE:
            findings.append((f"{path}:{number}", f"{len(line)} characters", line[:60]))
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        if not line.strip() or line.startswith("#") or item:
            flush()
        text_of_line = item[1] if item else line.lstrip("#> ").strip()
        if text_of_line:
            if not block:
                begin = number
            block.append(text_of_line)
        if line.startswith("#"):
            block.clear()  # a heading names a thing
    flush()


def anchors(text):
    """The anchors that front ends of Markdown give the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


def check_links(path, text, findings):
    for number, line in enumerate(text.split("\n"), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", link) or line.startswith("    "):
                continue
            name, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(path), name) if name else path
            if not os.path.exists(target):
                findings.append((f"{path}:{number}", "a link to nowhere", link))
            elif anchor and target.endswith(".md"):
                with open(target, encoding="utf-8") as file:
                    if anchor not in anchors(file.read()):
                        findings.append((f"{path}:{number}", "a link to no heading", link))


def check_source(path, text, findings, marks):
    block, begin = [], 0

    def flush():
        if block:
            check_prose(" ".join(block), f"{path}:{begin}", findings)
        block.clear()

    literal, literal_at = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(rf"\s*(?:{marks})\s?(.*)", line)
        if comment:
            content = comment[1].strip()
            drawn = re.search(r"[|+<>=\-]{3}|^\s{3,}", comment[1])
            if not content or drawn:
                flush()
            else:
                item = re.match(r"(?:[-*]|\d+\.)\s+(.*)", content)
                if item:
                    flush()
                    content = item[1]
                if not block:
                    begin = number
                block.append(content)
        else:
            flush()
            trailing = re.search(r"[;,{})]\s*(?://+<?)\s(.*)$", line)
            if trailing and marks.startswith("//"):
                check_prose(trailing[1].strip(), f"{path}:{number}", findings, headless=False)
            found = STRING.findall(line) if not line.lstrip().startswith("#include") else []
            if found:
                literal_at = literal_at or number
                literal += "".join(found)
            if not found or not line.rstrip().endswith('"'):
                if literal:
                    check_phrases(literal, f"{path}:{literal_at}", findings)
                    lines = [] if SQL.match(literal) else literal.split("\\n")
                    for sentence in (s for one in lines for s in sentences(one)):
                        if len(words(sentence)) > MOST_WORDS:
                            findings.append((f"{path}:{literal_at}",
                                             f"{len(words(sentence))} words", sentence[:90]))
                literal, literal_at = "", 0
    flush()
    if path.endswith(".cpp"):
        for match in TEST.finditer(text):
            name = " ".join(re.findall(r"[A-Z0-9][a-z0-9]*", match[2]))
            place = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            if HEADLESS.match(name):
                findings.append((place, "headless test name", match[2]))
            check_phrases(name.lower(), place, findings)


def check(path):
    findings = []
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(".md"):
        check_document(path, text, findings)
        check_links(path, text, findings)
    elif path.endswith((".cpp", ".h", ".c", ".cu")):
        check_source(path, text, findings, r"///<?|//")
    elif path.endswith((".sh", ".cmake", "CMakeLists.txt")):
        check_source(path, text, findings, r"#+")
    return findings


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(__doc__.strip())
        return 0
    count = "--count" in arguments
    paths = [a for a in arguments if not a.startswith("--")]
    if not paths:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True)
        paths = [p for p in listed.stdout.decode().split("\0") if p]
    kinds = (".md", ".cpp", ".h", ".c", ".cu", ".sh", ".cmake", "CMakeLists.txt")
    findings = [f for path in paths if path.endswith(kinds) for f in check(path)]
    if count:
        folders = {}
        for place, _, _ in findings:
            folder = place.split(":")[0].rpartition("/")[0] or "."
            folders[folder] = folders.get(folder, 0) + 1
        for folder, number in sorted(folders.items()):
            print(f"{number:5}  {folder}")
    else:
        for place, rule, text in findings:
            print(f"{place}: {rule}: {text}")
    print(f"{len(findings)} findings in {len(paths)} files", file=sys.stderr)
    return 1 if findings else 0


sys.exit(main())
