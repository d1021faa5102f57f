#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test:
#   1. all that does not link LibTorch, under AddressSanitizer and UBSan (preset viewer-asan)
#   2. everything, optimized, with the demo and the real front ends (preset all)
# Tests that need what this machine lacks (a GPU, reference data) show as skipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
case ${1:-} in
  '') ;;
  -h|--help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) printf 'test: unknown option %s (try --help)\n' "$1" >&2; exit 2 ;;
esac

bash tools/setup.sh --tests

failed=()
for preset in viewer-asan all; do
  say "building preset $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  say "testing preset $preset"
  # The one list of what is run at a time: timing tests ask to run alone with RUN_SERIAL.
  ctest --preset "$preset" --parallel "$(nproc)" --no-tests=error || failed+=("$preset")
done

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
