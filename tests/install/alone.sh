#!/bin/bash
# The profiler alone, as somebody builds it who has a compiler and nothing else: no package is
# found. Builds and installs it, and builds the programs of docs/profiler.md with it.
#   alone.sh CMAKE BUILD_DIR WORK_DIR
set -euo pipefail
cmake=$1 build=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
export CMAKE_GENERATOR

rm -rf "$work"
mkdir -p "$work"
without=()
for package in PkgConfig nlohmann_json fmt CLI11 ZLIB SQLite3 GTest Qt6 CUDAToolkit; do
  without+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
"$cmake" -S "$here/../.." -B "$work/build" --no-warn-unused-cli -DPIPETRACE_PROFILER_ONLY=ON -DPIPETRACE_UNITE=ON \
  -DCMAKE_BUILD_TYPE=Debug -DPIPETRACE_WERROR=ON "${without[@]}" > "$work/configure.txt"
"$cmake" --build "$work/build" -j "$(nproc)" > "$work/build.txt" || { tail -n 40 "$work/build.txt" >&2; exit 1; }
"$cmake" --install "$work/build" --prefix "$work/the prefix" > "$work/install.txt"

for language in c cpp; do
  "$cmake" -S "$here/$language" -B "$work/$language" --no-warn-unused-cli \
    -DCMAKE_PREFIX_PATH="$work/the prefix" "${without[@]}" > "$work/$language.txt"
  "$cmake" --build "$work/$language" >> "$work/$language.txt"
  PIPETRACE=1 PIPETRACE_LOG_DIR="$work/$language-logs" "$work/$language/record"
  test "$(grep -c 'Profiler Info: Job' "$work/$language-logs/workerlog.0")" = 12
  echo "$language: recorded"
done

# A missing component is an error that says why it is missing.
mkdir "$work/parser"
cat > "$work/parser/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(read CXX)
find_package(pipetrace REQUIRED COMPONENTS parser)
END
if "$cmake" -S "$work/parser" -B "$work/parser/build" -DCMAKE_PREFIX_PATH="$work/the prefix" \
  > "$work/parser.txt" 2>&1; then
  echo "found the component parser in the profiler alone" >&2
  exit 1
fi
tr -s ' \n' ' ' < "$work/parser.txt" | grep -q 'The profiler alone was built'
