// SPDX-License-Identifier: GPL-3.0-or-later
// Optimizers in plain loops.
#pragma once

#include <cmath>

#include "core/compute/ops.h"

namespace trainyard::compute::reference {

inline double factor_of(const UpdateInputs& common) {
  return common.factor.empty() ? 1 : *common.factor.as<double>();
}

// Stores `value` as parameter i, rounded to the stored type, and adds its terms, computed from the
// rounded number, to the statistics of the update.
template <class T>
void store_parameter(const UpdateInputs& common, std::int64_t i, double value) {
  const double old = common.parameters.as<T>()[i], gradient = common.gradient.as<T>()[i];
  const T updated = static_cast<T>(value);
  common.destination().as<T>()[i] = updated;
  const double stored = updated;
  double* statistics = common.statistics.as<double>();
  statistics[0] += gradient * gradient;
  statistics[1] += (stored - old) * (stored - old);
  statistics[2] += stored * stored;
}

inline void clear_statistics(const UpdateInputs& common) {
  for (int s = 0; s < 3; ++s) common.statistics.as<double>()[s] = 0;
}

// Skips the update: parameters and moments stay unchanged, and only the statistics of the update
// are computed.
template <class T>
void skip(const UpdateInputs& common) {
  for (std::int64_t i = 0; i < common.parameters.elements(); ++i)
    store_parameter<T>(common, i, static_cast<double>(common.start().as<T>()[i]));
}

template <class T>
void run(const SgdUpdate& op) {
  const double rate = *op.common.learning_rate.as<double>(), factor = factor_of(op.common);
  clear_statistics(op.common);
  if (factor == 0) return skip<T>(op.common);
  for (std::int64_t i = 0; i < op.common.parameters.elements(); ++i) {
    const double parameter = op.common.parameters.as<T>()[i];
    double moment =
        factor * static_cast<double>(op.common.gradient.as<T>()[i]) + op.weight_decay * parameter;
    if (op.momentum != 0) {
      moment += op.momentum * static_cast<double>(op.moment.as<T>()[i]);
      op.moment.as<T>()[i] = static_cast<T>(moment);
    }
    store_parameter<T>(op.common, i,
                       static_cast<double>(op.common.start().as<T>()[i]) - rate * moment);
  }
}

template <class T>
void run(const AdamUpdate& op) {
  const double rate = *op.common.learning_rate.as<double>(), factor = factor_of(op.common),
               step = *op.step.as<double>();
  const double correction1 = 1 - std::pow(op.beta1, step),
               correction2 = 1 - std::pow(op.beta2, step);
  clear_statistics(op.common);
  if (factor == 0) return skip<T>(op.common);
  for (std::int64_t i = 0; i < op.common.parameters.elements(); ++i) {
    const double parameter = op.common.parameters.as<T>()[i];
    double start = op.common.start().as<T>()[i],
           gradient = factor * static_cast<double>(op.common.gradient.as<T>()[i]);
    if (op.decoupled) start -= rate * op.weight_decay * parameter;
    else gradient += op.weight_decay * parameter;
    T &first = op.first_moment.as<T>()[i], &second = op.second_moment.as<T>()[i];
    first = static_cast<T>(op.beta1 * static_cast<double>(first) + (1 - op.beta1) * gradient);
    second = static_cast<T>(op.beta2 * static_cast<double>(second) +
                            (1 - op.beta2) * gradient * gradient);
    const double step_size = static_cast<double>(first) / correction1 /
                             (std::sqrt(static_cast<double>(second) / correction2) + op.epsilon);
    store_parameter<T>(op.common, i, start - rate * step_size);
  }
}

}  // namespace trainyard::compute::reference
