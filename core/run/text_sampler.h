// SPDX-License-Identifier: GPL-3.0-or-later
// Text that a language model of characters makes up: each character is drawn from what the model
// foretells after those before it, of which it sees as many as a sample has. It computes with
// memory of its own, one sample at a time, by the parameters as they are.
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
  struct Parts {
    const model::Model* model = nullptr;
    compute::Compute* compute = nullptr;
    compute::Tensor parameters, state;  // flat, as the model lies in them
    compute::Multiplies multiplies = compute::Multiplies::full;
    std::vector<std::string> vocabulary;  // by class, in UTF-8
  };
  // Of a model with a label for each number of a sample.
  static base::Result<TextSampler> make(Parts parts);

  // The same for the same parameters, seed and step, on every machine that computes alike. It
  // begins as if a line had just ended. A temperature of 0 takes the likeliest character; logits
  // that are not finite end the text, and so does whoever asks to stop.
  std::string sample(std::int64_t characters, double temperature, std::uint64_t seed,
                     std::int64_t step, const std::stop_token& stop = {});

 private:
  explicit TextSampler(Parts parts) : parts_(std::move(parts)) {}
  base::Result<void> prepare();
  base::Result<compute::Tensor> hold(std::int64_t elements);
  bool foretell(const std::vector<std::int32_t>& text);
  std::int32_t drawn(std::int64_t row, double temperature, double uniform) const;

  Parts parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<compute::Memory> memory_;
  compute::Tensor input_, logits_;
  std::vector<std::unique_ptr<compute::Kernel>> kernels_;
};

}  // namespace trainyard::run
