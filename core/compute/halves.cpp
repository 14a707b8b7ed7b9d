// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/halves.h"

#include <utility>

#include "core/compute/compression/half.h"

namespace trainyard::compute {
namespace {

using compression::Bf16;
using compression::Fp16;

template <class Half>
void widen_all(const std::byte* halves, float* values, std::int64_t elements) {
  const auto* const from = reinterpret_cast<const std::uint16_t*>(halves);
  for (std::int64_t i = 0; i < elements; ++i) values[i] = Half::decode(from[i]);
}

template <class Half>
void round_all(const float* values, std::byte* halves, std::int64_t elements) {
  auto* const to = reinterpret_cast<std::uint16_t*>(halves);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = Half::encode(values[i]);
}

class OnHalves final : public Kernel {
 public:
  OnHalves(std::unique_ptr<Kernel> kernel, std::vector<Passing> passing, const Conversions& conversions, std::shared_ptr<void> memory)
      : memory_(std::move(memory)), kernel_(std::move(kernel)), passing_(std::move(passing)), conversions_(conversions) {}

  void enqueue(Queue& queue) override {
    for (const Passing& one : passing_)
      if (one.use.read) conversions_.widen(one.half.dtype, one.half.data, one.wide, one.half.elements(), conversions_.cores);
    kernel_->enqueue(queue);
    for (const Passing& one : passing_)
      if (one.use.written) conversions_.round(one.half.dtype, one.wide, one.half.data, one.half.elements(), conversions_.cores);
  }

 private:
  std::shared_ptr<void> memory_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Passing> passing_;
  Conversions conversions_;
};

}  // namespace

void widen(DType from, const std::byte* halves, float* values, std::int64_t elements) {
  from == DType::bf16 ? widen_all<Bf16>(halves, values, elements) : widen_all<Fp16>(halves, values, elements);
}

void round(DType to, const float* values, std::byte* halves, std::int64_t elements) {
  to == DType::bf16 ? round_all<Bf16>(values, halves, elements) : round_all<Fp16>(values, halves, elements);
}

std::unique_ptr<Kernel> on_halves(std::unique_ptr<Kernel> kernel, std::vector<Passing> passing, const Conversions& conversions, std::shared_ptr<void> memory) {
  return std::make_unique<OnHalves>(std::move(kernel), std::move(passing), conversions, std::move(memory));
}

}  // namespace trainyard::compute
