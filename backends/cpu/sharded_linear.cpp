// SPDX-License-Identifier: GPL-3.0-or-later
// Ops on rows and columns (bias, column sums, copies) for a linear layer whose product is split
// over several ranks.
#include <algorithm>
#include <functional>

#include "backends/cpu/activation.h"
#include "backends/cpu/norm.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/threads.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;

// Prepares the op that adds a bias and applies the activation. Rows are processed independently.
template <class T>
PreparedKernel prepare_add_bias(const compute::AddBias& op, const Device& device) {
  return make_kernel([op, cores = device.cores](Queue&) {
    const std::int64_t outputs = op.output.shape[1];
    for_blocks(cores, op.input.shape[0], 1, [&](std::int64_t row, std::int64_t end, std::int64_t) {
      for (; row < end; ++row) {
        const T* const input = op.input.as<T>() + row * outputs;
        T* const output = op.output.as<T>() + row * outputs;
        if (!op.bias.empty())
          std::transform(input, input + outputs, op.bias.as<T>(), output, std::plus<>());
        else if (input != output) std::copy_n(input, outputs, output);
        activate(op.activation, output, outputs);
      }
    });
  });
}

template <class T>
PreparedKernel prepare_sum_rows(const compute::SumRows& op, const Device& device) {
  return make_kernel([op, cores = device.cores](Queue&) {
    sum_columns(op.input.as<T>(), op.input.shape[0], op.input.shape[1], op.output.as<T>(), cores);
  });
}

template <class T>
PreparedKernel prepare_copy_columns(const compute::CopyColumns& op) {
  return make_kernel([op](Queue&) {
    for (std::int64_t row = 0; row < op.input.shape[0]; ++row)
      std::copy_n(op.input.as<T>() + row * op.input.shape[1] + op.input_first, op.columns,
                  op.output.as<T>() + row * op.output.shape[1] + op.output_first);
  });
}

}  // namespace

PreparedKernel prepare(const compute::AddBias& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_add_bias<double>(op, device)
                                       : prepare_add_bias<float>(op, device);
}

PreparedKernel prepare(const compute::SumRows& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_sum_rows<double>(op, device)
                                       : prepare_sum_rows<float>(op, device);
}

PreparedKernel prepare(const compute::CopyColumns& op, const Device&) {
  return op.input.dtype == DType::fp64 ? prepare_copy_columns<double>(op)
                                       : prepare_copy_columns<float>(op);
}

}  // namespace trainyard::cpu
