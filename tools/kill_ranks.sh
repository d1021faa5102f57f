#!/usr/bin/env bash
# Kills ranks of a ring of processes at random moments. Every survivor must name the killed rank
# within a second.
#    kill_ranks.sh [KILLS]      50 kills unless given; BUILD=build/core is the folder of the build
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PIPETRACE_KILLS=${1:-50} "${BUILD:-$root/build/core}/bin/control_processes_test" \
  --gtest_filter='*KilledAtRandomMoments*'
