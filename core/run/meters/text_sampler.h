// SPDX-License-Identifier: GPL-3.0-or-later
// Text sampler of a character-level language model. Draws each character from the model's
// prediction after the preceding characters, as many of them as fit in a sample. Uses memory of its
// own for one sample at a time, and the current parameters.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compute/compute.h"
#include "core/model/model.h"

namespace trainyard::run {

class TextSampler {
 public:
  struct Inputs {
    const model::Model* model = nullptr;
    compute::Compute* compute = nullptr;
    compute::Tensor parameters, state;  // flat, in the model's layout
    compute::Multiplies multiplies = compute::Multiplies::full;
    std::vector<std::string> vocabulary;  // characters by class, in UTF-8
  };
  // Creates a sampler. The model must have one label per input position.
  static base::Result<TextSampler> make(Inputs parts);

  // Returns generated text. It is deterministic for given parameters, seed and step, on every
  // machine with equal arithmetic. It starts as if after a line break. Temperature 0 selects the
  // most likely character. Non-finite logits, or a stop request, end the text.
  std::string sample(std::int64_t characters, double temperature, std::uint64_t seed,
                     std::int64_t step, const std::stop_token& stop = {});

 private:
  explicit TextSampler(Inputs parts) : parts_(std::move(parts)) {}
  base::Result<void> prepare();
  base::Result<compute::Tensor> hold(std::int64_t elements);
  bool predict(const std::vector<std::int32_t>& text);
  std::int32_t drawn(std::int64_t row, double temperature, double uniform) const;

  Inputs parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<compute::Memory> memory_;
  compute::Tensor input_, logits_;
  std::vector<std::unique_ptr<compute::Kernel>> kernels_;
};

}  // namespace trainyard::run
