#!/usr/bin/env bash
# Runs the checks that need an NVIDIA device, from binaries that are built already. Prints a report in Markdown.
#    gpu_check.sh [--bin FOLDER] [--libs FOLDER]... [--out FOLDER] [--only PART]
#    --bin    the folder of gpu_test (default: bin beside this script, build/cuda/bin, build/all/bin)
#    --libs   a folder of libcudart.so.13, libcupti.so.13, libnccl.so.2 or torch's libraries (default:
#             where the binaries were built, else the torch 2.11 of python3: torch/lib, nvidia/*/lib)
#    --out    write gpu_check.md there, too, and gpu_check.tar.gz: logs, profile, report and picture of a training
#    --only   one part: events (with capture, CUPTI, NVTX, NCCL), cost, pipelines or memory
# Exit code: 0 all passed, 1 something failed, 2 it could not be run, 77 there is no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { printf 'gpu_check: %s\n' "$*" >&2; exit 2; }

bin='' libs='' out='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=${2:?gpu_check: --bin needs a folder}; shift 2 ;;
    --libs) libs=${libs:+$libs:}${2:?gpu_check: --libs needs a folder}; shift 2 ;;
    --out) out=${2:?gpu_check: --out needs a folder}; shift 2 ;;
    --only)
      only=${2:-}
      case $only in events|cost|pipelines|memory) shift 2 ;; *) die "--only takes events, cost, pipelines or memory" ;; esac ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1 (try --help)" ;;
  esac
done
if [ -z "$bin" ]; then
  for folder in "$here/bin" "$here/../build/cuda/bin" "$here/../build/all/bin"; do
    if [ -x "$folder/gpu_test" ]; then bin=$folder; break; fi
  done
fi
[ -n "$bin" ] && [ -x "$bin/gpu_test" ] \
  || die "gpu_test is not there: build it (cmake --preset cuda-tests && cmake --build --preset cuda-tests), or name its folder with --bin"
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

if [ -n "$out" ]; then
  mkdir -p "$out" || die "cannot make $out"
  exec > >(tee "$out/gpu_check.md")
fi
work=$(mktemp -d)
report=$work/output
trap 'rm -rf "$work"' EXIT
failed() { printf '\n```\n'; cat "$report"; printf '```\n\nFailed.\n'; exit 1; }

# Runs a command for that many seconds at most. All commands together have 9 minutes, less a few seconds for what follows.
most_seconds=530
within() {
  local seconds=$1 left=$((most_seconds - SECONDS))
  shift
  [ "$left" -gt 0 ] || left=1
  timeout -k 5 $((seconds < left ? seconds : left)) "$@"
}

# Ends the script if a program with that exit code did not start.
need_start() {
  [ "$2" -eq 126 ] || [ "$2" -eq 127 ] || return 0
  cat "$report" >&2
  die "$1 does not start: name the folders of CUDA's and torch's libraries with --libs"
}

printf '# Checks on a GPU\n\n- '
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null \
  || echo "nvidia-smi is not there or finds no device"
date -u '+- %Y-%m-%d, %H:%M UTC'

check_events() {
  printf '\n## Events, capture, CUPTI, NVTX, NCCL\n\n'
  local status=0
  within 90 "$bin/gpu_test" --gtest_color=no >"$report" 2>&1 || status=$?
  need_start gpu_test $status
  sed -nE -e 's/^\[ +OK \] ([^ ]+).*/- passed: `\1`/p' -e 's/^\[ +FAILED +\] ([^ ]+) \(.*/- FAILED: `\1`/p' \
    -e 's/^\[ +SKIPPED +\] ([^ ]+) \(.*/- skipped: `\1`/p' -e 's/^  (an? (busy|idle) stream: .*|a sample of NVML.*)/- \1/p' "$report"
  if grep -q 'no CUDA device' "$report"; then
    printf '\nNo device here: nothing was checked.\n'
    [ $status -eq 0 ] || exit 1
    exit 77
  fi
  [ $status -eq 0 ] || failed
}

check_cost() {
  printf '\n## Cost of recording in a training step of a transformer\n\n'
  if [ ! -x "$bin/transformer_overhead" ]; then
    echo "- not measured: transformer_overhead is not there (it is built with PIPETRACE_RUNTIME)"
    return
  fi
  local status=0
  within 180 "$bin/transformer_overhead" >"$report" 2>&1 || status=$?
  need_start transformer_overhead $status
  [ $status -eq 0 ] || [ $status -eq 77 ] || failed
  sed 's/^  /- /' "$report"
}

# The losses of a training, a line for each step.
losses() { grep -o 'step [0-9]* loss [0-9.]*' "$1"; }

check_pipelines() {
  printf '\n## Pipelines on one GPU\n\n'
  local program status=0 of run=$work/run
  for program in pipelines sample-char-transformer pipe-run pipe-trace; do
    if [ ! -x "$bin/$program" ]; then echo "- not run: $program is not there (it is built with PIPETRACE_RUNTIME)"; return; fi
  done
  within 120 "$bin/pipelines" >"$report" 2>&1 || status=$?
  need_start pipelines $status
  [ $status -eq 0 ] || [ $status -eq 77 ] || failed
  sed 's/^  /- /' "$report"
  [ $status -ne 77 ] || exit 77

  printf '\n## NCCL as a transport, one rank\n\n'
  if [ -x "$bin/nccl_group_check" ]; then
    within 60 "$bin/nccl_group_check" >"$report" 2>&1 || failed
    sed 's/^  /- /' "$report"
  else
    echo "- not run: nccl_group_check is not there"
  fi

  printf '\n## A transformer in four stages on one GPU\n\n'
  local train=("$bin/sample-char-transformer" --device cuda --share-devices --steps 20 --data "$here/../README.md")
  mkdir -p "$run"
  within 60 "${train[@]}" --log-dir "$run/threads" >"$report" 2>&1 || failed
  losses "$report" >"$run/threads.txt"
  within 90 "$bin/pipe-run" --ranks 4 --log-dir "$run/processes" -- "${train[@]}" >"$report" 2>&1 || failed
  losses "$report" >"$run/processes.txt"
  paste "$run/threads.txt" "$run/processes.txt" | awk '
    { d = $4 - $8; if (d < 0) d = -d; if (d > most) most = d; n++ }
    END { printf "- four processes over Gloo: %d steps, losses differ from those of four threads by at most %g\n", n, most
          exit !(n == 20 && most < 0.002) }' || failed
  for of in threads processes; do
    "$bin/pipe-trace" "$run/$of" -o "$run/$of.json" -o "$run/$of.svg" >"$report" 2>&1 || failed
    "$bin/pipe-trace" report "$run/$of" >"$run/$of.report.txt" 2>"$report" || failed
    printf -- '- %s: ' "$of"; sed -n '1p' "$run/$of.report.txt"
  done
  # Messages and batches are copied outside of jobs.
  cat "$run"/processes/workerlog.* | awk '
    /] Profiler Kernel: / { if (/name = "(copy|memset)/) copies++; else { n++; if (/, job = /) j++ } }
    END { printf "- %d kernels by CUPTI, %.3f %% of them with their job; %d copies and memsets\n", n, n ? 100 * j / n : 0, copies
          exit !(n > 0 && j >= 0.999 * n) }' || failed
  [ -z "$out" ] || tar -czf "$out/gpu_check.tar.gz" -C "$work" run
}

# Runs a program under memcheck: NAME SECONDS COMMAND... Nobody knows how much slower a program is there.
memcheck() {
  local name=$1 seconds=$2 status=0
  shift 2
  within "$seconds" compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 99 "$@" >"$report" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    sed -n "s/^=* ERROR SUMMARY: /- $name: /p" "$report"
  elif grep -qi 'not supported' "$report"; then
    echo "- $name: skipped: compute-sanitizer refuses the device"
  elif [ $status -eq 77 ]; then
    echo "- $name: skipped:$(sed -n 's/^  not run://p' "$report")"
  elif { [ $status -eq 124 ] || [ $status -eq 137 ]; } \
    && ! grep -qE '^========= (Invalid|Misaligned|Out-of-range|Program hit|Malloc/Free|Hardware)' "$report"; then
    echo "- $name: skipped: it did not end within $seconds s, without an error so far"
  else
    failed
  fi
}

check_memory() {
  printf '\n## Memory, by compute-sanitizer\n\n'
  local end=$((SECONDS + 115))
  if ! command -v compute-sanitizer >/dev/null; then
    echo "- skipped: compute-sanitizer is not there"
    return
  fi
  # CUPTI takes one tool at a time, and this is one. NCCL asks the driver for things in vain; that is no error of memory.
  memcheck gpu_test 70 "$bin/gpu_test" --gtest_filter='-EdgesTest.*:CuptiTest.*'
  # With memory of its own for each tensor, a kernel that leaves one is noticed.
  [ ! -x "$bin/pipelines" ] || memcheck 'a training in four threads' $((end - SECONDS)) \
    env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$bin/pipelines" --only 1F1B 1
}

for part in ${only:-events cost pipelines memory}; do "check_$part"; done
printf '\nAll passed.\n'
