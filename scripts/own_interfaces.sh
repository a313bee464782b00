# shellcheck shell=bash
# Adds your own interface packages for RosAction and the other Ros* nodes: `source "$(scripts/setup PACKAGE|FOLDER...)"`.
#
# A PACKAGE is in the sourced ROS 2 or workspace. A FOLDER holds definitions and is built into the cache like interfaces/;
# give a folder before the folders that need it. The environment adds these packages and their dependencies to the packages
# of .cargo/config.toml. A build with other packages gets its own build folder, for two reasons: r2r would be rebuilt at each
# change between the package sets, and r2r 0.9.7 cannot switch back, because it prints its settings only if nothing is cached.
# Sourced by scripts/setup.

own_folders=() own_names=() own_overlay='' own_prefixes='' own_filter=''

# name_in MANIFEST: prints the package name.
name_in() { sed -n 's:.*<name>[[:space:]]*\([^<[:space:]]*\).*:\1:p' "$1" | head -n 1; }

# manifest_of PACKAGE: prints the path of its package.xml.
manifest_of() {
  local folder prefix prefixes
  for folder in "${own_folders[@]}"; do
    [ "$(name_in "$folder/package.xml")" != "$1" ] || { echo "$folder/package.xml"; return; }
  done
  IFS=: read -ra prefixes <<<"$own_prefixes"
  for prefix in "${prefixes[@]}"; do
    [ ! -e "$prefix/share/ament_index/resource_index/rosidl_interfaces/$1" ] ||
      { echo "$prefix/share/$1/package.xml"; return; }
  done
  return 1
}

# add_to_filter PACKAGE MANIFEST: adds the package and its dependencies; r2r does not follow nested packages.
add_to_filter() {
  local dependency manifest
  [[ ";$own_filter;" != *";$1;"* ]] || return 0
  own_filter+=";$1"
  while read -r dependency; do
    if manifest=$(manifest_of "$dependency"); then add_to_filter "$dependency" "$manifest"; fi
  done < <(sed -nE 's:.*<(build_|exec_|build_export_)?depend[^>]*>[[:space:]]*([^<[:space:]]*).*:\2:p' "$2")
}

make_own() {
  [ ! -e "$own_overlay/complete" ] || return 0
  check_tools
  try "building ${own_names[*]}" build_interfaces "$own_overlay" one_by_one "${own_folders[@]}" ||
    fail "The interface packages could not be built: see above."
}

print_own_environment() {
  cat <<END
# Written by navtree's scripts/setup: source it. A second time does nothing.
. "$environment"
if [ "\${NAVTREE_OWN_INTERFACES:-}" != "$own_filter $own_overlay" ]; then
  export NAVTREE_OWN_INTERFACES="$own_filter $own_overlay"
  export IDL_PACKAGE_FILTER="$own_filter"
  export CARGO_TARGET_DIR="\${CARGO_TARGET_DIR:-$NAVTREE_ROOT/target/$(IFS=-; echo "${own_names[*]}")}"
END
  [ -z "$own_overlay" ] || cat <<END
  export AMENT_PREFIX_PATH="$own_overlay:\$AMENT_PREFIX_PATH"
  export CMAKE_PREFIX_PATH="$own_overlay:\$CMAKE_PREFIX_PATH"
  export LD_LIBRARY_PATH="$own_overlay/lib:\$LD_LIBRARY_PATH"
  export PYTHONPATH="$own_overlay/$site_packages:\$PYTHONPATH"
END
  echo fi
}

# own_environment ARGUMENT...: builds missing packages and prints the path of the environment file.
own_environment() {
  local argument name file files=()
  # shellcheck disable=SC1090
  own_prefixes=$(. "$environment" && echo "$AMENT_PREFIX_PATH")
  for argument; do
    if [ -e "$argument/package.xml" ]; then
      own_folders+=("$(cd "$argument" && pwd)")
      own_names+=("$(name_in "$argument/package.xml")")
    else
      own_names+=("$argument")
    fi
  done
  own_filter=$(sed -n 's/^IDL_PACKAGE_FILTER = "\(.*\)"/\1/p' "$NAVTREE_ROOT/.cargo/config.toml")
  for name in "${own_names[@]}"; do
    file=$(manifest_of "$name") ||
      fail "'$name' is neither a folder with a package.xml nor an interface package of the sourced workspace: source its install/setup.bash, or give the folder of its definitions."
    add_to_filter "$name" "$file"
  done
  if [ ${#own_folders[@]} -gt 0 ]; then
    while IFS= read -r file; do files+=("$file"); done < <(find "${own_folders[@]}" -type f | LC_ALL=C sort)
    own_overlay=$NAVTREE_CACHE/own-$(printf '%s\n' "$environment" "${files[@]}" | hash "${files[@]}")
    [ -e "$own_overlay/complete" ] || locked make_own
  fi
  file=$NAVTREE_CACHE/environment-$(print_own_environment | hash).sh
  print_own_environment >"$file.partial" && mv "$file.partial" "$file"
  echo "$file"
}
