#!/usr/bin/env bash
# Runs the README's commands on a bare Debian 12 of its own, with a clean clone of the committed tree.
#    fresh_machine.sh [demo|test|build|docs|wheel] [--locale NAME] [--keep] [--folder FOLDER]
#     demo             the README's first command (default), with locale C
#     test             the README's second command, with locale de_DE.UTF-8
#     build            the commands of the README's section "Building", with locale C
#     docs             demo and build, then every runnable command of the documents: with locale C, and
#                      again with de_DE.UTF-8
#     wheel            what tools/build_wheel.sh makes on this machine, installed beside Debian's Python
#                      alone: a first look at a run, with locale C
#     --locale NAME    this locale instead
#     --keep           keep the machine; a later run with --keep goes on with it
#     --folder FOLDER  where the machine is made (default: build/fresh-machine)
# The machine has the packages of Debian's variant minbase, and sudo. Its user is not root, has no
# terminal and no compiler cache, and works in a path with a space. Packages come from the sources of
# this machine's apt, Python packages by the settings of its pip. There is no GPU.
# Needs mmdebstrap and git; without root also uidmap. The last line says what ran and how long it
# took. Exit code 0: all passed, 1: a command failed, 2: the machine could not be made.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'fresh_machine: %s\n' "$*" >&2; exit 2; }

# Runs in the namespaces, as their first process. $1: the machine's folder; $2: locales. Standard
# input: the commands, a line each.
inside() {
  local machine=$1 locales=$2 base name language
  base=$(dirname "$machine")
  if [ -e "$base/base.tar" ]; then
    mkdir -p "$machine"
    tar -x -C "$machine" --numeric-owner --exclude='./dev/*' -f "$base/base.tar"
  fi
  mount -t proc proc "$machine/proc"
  mount --rbind /sys "$machine/sys"
  mount -t tmpfs -o mode=755 tmpfs "$machine/dev"
  mkdir "$machine/dev/pts" "$machine/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$machine/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$machine/dev/pts"
  for name in null zero full random urandom tty; do
    : > "$machine/dev/$name"
    mount --bind "/dev/$name" "$machine/dev/$name"
  done
  ln -s pts/ptmx "$machine/dev/ptmx"
  ln -s /proc/self/fd "$machine/dev/fd"
  for name in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${name%:*}" "$machine/dev/${name#*:}"; done
  # The network of this machine, and whom it trusts there.
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/" 2>/dev/null || true
  mkdir -p "$machine/usr/local/share/ca-certificates"
  cp -r /usr/local/share/ca-certificates/. "$machine/usr/local/share/ca-certificates/" 2>/dev/null || true
  cp -r /etc/apt/trusted.gpg.d/. "$machine/etc/apt/trusted.gpg.d/" 2>/dev/null || true
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$machine/etc/pip.conf"

  in_machine() { chroot "$machine" "$@"; }
  local home=/home/visitor
  local tree="$home/a folder/pipetrace"
  if [ ! -e "$machine$home" ]; then
    in_machine useradd --create-home --shell /bin/bash visitor
    echo 'visitor ALL=(ALL) NOPASSWD: ALL' > "$machine/etc/sudoers.d/visitor"
    for name in "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
      [ ! -e "$name" ] || { mkdir -p "$machine$home/.config/pip"; cp "$name" "$machine$home/.config/pip/pip.conf"; }
    done
    mkdir "$machine$home/a folder"
    git -c advice.detachedHead=false clone --quiet "$base/clone.bundle" "$machine$tree"
  else
    git -c safe.directory='*' -C "$machine$tree" fetch --quiet "$base/clone.bundle" HEAD
    git -c safe.directory='*' -C "$machine$tree" reset --quiet --hard FETCH_HEAD
  fi
  [ ! -e "$base/wheel" ] || cp "$base"/wheel/*.whl "$machine$home/"
  in_machine chown -R visitor: "$home"
  : > "$base/ready"
  for language in $locales; do
    case $language in
      C|C.UTF-8|POSIX) ;;
      *) [ -e "$machine/usr/share/i18n/charmaps" ] \
           || in_machine bash -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq locales' >/dev/null 2>&1
         in_machine localedef -i "${language%.*}" -f "${language#*.}" "$language" ;;
    esac
  done

  # Proxies and the settings of pip. A path that is not in the machine is left out, such as a folder
  # of packages.
  local kept=() value
  while IFS='=' read -r -d '' name value; do
    case $name in
      http_proxy|https_proxy|no_proxy|all_proxy|HTTP_PROXY|HTTPS_PROXY|NO_PROXY|ALL_PROXY|PIP_*|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)
        case $value in
          /etc/ssl/*) ;; # the package ca-certificates brings it
          /*) [ -e "$machine$value" ] || continue ;;
        esac
        kept+=("$name=$value") ;;
    esac
  done < <(env -0)

  local command begin status
  while IFS= read -r command; do
    language=${locales%% *}
    case $command in @*) language=${command%%:*} language=${language#@} command=${command#*:} ;; esac
    printf '\n== %s$ %s\n' "$language" "$command"
    begin=$SECONDS status=0
    # setsid: no terminal.
    setsid --wait chroot "$machine" env -i "${kept[@]}" HOME=$home USER=visitor LOGNAME=visitor \
      PATH=/usr/local/bin:/usr/bin:/bin SHELL=/bin/bash LANG="$language" \
      setpriv --reuid visitor --regid visitor --init-groups \
      bash -c 'cd "$1" && exec bash -c "$2"' bash "$tree" "$command" </dev/null || status=$?
    [ "$language" = C ] || command="LANG=$language $command"
    echo "$((SECONDS - begin)) $status $command" >> "$base/times"
    [ $status = 0 ] || exit 1
  done
}

if [ "${1:-}" = --inside ]; then # this script, started again by itself
  inside "${@:2}"
  exit 0
fi

what= locale= keep=no base=$root/build/fresh-machine
while [ $# -gt 0 ]; do
  case $1 in
    demo|test|build|docs|wheel) [ -z "$what" ] || die "$what and $1 are two things (try --help)"
                          what=$1; shift ;;
    --locale|--folder)
      [ $# -ge 2 ] || die "$1 needs a value (try --help)"
      case $1 in
        --locale) locale=$2 ;;
        --folder) base=$(realpath -m "$2") ;;
      esac
      shift 2 ;;
    --keep) keep=yes; shift ;;
    -h|--help) sed -n '2,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown argument $1 (try --help)" ;;
  esac
done
what=${what:-demo}

for program in mmdebstrap git unshare python3; do
  command -v "$program" >/dev/null || die "needs $program: apt-get install mmdebstrap git util-linux python3"
done
# All work is done in namespaces: mounts and processes are gone when their first process ends.
enter=(unshare --mount --pid --fork --kill-child)
make=("${enter[@]}" mmdebstrap --mode=root)
if [ "$(id -u)" != 0 ]; then
  command -v newuidmap >/dev/null || die "without root it needs newuidmap: apt-get install uidmap"
  enter+=(--user --map-auto --map-root-user)
  make=(mmdebstrap --mode=unshare) # it makes its own
fi
"${enter[@]}" true 2>/dev/null || die "this system lets $(id -un) make no namespaces (unshare --mount --pid); try as root"

# The README's commands. The script has no copy of them.
commands_of() { python3 "$root/tools/doc_commands.py" --list --section "$1" "$root/README.md"; }
case $what in
  build) commands=$(commands_of Building) ;;
  test) commands=$(commands_of 'Two commands' | grep 'tools/test\.sh') ;;
  wheel)
    commands='sudo apt-get update -qq && sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
python3 -m venv ~/python && ~/python/bin/pip install --quiet --no-index ~/pipetrace-*.whl
~/python/bin/python tests/python/first_look.py' ;;
  *) commands=$(commands_of 'Two commands' | grep 'tools/demo\.sh') ;;
esac || die "README.md has no runnable command for $what"
case $what in
  test) locales=${locale:-de_DE.UTF-8} ;;
  docs) locales=${locale:-C de_DE.UTF-8} ;;
  *) locales=${locale:-C} ;;
esac

mkdir -p "$base" 2>/dev/null && [ -w "$base" ] || die "cannot write to $base; try --folder"
exec {lock}> "$base/lock"
flock --nonblock "$lock" || die "another run uses $base; take another --folder"
machine=$base/machine
# du of the machine at its end: demo 4.5 GB, test and build more.
case $what in demo|docs) need=8 ;; wheel) need=2 ;; *) need=20 ;; esac
free=$(df --output=avail -B1G "$base" | tail -n 1 | tr -d " ")
[ -e "$machine" ] || [ "$free" -ge "$need" ] || die "$base has $free GB free, $what needs $need GB; try --folder"

child=
# Ends the first process of the namespaces, with which all others end; then removes the machine.
clean() {
  local first
  if [ -n "$child" ] && kill -0 "$child" 2>/dev/null; then
    if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = unshare ]; then
      for first in $(cat "/proc/$child/task/$child/children" 2>/dev/null); do
        kill -KILL "$first" 2>/dev/null || true
      done
    else
      kill -- "-$child" 2>/dev/null || true
    fi
    wait "$child" 2>/dev/null || true
  fi
  child=
  # When mmdebstrap is killed, it leaves files that have the owners of the machine's.
  "${enter[@]}" rm -rf --one-file-system "$base"/{base.tar,clone.bundle,apt.conf,times,wheel} "$base"/mmdebstrap.* || true
  if [ $keep = no ] && [ -e "$machine" ]; then
    if grep -qF " ${machine// /\\040}/" /proc/self/mountinfo; then
      printf 'fresh_machine: something is mounted in %s, which is left as it is\n' "$machine" >&2
    else
      "${enter[@]}" rm -rf --one-file-system "$machine"
    fi
  fi
  if [ ! -e "$machine" ]; then
    rm -f "$base"/{lock,ready}
    rmdir "$base" 2>/dev/null || true
  fi
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# wait_for COMMAND...: runs it so that a signal to this script is answered at once.
wait_for() {
  setsid "$@" <&0 & # a process group of its own
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return $status
}
full() { [ "$(df --output=avail -B1M "$base" | tail -n 1)" -lt 100 ]; }

make_base() {
  local lines options=()
  lines=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT) # $(ORIGIN) $(CODENAME)' 'Created-By: Packages' \
    | grep -E '# Debian bookworm(-updates|-security)?$' | sed 's/ #.*//' | sort -u) \
    || die "apt here knows no packages of Debian 12 (bookworm); run apt-get update, or add its source"
  # Proxies and the like. Which lists are fetched is left to the machine.
  apt-config dump | grep -E '^Acquire::[^ ]+ ".+"' | grep -vE '^Acquire::(IndexTargets|Changelogs|GzipIndexes|CompressionTypes|cdrom)' \
    > "$base/apt.conf" || true
  options=(--include="sudo$( case $lines in *https:*) printf ,ca-certificates ;; esac )")
  # As a tar file, so that owners are the same whoever makes it.
  TMPDIR=$base wait_for "${make[@]}" --quiet --variant=minbase --aptopt="$base/apt.conf" \
    "${options[@]}" --format=tar bookworm "$base/base.tar" - <<< "$lines"
}

if [ -e "$machine" ] && [ $keep = no ]; then
  keep=yes # not this run's to remove
  die "$machine is a kept machine: go on with --keep, or remove it with rm -rf --one-file-system as root"
fi
if [ -e "$machine" ] && [ ! -e "$base/ready" ]; then
  say "removing a machine that was not finished"
  wait_for "${enter[@]}" rm -rf --one-file-system "$machine" || die "cannot remove $machine"
fi
if [ -e "$machine" ]; then
  say "going on with the machine in $machine"
else
  say "making a bare Debian 12 in $machine"
  make_base || { full && die "the disk of $base is full"; die "mmdebstrap could not make the machine"; }
fi
if [ "$what" = wheel ]; then
  rm -rf "$base/wheel"
  wait_for bash "$root/tools/build_wheel.sh" --out "$base/wheel" || die "the wheel could not be built"
fi
made=$SECONDS
git -C "$root" bundle create --quiet "$base/clone.bundle" HEAD || die "$root is no git clone with a commit"
[ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] || say "changes that are not committed are not in the machine's clone"

if [ "$what" = docs ]; then
  commands=$(printf '%s\n' 'bash tools/setup.sh --tests' "$commands" 'cmake --build --preset all'
             for one in $locales; do echo "@$one:python3 tools/doc_commands.py --bin build/all/bin"; done)
fi
# Their output goes through a pipe, so that they see no terminal.
exec {out}> >(cat)
printer=$!
status=0
wait_for "${enter[@]}" bash "${BASH_SOURCE[0]}" --inside "$machine" "$locales" \
  <<< "$commands" >&"$out" 2>&1 || status=$?
exec {out}>&-
wait "$printer" || true

times=$(while read -r seconds _ command; do printf ', %s %s s' "$command" "$seconds"; done 2>/dev/null < "$base/times" || true)
[ -n "$times" ] || { full && die "the disk of $base is full"; die "the machine could not be entered (above)"; }
details="machine $made s$times"
if [ $status != 0 ]; then
  ! full || die "the disk of $base is full after $SECONDS s ($details)"
  printf '\nfresh_machine: %s failed in %s s (%s)\n' "$what" "$SECONDS" "$details"
  exit 1
fi
[ $keep = no ] || say "the machine is kept in $machine"
printf '\nfresh_machine: %s passed in %s s (%s)\n' "$what" "$SECONDS" "$details"
