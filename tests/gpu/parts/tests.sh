# SPDX-License-Identifier: GPL-3.0-or-later
# gpu-tests, tests: GPU results against the CPU, and NCCL against our collectives. Sourced, with the
# arguments of GoogleTest.

readonly max_failure_lines=60 # for all failures together

# Reads the output of GoogleTest. Prints the first lines of failures, and at the end of each suite
# the numbers of passed tests and of all tests.
suites() {
  local line="" last="" name suite="" all=0 passed=0 skipped=0 lines_of_failure=0 printed=0 ended=""
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
      *Failure) lines_of_failure=7 ;;
    esac
    if [ "$lines_of_failure" -gt 0 ] && [ "$printed" -lt "$max_failure_lines" ]; then echo "$line" && printed=$((printed + 1)); fi
    lines_of_failure=$((lines_of_failure - 1))
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

# ranks NAME EXAMPLE: runs two ranks on the first GPU with our collectives and with NCCL. The sum of
# two numbers does not depend on the order, so the parameters must be bit-identical. NCCL does not
# guarantee to support two ranks on one GPU: if it refuses, that is no failure.
ranks() {
  local name=$1 own nccl
  own=$(completes "$2" "${on_one_gpu[@]}") || {
    failed_row "$name"
    return
  }
  nccl=$(completes "$2" "${on_one_gpu[@]}" --set strategy.engine=nccl) || {
    if grep -q 'could not connect the ranks: invalid usage' "$work/why"; then row "$name" "not measured: $(said_why)"; else failed_row "$name"; fi
    return
  }
  if [ "$(figure parameters_xxh64 <<<"$own")" = "$(figure parameters_xxh64 <<<"$nccl")" ]; then
    row "$name" "the same to the bit; $(awk -v n="$(figure step_seconds <<<"$nccl")" -v o="$(figure step_seconds <<<"$own")" 'BEGIN { printf "%.3f ms a step, %.3f ms by our own collectives", n * 1e3, o * 1e3 }')"
  else
    row "$name" "ends with other parameters than our own collectives do"
    status=1
  fi
}

computes_by="" # name of the compute backend, with its libraries

# exports_memory NAME EXAMPLE SETTING...: runs two ranks on the first GPU that read each other's GPU
# memory. The result must be bit-identical to that with messages.
exports_memory() {
  local name=$1 exported sent log setting settings=("${on_one_gpu[@]}")
  for setting in "${@:3}"; do settings+=(--set "$setting"); done
  exported=$(completes "$2" "${settings[@]}") && sent=$(completes "$2" "${settings[@]}" --set run.transport=zmq) || {
    failed_row "$name"
    return
  }
  log=$(figure run_directory <<<"$exported")/run.log
  if [ -z "$computes_by" ]; then
    computes_by=$(sed -n 's/.*: ready on \(.*\), buffers: .*/\1/p' "$log" | head -n 1)
    row "what a rank computes by" "$computes_by"
  fi
  if ! grep -q 'are on the GPU and exported to peers' "$log"; then
    row "$name" "exports nothing: $(sed -n 's/.* shared, all of it in host memory: //p' "$log" | head -n 1)"
    status=1
  elif [ "$(figure parameters_xxh64 <<<"$exported")" != "$(figure parameters_xxh64 <<<"$sent")" ]; then
    row "$name" "ends with other parameters than by messages"
    status=1
  else
    row "$name" "the same to the bit; $(awk -v l="$(figure step_seconds <<<"$exported")" -v s="$(figure step_seconds <<<"$sent")" 'BEGIN { printf "%.3f ms a step, %.3f ms by messages", l * 1e3, s * 1e3 }')"
  fi
}

# Prints the memory in use on all GPUs in MiB, or the error of nvidia-smi.
memory_taken() { { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>&1 || true; } | awk '/^[0-9]+$/ { sum += $1; next } { why = $0; exit } END { print (why == "" ? sum : why) }'; }
is_number() { [[ $1 =~ ^[0-9]+$ ]]; }

# wait_until SECONDS COMMAND...: repeats the command; true if it succeeds within SECONDS.
wait_until() {
  local end=$((SECONDS + $1))
  while ! "${@:2}"; do
    if [ "$SECONDS" -ge "$end" ]; then return 1; fi
    sleep 0.2
  done
}

# rank_of PROCESS: prints the newest rank of a run that PROCESS started through timeout; nothing if
# there is none.
rank_of() {
  local process=$1 name
  for name in timeout trainyard-cli trainyard-rank; do process=$(pgrep -n -P "$process" "$name") || return 0; done
  echo "$process"
}

# frees_memory NAME EXAMPLE: kills one of two ranks on the first GPU while they train. Their GPU
# memory must be freed.
frees_memory() {
  local before during run rank=""
  command -v pgrep >/dev/null || { row "$1" "not measured: no pgrep" && return; }
  before=$(memory_taken)
  is_number "$before" || { row "$1" "not measured: ${before:-nvidia-smi says nothing}" && return; }
  limited 60 "$bin/trainyard-cli" run "$(example "$2")" --json --steps 100000000 "${on_one_gpu[@]}" >"$work/said" 2>"$work/why" &
  run=$!
  trains_already() { ! kill -0 "$run" 2>/dev/null || grep -q '"state":"running","step":[1-9]' "$work/said"; }
  wait_until 50 trains_already || true
  during=$(memory_taken)
  rank=$(rank_of "$run")
  if [ -n "$rank" ]; then kill -KILL "$rank" 2>/dev/null || true; fi
  wait "$run" || true # bounded by `limited`, even if no rank was found
  is_freed() { [ "$(memory_taken)" -le $((before + 8)) ]; }
  if [ -z "$rank" ] || ! grep -q 'ended by signal 9' "$work/why"; then failed_row "$1"
  elif wait_until 3 is_freed; then row "$1" "$before MiB are taken before, $during MiB by two ranks, $(memory_taken) MiB after one was killed"
  else row "$1" "$(memory_taken) MiB are taken, $before MiB were before" && status=1
  fi
}

limited 200 "$bin/test_gpu" "$@" 2>&1 | suites || status=1
on_one_gpu=()
for setting in topology.hosts[0].devices[{0,1}].{kind=gpu,gpu=0}; do on_one_gpu+=(--set "$setting"); done
if has_gpu; then
  frees_memory "memory of the GPU, where a rank is lost" two_devices_gpt_grammar
  exports_memory "exported memory of the GPU" two_devices_gpt_grammar
  exports_memory "the same in bf16" two_devices_gpt_grammar training.precision=bf16
  for kind in int8 sign top_k power_sgd; do exports_memory "gradients by $kind" two_devices_gpt_grammar "strategy.compression.kind=$kind"; done
fi
if has_gpu && has_nccl; then
  ranks "GPT by ddp, two ranks on one GPU" two_devices_gpt_grammar
  ranks "layers on two ranks of one GPU" two_devices_model_parallel_digits
fi
