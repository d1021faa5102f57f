#!/usr/bin/env bash
# Runs clang-tidy 16 (.clang-tidy) over the sources of a configured build folder.
#    lint.sh [BUILD_FOLDER] [PATH_PATTERN]     default: build/viewer-asan, all sources
# LibTorch's headers take clang-tidy minutes per file. So runtime/ and samples/ are linted only if
# BUILD_FOLDER builds them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
folder=${1:-build/viewer-asan}
pattern=${2:-.}
command -v clang-tidy-16 >/dev/null || { echo "clang-tidy-16 is missing: apt-get install clang-tidy-16"; exit 2; }
[ -f "$folder/compile_commands.json" ] || { echo "$folder is not configured"; exit 2; }
python3 - "$folder" "$root" "$pattern" <<'PYTHON' | xargs -0 -r -n 4 -P "$(nproc)" clang-tidy-16 --quiet --extra-arg=-Wno-unknown-warning-option -p "$folder"
import json, re, sys
folder, root, pattern = sys.argv[1:]
for entry in json.load(open(folder + "/compile_commands.json")):
    path = entry["file"]
    inside = path.startswith(root) and "/build/" not in path and not path.endswith("_autogen.cpp")
    if inside and not path.endswith("_test.cpp") and re.search(pattern, path):
        print(path, end="\0")
PYTHON
