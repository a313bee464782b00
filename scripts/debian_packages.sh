# shellcheck shell=bash
# Provides Debian packages that a minimal machine may lack. As root they are installed. Without root they are unpacked into
# the cache; the compiler and the headers also work from there.
# Sourced by scripts/setup after lib.sh; needs `python_include`, the folder of Python.h.

unpacked=$NAVTREE_CACHE/debian

have_cxx() { command -v c++ || [ -x "$unpacked/bin/c++" ]; }
have_venv() { python3 -c 'import venv; from ensurepip import version' || [ -d "$unpacked/usr/share/python-wheels" ]; }
have_headers() { [ -e "$python_include/Python.h" ] || [ -e "$unpacked$python_include/Python.h" ]; }

unpack() {
  local folder=$unpacked.debs deb
  rm -rf "$folder"
  mkdir -p "$folder" "$unpacked/bin"
  (cd "$folder" && apt-get download "$@") || return
  for deb in "$folder"/*.deb; do dpkg-deb -x "$deb" "$unpacked" || return; done
  rm -rf "$folder"
}

unpack_cxx() {
  local version gcc
  version=$(cc -dumpversion) && version=${version%%.*}
  unpack "g++-$version" "libstdc++-$version-dev" || return
  gcc=$(dirname "$(cc -print-libgcc-file-name)")
  # The other parts of the compiler stay with the C compiler. The library's link must point to the system's library.
  ln -sf "$(cc -print-file-name=libstdc++.so.6)" "$unpacked$gcc/libstdc++.so"
  printf '#!/bin/sh\nexec "%s" -B"%s" -idirafter "%s" "$@"\n' \
    "$(printf '%s\n' "$unpacked"/usr/bin/*-g++-"$version" | head -n 1)" "$gcc" "$(cc -print-file-name=include)" \
    >"$unpacked/bin/c++"
  chmod +x "$unpacked/bin/c++"
}

unpack_headers() { unpack "lib$(basename "$python_include")-dev"; }
unpack_venv() { unpack python3-pip-whl; }

# provide CHECK UNPACK PACKAGE WHAT: installs or unpacks PACKAGE unless CHECK succeeds. Ends the script if WHAT stays missing.
provide() {
  "$1" >/dev/null 2>&1 && return
  if ! as_root && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    try "unpacking $3 into the cache" "$2" || true
  fi
  require "$3" "$4" "$1"
}

# python_headers: prints the folder that contains Python.h.
python_headers() {
  if [ -e "$python_include/Python.h" ]; then echo "$python_include"; else echo "$unpacked$python_include"; fi
}

# use_unpacked: lets CMake find the unpacked compiler and headers.
use_unpacked() {
  if ! command -v c++ >/dev/null; then export CXX=$unpacked/bin/c++; fi
  # Debian's Python.h includes a second file by its path under /usr/include.
  [ -e "$python_include/Python.h" ] || export CPATH=$unpacked/usr/include
}
