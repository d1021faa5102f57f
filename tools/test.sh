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

failed=0
for preset in viewer-asan all; do
  say "building preset $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  say "testing preset $preset"
  # The one list of what is run at a time: timing tests ask to run alone with RUN_SERIAL.
  ctest --preset "$preset" --parallel "$(nproc)" --no-tests=error || failed=1
done

say "done"
[ $failed = 0 ] || { echo "some tests failed; see above"; exit 1; }
