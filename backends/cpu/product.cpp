// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/product.h"

#include <cblas.h>

#include <cstring>

#include "backends/cpu/activation.h"
#include "backends/cpu/bfloat16.h"
#include "backends/cpu/primitive.h"

namespace trainyard::cpu {
namespace {

class ZeroProduct final : public Product {
 public:
  explicit ZeroProduct(const compute::Tensor& result) : result_(result) {}
  void run(CpuQueue&) override {
    if (result_.bytes() > 0)
      std::memset(result_.data, 0, static_cast<std::size_t>(result_.bytes()));
  }

 private:
  compute::Tensor result_;
};

// Matrix product in fp64. OpenBLAS supports neither bias nor activation. So the result is
// initialized with the bias, and the activation is applied afterwards.
class BlasProduct final : public Product {
 public:
  explicit BlasProduct(const ProductSpec& spec) : spec_(spec) {}

  void run(CpuQueue&) override {
    const auto &left = spec_.left, &right = spec_.right;
    const auto m = left.rows(), n = right.columns(), k = left.columns();
    if (!spec_.bias.empty()) fill_with_bias(m, n);
    cblas_dgemm(CblasRowMajor, order(left), order(right), static_cast<blasint>(m),
                static_cast<blasint>(n), static_cast<blasint>(k), 1, left.tensor.as<double>(),
                stride(left), right.tensor.as<double>(), stride(right), spec_.bias.empty() ? 0 : 1,
                spec_.result.as<double>(), static_cast<blasint>(n));
    activate(spec_.activation, spec_.result.as<double>(), m * n);
  }

 private:
  static CBLAS_TRANSPOSE order(const Operand& operand) {
    return operand.transposed ? CblasTrans : CblasNoTrans;
  }
  static blasint stride(const Operand& operand) {
    return static_cast<blasint>(operand.tensor.shape[1]);
  }

  void fill_with_bias(std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(spec_.result.as<double>() + r * columns, spec_.bias.data,
                  static_cast<std::size_t>(columns) * sizeof(double));
  }

  ProductSpec spec_;
};

using Layout = dnnl::memory::format_tag;

dnnl::memory::data_type type_of(const compute::Tensor& tensor) {
  return tensor.dtype == compute::DType::bf16 ? dnnl::memory::data_type::bf16
                                              : dnnl::memory::data_type::f32;
}

dnnl::memory::desc describe(const Operand& operand) {
  return {{operand.rows(), operand.columns()},
          type_of(operand.tensor),
          operand.transposed ? Layout::ba : Layout::ab};
}

dnnl::matmul::primitive_desc describe(const ProductSpec& spec, const dnnl::engine& engine) {
  const dnnl::memory::desc result{
      {spec.left.rows(), spec.right.columns()}, type_of(spec.result), Layout::ab};
  const dnnl::memory::desc bias{{1, spec.right.columns()}, type_of(spec.bias), Layout::ab};
  const auto product =
      spec.bias.empty()
          ? dnnl::matmul::desc(describe(spec.left), describe(spec.right), result)
          : dnnl::matmul::desc(describe(spec.left), describe(spec.right), bias, result);
  return {product, with_activation(spec.activation), engine};
}

// Matrix product in fp32, or of bfloat16 inputs with fp32 sums.
class DnnlProduct final : public Product {
 public:
  DnnlProduct(const ProductSpec& spec, const dnnl::engine& engine, int cores)
      : DnnlProduct(spec, describe(spec, engine), engine, cores) {}
  void run(CpuQueue& queue) override {
    factors_.round(queue);
    product_.run(queue);
  }

 private:
  DnnlProduct(const ProductSpec& spec, const dnnl::matmul::primitive_desc& description,
              const dnnl::engine& engine, int cores)
      : factors_(spec.multiplies, cores),
        product_(dnnl::matmul(description), description, engine, cores, "matrix product") {
    const auto bind_factor = [&](int argument, const dnnl::memory::desc& layout,
                                 const compute::Tensor& tensor) {
      const dnnl::memory memory(layout, engine, tensor.data);
      product_.bind(argument, memory);
      factors_.add(tensor, memory);
    };
    bind_factor(DNNL_ARG_SRC, description.src_desc(), spec.left.tensor);
    bind_factor(DNNL_ARG_WEIGHTS, description.weights_desc(), spec.right.tensor);
    product_.bind(DNNL_ARG_DST, description.dst_desc(), spec.result.data);
    if (!spec.bias.empty()) product_.bind(DNNL_ARG_BIAS, description.bias_desc(), spec.bias.data);
  }

  Factors factors_;
  Primitive product_;
};

}  // namespace

base::Result<std::unique_ptr<Product>> prepare_product(const ProductSpec& spec,
                                                       const dnnl::engine& engine, int cores) {
  if (spec.result.elements() == 0 || spec.left.columns() == 0)
    return std::make_unique<ZeroProduct>(spec.result);
  if (spec.result.dtype == compute::DType::fp64) return std::make_unique<BlasProduct>(spec);
  return prepare_with_dnnl(cores, "matrix product", [&]() -> std::unique_ptr<Product> {
    return std::make_unique<DnnlProduct>(spec, engine, cores);
  });
}

}  // namespace trainyard::cpu
