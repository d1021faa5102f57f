#!/usr/bin/env python3
"""What a source pulls in: every header of the project that it includes, the source beside each of
these headers, and all that those include in turn. Prints the lines of all of it, by folder, and the
includes that alone bring in most: without one of them its lines would be left out.

  tools/pulled_in.py apps/pipe_trace/report.cpp [--edges N] [--list]
"""

import argparse
import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Tree:
    def __init__(self):
        self.texts = {}
        self.next = {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = text_of(path)
        return self.texts[path]

    def lines(self, path):
        return self.text(path).count("\n")

    def next_of(self, path):
        """The headers that a file includes, and the source beside a header."""
        if path in self.next:
            return self.next[path]
        found = [each for each in INCLUDE.findall(self.text(path))
                 if os.path.exists(os.path.join(ROOT, each))]
        source = path[:-2] + ".cpp" if path.endswith(".h") else ""
        if source and os.path.exists(os.path.join(ROOT, source)):
            found.append(source)
        self.next[path] = found
        return found

    def reached_from(self, path, without=None):
        """`without`: an include, as (file, header), that is passed over."""
        reached, todo = {path}, [path]
        while todo:
            file = todo.pop()
            for each in self.next_of(file):
                if each not in reached and (file, each) != without:
                    reached.add(each)
                    todo.append(each)
        return reached

    def lines_of(self, files):
        return sum(self.lines(file) for file in files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", help="a source, from the root of the project")
    parser.add_argument("--edges", type=int, default=10, help="includes to show (default: 10)")
    parser.add_argument("--list", action="store_true", help="print the files, too")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(ROOT, options.file)):
        sys.exit(f"pulled_in.py: there is no {options.file}")
    tree = Tree()
    reached = tree.reached_from(options.file)
    print(f"{options.file} pulls in {tree.lines_of(reached)} lines in {len(reached)} files")
    folders = collections.Counter()
    for file in reached:
        folders[file.split("/")[0]] += tree.lines(file)
    for folder, lines in folders.most_common():
        print(f"{lines:8} {folder}/")
    if options.list:
        for file in sorted(reached):
            print(f"{tree.lines(file):8} {file}")
    all_lines = tree.lines_of(reached)
    saved = []
    for file in reached:
        for each in tree.next_of(file):
            if file.endswith(".h") and each == file[:-2] + ".cpp":
                continue
            saved.append((all_lines - tree.lines_of(
                tree.reached_from(options.file, (file, each))), file, each))
    print("lines that one include alone brings in:")
    for lines, file, each in sorted(saved, reverse=True)[:options.edges]:
        print(f"{lines:8} {file} -> {each}")


if __name__ == "__main__":
    main()
