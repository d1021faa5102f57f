#!/usr/bin/env bash
# Builds the libFuzzer programs with clang 16, AddressSanitizer and UBSan into build/fuzz, and runs
# each with its seeds. Exit code 1 when one found something.
#    fuzz.sh [--seconds N] [--jobs N] [--only NAME]... [--sanitize LIST | --built FOLDER]
#    --seconds N      how long each runs (default 600)
#    --jobs N         how many run at a time (default: one per core)
#    --build-jobs N   how many are compiled at a time (default: one per core)
#    --only NAME      run this one, for example job_log; may be given several times
#    --sanitize LIST  other sanitizers, or none (default address,undefined); has its own build
#    --built FOLDER   take the fuzzers of this build folder, as they are
#    --clean          begin with the seeds alone, without the inputs that earlier runs collected
# Inputs that reached new code stay in build/fuzz/corpus/NAME. Findings, with the output of the
# program, stay in build/fuzz/found/NAME.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { printf 'fuzz: %s\n' "$*" >&2; exit 2; }
number() { [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "$1 needs a number above 0"; }

seconds=600
jobs=$(nproc)
build_jobs=$jobs
only=()
sanitize=address,undefined
built=
clean=no
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) number "$@"; seconds=$2; shift ;;
    --jobs) number "$@"; jobs=$2; shift ;;
    --build-jobs) number "$@"; build_jobs=$2; shift ;;
    --only) [ $# -gt 1 ] || die "--only needs a name"; only+=("$2"); shift ;;
    --sanitize) [ $# -gt 1 ] || die "--sanitize needs a list"; sanitize=$2; shift ;;
    --built) [ -x "${2:-}/bin/write_seeds" ] || die "--built needs a folder with fuzzers"; built=$2; shift ;;
    --clean) clean=yes ;;
    -h|--help) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1 (try --help)" ;;
  esac
  shift
done

# Builds the fuzzers, and sets `folder`.
build() {
  local compiler flags log
  compiler=$(command -v clang++-16 || true)
  if [ -z "$compiler" ]; then
    echo "skipped: clang++-16 is missing: apt-get install clang-16"
    exit 77
  fi

  folder=$root/build/fuzz
  flags=$sanitize
  if [ "$sanitize" = none ]; then
    folder=$folder-plain
    flags=
  elif [ "$sanitize" != address,undefined ]; then
    folder=$folder-${sanitize//,/-}
  fi

  log=$folder/build.txt
  mkdir -p "$folder"
  {
    cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
      -DPIPETRACE_FUZZ_LONG=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
      -DPIPETRACE_FUZZERS=ON -DPIPETRACE_TESTS=ON -DPIPETRACE_SANITIZE="$flags" -DPIPETRACE_WERROR=ON \
      -DPIPETRACE_VIEWER=OFF -DPIPETRACE_RUNTIME=OFF -DPIPETRACE_CUDA=OFF &&
      cmake --build "$folder" --target fuzzers --parallel "$build_jobs"
  } > "$log" 2>&1 || { tail -n 40 "$log" >&2; die "could not build; the whole output is in $log"; }
}

if [ -n "$built" ]; then
  folder=$(cd "$built" && pwd)
else
  build
fi

programs=()
for program in "$folder"/bin/fuzz_*; do
  name=${program##*/fuzz_}
  if [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $name "* ]]; then programs+=("$name"); fi
done
for name in "${only[@]}"; do
  [ -x "$folder/bin/fuzz_$name" ] || die "there is no fuzz_$name; there is: $(cd "$folder/bin" &&
    printf '%s ' fuzz_* | sed 's/fuzz_//g')"
done
"$folder/bin/write_seeds" "$folder/seeds"

# run NAME: runs until the time is up or something is found.
run() {
  local corpus=$folder/corpus/$1 found=$folder/found/$1
  if [ $clean = yes ]; then
    corpus=$folder/clean-corpus/$1
    rm -rf "$corpus"
  fi
  rm -rf "$found"
  mkdir -p "$corpus" "$found"
  # Inputs that take a minute or 2 GiB are findings, too.
  UBSAN_OPTIONS=print_stacktrace=1 "$folder/bin/fuzz_$1" "$corpus" "$folder/seeds/$1" \
    -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/" > "$found/log.txt" 2>&1 || touch "$found/failed"
}

running=0
for name in "${programs[@]}"; do
  if [ $running -ge "$jobs" ]; then
    wait -n
    running=$((running - 1))
  fi
  run "$name" &
  running=$((running + 1))
done
wait

failed=0
printf '%-18s %12s %8s %9s  %s\n' reader inputs edges seconds found
for name in "${programs[@]}"; do
  said=$folder/found/$name/log.txt
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$said" | tail -n 1)
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$said" | tail -n 1)
  took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$said" | tail -n 1)
  found=nothing
  if [ -e "$folder/found/$name/failed" ]; then
    failed=1
    found="see ${said#"$root"/}: $(grep -m 1 -E '^SUMMARY|does not hold|ERROR' "$said" || true)"
  fi
  printf '%-18s %12s %8s %9s  %s\n' "$name" "${inputs:--}" "${edges:--}" "${took:--}" "$found"
done
exit $failed
