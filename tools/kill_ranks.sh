#!/usr/bin/env bash
# Kills ranks at random moments: of a ring of processes, and of a training, with pipe-run and
# without any launcher. Every survivor must name the killed rank.
#    kill_ranks.sh [KILLS]      50 kills of each unless given; BUILD=build/all is the build's folder
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BUILD:-$root/build/all}/bin
export PIPETRACE_KILLS=${1:-50}
"$bin/control_processes_test" --gtest_filter='*KilledAtRandomMoments*'
"$bin/failures_test" --gtest_filter='*AKilledRankIsNamed*'
