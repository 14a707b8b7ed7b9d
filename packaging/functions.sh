# SPDX-License-Identifier: GPL-3.0-or-later
# What setup, run, test and .ci/run share. Sourced, after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*"; }

fail() {
  printf '== %s\n' "$*" >&2
  exit 1
}

# phase NAME COMMAND...: runs it between two lines, the second with the time it took; its exit status is the command's.
phase() {
  local name=$1 start=$EPOCHREALTIME status=0
  shift
  say "$name"
  "$@" || status=$?
  say "$name: $(elapsed "$start")$([ "$status" -eq 0 ] || echo ", FAILED ($status)")"
  return "$status"
}

elapsed() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { s = to - from; if (s < 60) printf "%.1f s", s; else printf "%d min %d s", s / 60, s % 60 }'; }

# Compilers at once: one a core, but no more than the memory holds at about 1 GiB each.
jobs_at_once() { awk -v cores="$(nproc)" '/^MemAvailable/ { fit = int($2 / 1048576); n = cores < fit ? cores : fit; print (n > 1 ? n : 1) }' /proc/meminfo; }

# configure PRESET: in build/PRESET.
configure() {
  local preset=$1 log=$root/build/$1-configure.log launcher=()
  if command -v ccache >/dev/null; then  # what one checkout compiled serves the next
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
  fi
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset "$preset" "${launcher[@]}") >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}

# build PRESET [TARGET...]: configures and builds it; what is up to date stays.
build() {
  local preset=$1
  shift
  configure "$preset" || return
  (cd "$root" && cmake --build --preset "$preset" --parallel "$(jobs_at_once)" ${1:+--target "$@"})
}

# run_tests PRESET [CTEST ARGUMENTS]: its results go to build/PRESET-tests.xml as well (JUnit).
run_tests() {
  local preset=$1
  shift
  (cd "$root" && ctest --preset "$preset" --output-on-failure --no-tests=error --parallel 2 --timeout 300 --output-junit "$root/build/$preset-tests.xml" "$@")
}
