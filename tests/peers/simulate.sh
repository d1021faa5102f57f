#!/usr/bin/env bash
# Simulates Interleaved1F1B and gives its logs to a script. use: simulate.sh PIPE_TRACE FOLDER COMMAND...
# COMMAND gets FOLDER and "--steps 3" as its last arguments.
set -euo pipefail
pipe_trace=$1
folder=$2
shift 2
rm -rf "$folder"
"$pipe_trace" plan --schedule Interleaved1F1B --ranks 4 --micro-batches 8 --steps 3 \
  --forward-ms 1.234567 --transfer-ms 0.1 --lr-ms 0.1 --optimizer-ms 0.5 -o "$folder/" > /dev/null
exec "$@" "$folder" --steps 3
