// SPDX-License-Identifier: GPL-3.0-or-later
// Linear layer in plain loops. T is the stored type. Every sum is computed in double, even if
// inputs are rounded. The product of two bfloat16 numbers is exact in fp32.
#pragma once

#include <cmath>

#include "core/compute/bfloat16.h"
#include "core/compute/ops.h"

namespace trainyard::compute::reference {

inline double activate(Activation activation, double value) {
  if (activation == Activation::relu) return value > 0 ? value : 0;
  if (activation == Activation::tanh) return std::tanh(value);
  return value;
}

// Returns the derivative of the activation, computed from its output.
inline double slope(Activation activation, double output) {
  if (activation == Activation::relu) return output > 0 ? 1 : 0;
  if (activation == Activation::tanh) return 1 - output * output;
  return 1;
}

// Rounds a value to the number format of matrix multiplications.
template <class T>
double factor(Multiplies multiplies, T value) {
  return static_cast<double>(
      multiplies == Multiplies::bfloat16 ? rounded_to_bfloat16(static_cast<float>(value)) : value);
}

template <class T>
void run(const LinearForward& op) {
  const std::int64_t batch = op.input.shape[0], inputs = op.input.shape[1],
                     outputs = op.weight.shape[0];
  const T *input = op.input.as<T>(), *weight = op.weight.as<T>(), *bias = op.bias.as<T>();
  const Multiplies m = op.multiplies;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = bias != nullptr ? static_cast<double>(bias[o]) : 0;
      for (std::int64_t i = 0; i < inputs; ++i)
        sum += factor(m, input[b * inputs + i]) * factor(m, weight[o * inputs + i]);
      op.output.as<T>()[b * outputs + o] = static_cast<T>(activate(op.activation, sum));
    }
}

template <class T>
void run(const AddBias& op) {
  const std::int64_t outputs = op.output.shape[1];
  const T* const bias = op.bias.as<T>();
  for (std::int64_t i = 0; i < op.output.elements(); ++i)
    op.output.as<T>()[i] = static_cast<T>(activate(
        op.activation, static_cast<double>(op.input.as<T>()[i]) +
                           (bias != nullptr ? static_cast<double>(bias[i % outputs]) : 0)));
}

template <class T>
void run(const SumRows& op) {
  const std::int64_t columns = op.output.elements();
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::int64_t i = c; i < op.input.elements(); i += columns)
      sum += static_cast<double>(op.input.as<T>()[i]);
    op.output.as<T>()[c] = static_cast<T>(sum);
  }
}

template <class T>
void run(const CopyColumns& op) {
  for (std::int64_t r = 0; r < op.input.shape[0]; ++r)
    for (std::int64_t c = 0; c < op.columns; ++c)
      op.output.as<T>()[r * op.output.shape[1] + op.output_first + c] =
          op.input.as<T>()[r * op.input.shape[1] + op.input_first + c];
}

template <class T>
void run(const ActivationBackward& op) {
  for (std::int64_t i = 0; i < op.output.elements(); ++i) {
    T& gradient = op.gradient.as<T>()[i];
    gradient =
        static_cast<T>(static_cast<double>(gradient) * slope(op.activation, op.output.as<T>()[i]));
  }
}

template <class T>
void run(const LinearBackwardInput& op) {
  const std::int64_t batch = op.output_gradient.shape[0], outputs = op.weight.shape[0],
                     inputs = op.weight.shape[1];
  const T *gradient = op.output_gradient.as<T>(), *weight = op.weight.as<T>();
  const Multiplies m = op.multiplies;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < inputs; ++i) {
      double sum = 0;
      for (std::int64_t o = 0; o < outputs; ++o)
        sum += factor(m, gradient[b * outputs + o]) * factor(m, weight[o * inputs + i]);
      op.input_gradient.as<T>()[b * inputs + i] = static_cast<T>(sum);
    }
}

template <class T>
double squared_norm(const Tensor& tensor) {  // Returns 0 for an empty tensor.
  double sum = 0;
  for (std::int64_t i = 0; !tensor.empty() && i < tensor.elements(); ++i)
    sum += static_cast<double>(tensor.as<T>()[i]) * static_cast<double>(tensor.as<T>()[i]);
  return sum;
}

template <class T>
void run(const LinearBackwardWeight& op) {
  const std::int64_t batch = op.input.shape[0], inputs = op.input.shape[1],
                     outputs = op.output_gradient.shape[1];
  const T *input = op.input.as<T>(), *gradient = op.output_gradient.as<T>();
  const Multiplies m = op.multiplies;
  for (std::int64_t o = 0; o < outputs; ++o) {
    double column = 0;
    for (std::int64_t b = 0; b < batch; ++b)
      column += static_cast<double>(gradient[b * outputs + o]);
    if (!op.bias_gradient.empty()) op.bias_gradient.as<T>()[o] = static_cast<T>(column);
    for (std::int64_t i = 0; i < inputs; ++i) {
      double sum = 0;
      for (std::int64_t b = 0; b < batch; ++b)
        sum += factor(m, gradient[b * outputs + o]) * factor(m, input[b * inputs + i]);
      op.weight_gradient.as<T>()[o * inputs + i] = static_cast<T>(sum);
    }
  }
  if (!op.squared_norm.empty())
    *op.squared_norm.as<double>() =
        squared_norm<T>(op.weight_gradient) + squared_norm<T>(op.bias_gradient);
}

}  // namespace trainyard::compute::reference
