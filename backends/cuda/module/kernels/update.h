// SPDX-License-Identifier: GPL-3.0-or-later
// The optimizers: an element's step and what it adds to the statistics, in one pass.
#pragma once

#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

using compute::UpdateInputs;

ON_DEVICE constexpr const Tensor& start_of(const UpdateInputs& common) { return common.origin.empty() ? common.parameters : common.origin; }
ON_DEVICE constexpr const Tensor& destination_of(const UpdateInputs& common) { return common.updated.empty() ? common.parameters : common.updated; }
ON_DEVICE inline double factor_of(const UpdateInputs& common) { return common.factor.empty() ? 1 : *as<double>(common.factor); }

// Stores the new parameter i; what it adds to the statistics, by the stored numbers.
template <class W>
ON_DEVICE Sums<3> store_parameter(const UpdateInputs& common, std::int64_t i, W value) {
  const double old = get<W>(common.parameters, i), gradient = get<W>(common.gradient, i);
  put(destination_of(common), i, value);
  const double stored = value;
  return {{gradient * gradient, (stored - old) * (stored - old), stored * stored}};
}

// step(i) of each element stores its new parameter; with factor 0 all stay.
template <class W, class Step>
void update(Stream& stream, const UpdateInputs& common, std::byte* scratch, Step step) {
  sum_all<3>(
      stream, common.parameters.elements(), reinterpret_cast<double*>(scratch),
      [=] ON_DEVICE(std::int64_t i) { return factor_of(common) == 0 ? store_parameter<W>(common, i, get<W>(start_of(common), i)) : step(i); },
      [=] ON_DEVICE(const Sums<3>& all) {
        for (int s = 0; s < 3; ++s) as<double>(common.statistics)[s] = all.value[s];
      });
}

inline std::int64_t scratch_bytes(const compute::SgdUpdate&) { return bytes_of_sums(3); }

template <class W>
void run(Stream& stream, const compute::SgdUpdate& op, std::byte* scratch) {
  update<W>(stream, op.common, scratch, [=] ON_DEVICE(std::int64_t i) {
    const auto rate = static_cast<W>(*as<double>(op.common.learning_rate)), factor = static_cast<W>(factor_of(op.common));
    W moment = factor * get<W>(op.common.gradient, i) + static_cast<W>(op.weight_decay) * get<W>(op.common.parameters, i);
    if (op.momentum != 0) {
      moment += static_cast<W>(op.momentum) * get<W>(op.moment, i);
      put(op.moment, i, moment);
    }
    return store_parameter<W>(op.common, i, get<W>(start_of(op.common), i) - rate * moment);
  });
}

// What corrects the moments of Adam for their beginning at 0.
struct Corrections {
  double first, second;
};

inline std::int64_t scratch_bytes(const compute::AdamUpdate&) { return bytes_of_sums(3) + static_cast<std::int64_t>(sizeof(Corrections)); }

template <class W>
void run(Stream& stream, const compute::AdamUpdate& op, std::byte* scratch) {
  auto* const corrections = reinterpret_cast<Corrections*>(scratch);
  for_each(stream, 1, [=] ON_DEVICE(std::int64_t) {
    const double count = *as<double>(op.step);
    *corrections = {1 - std::pow(op.beta1, count), 1 - std::pow(op.beta2, count)};
  });
  update<W>(stream, op.common, scratch + sizeof(Corrections), [=] ON_DEVICE(std::int64_t i) {
    const auto rate = static_cast<W>(*as<double>(op.common.learning_rate)), decay = static_cast<W>(op.weight_decay);
    const W parameter = get<W>(op.common.parameters, i);
    W start = get<W>(start_of(op.common), i), gradient = static_cast<W>(factor_of(op.common)) * get<W>(op.common.gradient, i);
    if (op.decoupled) start -= rate * decay * parameter;
    else gradient += decay * parameter;
    const auto beta1 = static_cast<W>(op.beta1), beta2 = static_cast<W>(op.beta2), left1 = static_cast<W>(1 - op.beta1), left2 = static_cast<W>(1 - op.beta2);
    const W first = beta1 * get<W>(op.first_moment, i) + left1 * gradient, second = beta2 * get<W>(op.second_moment, i) + left2 * gradient * gradient;
    put(op.first_moment, i, first);
    put(op.second_moment, i, second);
    const W size = first / static_cast<W>(corrections->first) / (std::sqrt(second / static_cast<W>(corrections->second)) + static_cast<W>(op.epsilon));
    return store_parameter<W>(op.common, i, start - rate * size);
  });
}

}  // namespace trainyard::cuda
