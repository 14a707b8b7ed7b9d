// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/convolution.h"

#include <optional>

#include "backends/cpu/activation.h"
#include "backends/cpu/bfloat16.h"
#include "backends/cpu/norm.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;
using compute::Tensor;
using Descriptor = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Layout = dnnl::memory::format_tag;

constexpr const char* kConvolution = "convolution";
constexpr auto kFloat = dnnl::memory::data_type::f32;

// Returns the oneDNN descriptor of images. oneDNN lists dimensions in the order [B,C,H,W] for every
// memory layout.
Descriptor image(const Tensor& t) {
  return {{t.shape[0], t.shape[3], t.shape[1], t.shape[2]}, kFloat, Layout::nhwc};
}
Descriptor weight(const Tensor& t, Layout layout) {
  return {{t.shape[0], t.shape[1], t.shape[2], t.shape[3]}, kFloat, layout};
}
Descriptor bias(const Tensor& t) { return {{t.shape[0]}, kFloat, Layout::x}; }

struct Sides {
  Dims strides, padding;
};
Sides sides_of(const compute::Window& w) { return {{w.stride, w.stride}, {w.padding, w.padding}}; }

// Returns oneDNN's descriptor of the forward convolution. oneDNN also needs it as a hint to create
// the backward descriptors.
dnnl::convolution_forward::primitive_desc describe(const Tensor& input, const Tensor& kernel,
                                                   const Tensor& output,
                                                   const compute::Window& window,
                                                   compute::Activation activation,
                                                   const dnnl::engine& engine) {
  const Sides sides = sides_of(window);
  const Descriptor bias{{kernel.shape[0]}, kFloat, Layout::x};
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training,
                                                dnnl::algorithm::convolution_direct, image(input),
                                                weight(kernel, Layout::any), bias, image(output),
                                                sides.strides, sides.padding, sides.padding);
  return {forward, with_activation(activation), engine};
}

// Weight in the layout that oneDNN prefers, with reorders from and to the plain layout. If oneDNN
// prefers the plain layout, uses the plain weight directly.
class Weight {
 public:
  Weight(const Tensor& plain, const Descriptor& best, const Device& device)
      : plain_(weight(plain, Layout::oihw), device.engine, plain.data), best_(plain_) {
    if (best != plain_.get_desc()) best_ = dnnl::memory(best, device.engine);
  }

  const dnnl::memory& plain() const { return plain_; }
  const dnnl::memory& best() const { return best_; }
  std::optional<Primitive> from_plain(const Device& device) const {
    return reorder(plain_, best_, device);
  }
  std::optional<Primitive> to_plain(const Device& device) const {
    return reorder(best_, plain_, device);
  }

 private:
  static std::optional<Primitive> reorder(const dnnl::memory& from, const dnnl::memory& to,
                                          const Device& device) {
    if (from.get_desc() == to.get_desc()) return std::nullopt;
    const dnnl::reorder::primitive_desc description(device.engine, from.get_desc(), device.engine,
                                                    to.get_desc(), user_scratchpad());
    Primitive primitive(dnnl::reorder(description), description, device.engine, device.cores,
                        "reordering of weights");
    primitive.bind(DNNL_ARG_FROM, from);
    primitive.bind(DNNL_ARG_TO, to);
    return primitive;
  }

  dnnl::memory plain_, best_;
};

void run_all(std::initializer_list<std::optional<Primitive>*> primitives, Queue& queue) {
  for (auto* primitive : primitives)
    if (*primitive) (*primitive)->run(static_cast<CpuQueue&>(queue));
}

// Returns a kernel that rounds the inputs, then runs up to two oneDNN primitives in order.
std::unique_ptr<compute::Kernel> in_order(Factors factors, std::optional<Primitive> first,
                                          std::optional<Primitive> second) {
  return make_kernel([factors = std::move(factors), first = std::move(first),
                      second = std::move(second)](Queue& queue) mutable {
    factors.round(static_cast<CpuQueue&>(queue));
    run_all({&first, &second}, queue);
  });
}

void bind_image(Primitive& convolution, int argument, const Descriptor& layout, const Tensor& image,
                const Device& device, Factors& factors) {
  const dnnl::memory memory(layout, device.engine, image.data);
  convolution.bind(argument, memory);
  factors.add(image, memory);
}

std::unique_ptr<compute::Kernel> make_forward(const compute::Conv2dForward& op,
                                              const Device& device) {
  const auto description =
      describe(op.input, op.weight, op.output, op.window, op.activation, device.engine);
  const Weight kernel(op.weight, description.weights_desc(), device);
  Factors factors(op.multiplies, device.cores);
  factors.add(op.weight, kernel.plain());
  Primitive convolution(dnnl::convolution_forward(description), description, device.engine,
                        device.cores, kConvolution);
  bind_image(convolution, DNNL_ARG_SRC, description.src_desc(), op.input, device, factors);
  convolution.bind(DNNL_ARG_WEIGHTS, kernel.best());
  convolution.bind(DNNL_ARG_BIAS, description.bias_desc(), op.bias.data);
  convolution.bind(DNNL_ARG_DST, description.dst_desc(), op.output.data);
  return in_order(std::move(factors), kernel.from_plain(device), std::move(convolution));
}

std::unique_ptr<compute::Kernel> make_backward_input(const compute::Conv2dBackwardInput& op,
                                                     const Device& device) {
  const Sides sides = sides_of(op.window);
  const auto forward = describe(op.input_gradient, op.weight, op.output_gradient, op.window,
                                compute::Activation::none, device.engine);
  const dnnl::convolution_backward_data::desc backward(
      dnnl::algorithm::convolution_direct, image(op.input_gradient), weight(op.weight, Layout::any),
      image(op.output_gradient), sides.strides, sides.padding, sides.padding);
  const dnnl::convolution_backward_data::primitive_desc description(backward, user_scratchpad(),
                                                                    device.engine, forward);
  const Weight kernel(op.weight, description.weights_desc(), device);
  Factors factors(op.multiplies, device.cores);
  factors.add(op.weight, kernel.plain());
  Primitive convolution(dnnl::convolution_backward_data(description), description, device.engine,
                        device.cores, kConvolution);
  bind_image(convolution, DNNL_ARG_DIFF_DST, description.diff_dst_desc(), op.output_gradient,
             device, factors);
  convolution.bind(DNNL_ARG_WEIGHTS, kernel.best());
  convolution.bind(DNNL_ARG_DIFF_SRC, description.diff_src_desc(), op.input_gradient.data);
  return in_order(std::move(factors), kernel.from_plain(device), std::move(convolution));
}

// Describes the weight gradient, and the bias gradient if inputs are not rounded. The bias gradient
// is a sum and must read unrounded gradients. If inputs are rounded, it is therefore computed
// outside the convolution.
dnnl::convolution_backward_weights::primitive_desc describe_backward(
    const compute::Conv2dBackwardWeight& op, const Device& device) {
  const Sides sides = sides_of(op.window);
  const auto forward = describe(op.input, op.weight_gradient, op.output_gradient, op.window,
                                compute::Activation::none, device.engine);
  const Descriptor in = image(op.input), out = image(op.output_gradient),
                   best = weight(op.weight_gradient, Layout::any);
  using Backward = dnnl::convolution_backward_weights::desc;
  const auto direct = dnnl::algorithm::convolution_direct;
  const Backward backward =
      op.multiplies == compute::Multiplies::bfloat16
          ? Backward(direct, in, best, out, sides.strides, sides.padding, sides.padding)
          : Backward(direct, in, best, bias(op.bias_gradient), out, sides.strides, sides.padding,
                     sides.padding);
  return {backward, user_scratchpad(), device.engine, forward};
}

// Sums each channel over all samples and pixels.
void sum_pixels(const Tensor& image, const Tensor& sums, int cores) {
  const std::int64_t channels = image.shape[3];
  sum_columns(image.as<float>(), image.elements() / channels, channels, sums.as<float>(), cores);
}

std::unique_ptr<compute::Kernel> make_backward_weight(const compute::Conv2dBackwardWeight& op,
                                                      const Device& device) {
  const auto description = describe_backward(op, device);
  const Weight kernel(op.weight_gradient, description.diff_weights_desc(), device);
  Factors factors(op.multiplies, device.cores);
  Primitive convolution(dnnl::convolution_backward_weights(description), description, device.engine,
                        device.cores, kConvolution);
  bind_image(convolution, DNNL_ARG_SRC, description.src_desc(), op.input, device, factors);
  bind_image(convolution, DNNL_ARG_DIFF_DST, description.diff_dst_desc(), op.output_gradient,
             device, factors);
  convolution.bind(DNNL_ARG_DIFF_WEIGHTS, kernel.best());
  if (!factors.rounds())
    convolution.bind(DNNL_ARG_DIFF_BIAS, description.diff_bias_desc(), op.bias_gradient.data);
  return make_kernel(
      [op, cores = device.cores,
       products = in_order(std::move(factors), std::move(convolution), kernel.to_plain(device)),
       norm = GradientNorm<float>(op.weight_gradient, op.bias_gradient, op.squared_norm,
                                  device.cores)](Queue& queue) mutable {
        products->enqueue(queue);
        if (op.multiplies == compute::Multiplies::bfloat16)
          sum_pixels(op.output_gradient, op.bias_gradient, cores);
        norm();
      });
}

// Returns a kernel for a rank without samples, which sets the weight gradients to 0.
PreparedKernel prepare_zeros(const compute::Conv2dBackwardWeight& op, const Device& device) {
  std::vector<std::unique_ptr<compute::Kernel>> zeros;
  for (const Tensor& tensor : {op.weight_gradient, op.bias_gradient, op.squared_norm})
    if (!tensor.empty()) zeros.push_back(std::move(*prepare(compute::Zero{tensor}, device)));
  return make_kernel([zeros = std::move(zeros)](Queue& queue) {
    for (const auto& zero : zeros) zero->enqueue(queue);
  });
}

PreparedKernel prepare_nothing() {
  return make_kernel([](Queue&) {});
}

}  // namespace

PreparedKernel prepare(const compute::Conv2dForward& op, const Device& device) {
  if (op.output.elements() == 0) return prepare_nothing();
  if (op.input.dtype == DType::fp64) return prepare_columns(op);
  return prepare_with_dnnl(device.cores, kConvolution, [&] { return make_forward(op, device); });
}

PreparedKernel prepare(const compute::Conv2dBackwardInput& op, const Device& device) {
  if (op.input_gradient.elements() == 0) return prepare_nothing();
  if (op.weight.dtype == DType::fp64) return prepare_columns(op);
  return prepare_with_dnnl(device.cores, kConvolution,
                           [&] { return make_backward_input(op, device); });
}

PreparedKernel prepare(const compute::Conv2dBackwardWeight& op, const Device& device) {
  if (op.input.elements() == 0) return prepare_zeros(op, device);
  if (op.input.dtype == DType::fp64) return prepare_columns(op, device.cores);
  return prepare_with_dnnl(device.cores, kConvolution,
                           [&] { return make_backward_weight(op, device); });
}

}  // namespace trainyard::cpu
