#!/usr/bin/env bash
# Runs the checks that need an NVIDIA device, from binaries that are built already. Prints a report in Markdown.
#    gpu_check.sh [--bin FOLDER] [--libs FOLDER]...
#    --bin    the folder of gpu_test (default: bin beside this script, build/cuda/bin, build/all/bin)
#    --libs   a folder of libcudart.so.13, libcupti.so.13, libnccl.so.2 or torch's libraries (default:
#             where the binaries were built, else the torch 2.11 of python3: torch/lib, nvidia/*/lib)
# Exit code: 0 all passed, 1 something failed, 2 it could not be run, 77 there is no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { printf 'gpu_check: %s\n' "$*" >&2; exit 2; }

bin='' libs=''
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=${2:?gpu_check: --bin needs a folder}; shift 2 ;;
    --libs) libs=${libs:+$libs:}${2:?gpu_check: --libs needs a folder}; shift 2 ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1 (try --help)" ;;
  esac
done
if [ -z "$bin" ]; then
  for folder in "$here/bin" "$here/../build/cuda/bin" "$here/../build/all/bin"; do
    if [ -x "$folder/gpu_test" ]; then bin=$folder; break; fi
  done
fi
[ -n "$bin" ] && [ -x "$bin/gpu_test" ] \
  || die "gpu_test is not there: build it (cmake --preset cuda && cmake --build --preset cuda), or name its folder with --bin"
if [ -z "$libs" ]; then
  libs=$(python3 2>/dev/null - <<'END' || true
import glob, importlib.util, os
torch = importlib.util.find_spec("torch").submodule_search_locations[0]
nvidia = importlib.util.find_spec("nvidia")  # in many folders; not all of them belong to torch
folders = nvidia.submodule_search_locations if nvidia else [os.path.dirname(torch) + "/nvidia"]
print(":".join([torch + "/lib"] + [lib for f in folders for lib in sorted(glob.glob(f + "/*/lib"))]))
END
  )
fi
[ -z "$libs" ] || export LD_LIBRARY_PATH="$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

report=$(mktemp)
trap 'rm -f "$report"' EXIT
failed() { printf '\n```\n'; cat "$report"; printf '```\n\nFailed.\n'; exit 1; }

printf '# Checks on a GPU\n\n- '
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null \
  || echo "nvidia-smi is not there or finds no device"
date -u '+- %Y-%m-%d, %H:%M UTC'
printf '\n## Events, capture, CUPTI, NVTX, NCCL\n\n'
status=0
"$bin/gpu_test" --gtest_color=no >"$report" 2>&1 || status=$?
if [ $status -ge 126 ]; then
  cat "$report" >&2
  die "gpu_test does not start: name the folder of CUDA's libraries with --libs"
fi
sed -nE -e 's/^\[ +OK \] ([^ ]+).*/- passed: `\1`/p' -e 's/^\[ +FAILED +\] ([^ ]+) \(.*/- FAILED: `\1`/p' \
  -e 's/^\[ +SKIPPED +\] ([^ ]+) \(.*/- skipped: `\1`/p' -e 's/^  (an? (busy|idle) stream: .*)/- \1/p' "$report"
if grep -q 'no CUDA device' "$report"; then
  printf '\nNo device here: nothing was checked.\n'
  [ $status -eq 0 ] || exit 1
  exit 77
fi
[ $status -eq 0 ] || failed
printf '\n## Cost of recording in a training step of a transformer\n\n'
if [ -x "$bin/transformer_overhead" ]; then
  "$bin/transformer_overhead" | sed 's/^  /- /' || status=$?
  [ $status -lt 126 ] || die "transformer_overhead does not start: name the folders of torch's libraries with --libs"
  [ $status -eq 0 ] || [ $status -eq 77 ] || { printf '\nFailed.\n'; exit 1; }
else
  echo "- not measured: transformer_overhead is not there (it is built with PIPETRACE_RUNTIME)"
fi

printf '\n## Memory, by compute-sanitizer\n\n'
# CUPTI takes one tool at a time, and this is one. NCCL asks the driver for things in vain; that is no error of memory.
if ! command -v compute-sanitizer >/dev/null; then
  echo "- skipped: compute-sanitizer is not there"
elif timeout 120 compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 99 \
  "$bin/gpu_test" --gtest_filter='-EdgesTest.*:CuptiTest.*' >"$report" 2>&1; then
  sed -n 's/^=* ERROR SUMMARY: /- gpu_test: /p' "$report"
elif grep -qi 'not supported' "$report"; then
  echo "- skipped: compute-sanitizer refuses the device"
else
  failed
fi
printf '\nAll passed.\n'
