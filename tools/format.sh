#!/usr/bin/env bash
# Formats the C++ sources with clang-format 14 (other versions format differently).
#    format.sh           rewrites files that are not formatted
#    format.sh --check   changes nothing; exit code 1 and a list if a file is not formatted,
#                        77 where there is no clang-format 14
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

format=
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    format=$candidate
    break
  fi
done
if [ -z "$format" ]; then
  echo "skipped: no clang-format 14; apt-get install clang-format-14"
  exit 77
fi

mapfile -d '' files < <(find trace schedule parser profiler chart analysis ingest runtime viewer apps \
  python samples tests \( -name '*.cpp' -o -name '*.h' \) -print0)
case ${1:-} in
  '') "$format" -i "${files[@]}" ;;
  --check) "$format" --dry-run -Werror "${files[@]}" ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
