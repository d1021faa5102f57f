#!/usr/bin/env bash
# Rehearses Interleaved1F1B and gives its logs to a script. use: rehearse.sh PIPE_RUN FOLDER COMMAND...
# COMMAND gets FOLDER and "--steps 3" as its last arguments.
set -euo pipefail
pipe_run=$1
folder=$2
shift 2
"$pipe_run" rehearse --schedule Interleaved1F1B --ranks 2 --micro-batches 4 --steps 3 \
  --forward-ms 2 --backward-ms 4 --transfer-ms 0.1 --lr-ms 0.1 --optimizer-ms 0.5 \
  --log-dir "$folder" > /dev/null
exec "$@" "$folder" --steps 3
