#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All-reduce of Trainyard against Open MPI with its defaults: interleaved pairs on this machine, a table of times and ratios.
#   tests/bench/allreduce.sh [BIN_DIRECTORY] [PAIRS] [BYTES] [RANKS]
# Open MPI is measured with a buffer of its own for the sum and in place; ratios are to the faster of the two. Its ranks spin,
# so on a machine that does other work the medians flatter us: then only the ratio of the minima, and only at a low load, means much.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-$here/../../build/release/bin} pairs=${2:-7} bytes=${3:-67108864} ranks=${4:-2} repeat=${REPEAT:-20}
for tool in mpicc mpirun; do
  command -v "$tool" > /dev/null || { echo "$tool is missing: packaging/setup --bench installs Open MPI" >&2; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc -O2 -o "$work/peer" "$here/allreduce_peer/open_mpi.c"

# Each prints "median minimum" in seconds.
peer() { mpirun --allow-run-as-root --oversubscribe -n "$ranks" "$work/peer" "$bytes" "$repeat" "$1"; }
own() {
  "$bin/trainyard-cli" bench allreduce --ranks "$ranks" --bytes "$bytes" --repeat "$repeat" --transport shm --json --algorithm "$1" |
    sed -n 's/.*"seconds":{"median":\([^,]*\),"min":\([^,]*\),.*/\1 \2/p'
}

echo "all-reduce of $bytes bytes over $ranks ranks, shm; $repeat repeats each; milliseconds, median/minimum"
printf '%-5s %6s %17s %17s %17s %17s\n' pair load 'MPI' 'MPI in place' ring direct
for ((pair = 1; pair <= pairs; ++pair)); do
  read -r load _ < /proc/loadavg
  echo "$pair $load $(peer 0) $(peer 1) $(own ring) $(own direct)" | tee -a "$work/all" |
    awk '{ printf "%-5s %6s", $1, $2; for (i = 3; i < NF; i += 2) printf " %8.2f/%8.2f", 1e3 * $i, 1e3 * $(i + 1); print "" }'
done
awk 'function least(a, b) { return a < b ? a : b }
     function middle(which,   i, j, t) {
       for (i = 1; i <= NR; ++i) for (j = i + 1; j <= NR; ++j) if (r[which, j] < r[which, i]) { t = r[which, i]; r[which, i] = r[which, j]; r[which, j] = t }
       return NR % 2 ? r[which, (NR + 1) / 2] : (r[which, NR / 2] + r[which, NR / 2 + 1]) / 2 }
     { median = least($3, $5); r["ring", NR] = median / $7; r["direct", NR] = median / $9
       for (i = 4; i <= 10; i += 2) if (NR == 1 || $i < minimum[i]) minimum[i] = $i }
     END { best = least(minimum[4], minimum[6])
       printf "times as fast as Open MPI            ring   direct\n"
       printf "  median of the pairs, by medians  %6.2f   %6.2f   (to reach: >= 3)\n", middle("ring"), middle("direct")
       printf "  by the least time of all         %6.2f   %6.2f\n", best / minimum[8], best / minimum[10] }' "$work/all"
