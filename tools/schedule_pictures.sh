#!/usr/bin/env bash
# Draws the pictures of docs/images/schedules again and writes the table of docs/schedules.md. Both
# come from `pipe-trace plan` of every schedule that it lists.
#
#    bash tools/schedule_pictures.sh [--check] [PIPE_TRACE]
#
# --check changes nothing, and exits with 1 if pictures or table are out of date.
# PIPE_TRACE: the program (default: that of the preset core, or all). Needs python3.
set -euo pipefail
cd "$(dirname "$0")/.."

check=no
if [[ "${1:-}" == --check ]]; then
  check=yes
  shift
fi
program=${1:-}
for built in build/core/bin/pipe-trace build/all/bin/pipe-trace; do
  if [[ -z "$program" && -x "$built" ]]; then program=$built; fi
done
if [[ ! -x "$program" ]]; then
  echo "schedule_pictures: no pipe-trace; build it (cmake --build --preset core), or name it" >&2
  exit 2
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/schedules"
cp docs/schedules.md "$folder/schedules.md"

python3 - "$program" "$folder" <<'PYTHON'
import json, subprocess, sys
sys.path.append("tools")
from schedule_list import schedules

program, folder = sys.argv[1:]
RANKS, MICRO_BATCHES = 4, 8

def run(*arguments):
    return subprocess.run([program, "plan", *arguments], check=True, capture_output=True,
                          text=True).stdout

def plan(name, *arguments):
    size = ["--ranks", str(RANKS), "--micro-batches", str(MICRO_BATCHES)]
    return json.loads(run("--schedule", name, *size, "--json", *arguments))

def number(value, digits=1):
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")

rows = ["| schedule | chunks | length | bubble ratio | span bubble | most activations, rank 0 … 3 "
        "| weight versions |", "|---|---|---|---|---|---|---|"]
for name in [known.name for known in schedules(program)]:
    chunks = plan(name)["schedule"]["stages"] // RANKS
    # A rank has the same work for any number of chunks.
    each = str(1 / chunks)
    result = plan(name, "--forward-ms", each, "--activation-gb", each,
                  "-o", f"{folder}/schedules/{name.lower()}.svg")
    peaks = [number(rank["peak_memory_bytes"] / 1e9) for rank in result["ranks"]]
    versions = [rank["weight_versions"] for rank in result["ranks"]]
    copies = f"{max(versions)}, of {'two' if chunks == 1 else 2 * chunks} stages" if result["schedule"]["bidirectional"] else str(max(versions))
    rows.append(f"| {name} | {chunks} | {number(result['length_ns'] / 1e6)} "
                f"| {result['bubble_ratio']:.4f} | {result['span_bubble']:.4f} "
                f"| {' '.join(peaks)} | {copies} |")

with open(f"{folder}/schedules.md", encoding="utf-8") as file:
    text = file.read()
begin, end = "<!-- table: tools/schedule_pictures.sh -->\n", "<!-- end of table -->"
head, rest = text.split(begin)
tail = rest.split(end)[1]
with open(f"{folder}/schedules.md", "w", encoding="utf-8") as file:
    file.write(head + begin + "\n".join(rows) + "\n" + end + tail)
PYTHON

if [[ $check == yes ]]; then
  if ! diff -rq docs/images/schedules "$folder/schedules" ||
    ! diff -u docs/schedules.md "$folder/schedules.md"; then
    echo "schedule_pictures: out of date; run bash tools/schedule_pictures.sh" >&2
    exit 1
  fi
  exit 0
fi
rm -rf docs/images/schedules
cp -r "$folder/schedules" docs/images/schedules
cp "$folder/schedules.md" docs/schedules.md
