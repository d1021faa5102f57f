#!/bin/bash
# The profiler as another project finds it. Installs this build, then builds and runs the programs
# beside this script, which are those of docs/profiler.md, and reads the logs that they write.
#   run.sh CMAKE BUILD_DIR WORK_DIR [cuda]
set -euo pipefail
cmake=$1 build=$2 work=$3 cuda=${4:-}
here=$(cd "$(dirname "$0")" && pwd)

page=$here/../../docs/profiler.md
# Program number $2 of the language $1 in the documentation, to compare with.
documented() { awk -v fence="\`\`\`$1" -v wanted="$2" \
  '$0 == "```" { on = 0 } on { print } $0 == fence { on = ++count == wanted }' "$page"; }

# The programs are built by what built this tree, as there may be nothing else.
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
CXX=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
CC=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
export CMAKE_GENERATOR CXX CC

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.txt"
for program in pipe-trace pipe-run pipe-view; do
  test -e "$work/prefix/bin/$program" || continue # not every preset builds all
  for file in bash-completion/completions/$program zsh/site-functions/_$program \
    fish/vendor_completions.d/$program.fish man/man1/$program.1; do
    grep -q $program "$work/prefix/share/$file"
  done
done
if test -e "$work/prefix/bin/pipe-view"; then
  share=$work/prefix/share
  grep -q '^Exec=pipe-view' "$share/applications/pipe-view.desktop"
  grep -q '<svg' "$share/icons/hicolor/scalable/apps/pipe-view.svg"
  # Each of these tools says nothing of what is right. Where one is missing, that is said.
  checked() {
    if command -v "$1" > /dev/null; then "$@" > "$work/desktop.txt" || { cat "$work/desktop.txt" >&2; exit 1; }
    else echo "skipped: no $1 on this system"; fi
  }
  checked desktop-file-validate "$share/applications/pipe-view.desktop"
  checked appstreamcli validate --no-net "$share/metainfo/org.pipetrace.pipe_view.metainfo.xml"
  mkdir -p "$work/mime/packages"
  cp "$share/mime/packages/pipe-view.xml" "$work/mime/packages"
  checked update-mime-database "$work/mime"
fi
test -e "$(find "$work/prefix" -name libnccl-profiler-pipetrace.so)"
# A program in C that looks at runs needs the library and its two headers, and nothing else of this tree.
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror -I "$work/prefix/include/pipetrace" \
  -c "$here/../../python/testing/look_from_c.c" -o "$work/look.o"
library=$(find "$work/prefix" -name libpipetrace_run.so)
test -e "$library"
if nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^pipetrace_'; then
  echo "libpipetrace_run.so exports more than its header declares" >&2; exit 1
fi
# Every header finds its includes: none is a header of the tests, which are not installed.
(
  cd "$work/prefix/include/pipetrace"
  grep -rhoE '^#include "[^"]+"' . | cut -d'"' -f2 | sort -u | while read -r header; do
    test -e "$header" || { echo "the header $header is included, but not installed" >&2; exit 1; }
  done
)
# The documentation lists every kind of job.
kinds=$(sed -n '/^enum pipetrace_kind/,/^}/s/^  \(PIPETRACE_[A-Z_]*\) = .*/\1/p' "$here/../../profiler/pipetrace.h"
  sed -n '/^enum class JobKind/,/^}/s/^  \(k[A-Za-z]*\),.*/\1/p' "$here/../../trace/job_kind.h")
test "$(wc -w <<< "$kinds")" -gt 30
for kind in $kinds; do
  grep -q "\`$kind\`" "$page" || { echo "docs/profiler.md does not list $kind" >&2; exit 1; }
done
for language in cpp c $cuda; do
  case $language in
    cuda) fence=c++ suffix=cpp lines=13 without= ;;
    *) fence=$language suffix=$language lines=15 without=CUDAToolkit ;; # in a CUDA build, too
  esac
  documented $fence 1 | diff -u - "$here/$language/record.$suffix"
  "$cmake" -S "$here/$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$work/prefix" \
    ${without:+--no-warn-unused-cli -DCMAKE_DISABLE_FIND_PACKAGE_$without=ON} > "$work/$language.txt"
  "$cmake" --build "$work/$language" >> "$work/$language.txt"
  logs=$work/$language-logs
  (cd "$work" && "./$language/record" 2> "$work/stderr.txt")
  test ! -e "$work/logs" -a ! -s "$work/stderr.txt" # off unless it is switched on
  PIPETRACE_LOG_DIR=$logs "$work/$language/record" 2> "$work/stderr.txt"
  test ! -e "$logs"
  test "$(cat "$work/stderr.txt")" = "pipetrace: recording is off; set PIPETRACE=1 to record into\
 $logs, or PIPETRACE=0 to leave this line out"
  PIPETRACE=1 PIPETRACE_LOG_DIR=$logs "$work/$language/record"
  test "$(grep -c 'Profiler Info: Job' "$logs/workerlog.0")" = 12
  grep -q 'Profiler End: written = '"$lines"', dropped = 0, errors = 0' "$logs/workerlog.0"
  test "$(ls "$logs")" = workerlog.0
  "$work/prefix/bin/pipe-trace" "$logs" > "$work/$language-summary.txt"
  test -s "$work/$language-summary.txt"
  echo "$language: recorded and read"
done

# Two ranks of two steps, with two micro-batches each: every transfer has an arrow.
for language in cpp c; do
  documented $language 2 | diff -u - "$here/$language/two_ranks.$language"
  logs=$work/$language-two-ranks-logs
  PIPETRACE=1 PIPETRACE_LOG_DIR=$logs "$work/$language/two_ranks"
  for rank in 0 1; do
    if [ $rank = 0 ]; then send=send_forward recv=recv_backward; else send=send_backward recv=recv_forward; fi
    log=$logs/workerlog.$rank
    for kind in $send $recv; do
      grep "type = $kind, .* peer = $((1 - rank)), bytes = 4096, job = " "$log" |
        sed 's/.* job = \([0-9]*\),.*/\1/' > "$work/jobs.txt"
      test "$(sort -u "$work/jobs.txt" | wc -l)" = 4
      case $kind in *forward) job=forward ;; *) job=backward ;; esac
      while read -r id; do grep -q "Info: .* type = $job, .* id = $id," "$log"; done < "$work/jobs.txt"
    done
    grep -q 'Profiler End: written = 20, dropped = 0, errors = 0' "$log"
  done
  "$work/prefix/bin/pipe-trace" "$logs" -o "$work/$language-two-ranks.json" > "$work/two-ranks.txt" 2>&1
  grep -q '24 jobs, 16 transfers' "$work/two-ranks.txt"
  # Arrows follow a micro-batch: from a job to its send, and on to the peer. Short receives may have none.
  test "$(grep -o '"ph":"s"' "$work/$language-two-ranks.json" | wc -l)" -ge 16
  echo "$language: two ranks recorded and read"
done

if [ -z "$cuda" ]; then # an error says what to do where the part that needs CUDA is wanted
  if "$cmake" -S "$here/cuda" -B "$work/without" -DCMAKE_PREFIX_PATH="$work/prefix" \
    > "$work/without.txt" 2>&1; then
    echo "found the component profiler_cuda in a build without CUDA" >&2
    exit 1
  fi
  tr -s ' \n' ' ' < "$work/without.txt" | grep -q -- 'build and install it with -DPIPETRACE_CUDA=ON'
fi
