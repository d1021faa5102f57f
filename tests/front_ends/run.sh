#!/usr/bin/env bash
# Runs one of the scripts in this folder. Exits with 77 (skipped) if the browser or the viewers are
# not installed. Use: run.sh PYTHON SCRIPT [ARGUMENTS]
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
