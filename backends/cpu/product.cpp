// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/product.h"

#include <cblas.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/threads.h"
#include "core/base/log.h"

namespace trainyard::cpu {
namespace {

using compute::Activation;

class ZeroProduct final : public Product {
 public:
  explicit ZeroProduct(const compute::Tensor& result) : result_(result) {}
  void run(CpuQueue&) override {
    if (result_.bytes() > 0) std::memset(result_.data, 0, static_cast<std::size_t>(result_.bytes()));
  }

 private:
  compute::Tensor result_;
};

// fp64. OpenBLAS knows neither bias nor activation: the bias is laid under the product, the activation follows it.
class BlasProduct final : public Product {
 public:
  explicit BlasProduct(const ProductSpec& spec) : spec_(spec) {}

  void run(CpuQueue&) override {
    const auto &left = spec_.left, &right = spec_.right;
    const auto m = left.rows(), n = right.columns(), k = left.columns();
    if (!spec_.bias.empty()) lay_bias(m, n);
    cblas_dgemm(CblasRowMajor, order(left), order(right), static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k), 1,
                left.tensor.as<double>(), stride(left), right.tensor.as<double>(), stride(right), spec_.bias.empty() ? 0 : 1, spec_.result.as<double>(),
                static_cast<blasint>(n));
    activate(m * n);
  }

 private:
  static CBLAS_TRANSPOSE order(const Operand& operand) { return operand.transposed ? CblasTrans : CblasNoTrans; }
  static blasint stride(const Operand& operand) { return static_cast<blasint>(operand.tensor.shape[1]); }

  void lay_bias(std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(spec_.result.as<double>() + r * columns, spec_.bias.data, static_cast<std::size_t>(columns) * sizeof(double));
  }

  void activate(std::int64_t elements) {
    double* values = spec_.result.as<double>();
    if (spec_.activation == Activation::relu)
      for (std::int64_t i = 0; i < elements; ++i) values[i] = values[i] > 0 ? values[i] : 0;
    if (spec_.activation == Activation::tanh)
      for (std::int64_t i = 0; i < elements; ++i) values[i] = std::tanh(values[i]);
  }

  ProductSpec spec_;
};

using Layout = dnnl::memory::format_tag;

dnnl::memory::desc describe(const Operand& operand) {
  return {{operand.rows(), operand.columns()}, dnnl::memory::data_type::f32, operand.transposed ? Layout::ba : Layout::ab};
}

dnnl::primitive_attr attributes(Activation activation) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the library's own belongs to the thread that prepared the primitive
  dnnl::post_ops after;
  if (activation == Activation::relu) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  if (activation == Activation::tanh) after.append_eltwise(1, dnnl::algorithm::eltwise_tanh, 0, 0);
  attributes.set_post_ops(after);
  return attributes;
}

dnnl::matmul::primitive_desc describe(const ProductSpec& spec, const dnnl::engine& engine) {
  const dnnl::memory::desc result{{spec.left.rows(), spec.right.columns()}, dnnl::memory::data_type::f32, Layout::ab};
  const dnnl::memory::desc bias{{1, spec.right.columns()}, dnnl::memory::data_type::f32, Layout::ab};
  const auto product = spec.bias.empty() ? dnnl::matmul::desc(describe(spec.left), describe(spec.right), result)
                                         : dnnl::matmul::desc(describe(spec.left), describe(spec.right), bias, result);
  return {product, attributes(spec.activation), engine};
}

// fp32. The arguments are laid out once; running them is one C call.
class DnnlProduct final : public Product {
 public:
  DnnlProduct(const ProductSpec& spec, const dnnl::engine& engine, int cores) : cores_(cores), description_(describe(spec, engine)), product_(description_) {
    bind(DNNL_ARG_SRC, description_.src_desc(), engine, spec.left.tensor.data);
    bind(DNNL_ARG_WEIGHTS, description_.weights_desc(), engine, spec.right.tensor.data);
    bind(DNNL_ARG_DST, description_.dst_desc(), engine, spec.result.data);
    if (!spec.bias.empty()) bind(DNNL_ARG_BIAS, description_.bias_desc(), engine, spec.bias.data);
    scratch_bytes_ = description_.scratchpad_desc().get_size();
    if (scratch_bytes_ > 0) bind(DNNL_ARG_SCRATCHPAD, description_.scratchpad_desc(), engine, nullptr);
  }

  void run(CpuQueue& queue) override {
    const ThreadBound bound(cores_);
    if (scratch_bytes_ > 0) dnnl_memory_set_data_handle(arguments_.back().memory, queue.scratch(scratch_bytes_));
    const dnnl_status_t status = dnnl_primitive_execute(product_.get(), queue.stream(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status == dnnl_success) return;
    base::log_error("oneDNN failed in a matrix product, status " + std::to_string(status) + "; a rank cannot go on without its gradient");
    std::abort();
  }

 private:
  void bind(int argument, const dnnl::memory::desc& description, const dnnl::engine& engine, void* address) {
    memories_.emplace_back(description, engine, address);
    arguments_.push_back({argument, memories_.back().get()});
  }

  int cores_;
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul product_;
  std::size_t scratch_bytes_ = 0;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace

base::Result<std::unique_ptr<Product>> prepare_product(const ProductSpec& spec, const dnnl::engine& engine, int cores) {
  if (spec.result.elements() == 0 || spec.left.columns() == 0) return std::make_unique<ZeroProduct>(spec.result);
  if (spec.result.dtype == compute::DType::fp64) return std::make_unique<BlasProduct>(spec);
  try {
    const ThreadBound bound(cores);
    return std::make_unique<DnnlProduct>(spec, engine, cores);
  } catch (const dnnl::error& error) {
    return base::fail({base::ProblemCode::unavailable, "oneDNN", std::string("cannot prepare a matrix product: ") + error.what(), "", ""});
  }
}

}  // namespace trainyard::cpu
