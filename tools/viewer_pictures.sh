#!/usr/bin/env bash
# Draws the pictures of docs/viewer.md again (docs/pictures), and those that the tests of the window
# compare with (viewer/testing/pictures). viewer/testing/window_pictures.cpp lists them. A picture
# that has not changed keeps its file.
#
#    bash tools/viewer_pictures.sh [--check] [PROGRAM]
#
# --check changes nothing, and exits with 1 if a picture is out of date.
# PROGRAM: viewer_pictures_test (default: that of the preset viewer, viewer-asan or all). Needs the
# font DejaVu Sans.
set -euo pipefail
cd "$(dirname "$0")/.."

update=1
if [[ "${1:-}" == --check ]]; then
  update=0
  shift
fi
program=${1:-}
for preset in viewer viewer-asan all; do
  built=build/$preset/bin/viewer_pictures_test
  if [[ -z "$program" && -x "$built" ]]; then program=$built; fi
done
if [[ ! -x "$program" ]]; then
  echo "viewer_pictures: no viewer_pictures_test; build it (cmake --build --preset viewer-tests), or name it" >&2
  exit 2
fi
result=0
for scale in 1 1.5 2; do
  PIPETRACE_UPDATE_PICTURES=$update QT_SCALE_FACTOR=$scale "$program" --gtest_brief=1 || result=1
done
exit $result
