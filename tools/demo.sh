#!/usr/bin/env bash
# Trains a small character-level transformer on 4 pipeline stages on the CPU, and shows where its
# time went.
#    demo.sh [--data FILE] [--steps N] [--out FOLDER]
#     --data FILE    train on this text (default: a licence text of this machine)
#     --steps N      training steps (default: the sample's own)
#     --out FOLDER   where the results go (default: build/demo)
#     --bin FOLDER   use the programs in FOLDER; install and build nothing
# First installs missing packages and builds; a second run skips both.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 2; }

out=$root/build/demo
bin=
sample=()
while [ $# -gt 0 ]; do
  case $1 in
    --data|--steps|--out|--bin)
      [ $# -ge 2 ] || die "$1 needs a value (try --help)"
      case $1 in
        --data) [ -r "$2" ] || die "cannot read $2"
                sample+=(--data "$(realpath "$2")") ;;
        --steps) sample+=(--steps "$2") ;;
        --out) out=$(realpath -m "$2") ;;
        --bin) bin=$(realpath "$2") ;;
      esac
      shift 2 ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1 (try --help)" ;;
  esac
done

if [ -z "$bin" ]; then
  bash "$root/tools/setup.sh"
  say "building (the first time takes some minutes)"
  cd "$root"
  # The same options as in tools/test.sh, so that both share the build. Tests stay where they are.
  [ -f build/all/CMakeCache.txt ] || cmake --preset all >/dev/null
  cmake --build --preset all --target pipe-run pipe-trace pipe-view sample-char-transformer
  bin=$root/build/all/bin
fi
mkdir -p "$out"
# Removes only the results of an earlier demo.
rm -f "$out"/{training,profile,rehearsal}.txt "$out"/{profile,rehearsal}.json "$out"/profile.png

say "training on 4 pipeline stages, one process each, schedule 1F1B"
"$bin/pipe-run" --ranks 4 --log-dir "$out/logs" -- \
  "$bin/sample-char-transformer" --schedule 1F1B "${sample[@]}" | tee "$out/training.txt"

say "converting the job logs to a profile"
"$bin/pipe-trace" "$out/logs" -o "$out/profile.json" | tee "$out/profile.txt"

say "rehearsing the schedule on 4 emulated devices: each job waits for its measured time, so that
   a machine with few cores shows what 4 devices would do"
"$bin/pipe-run" rehearse --schedule 1F1B --ranks 4 --micro-batches 8 --steps 5 \
  --costs-from "$out/logs" --log-dir "$out/rehearsal"
"$bin/pipe-trace" "$out/rehearsal" -o "$out/rehearsal.json" | tee "$out/rehearsal.txt"

say "explaining the rehearsal"
"$bin/pipe-trace" report "$out/rehearsal" -o "$out/report.html" | tee "$out/report.txt"

say "drawing a picture of the rehearsal, without a display"
"$bin/pipe-view" "$out/rehearsal.json" --export "$out/profile.png"

say "done"
cat <<END
Logs       $out/logs
Profiles   $out/profile.json     the training: 4 processes sharing this machine's cores
           $out/rehearsal.json   the rehearsal: 4 devices
Report     $out/report.html      why the devices of the rehearsal were idle; open it in a browser
           $out/report.txt       the same as text
Picture    $out/profile.png      two steps of the rehearsal

Open a profile
  in the viewer          $(printf '%q %q' "$bin/pipe-view" "$out/rehearsal.json")
                         $(printf '%q %q' "$bin/pipe-view" "$out/profile.json")
  in Perfetto            open https://ui.perfetto.dev and drop either .json on the page
  in Chrome or Chromium  open chrome://tracing, press Load, choose either .json
END
