// SPDX-License-Identifier: GPL-3.0-or-later
// Gaussian error linear units (GELU). fp32 and bf16 use oneDNN, fp64 uses our own loops.
#include <cmath>
#include <numbers>

#include "backends/cpu/prepare.h"
#include "backends/cpu/primitive.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;

constexpr const char* kKernelName = "gelu";
constexpr auto kGelu = dnnl::algorithm::eltwise_gelu_erf;

dnnl::memory::desc describe(const compute::Tensor& tensor) {
  const auto type =
      tensor.dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  return {{tensor.elements()}, type, dnnl::memory::format_tag::x};
}

dnnl::eltwise_forward::primitive_desc describe_forward(const compute::Tensor& input,
                                                       const dnnl::engine& engine) {
  return {
      {dnnl::prop_kind::forward_training, kGelu, describe(input), 0, 0}, user_scratchpad(), engine};
}

std::unique_ptr<compute::Kernel> running(Primitive primitive) {
  return make_kernel([primitive = std::move(primitive)](Queue& queue) mutable {
    primitive.run(static_cast<CpuQueue&>(queue));
  });
}

std::unique_ptr<compute::Kernel> make_forward(const compute::GeluForward& op,
                                              const Device& device) {
  const auto description = describe_forward(op.input, device.engine);
  Primitive gelu(dnnl::eltwise_forward(description), description, device.engine, device.cores,
                 kKernelName);
  gelu.bind(DNNL_ARG_SRC, description.src_desc(), op.input.data);
  gelu.bind(DNNL_ARG_DST, description.dst_desc(), op.output.data);
  return running(std::move(gelu));
}

std::unique_ptr<compute::Kernel> make_backward(const compute::GeluBackward& op,
                                               const Device& device) {
  const dnnl::eltwise_backward::desc backward(kGelu, describe(op.output_gradient),
                                              describe(op.input), 0, 0);
  const dnnl::eltwise_backward::primitive_desc description(
      backward, user_scratchpad(), device.engine, describe_forward(op.input, device.engine));
  Primitive gelu(dnnl::eltwise_backward(description), description, device.engine, device.cores,
                 kKernelName);
  gelu.bind(DNNL_ARG_SRC, description.src_desc(), op.input.data);
  gelu.bind(DNNL_ARG_DIFF_DST, description.diff_dst_desc(), op.output_gradient.data);
  gelu.bind(DNNL_ARG_DIFF_SRC, description.diff_src_desc(), op.input_gradient.data);
  return running(std::move(gelu));
}

double distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// Returns a kernel that sets element i of the output to number(i), for all elements.
template <class Number>
std::unique_ptr<compute::Kernel> each(const compute::Tensor& output, int cores, Number number) {
  return make_kernel([output, cores, number](Queue&) {
    for_blocks(cores, output.elements(), kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 for (std::int64_t i = begin; i < end; ++i) output.as<double>()[i] = number(i);
               });
  });
}

}  // namespace

PreparedKernel prepare(const compute::GeluForward& op, const Device& device) {
  if (op.input.dtype == DType::fp64)
    return each(op.output, device.cores,
                [x = op.input.as<double>()](std::int64_t i) { return x[i] * distribution(x[i]); });
  if (op.input.elements() == 0) return make_kernel([](Queue&) {});
  return prepare_with_dnnl(device.cores, kKernelName, [&] { return make_forward(op, device); });
}

PreparedKernel prepare(const compute::GeluBackward& op, const Device& device) {
  if (op.input.dtype == DType::fp64)
    return each(
        op.input_gradient, device.cores,
        [x = op.input.as<double>(), gradient = op.output_gradient.as<double>()](std::int64_t i) {
          return gradient[i] * (distribution(x[i]) + x[i] * density(x[i]));
        });
  if (op.input.elements() == 0) return make_kernel([](Queue&) {});
  return prepare_with_dnnl(device.cores, kKernelName, [&] { return make_backward(op, device); });
}

}  // namespace trainyard::cpu
