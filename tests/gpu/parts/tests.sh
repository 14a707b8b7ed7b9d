# SPDX-License-Identifier: GPL-3.0-or-later
# gpu-tests, tests: what CPUs compute, and what NCCL sums. Sourced, with the arguments of GoogleTest.

readonly lines_of_why=60 # of all failures together

# Reads what GoogleTest says. Suite by suite, as each ends: of how many tests how many passed; before that the first lines of why a test failed.
suites() {
  local line="" last="" name suite="" all=0 passed=0 skipped=0 of_failure=0 told=0 ended=""
  while IFS= read -r line; do
    case $line in
      "[ RUN      ]"*)
        name=${line#"[ RUN      ] "} name=${name%%.*} name=${name##*/}
        if [ "$name" != "$suite" ]; then suite_row; fi
        suite=$name all=$((all + 1))
        ;;
      "[       OK ]"*) passed=$((passed + 1)) ;;
      "[  SKIPPED ]"*" ms)") skipped=$((skipped + 1)) ;;
      "[==========]"*" ran."*) ended=yes ;;
      *Failure) of_failure=7 ;;
    esac
    if [ "$of_failure" -gt 0 ] && [ "$told" -lt "$lines_of_why" ]; then echo "$line" && told=$((told + 1)); fi
    of_failure=$((of_failure - 1))
    if [ -n "$line" ]; then last=$line; fi
  done
  suite_row
  [ -n "$ended" ] || { row "tests" "ended early: $last" && return 1; }
}

suite_row() {
  if [ "$all" -gt 0 ]; then row "$suite" "$passed of $all pass$(if [ "$skipped" -gt 0 ]; then echo ", $skipped are skipped"; fi)"; fi
  all=0 passed=0 skipped=0
}

completes() { trains 40 20 "$(example "$1")" "${@:2}" | grep '"status":"completed"'; }

# ranks NAME EXAMPLE: two of them on the first GPU. A sum of two is the same whoever adds it, so that NCCL must end with the same parameters, to the bit.
ranks() {
  local name=$1 own nccl setting settings=()
  for setting in topology.hosts[0].devices[{0,1}].{kind=gpu,gpu=0}; do settings+=(--set "$setting"); done
  own=$(completes "$2" "${settings[@]}") && nccl=$(completes "$2" "${settings[@]}" --set strategy.engine=nccl) || {
    failed_row "$name"
    return
  }
  if [ "$(figure parameters_xxh64 <<<"$own")" = "$(figure parameters_xxh64 <<<"$nccl")" ]; then
    row "$name" "the same to the bit; $(awk -v n="$(figure step_seconds <<<"$nccl")" -v o="$(figure step_seconds <<<"$own")" 'BEGIN { printf "%.3f ms a step, %.3f ms by our own collectives", n * 1e3, o * 1e3 }')"
  else
    row "$name" "ends with other parameters than our own collectives do"
    status=1
  fi
}

limited 200 "$bin/test_gpu" "$@" 2>&1 | suites || status=1
if has_gpu && has_nccl; then
  ranks "GPT by ddp, two ranks on one GPU" two_devices_gpt_grammar
  ranks "layers on two ranks of one GPU" two_devices_model_parallel_digits
fi
