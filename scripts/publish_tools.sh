# shellcheck shell=bash
# Makes the Python environment of scripts/wheel and scripts/site, and of the tests of the hooks: maturin, mkdocs, pre-commit.
# Sourced after lib.sh.

# publish_tools: makes the environment in the cache if it is missing. Sets PUBLISH_TOOLS to its folder of programs.
publish_tools() {
  local list=$NAVTREE_ROOT/scripts/wheels_publish.txt name
  name=$({ python3 -c 'import os, sys; print(os.path.realpath(sys.executable), sys.version)' && cat "$list"; } |
    sha256sum | cut -c 1-16)
  PUBLISH_TOOLS=$NAVTREE_CACHE/publish-$name/bin
  locked _make_publish_tools "$NAVTREE_CACHE/publish-$name" "$list"
}

_make_publish_tools() {
  [ -e "$1/complete" ] && return
  rm -rf "$1"
  require python3-venv "Python's venv" python3 -c 'import venv; from ensurepip import version'
  try "installing maturin, mkdocs and pre-commit" sh -c \
    'python3 -m venv "$0" && "$0/bin/python" -m pip install --quiet --no-deps --progress-bar off -r "$1"' "$1" "$2" ||
    fail "The tools cannot be installed: see above, and run this again."
  touch "$1/complete"
}
