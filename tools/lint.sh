#!/usr/bin/env bash
# Checks that every source and header compiles alone in every preset, and runs clang-tidy 16.
#    lint.sh [OPTION]... [PATH_PATTERN]
#    PATH_PATTERN       only files whose path matches this regular expression, for example ^parser/
#    --presets A,B,...  only these presets (default: all but runtime-asan)
#    --only alone|tidy  only that check (default: both)
#    --quick            only whether each file compiles alone, in the preset all-tests, by clang 16, with
#                       precompiled headers: minutes (tools/lint/precompiled.py)
#    --rotate N         only one of N parts of the files, another one with each commit
#    --torch            also runs clang-tidy over runtime/ and samples/, minutes a file for LibTorch
#    --jobs N           how many files at a time (default: one per core)
#    --list             only lists what would be compiled
# Presets join their files for a build, which hides names that clash or a missing include. So each
# preset is configured in build/lint/PRESET to compile files alone (PIPETRACE_UNITE=OFF), and each
# file is compiled once for the options that matter to it (tools/lint/alone.py). Presets that need
# LibTorch or CUDA are left out where those are missing, and the last lines say so.
# Exit codes: 0 nothing was found, 1 something was, 2 could not check.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
die() { printf 'lint: %s\n' "$*" >&2; exit 2; }

# Those that compile a file in the cheapest way come first. runtime-asan is left out. It would
# compile each file that includes LibTorch once more, for the warnings of clang alone.
presets=core-tests,viewer-tests,runtime-tests,all-tests,cuda-tests,profiler,core-asan,viewer-asan,core-tsan,viewer-tsan
only=both
torch=no
quick=no
jobs=$(nproc)
part=0/1
pattern=
list=()
more=()
while [ $# -gt 0 ]; do
  case $1 in
    --presets) [ $# -gt 1 ] || die "--presets needs a list"; presets=$2; shift ;;
    --only) [[ ${2:-} =~ ^(alone|tidy)$ ]] || die "--only needs 'alone' or 'tidy'"; only=$2; shift ;;
    --quick) quick=yes; presets=all-tests; only=alone ;;
    --rotate)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--rotate needs a number above 0"
      part=$(git rev-list --count HEAD 2>/dev/null || echo 0)/$2
      shift ;;
    --torch) torch=yes ;;
    --jobs) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a number above 0"; jobs=$2; shift ;;
    --list) list=(--list) ;;
    -h|--help) sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die "unknown option $1 (try --help)" ;;
    *) [ -z "$pattern" ] || die "one PATH_PATTERN at most (try --help)"; pattern=$1 ;;
  esac
  shift
done
[ $only = alone ] || command -v clang-tidy-16 >/dev/null \
  || die "clang-tidy-16 is missing: apt-get install clang-tidy-16, or give --only alone"

folder=build/lint
mkdir -p $folder
databases=()
skipped=()
say "configuring"
IFS=, read -ra names <<< "$presets"
for preset in "${names[@]}"; do
  said=$folder/$preset.txt
  build=$folder/$preset
  options=(-DPIPETRACE_UNITE=OFF -DPIPETRACE_BENCHMARKS=ON)
  if [ $quick = yes ]; then
    build=$folder/quick
    options+=(-DCMAKE_CXX_COMPILER=clang++-16)
    more=(--precompile "$folder/precompiled")
  fi
  if cmake --preset "$preset" -B "$build" "${options[@]}" > "$said" 2>&1; then
    databases+=("$build")
  elif reason=$(tr '\n' ' ' < "$said" | grep -oE 'PIPETRACE_(RUNTIME|CUDA)=ON needs [^,;:]*'); then
    skipped+=("$preset, as ${reason%%.*}")
  else
    cat "$said" >&2
    die "cannot configure the preset $preset"
  fi
done
[ ${#databases[@]} -gt 0 ] || die "no preset can be configured here: ${skipped[*]}"

failed=0
if [ $only = tidy ]; then list=(--list); fi
say "each file alone: ${databases[*]#"$folder"/}"
python3 tools/lint/alone.py --root . --path "$pattern" --part "$part" --jobs "$jobs" \
  --merged $folder/compile_commands.json "${list[@]}" "${more[@]}" "${databases[@]}" > >(
    [ $only = tidy ] && cat >/dev/null || cat) || failed=$?
[ $failed -lt 2 ] || exit $failed

if [ $only != alone ] && { [ $only = tidy ] || [ ${#list[@]} = 0 ]; }; then
  say "clang-tidy"
  [ $torch = yes ] || skipped+=("clang-tidy of runtime/ and samples/ (--torch)")
  # Tests are left out: GoogleTest's macros break most rules.
  python3 - "$pattern" $torch <<'PYTHON' > $folder/tidy.txt
import json, os, re, sys
pattern, torch = sys.argv[1:]
for entry in json.load(open("build/lint/compile_commands.json")):
    path = os.path.relpath(entry["file"])
    left_out = path.endswith("_test.cpp") or (torch == "no" and path.startswith(("runtime/", "samples/")))
    if not left_out and re.search(pattern, path):
        print(path)
PYTHON
  echo "$(wc -l < $folder/tidy.txt) sources"
  xargs -r -d '\n' -n 1 -P "$jobs" clang-tidy-16 --quiet -p $folder \
    --extra-arg=-Wno-unknown-warning-option < $folder/tidy.txt || failed=1
fi

say "done"
for reason in "${skipped[@]}"; do echo "skipped: $reason"; done
[ $failed = 0 ] && echo "nothing was found" || echo "something was found, see above"
exit $failed
