// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/input/round_input.h"

namespace trainyard::run {

void load(compute::Compute& compute, const data::Batch& batch, const BoundLoad& into) {
  if (!into.input.empty() && batch.byte_values != nullptr)
    compute.load_bytes(into.input, batch.as_bytes(into.input.elements()), *batch.byte_values);
  else if (!into.input.empty())
    compute.load(into.input,
                 std::span(batch.features).first(static_cast<std::size_t>(into.input.elements())));
  if (!into.labels.empty())
    compute.copy(into.labels.data,
                 reinterpret_cast<const std::byte*>(batch.labels.data() +
                                                    batch.own_first * into.labels_of_sample()),
                 into.labels.bytes());
  if (into.sample_numbers.empty()) return;
  compute.copy(into.sample_numbers.data,
               reinterpret_cast<const std::byte*>(batch.numbers.data() + batch.own_first),
               into.samples * 4);
}

RoundInput::RoundInput(std::shared_ptr<const data::Dataset> dataset, data::Sampler sampler,
                       int rank, std::int64_t max_samples)
    : dataset_(std::move(dataset)),
      micro_batches_(std::move(sampler), rank, max_samples, data::Rows::own) {}

const data::Batch& RoundInput::take(std::int64_t step, int micro) {
  if (batch_.step == step && batch_.micro == micro) return batch_;
  micro_batches_.take(step, micro, taken_);
  data::fill(*dataset_, taken_, batch_);
  batch_.step = step, batch_.micro = micro;
  return batch_;
}

}  // namespace trainyard::run
