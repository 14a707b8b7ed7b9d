# SPDX-License-Identifier: GPL-3.0-or-later
# What the parts of gpu-tests share: rows of the table, and time that is bounded. Sourced.

readonly all_seconds=480 # from the start

row() { printf '%-64s %s\n' "$1" "$2"; }

# failed_row NAME: what the program said that left nothing to tell.
failed_row() {
  row "$1" "$(said_why)"
  status=1
}
said_why() { awk '/^error/ && !error { error = $0 } /^was not done in/ { late = $0 } NF { last = $0 } END { print late ? late : error ? error : last }' "$work/why"; }

# limited SECONDS COMMAND...: as if interrupted from the keyboard after so many, or when all are gone. That is no failure: what it told by then counts.
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
