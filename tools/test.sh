#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test:
#   1. all that does not link LibTorch, under AddressSanitizer and UBSan (preset viewer-asan)
#   2. what works in several threads, under ThreadSanitizer (preset core-tsan)
#   3. optimized, all that these leave: training, the demo, the real front ends, the recorder, what
#      needs a GPU (preset all)
# Tests that need what this machine lacks (a GPU, reference data) show as skipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
case ${1:-} in
  '') ;;
  -h|--help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) printf 'test: unknown option %s (try --help)\n' "$1" >&2; exit 2 ;;
esac

bash tools/setup.sh --tests

failed=()
# run PRESET [-D...] [-- LABEL TARGET...]: these targets and the tests with that label, or all.
run() {
  local preset=$1 options=() label=() targets=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# = 0 ] || { label=(--label-regex "^$2\$"); targets=(--target "${@:3}"); }
  say "building preset $preset"
  cmake --preset "$preset" "${options[@]}" >/dev/null
  cmake --build --preset "$preset" "${targets[@]}"
  say "testing preset $preset"
  # The one list of what is run at a time: timing tests ask to run alone with RUN_SERIAL.
  ctest --preset "$preset" "${label[@]}" --parallel "$(nproc)" --no-tests=error || failed+=("$preset")
}
run viewer-asan -DPIPETRACE_UNITE=ON
run core-tsan -DPIPETRACE_UNITE=ON -- threads \
  trace_test parser_threads_test analysis_test profiler_test profiler_cuda_test clock_exchange_test
run all -DPIPETRACE_UNITE=ON -DPIPETRACE_SANITIZED_TESTS=OFF

say "done"
[ ${#failed[@]} = 0 ] && exit 0

# Last, where a reader of a long output looks first: which tests, and what each printed.
for preset in "${failed[@]}"; do
  log=build/$preset/Testing/Temporary
  echo "failed in preset $preset:"
  cat "$log/LastTestsFailed.log"
  while IFS=: read -r number _; do
    awk -v start="^$number/[0-9]+ Test: " '/^[0-9]+\/[0-9]+ Test: / { on = $0 ~ start } on' "$log/LastTest.log" | head -n 60
  done < <(head -n 20 "$log/LastTestsFailed.log")
done
exit 1
