# SPDX-License-Identifier: GPL-3.0-or-later
# Common functions of gpu-tests: rows of the table, and time limits. Sourced.

readonly all_seconds=480 # for the entire script

row() { printf '%-64s %s\n' "$1" "$2"; }

# failed_row NAME: prints the error of a program that gave no result.
failed_row() {
  row "$1" "$(said_why)"
  status=1
}
said_why() { awk '/^error/ && !error { error = $0 } /^was not done in/ { late = $0 } NF { last = $0 } END { print late ? late : error ? error : last }' "$work/why"; }

# limited SECONDS COMMAND...: interrupts the command (SIGINT) after SECONDS, or at the end of the
# total time. That is no failure: its results so far count.
limited() {
  local seconds=$1 left=$((all_seconds - SECONDS))
  if [ "$left" -lt "$seconds" ]; then seconds=$((left > 1 ? left : 1)); fi
  timeout --foreground --signal=INT --kill-after=10 "$seconds" "${@:2}" || case $? in
    124 | 137) echo "was not done in $seconds s" >&2 ;;
    *) return 1 ;;
  esac
}

doctor_says() { "$bin/trainyard-cli" doctor --json | sed -n 's/.*"name":"'"$1"'","verdict":"\([a-z]*\)","what":"\([^"]*\)".*/\1 \2/p'; }
has_gpu() { [ "${gpus%% *}" = ok ]; }
has_nccl() { [ "${nccl%% *}" = ok ]; }
