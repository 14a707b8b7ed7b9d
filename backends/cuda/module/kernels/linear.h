// SPDX-License-Identifier: GPL-3.0-or-later
// Linear layers: matrix products by a library, and the ops before and after them.
#pragma once

#include <vector>

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/kernels/channels.h"
#include "backends/cuda/module/kernels/elementwise.h"
#include "backends/cuda/module/kernels/padded.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda {

using compute::Multiplies;

// Returns prepared work that executes `runs` in order.
inline Run in_order(std::vector<Run> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  return [runs = std::move(runs)](Stream& stream) {
    for (const Run& one : runs) one(stream);
  };
}

// A tensor, and the memory that it owns.
struct Owned {
  Tensor tensor;
  Memory memory;
};

inline base::Result<Owned> allocate(Device& device, DType dtype, const compute::Shape& shape) {
  Owned owned{{dtype, shape, nullptr}, nullptr};
  auto memory = device.allocate(owned.tensor.elements() * base::size_of(dtype));
  if (!memory) return base::fail(memory.error());
  owned.memory = std::move(*memory);
  owned.tensor.data = owned.memory.get();
  return owned;
}

// Returns prepared work that also keeps its temporary memory alive.
inline Run keeping(std::vector<Memory> memory, Run work) {
  return [memory = std::move(memory), work = std::move(work)](Stream& stream) { work(stream); };
}

// Returns an input of a product in the form that the product reads: the tensor itself, or a copy
// that is rounded to bfloat16 before each product. Appends the rounding to `runs`, and the copy to
// `memory`.
template <class W>
base::Result<Tensor> as_factor(Device& device, const Tensor& factor, Multiplies multiplies,
                               std::vector<Run>& runs, std::vector<Memory>& memory) {
  if (multiplies != Multiplies::bfloat16) return factor;
  auto rounded = allocate(device, DType::bf16, factor.shape);
  if (!rounded) return base::fail(rounded.error());
  runs.push_back(run_of<W>(compute::Copy{factor, rounded->tensor}));
  memory.push_back(rounded->memory);
  return rounded->tensor;
}

// Prepares a matrix product, whose inputs may be rounded first. The device fuses bias and
// activation if it can; otherwise they are applied afterwards, to a result that is not rounded yet.
// A result without elements is left unchanged; if k = 0, the result is 0.
template <class W>
base::Result<Run> make_product(Device& device, Product product,
                               Multiplies multiplies = Multiplies::full) {
  if (product.m == 0 || product.n == 0) return Run([](Stream&) {});
  if (product.k == 0) return run_of<W>(compute::Zero{product.result});
  std::vector<Run> runs;
  std::vector<Memory> memory;
  for (Tensor* factor : {&product.left, &product.right}) {
    auto taken = as_factor<W>(device, *factor, multiplies, runs, memory);
    if (!taken) return base::fail(taken.error());
    *factor = *taken;
  }
  product.tf32 = multiplies == Multiplies::tf32;
  const bool plain = product.bias.empty() && product.activation == Activation::none;
  const bool finishes = !plain && !device.fuses(product.result.dtype, product.activation);
  // A library may read a bias in units of 16 bytes, although it was told a smaller alignment.
  if (!finishes && reinterpret_cast<std::uintptr_t>(product.bias.data) % 16 != 0) {
    auto bias = allocate(device, product.bias.dtype, product.bias.shape);
    if (!bias) return base::fail(bias.error());
    runs.push_back(run_of<W>(compute::Copy{product.bias, bias->tensor}));
    memory.push_back(bias->memory);
    product.bias = bias->tensor;
  }
  compute::AddBias finish{product.result, product.bias, product.result, product.activation};
  if (finishes) {
    product.bias = {}, product.activation = Activation::none;
    if (compute::is_half(product.result.dtype)) {
      auto wide = allocate(device, DType::fp32, product.result.shape);
      if (!wide) return base::fail(wide.error());
      product.result = finish.input = wide->tensor;
      memory.push_back(wide->memory);
    }
  }
  auto multiplied =
      pays_to_pad(product) ? in_padded_rows<W>(device, product) : device.product(product);
  if (!multiplied) return base::fail(multiplied.error());
  runs.push_back(std::move(*multiplied));
  if (finishes) runs.push_back(run_of<W>(finish));
  return keeping(std::move(memory), in_order(std::move(runs)));
}

template <class W>
base::Result<Run> make(Device& device, const compute::LinearForward& op) {
  Product product;
  product.left = op.input, product.right = op.weight, product.bias = op.bias,
  product.result = op.output;
  product.m = op.input.shape[0], product.n = op.weight.shape[0], product.k = op.input.shape[1];
  product.right_transposed = true;
  product.activation = op.activation;
  return make_product<W>(device, product, op.multiplies);
}

template <class W>
base::Result<Run> make(Device& device, const compute::LinearBackwardInput& op) {
  Product product;
  product.left = op.output_gradient, product.right = op.weight, product.result = op.input_gradient;
  product.m = op.output_gradient.shape[0], product.n = op.weight.shape[1],
  product.k = op.weight.shape[0];
  return make_product<W>(device, product, op.multiplies);
}

// Prepares the bias gradient (column sums of the output gradient) and the norm of both gradients.
template <class W>
base::Result<Run> make_bias_and_norm(Device& device, const Tensor& output_gradient,
                                     const Tensor& weight_gradient, const Tensor& bias_gradient,
                                     const Tensor& squared_norm) {
  const compute::SumRows sums{output_gradient, bias_gradient};
  auto memory =
      device.allocate_zeros(bytes_of_sums(1) + (bias_gradient.empty() ? 0 : scratch_bytes(sums)));
  if (!memory) return base::fail(memory.error());
  return Run([=, memory = *memory](Stream& stream) {
    if (!bias_gradient.empty()) run<W>(stream, sums, memory.get() + bytes_of_sums(1));
    square<W>(stream, weight_gradient, bias_gradient, squared_norm,
              reinterpret_cast<double*>(memory.get()));
  });
}

template <class W>
base::Result<Run> make(Device& device, const compute::LinearBackwardWeight& op) {
  Product product;
  product.left = op.output_gradient, product.right = op.input, product.result = op.weight_gradient;
  product.m = op.output_gradient.shape[1], product.n = op.input.shape[1],
  product.k = op.input.shape[0];
  product.left_transposed = true;
  auto weight = make_product<W>(device, product, op.multiplies);
  if (!weight) return weight;
  auto rest = make_bias_and_norm<W>(device, op.output_gradient, op.weight_gradient,
                                    op.bias_gradient, op.squared_norm);
  if (!rest) return rest;
  return in_order({std::move(*weight), std::move(*rest)});
}

}  // namespace trainyard::cuda
