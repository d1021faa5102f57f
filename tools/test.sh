#!/usr/bin/env bash
# Installs missing packages, builds, and runs every test:
#    1. what reads files, sockets and other programs' data, and the fuzzers, under AddressSanitizer
#       and UBSan (preset core-asan)
#    2. tests with several threads, under ThreadSanitizer (preset viewer-tsan)
#    3. all other tests, optimized: analysis, viewer, training, the demo, the real front ends, tests
#       that need a GPU (preset all-tests)
# Up to three tests that fail without a word of a sanitizer run again, alone, and the end names those
# that passed then: a busy machine may upset them, and they want mending.
# Tests show as skipped if this machine lacks something that they need (a GPU, reference data).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
case ${1:-} in
  '') ;;
  -h|--help) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) printf 'test: unknown option %s (try --help)\n' "$1" >&2; exit 2 ;;
esac

bash tools/setup.sh --tests

failed=()
passed_alone=()
# again PRESET: runs the tests that failed once more, one at a time.
again() {
  local log=build/${1%-tests}/Testing/Temporary tests
  local names=$log/LastTestsFailed.log
  [ "$(wc -l <"$names")" -le 3 ] || return 1
  ! grep -qE 'WARNING: ThreadSanitizer|ERROR: [A-Za-z]*Sanitizer|runtime error:' "$log/LastTest.log" || return 1
  mapfile -t tests <"$names"
  say "again, alone: ${tests[*]#*:}"
  ctest --preset "$1" --rerun-failed --no-tests=error || return 1
  passed_alone+=("${tests[@]#*:}")
}
# run PRESET [-D...] [-- LABEL TARGET]: builds the target and runs the tests with that label;
# without a label all.
run() {
  local preset=$1 options=() label=() targets=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# = 0 ] || { label=(--label-regex "^$2\$"); targets=(--target "${@:3}"); }
  say "building preset $preset"
  cmake --preset "$preset" "${options[@]}" >/dev/null
  cmake --build --preset "$preset" "${targets[@]}"
  say "testing preset $preset"
  # Tests run side by side, one more than cores as many of them wait. Those that measure time run
  # alone (RUN_SERIAL).
  ctest --preset "$preset" "${label[@]}" --parallel "$(($(nproc) + 1))" --no-tests=error && return
  again "$preset" || failed+=("$preset")
}
run core-asan -DPIPETRACE_FUZZERS=ON -- sanitized sanitized_tests
run viewer-tsan -- threads thread_tests
run all-tests -DPIPETRACE_SANITIZED_TESTS=OFF

say "done"
[ ${#passed_alone[@]} = 0 ] || echo "failed beside other tests, passed alone: ${passed_alone[*]}"
[ ${#failed[@]} = 0 ] && exit 0

# The failed tests come last, where a reader of a long output looks first. Their output is cut to
# what failed and the end.
for preset in "${failed[@]}"; do
  log=build/${preset%-tests}/Testing/Temporary
  echo "failed in preset $preset:"
  cat "$log/LastTestsFailed.log"
  while IFS=: read -r number _; do
    awk -v start="^$number/[0-9]+ Test: " '
      /^[0-9]+\/[0-9]+ Test(ing)?: / { on = $0 ~ start }
      on { lines[count++] = $0 }
      on && /Failure$|FAILED|Sanitizer|[Ee]rror:|Traceback/ { end = count + 10 }
      on && count <= end && kept < 100 { keep[count - 1] = 1; ++kept }
      END {
        for (i = 0; i < count; ++i) {
          if (keep[i] || i == 0 || i >= count - 20) print lines[i]
          else if (keep[i - 1] || i == 1) print "[…]"
        }
      }' "$log/LastTest.log"
  done < <(head -n 20 "$log/LastTestsFailed.log")
done
exit 1
