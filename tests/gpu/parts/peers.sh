# SPDX-License-Identifier: GPL-3.0-or-later
# gpu-tests, peers: step times on the first GPU, and those of PyTorch (peer.py): the same model,
# optimizer, batch size and precision; each step copies another batch from the host, clips the full
# gradient by its norm, and reads norm and loss. Sourced.

declare -A ours
digits=4096 batch=16 context=1024 vocabulary=50257 smaller=()
if [ -n "$small" ]; then digits=8 batch=2 context=32 vocabulary=500 smaller=('model.layers[0].width=24' 'model.layers[1].blocks=1'); fi
declare -A titles=(
  [mlp]="MLP of the digits, 784-512-512-10, $digits a step, fp32 (no TF32)"
  [cnn]="CNN of the digits, $digits a step, fp32 (no TF32)"
  [gpt2]="GPT-2 124M, $batch x $context tokens a step, bf16")
declare -A factors_wanted=([mlp eager]=1.2 [cnn eager]=1.2 [gpt2 eager]=1 [gpt2 compiled]=0.9)

# in_words CASE SECONDS: formats a step time; for GPT-2 also as tokens per second.
in_words() {
  awk -v of="$1" -v s="$2" -v tokens=$((batch * context)) 'BEGIN { printf "%.3f ms a step", s * 1e3; if (of == "gpt2") printf ", %.0f tokens/s", tokens / s }'
}

# our_step CASE SECONDS STEPS EXPERIMENT SETTING...: runs on the first GPU, for at most SECONDS.
our_step() {
  local setting settings=()
  for setting in training.clip_norm=1 "${@:5}"; do settings+=(--set "$setting"); done
  ours[$1]=$(median "$2" "$3" "$4" "${settings[@]}" "${on_gpu[@]}")
  if [ -n "${ours[$1]}" ]; then row "${titles[$1]}" "$(in_words "$1" "${ours[$1]}")"; else failed_row "${titles[$1]}"; fi
}

our_digits() {
  local sizes=("training.batch_per_rank=$digits" "data.train_samples=$((digits * 2))")
  our_step mlp 40 60 "$(example one_device_digits)" "${sizes[@]}" 'model.layers[0].units=512' 'model.layers[2].units=512'
  our_step cnn 60 60 "$(example four_devices_mirrored_cnn_digits)" "${sizes[@]}" strategy.kind=one_device topology.hosts[0].devices[{1,2,3}].role=idle
}

# generate_text CHARACTERS KINDS: prints a text of CHARACTERS characters, with all of KINDS distinct
# ones; each has 3 bytes of UTF-8.
generate_text() {
  awk -v n="$1" -v kinds="$2" 'BEGIN { for (i = 0; i < n; ++i) { c = 2048 + i * 7919 % kinds; printf "%c%c%c", 224 + int(c / 4096), 128 + int(c / 64) % 64, 128 + c % 64 } }'
}

# Our tokens are characters, so a text with as many distinct characters as GPT-2 has tokens gives
# the same vocabulary.
our_gpt() {
  generate_text $((64 * 1024 + 1)) "$vocabulary" >"$work/tokens.txt"
  our_step gpt2 100 40 "$gpu/gpt2.json" "data.file=$work/tokens.txt" "data.context=$context" "training.batch_per_rank=$batch" "${smaller[@]}"
}

# value_of KEY: prints the value of KEY in a line of peer.py.
value_of() { sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$line"; }

peer_row() {
  local case=$1 way=$2 seconds=$3 name="   beside PyTorch $2: $1"
  if [ -z "$seconds" ]; then row "$name" "none: $(value_of why)"
  elif [ -z "${ours[$case]-}" ]; then row "$name" "$(in_words "$case" "$seconds")"
  else
    row "$name" "$(in_words "$case" "$seconds"): $(awk -v p="$seconds" -v o="${ours[$case]}" -v w="${factors_wanted[$case $way]}" 'BEGIN { printf "%.2f times ours (%s wanted%s)", p / o, w, p / o < w ? ", MISSED" : "" }')"
  fi
}

beside_peers() {
  local line any_line=""
  while IFS= read -r line; do
    any_line=yes
    if [ -n "$(value_of case)" ]; then peer_row "$(value_of case)" "$(value_of way)" "$(value_of median_seconds)"; else row "PyTorch" "$(value_of torch)$(value_of why)"; fi
  done < <(LD_LIBRARY_PATH=$libraries_of_python limited 200 "$python" "$gpu/peer.py" ${small:+--small} 2>"$work/why")
  if [ -z "$any_line" ]; then row "PyTorch" "none to compare with: $(said_why)"; fi
}

if has_gpu; then
  our_digits
  our_gpt
  beside_peers
fi
