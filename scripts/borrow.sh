# shellcheck shell=bash
# The tools of the distribution that a bare machine may lack. As root they are installed. Without root, Debian's packages
# are unpacked into the cache: a compiler and headers work from there as well, once told where they are.
# To be sourced by scripts/setup, after lib.sh; needs `python_include`, the folder of Python.h.

borrowed=$NAVTREE_CACHE/debian

have_cxx() { command -v c++ || [ -x "$borrowed/bin/c++" ]; }
have_venv() { python3 -c 'import venv; from ensurepip import version' || [ -d "$borrowed/usr/share/python-wheels" ]; }
have_headers() { [ -e "$python_include/Python.h" ] || [ -e "$borrowed$python_include/Python.h" ]; }

borrow() {
  local folder=$borrowed.debs deb
  rm -rf "$folder"
  mkdir -p "$folder" "$borrowed/bin"
  (cd "$folder" && apt-get download "$@") || return
  for deb in "$folder"/*.deb; do dpkg-deb -x "$deb" "$borrowed" || return; done
  rm -rf "$folder"
}

borrow_cxx() {
  local version gcc
  version=$(cc -dumpversion) && version=${version%%.*}
  borrow "g++-$version" "libstdc++-$version-dev" || return
  gcc=$(dirname "$(cc -print-libgcc-file-name)")
  # The rest of the compiler stays where the C compiler is; and the library's link pointed beside itself.
  ln -sf "$(cc -print-file-name=libstdc++.so.6)" "$borrowed$gcc/libstdc++.so"
  printf '#!/bin/sh\nexec "%s" -B"%s" -idirafter "%s" "$@"\n' \
    "$(printf '%s\n' "$borrowed"/usr/bin/*-g++-"$version" | head -n 1)" "$gcc" "$(cc -print-file-name=include)" \
    >"$borrowed/bin/c++"
  chmod +x "$borrowed/bin/c++"
}

borrow_headers() { borrow "lib$(basename "$python_include")-dev"; }
borrow_venv() { borrow python3-pip-whl; }

# need HAVE BORROW PACKAGE WHAT
need() {
  "$1" >/dev/null 2>&1 && return
  if ! as_root && command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    try "unpacking $3 into the cache" "$2" || true
  fi
  require "$3" "$4" "$1"
}

# python_headers: the folder where Python.h really is.
python_headers() {
  if [ -e "$python_include/Python.h" ]; then echo "$python_include"; else echo "$borrowed$python_include"; fi
}

# use_borrowed: let CMake find them.
use_borrowed() {
  if ! command -v c++ >/dev/null; then export CXX=$borrowed/bin/c++; fi
  # Debian's Python.h includes a second one by its place under /usr/include.
  [ -e "$python_include/Python.h" ] || export CPATH=$borrowed/usr/include
}
