// SPDX-License-Identifier: GPL-3.0-or-later
// Row normalization (layer norm, RMS norm) in our own loops, because it is memory-bound, and fp64
// is needed too.
#include "backends/cpu/channel_sums.h"
#include "backends/cpu/norm.h"
#include "backends/cpu/prepare.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;

template <class T, class AnyRowNorm>
RowArguments<T> arguments_of(const AnyRowNorm& op) {
  return {.values = op.input.template as<T>(),
          .gradient = nullptr,
          .weight = nullptr,
          .bias = nullptr,
          .result = nullptr,
          .columns = columns_of(op.input),
          .epsilon = op.epsilon,
          .centered = op.norm == compute::RowNorm::layer};
}

// Returns a kernel that calls loop(arguments, begin, end) for each block [begin, end) of rows.
template <class T, class AnyLoop>
std::unique_ptr<compute::Kernel> over_rows(const compute::Tensor& input,
                                           const RowArguments<T>& arguments, AnyLoop loop,
                                           int cores) {
  return make_kernel([arguments, loop, cores, rows = input.elements() / arguments.columns,
                      block = block_rows(input)](Queue&) {
    for_blocks(cores, rows, block, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      loop(arguments, begin, end);
    });
  });
}

template <class T>
PreparedKernel prepare_forward(const compute::RowNormForward& op, const Device& device) {
  RowArguments<T> arguments = arguments_of<T>(op);
  arguments.weight = op.weight.as<T>();
  if (!op.bias.empty()) arguments.bias = op.bias.as<T>();
  arguments.result = op.output.as<T>();
  return over_rows(op.input, arguments, kernels<T>().row_norm, device.cores);
}

template <class T>
PreparedKernel prepare_backward_input(const compute::RowNormBackwardInput& op,
                                      const Device& device) {
  RowArguments<T> arguments = arguments_of<T>(op);
  arguments.gradient = op.output_gradient.as<T>();
  arguments.weight = op.weight.as<T>();
  arguments.result = op.input_gradient.as<T>();
  return over_rows(op.input, arguments, kernels<T>().row_norm_backward, device.cores);
}

template <class T>
PreparedKernel prepare_backward_weight(const compute::RowNormBackwardWeight& op,
                                       const Device& device) {
  RowArguments<T> arguments = arguments_of<T>(op);
  arguments.gradient = op.output_gradient.as<T>();
  auto run = [op, arguments, sums = ChannelSums(op.input, device.cores),
              total = std::vector<double>(static_cast<std::size_t>(2 * arguments.columns)),
              norm = GradientNorm<T>(op.weight_gradient, op.bias_gradient, op.squared_norm,
                                     device.cores)](Queue&) mutable {
    sums([&](std::int64_t begin, std::int64_t end,
             double* partial) { kernels<T>().row_norm_products(arguments, begin, end, partial); },
         total.data());
    for (std::int64_t c = 0; c < arguments.columns; ++c) {
      op.weight_gradient.template as<T>()[c] = static_cast<T>(total[static_cast<std::size_t>(c)]);
      if (!op.bias_gradient.empty())
        op.bias_gradient.template as<T>()[c] =
            static_cast<T>(total[static_cast<std::size_t>(arguments.columns + c)]);
    }
    norm();
  };
  return make_kernel(std::move(run));
}

}  // namespace

PreparedKernel prepare(const compute::RowNormForward& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_forward<double>(op, device)
                                       : prepare_forward<float>(op, device);
}

PreparedKernel prepare(const compute::RowNormBackwardWeight& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_backward_weight<double>(op, device)
                                       : prepare_backward_weight<float>(op, device);
}

PreparedKernel prepare(const compute::RowNormBackwardInput& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_backward_input<double>(op, device)
                                       : prepare_backward_input<float>(op, device);
}

}  // namespace trainyard::cpu
