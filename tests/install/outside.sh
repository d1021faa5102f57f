#!/usr/bin/env bash
# outside.sh CMAKE FOLDER: configures the project of docs/runtime.md with the training program of
# that page in FOLDER, and asks what its build would do. It builds nothing: that takes minutes.
set -euo pipefail
cmake=$1 folder=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$folder"
mkdir -p "$folder/a project"
cd "$folder/a project"
sed -n '/^```cmake$/,/^```$/p' "$root/docs/runtime.md" | sed '/^```/d' > CMakeLists.txt
ln -s "$root" pipetrace
cp "$root/samples/first_training/main.cpp" train.cpp
"$cmake" -G Ninja -B build . > configured.log 2>&1 || { cat configured.log; exit 1; }
# The program, and nothing of what it does not need.
plan=$(ninja -C build -t commands train)
grep -q -- '-o train ' <<<"$plan"
if grep -E 'gtest|pipe-view|_test' <<<"$plan"; then exit 1; fi
