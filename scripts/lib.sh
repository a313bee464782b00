# shellcheck shell=bash
# Functions of the scripts in this folder: output, checks of the machine, locks. Also sets the cache folder.
# Sourced by bash, not run.

NAVTREE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NAVTREE_CACHE=${NAVTREE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/navtree}
_started=$SECONDS
_keep_logs=''
_logs=$(mktemp -d "${TMPDIR:-/tmp}/navtree-logs.XXXXXX")
trap '[ -n "$_keep_logs" ] || rm -rf "$_logs"' EXIT
_step=0
_steps=${_steps:-0}

if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${CI:-}" ]; then
  _terminal=1 _bold=$'\e[1m' _dim=$'\e[2m' _red=$'\e[31m' _green=$'\e[32m' _plain=$'\e[0m'
else
  _terminal='' _bold='' _dim='' _red='' _green='' _plain=''
fi

# elapsed SECONDS: prints the time as m:ss.
elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# say TEXT: prints one line to stderr, so that stdout stays usable for results.
say() { printf '%s\n' "$*" >&2; }

# fail TEXT: prints what is wrong and how to fix it, in one sentence, and exits.
fail() {
  printf '%sfailed:%s %s\n' "$_red" "$_plain" "$*" >&2
  exit 1
}

# steps COUNT: sets the number of steps.
steps() { _steps=$1 _step=0; }

# begin TITLE: prints the number and the title of the next step.
begin() {
  _step=$((_step + 1))
  printf '%s[%d/%d]%s %s %s(%s)%s\n' "$_bold" "$_step" "$_steps" "$_plain" "$1" \
    "$_dim" "$(elapsed $((SECONDS - _started)))" "$_plain" >&2
}

# try TITLE COMMAND...: runs the command, writes its output to a log and shows a spinner on a terminal. On failure prints the
# last TRY_LINES lines of the log. Returns the exit code of the command; TRY_LOG is the path of the log.
try() {
  local title=$1 log code=0 pid since=$SECONDS frames='|/-\' i=0 last
  shift
  log=$(mktemp "$_logs/step.XXXXXX")
  if [ -n "$_terminal" ]; then
    # Job control gives the command its own process group, so that an interrupt ends the whole group.
    set -m
    ("$@") >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    trap 'kill -TERM -- "-$pid" 2>/dev/null; wait "$pid" 2>/dev/null; printf "\n" >&2; exit 130' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
      last=$(tail -c 400 "$log" | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | cut -c "1-$((${COLUMNS:-80} - 30))") || true
      printf '\r\e[K  %s %s %s %s%s%s' "${frames:i++%4:1}" "$title" "$(elapsed $((SECONDS - since)))" \
        "$_dim" "$last" "$_plain" >&2
      sleep 0.2
    done
    wait "$pid" || code=$?
    trap - INT TERM
    printf '\r\e[K' >&2
  else
    say "  ... $title"
    "$@" >"$log" 2>&1 </dev/null || code=$?
  fi
  if [ "$code" -eq 0 ]; then
    say "  ${_green}ok${_plain}  $title $(elapsed $((SECONDS - since)))"
  else
    say "  ${_red}failed${_plain} $title $(elapsed $((SECONDS - since))), code $code; the end of $log:"
    tail -n "${TRY_LINES:-40}" "$log" >&2
    _keep_logs=1
  fi
  TRY_LOG=$log
  return "$code"
}

# as_root: whether this script may install system packages.
as_root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# install_package PACKAGE: installs PACKAGE if this script may. A failure is not an error.
install_package() {
  as_root || return 0
  try "installing $1" env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get install -qy --no-install-recommends "$0" ||
     { apt-get update -q && apt-get install -qy --no-install-recommends "$0"; }' "$1" || true
}

# require PACKAGE WHAT CHECK...: runs CHECK. If it fails, installs PACKAGE as root and checks again. Ends the script if CHECK
# still fails.
require() {
  local package=$1 what=$2
  shift 2
  "$@" >/dev/null 2>&1 && return
  install_package "$package"
  "$@" >/dev/null 2>&1 || fail "$what is missing: install it with 'sudo apt install $package' and run this again."
}

# at_least HAVE WANT: whether version HAVE is WANT or later.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# check_machine: checks for tools that cannot be put into the cache, before a long build starts.
check_machine() {
  local have want
  [ "$(uname -s)" = Linux ] || fail "navtree builds on Linux; this is $(uname -s)."
  # After a fresh rustup installation the path of this shell often lacks cargo.
  if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then PATH=$HOME/.cargo/bin:$PATH; fi
  command -v cargo >/dev/null && command -v rustc >/dev/null ||
    fail "Rust is missing: install it with rustup (https://rustup.rs) and run this again."
  want=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$NAVTREE_ROOT/Cargo.toml")
  have=$(rustc --version | awk '{ sub(/-.*/, "", $2); print $2 }')
  at_least "$have" "$want" || fail "Rust $have is too old, $want is needed: run 'rustup update stable' and run this again."
  require python3 "Python" command -v python3
  have=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  at_least "$have" 3.11 || fail "Python $have is too old, 3.11 is needed: install 'python3' of Debian 12 or newer and run this again."
  require gcc "A C compiler" command -v cc
  require util-linux "flock" command -v flock
}

# locked COMMAND...: runs the command while no other script changes the cache.
locked() {
  mkdir -p "$NAVTREE_CACHE" || fail "The cache folder $NAVTREE_CACHE cannot be made: set NAVTREE_CACHE to a folder you can write to."
  exec 9>"$NAVTREE_CACHE/lock"
  if ! flock -n 9; then
    say "another run is setting up; waiting for it"
    flock 9
  fi
  "$@"
  exec 9>&-
}

# take_domain: sets ROS_DOMAIN_ID to a domain that no other script or test on this machine uses. The domain stays locked
# until this script and all its child processes end. Uses the locks of test/support/domains.py. Waits for at most a minute.
take_domain() {
  local folder domain deadline=$((SECONDS + 60))
  folder=${TMPDIR:-/tmp}/navtree-domains-$(id -u)
  mkdir -p "$folder"
  while :; do
    # Above 101 the ports of a domain are in the range that Linux uses for outgoing connections.
    for domain in $(shuf -i 1-101); do
      exec {_domain_lock}>"$folder/$domain"
      if flock -n "$_domain_lock"; then
        export ROS_DOMAIN_ID=$domain
        return
      fi
      exec {_domain_lock}>&-
    done
    [ "$SECONDS" -lt "$deadline" ] || fail "All ROS domains of this machine are taken: wait until other tests have ended."
    sleep 0.2
  done
}
