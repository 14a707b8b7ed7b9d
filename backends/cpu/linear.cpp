// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/kernels.h"
#include "backends/cpu/norm.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/product.h"
#include "backends/cpu/threads.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;

PreparedKernel prepare_product_kernel(const ProductSpec& spec, const Device& device) {
  auto product = prepare_product(spec, device.engine, device.cores);
  if (!product) return base::fail(product.error());
  return make_kernel([product = std::move(*product)](Queue& queue) {
    product->run(static_cast<CpuQueue&>(queue));
  });
}

// Sums the columns of a matrix. The matrix has the dtype of the sums, or is bfloat16 while the sums
// are fp32.
template <class T>
void sum_columns(const compute::Tensor& matrix, const compute::Tensor& sums, int cores) {
  const std::int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  if (matrix.dtype == sums.dtype)
    return cpu::sum_columns(matrix.as<T>(), rows, columns, sums.as<T>(), cores);
  cpu::sum_columns(half_kernels().column_sums_bf16, matrix.as<std::uint16_t>(), rows, columns,
                   sums.as<float>(), cores);
}

template <class T>
PreparedKernel prepare_backward_weight(const compute::LinearBackwardWeight& op,
                                       const Device& device) {
  auto product = prepare_product({{op.output_gradient, true},
                                  {op.input, false},
                                  op.weight_gradient,
                                  {},
                                  compute::Activation::none,
                                  op.multiplies},
                                 device.engine, device.cores);
  if (!product) return base::fail(product.error());
  auto run = [op, cores = device.cores, product = std::move(*product),
              norm = GradientNorm<T>(op.weight_gradient, op.bias_gradient, op.squared_norm,
                                     device.cores)](Queue& queue) mutable {
    product->run(static_cast<CpuQueue&>(queue));
    if (!op.bias_gradient.empty()) sum_columns<T>(op.output_gradient, op.bias_gradient, cores);
    norm();
  };
  return make_kernel(std::move(run));
}

template <class T>
PreparedKernel prepare_activation_backward(const compute::ActivationBackward& op,
                                           const Device& device) {
  const auto apply = op.activation == compute::Activation::relu ? kernels<T>().relu_backward
                                                                : kernels<T>().tanh_backward;
  return make_kernel([op, apply, cores = device.cores](Queue&) {
    if (op.activation == compute::Activation::none) return;
    for_blocks(cores, op.output.elements(), kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 apply(op.output.as<T>(), op.gradient.as<T>(), begin, end);
               });
  });
}

template <class T>
PreparedKernel prepare_squared_norm(const compute::SquaredNorm& op, const Device& device) {
  return make_kernel([op, norm = TensorNorm<T>(op.input, device.cores)](Queue&) mutable {
    *op.output.template as<double>() = norm();
  });
}

}  // namespace

PreparedKernel prepare(const compute::LinearForward& op, const Device& device) {
  return prepare_product_kernel(
      {{op.input, false}, {op.weight, true}, op.output, op.bias, op.activation, op.multiplies},
      device);
}

PreparedKernel prepare(const compute::LinearBackwardInput& op, const Device& device) {
  return prepare_product_kernel({{op.output_gradient, false},
                                 {op.weight, false},
                                 op.input_gradient,
                                 {},
                                 compute::Activation::none,
                                 op.multiplies},
                                device);
}

PreparedKernel prepare(const compute::LinearBackwardWeight& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_backward_weight<double>(op, device)
                                       : prepare_backward_weight<float>(op, device);
}

PreparedKernel prepare(const compute::ActivationBackward& op, const Device& device) {
  return op.output.dtype == DType::fp64 ? prepare_activation_backward<double>(op, device)
                                        : prepare_activation_backward<float>(op, device);
}

PreparedKernel prepare(const compute::SquaredNorm& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_squared_norm<double>(op, device)
                                       : prepare_squared_norm<float>(op, device);
}

}  // namespace trainyard::cpu
