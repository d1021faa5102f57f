"""Asks one tool about one run, and prints its answer: to try an adapter.

    ask.py time_by_name FOLDER
    ask.py pipe_trace FOLDER program=build/all/bin/pipe-trace
    ask.py pipe_trace FOLDER program=build/all/bin/pipe-trace --truth FOLDER.truth.json

Settings are NAME=VALUE; a value that is JSON counts as that, any other as text. The exit code is 1
where the answer's form is wrong.
"""

import argparse
import json
import sys

import adapters
import score


def setting(text):
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=adapters.names())
    parser.add_argument("folder")
    parser.add_argument("settings", nargs="*", type=setting, metavar="NAME=VALUE")
    parser.add_argument("--hints", type=json.loads, default={}, help="a JSON object")
    parser.add_argument("--truth", metavar="FILE", help="prints the verdict, too")
    given = parser.parse_args()
    answer = adapters.load(given.tool).findings(given.folder, given.hints, dict(given.settings))
    print(json.dumps(answer, indent=1))
    if given.truth:
        with open(given.truth, encoding="utf-8") as file:
            print(json.dumps(score.judge(json.load(file), answer, given.tool), indent=1))
    problems = score.problems_in(answer)
    for problem in problems:
        print("wrong: " + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
