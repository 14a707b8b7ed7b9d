// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/text_sampler.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/compute/host_copy.h"
#include "core/compute/ops.h"
#include "core/model/segment_ops.h"

namespace trainyard::run {
namespace {

double element(const compute::Tensor& tensor, std::int64_t i) {
  return tensor.dtype == base::DType::fp64 ? tensor.as<double>()[i]
                                           : static_cast<double>(tensor.as<float>()[i]);
}

}  // namespace

base::Result<TextSampler> TextSampler::make(Inputs parts) {
  TextSampler sampler(std::move(parts));
  if (auto ok = sampler.prepare(); !ok) return base::fail(ok.error());
  return sampler;
}

base::Result<compute::Tensor> TextSampler::hold(std::int64_t elements) {
  const compute::Tensor held{parts_.parameters.dtype, {1, elements}, nullptr};
  return parts_.compute->allocate(held.bytes(), "text").map([&](compute::Memory memory) {
    memory_.push_back(std::move(memory));
    return compute::Tensor{held.dtype, held.shape, memory_.back().get()};
  });
}

base::Result<void> TextSampler::prepare() {
  queue_ = parts_.compute->make_queue();
  auto input = hold(parts_.model->features);
  if (!input) return base::fail(input.error());
  input_ = *input;
  std::vector<compute::Tensor> outputs;
  for (const model::Segment& segment : parts_.model->segments) {
    model::SegmentTensors tensors;
    tensors.input = outputs.empty() ? input_ : outputs.back();
    auto output = hold(segment.outputs);
    if (!output) return base::fail(output.error());
    tensors.output = *output;
    tensors.parameters = parts_.parameters;
    tensors.parameters.data += segment.first * base::size_of(tensors.parameters.dtype);
    tensors.state = parts_.state;
    tensors.samples = input_;
    if (segment.addend >= 0) tensors.addend = outputs[static_cast<std::size_t>(segment.addend)];
    tensors.multiplies = parts_.multiplies;
    outputs.push_back(tensors.output);
    for (const compute::Op& op : model::evaluate(segment, tensors)) {
      auto kernel = parts_.compute->prepare(op);
      if (!kernel) return base::fail(kernel.error());
      kernels_.push_back(std::move(*kernel));
    }
  }
  logits_ = outputs.back();
  return {};
}

// Computes the logits after each of the last characters of the text, as many as fit in a sample.
// Positions after the end of the text have arbitrary values, to which no character attends. Returns
// false if the device failed.
bool TextSampler::predict(const std::vector<std::int32_t>& text) {
  std::vector<float> numbers(static_cast<std::size_t>(parts_.model->features));
  const std::size_t seen = std::min(text.size(), numbers.size());
  std::transform(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), numbers.begin(),
                 [](std::int32_t number) { return static_cast<float>(number); });
  parts_.compute->load(input_, numbers);
  for (const auto& kernel : kernels_) kernel->enqueue(*queue_);
  return compute::finish(*queue_).has_value();
}

// Draws a character from the softmax of the row's logits over the temperature. `uniform`: position
// in the cumulative probabilities, in [0, 1). Returns -1 if the probabilities are not finite.
std::int32_t TextSampler::drawn(std::int64_t row, double temperature, double uniform) const {
  std::vector<double> parts(static_cast<std::size_t>(parts_.model->classes));
  std::vector<std::byte> memory;
  const compute::Tensor logits = compute::seen(parts_.compute, logits_, memory);
  for (std::size_t c = 0; c < parts.size(); ++c)
    parts[c] = element(logits, row * parts_.model->classes + static_cast<std::int64_t>(c));
  if (!std::ranges::all_of(parts, [](double logit) { return std::isfinite(logit); })) return -1;
  const auto likeliest = std::ranges::max_element(parts);
  if (temperature <= 0) return static_cast<std::int32_t>(likeliest - parts.begin());
  const double largest = *likeliest;
  double sum = 0;
  for (double& part : parts) sum += part = std::exp((part - largest) / temperature);
  std::size_t c = 0;
  for (double left = uniform * sum - parts[0]; left >= 0 && c + 1 < parts.size(); left -= parts[c])
    ++c;
  return static_cast<std::int32_t>(c);
}

std::string TextSampler::sample(std::int64_t characters, double temperature, std::uint64_t seed,
                                std::int64_t step, const std::stop_token& stop) {
  const base::Random random(seed, base::Purpose::speak, static_cast<std::uint32_t>(step));
  const auto line_end = std::ranges::find(parts_.vocabulary, "\n");
  std::vector<std::int32_t> text{
      line_end != parts_.vocabulary.end()
          ? static_cast<std::int32_t>(line_end - parts_.vocabulary.begin())
          : 0};
  std::string note;
  for (std::int64_t i = 0; i < characters && !stop.stop_requested(); ++i) {
    if (!predict(text)) break;
    const std::int64_t last = std::min(std::ssize(text), parts_.model->features) - 1;
    const std::int32_t next =
        drawn(last, temperature, random.uniform(static_cast<std::uint64_t>(i)));
    if (next < 0) break;
    text.push_back(next);
    note += parts_.vocabulary[static_cast<std::size_t>(next)];
  }
  return note;
}

}  // namespace trainyard::run
