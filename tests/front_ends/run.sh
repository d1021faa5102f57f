#!/usr/bin/env bash
# Runs one of the scripts beside it, or exits 77 (skipped) where the browser or the viewers are not
# installed. use: run.sh PYTHON SCRIPT [ARGUMENTS]
set -euo pipefail
python=$1
script=$2
shift 2
for program in "$python" "${CHROMIUM:-/usr/bin/chromium}" "${CHROMEDRIVER:-/usr/bin/chromedriver}"; do
  if ! [ -x "$program" ]; then
    echo "skipped: $program is missing; tools/setup.sh --tests installs it"
    exit 77
  fi
done
exec "$python" "$(dirname "${BASH_SOURCE[0]}")/$script" "$@"
