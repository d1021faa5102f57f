#!/usr/bin/env bash
# Runs one of the scripts beside it with print_plans, or exits 77 (skipped) where there is no
# Python 3. The scripts skip by themselves where their peer is not installed.
# use: run.sh SCRIPT PRINT_PLANS [ARGUMENTS]
set -euo pipefail
script=$1
shift
if ! command -v python3 >/dev/null; then
  echo "skipped: python3 is missing"
  exit 77
fi
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/$script" "$@"
