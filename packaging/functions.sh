# SPDX-License-Identifier: GPL-3.0-or-later
# Functions shared by setup, run, test and .ci/run. Sourced, after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*"; }

fail() {
  printf '== %s\n' "$*" >&2
  exit 1
}

# phase NAME COMMAND...: runs the command between two lines, the second with its duration. Returns
# the command's exit status.
phase() {
  local name=$1 start=$EPOCHREALTIME status=0
  shift
  say "$name"
  "$@" || status=$?
  say "$name: $(elapsed "$start")$([ "$status" -eq 0 ] || echo ", FAILED ($status)")"
  return "$status"
}

elapsed() {
  awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN {
    s = to - from
    if (s < 60) printf "%.1f s", s; else printf "%d min %d s", s / 60, s % 60
  }'
}

# Number of parallel compilers: one per core, limited by memory at about 1 GiB each.
jobs_at_once() {
  awk -v cores="$(nproc)" '/^MemAvailable/ {
    fit = int($2 / 1048576); n = cores < fit ? cores : fit; print (n > 1 ? n : 1)
  }' /proc/meminfo
}

# configure PRESET: configures build/PRESET.
configure() {
  local preset=$1 log=$root/build/$1-configure.log launcher=()
  if command -v ccache >/dev/null; then  # reuses objects of other checkouts
    # the sloppiness that precompiled headers need
    local ccache="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER="$ccache" -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
  fi
  mkdir -p "$root/build"
  # shellcheck disable=SC2086  # several options
  (
    cd "$root" && cmake --preset "$preset" "${launcher[@]}" ${TRAINYARD_CMAKE_OPTIONS:-}
  ) >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}

# has_target PRESET TARGET: true if the configured preset has it.
has_target() { grep -qs "^build $2: phony" "$root/build/$1/build.ninja"; }

# build PRESET [TARGET...]: configures and builds incrementally.
build() {
  local preset=$1
  shift
  configure "$preset" || return
  (cd "$root" && cmake --build --preset "$preset" --parallel "$(jobs_at_once)" ${1:+--target "$@"})
}

# run_tests PRESET [CTEST ARGUMENTS]: runs the tests. Also writes the results to
# build/PRESET-tests.xml (JUnit).
run_tests() {
  local preset=$1
  shift
  (cd "$root" && ctest --preset "$preset" --output-on-failure --no-tests=error --parallel 2 \
    --timeout 300 --output-junit "$root/build/$preset-tests.xml" "$@")
}

# Prints the files of the libraries that programs need.
needed_by() { ldd "$@" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u; }
