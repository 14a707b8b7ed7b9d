# SPDX-License-Identifier: GPL-3.0-or-later
# gpu-tests, figures: performance of the first GPU, and step times compared with a CPU core.
# Sourced.

# step NAME BATCH: prints the median step time of the MLP on digits.
step() {
  local settings=(--set training.batch_per_rank="$2" --set data.train_samples=8192) cpu gpu
  gpu=$(median 30 60 "$(example one_device_digits)" "${settings[@]}" "${on_gpu[@]}")
  if [ -z "$gpu" ]; then failed_row "$1" && return; fi
  cpu=$(median 30 60 "$(example one_device_digits)" "${settings[@]}")
  row "$1" "$(awk -v g="$gpu" -v c="$cpu" 'BEGIN { printf "%.3f ms a step on the GPU, %.3f ms on a CPU core: %.1fx", g * 1e3, c * 1e3, c / g }')"
}

if has_gpu; then
  limited 60 "$bin/gpu_figures" ${small:+--small} 2>"$work/why" || failed_row "figures"
  if [ -n "$small" ]; then
    step "MLP of the digits, 8 a step" 8
  else
    step "MLP of the digits, 1024 a step" 1024
    step "the same, 4096 a step" 4096
  fi
fi
