// SPDX-License-Identifier: GPL-3.0-or-later
// Optimizers. One pass computes the step of each element and its contribution to the statistics of
// the update (compute::UpdateInputs). All tensors of an update have dtype W.
#pragma once

#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

using compute::UpdateInputs;

// Factors that correct the bias of Adam's moments, which start at 0.
struct Corrections {
  double first = 1, second = 1;
};

// Factors common to all elements. They are copied to device memory once. The host writes some of
// them before each step, to memory that the device reads slowly.
struct Factors {
  double rate, gradient;  // if `gradient` is 0, parameters and moments do not change
  Corrections moments;
};

// Values of one element, before and after a step. The step writes the new parameter to `start`, and
// writes the new moments.
template <class W>
struct Element {
  W parameter, gradient, start, moments[2];
};

inline constexpr std::int64_t kElementsPerThread = 4;  // Elements per thread, loaded together.

inline constexpr std::int64_t kUpdateBytes =
    bytes_of_sums(3) + static_cast<std::int64_t>(sizeof(Factors));
inline std::int64_t scratch_bytes(const compute::SgdUpdate&) { return kUpdateBytes; }
inline std::int64_t scratch_bytes(const compute::AdamUpdate&) { return kUpdateBytes; }

// Tensors of an update op, accessed by element. Empty tensors are neither read nor written.
template <class W>
struct Elements {
  const W *parameters, *gradient, *origin;
  W *destination, *moments[2];

  Elements(const UpdateInputs& common, const Tensor& first, const Tensor& second)
      : parameters(common.parameters.as<W>()),
        gradient(common.gradient.as<W>()),
        origin(common.origin.as<W>()),
        destination(common.destination().as<W>()),
        moments{first.as<W>(), second.as<W>()} {}

  ON_DEVICE Element<W> load(std::int64_t i) const {
    Element<W> one{parameters[i], gradient[i], origin != nullptr ? origin[i] : parameters[i], {}};
    for (int m = 0; m < 2; ++m)
      if (moments[m] != nullptr) one.moments[m] = moments[m][i];
    return one;
  }
  ON_DEVICE void store(std::int64_t i, const Element<W>& one, bool stays) const {
    destination[i] = one.start;
    for (int m = 0; m < 2 && !stays; ++m)
      if (moments[m] != nullptr) moments[m][i] = one.moments[m];
  }
};

// Runs an update: calls corrections() once and step(element, factors) for each element. `scratch`
// has kUpdateBytes bytes.
template <class W, class Correct, class Step>
void update(Stream& stream, const UpdateInputs& common, const Elements<W>& elements,
            std::byte* scratch, Correct corrections, Step step) {
  auto* const factors = reinterpret_cast<Factors*>(scratch);
  for_each(stream, 1, [=] ON_DEVICE(std::int64_t) {
    *factors = {*as<double>(common.learning_rate),
                common.factor.empty() ? 1 : *as<double>(common.factor), corrections()};
  });
  const std::int64_t count = common.parameters.elements(),
                     stride = parts(count, kElementsPerThread);
  sum_all<3, 1>(
      stream, stride, reinterpret_cast<double*>(scratch + sizeof(Factors)),
      [=] ON_DEVICE(std::int64_t first) {
        Element<W> taken[kElementsPerThread];
        for (int k = 0; k < kElementsPerThread; ++k)
          if (first + k * stride < count) taken[k] = elements.load(first + k * stride);
        const Factors by = *factors;
        Sums<3> all;
        for (int k = 0; k < kElementsPerThread; ++k) {
          const std::int64_t i = first + k * stride;
          if (i >= count) continue;
          Element<W>& one = taken[k];
          if (by.gradient != 0) step(one, by);
          elements.store(i, one, by.gradient == 0);
          const double gradient = one.gradient,
                       moved = static_cast<double>(one.start) - static_cast<double>(one.parameter),
                       stored = one.start;
          all.value[0] += gradient * gradient, all.value[1] += moved * moved,
              all.value[2] += stored * stored;
        }
        return all;
      },
      [=] ON_DEVICE(const Sums<3>& all) {
        for (int s = 0; s < 3; ++s) as<double>(common.statistics)[s] = all.value[s];
      });
}

template <class W>
void run(Stream& stream, const compute::SgdUpdate& op, std::byte* scratch) {
  const Tensor moment = op.momentum != 0 ? op.moment : Tensor{};
  const auto momentum = static_cast<W>(op.momentum), decay = static_cast<W>(op.weight_decay);
  update<W>(
      stream, op.common, Elements<W>(op.common, moment, {}), scratch,
      [] ON_DEVICE { return Corrections{}; },
      [=] ON_DEVICE(Element<W> & one, const Factors& by) {
        const W gradient = static_cast<W>(by.gradient) * one.gradient + decay * one.parameter;
        one.moments[0] = momentum != 0 ? gradient + momentum * one.moments[0] : gradient;
        one.start -= static_cast<W>(by.rate) * one.moments[0];
      });
}

template <class W>
void run(Stream& stream, const compute::AdamUpdate& op, std::byte* scratch) {
  const auto decay = static_cast<W>(op.weight_decay), epsilon = static_cast<W>(op.epsilon);
  const auto beta1 = static_cast<W>(op.beta1), beta2 = static_cast<W>(op.beta2),
             left1 = static_cast<W>(1 - op.beta1), left2 = static_cast<W>(1 - op.beta2);
  update<W>(
      stream, op.common, Elements<W>(op.common, op.first_moment, op.second_moment), scratch,
      [step = op.step, beta1 = op.beta1, beta2 = op.beta2] ON_DEVICE {
        return Corrections{1 - std::pow(beta1, *as<double>(step)),
                           1 - std::pow(beta2, *as<double>(step))};
      },
      [=, decoupled = op.decoupled] ON_DEVICE(Element<W> & one, const Factors& by) {
        const auto rate = static_cast<W>(by.rate);
        W gradient = static_cast<W>(by.gradient) * one.gradient;
        if (decoupled) one.start -= rate * decay * one.parameter;
        else gradient += decay * one.parameter;
        const W first = one.moments[0] = beta1 * one.moments[0] + left1 * gradient;
        const W second = one.moments[1] = beta2 * one.moments[1] + left2 * gradient * gradient;
        one.start -= rate * (first / static_cast<W>(by.moments.first) /
                             (std::sqrt(second / static_cast<W>(by.moments.second)) + epsilon));
      });
}

}  // namespace trainyard::cuda
