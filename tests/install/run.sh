#!/bin/bash
# The profiler as another project finds it: installs this build, then builds and runs the programs
# beside this script, which are those of docs/profiler.md, and reads what they recorded.
#   run.sh CMAKE BUILD_DIR WORK_DIR SANITIZERS [cuda]
set -euo pipefail
cmake=$1 build=$2 work=$3 sanitizers=$4 cuda=${5:-}
here=$(cd "$(dirname "$0")" && pwd)

# The program of a language in the documentation, to compare with.
documented() { awk -v fence="\`\`\`$1" '$0 == "```" { on = 0 } on { print } $0 == fence { on = 1 }' \
  "$here/../../docs/profiler.md"; }

# The programs are built by what built this tree, as there may be nothing else.
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
export CMAKE_GENERATOR

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.txt"
for file in bash-completion/completions/pipe-trace zsh/site-functions/_pipe-trace \
  fish/vendor_completions.d/pipe-trace.fish man/man1/pipe-trace.1; do
  grep -q pipe-trace "$work/prefix/share/$file"
done
test -e "$(find "$work/prefix" -name libnccl-profiler-pipetrace.so)"
# Every header finds what it includes: none is of the tests, which stay here.
(
  cd "$work/prefix/include/pipetrace"
  grep -rhoE '^#include "[^"]+"' . | cut -d'"' -f2 | sort -u | while read -r header; do
    test -e "$header" || { echo "the header $header is included, but not installed" >&2; exit 1; }
  done
)
for language in cpp c $cuda; do
  case $language in
    cuda) fence=c++ suffix=cpp lines=13 without= ;;
    *) fence=$language suffix=$language lines=15 without=CUDAToolkit ;; # also of a CUDA build
  esac
  documented $fence | diff -u - "$here/$language/record.$suffix"
  "$cmake" -S "$here/$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$work/prefix" \
    ${without:+--no-warn-unused-cli -DCMAKE_DISABLE_FIND_PACKAGE_$without=ON} \
    ${sanitizers:+-DCMAKE_EXE_LINKER_FLAGS=-fsanitize=$sanitizers} > "$work/$language.txt"
  "$cmake" --build "$work/$language" >> "$work/$language.txt"
  logs=$work/$language-logs
  (cd "$work" && "./$language/record")
  test ! -e "$work/logs" -a ! -e "$logs" # off unless it is switched on
  PIPETRACE=1 PIPETRACE_LOG_DIR=$logs "$work/$language/record"
  test "$(grep -c 'Profiler Info: Job' "$logs/workerlog.0")" = 12
  grep -q 'Profiler End: written = '"$lines"', dropped = 0, errors = 0' "$logs/workerlog.0"
  test "$(ls "$logs")" = workerlog.0
  "$work/prefix/bin/pipe-trace" "$logs" > "$work/$language-summary.txt"
  test -s "$work/$language-summary.txt"
  echo "$language: recorded and read"
done
if [ -z "$cuda" ]; then # what to do about it is told where the part that needs CUDA is asked for
  if "$cmake" -S "$here/cuda" -B "$work/without" -DCMAKE_PREFIX_PATH="$work/prefix" \
    > "$work/without.txt" 2>&1; then
    echo "found the component profiler_cuda in a build without CUDA" >&2
    exit 1
  fi
  tr -s ' \n' ' ' < "$work/without.txt" | grep -q -- 'build and install it with -DPIPETRACE_CUDA=ON'
fi
