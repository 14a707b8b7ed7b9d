// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products, prepared once. Gflop/s of forward / backward input / backward weight on one core
// of a Zen 5 (AVX-512, peak about 262 Gflop/s in fp32), for the first layer of a 784-512-512-10
// network at batch 128:
//   oneDNN 2.6.3 matmul, plain layouts   240 / 251 / 256   (bias and activation fused)
//   oneDNN inner product, plain          236 / 242 / 220
//   oneDNN inner product, its layout     266 / 177 / 251
//   dnnl_sgemm                           242 / 254 / 255
//   OpenBLAS 0.3.21 sgemm                122 / 125 / 127   (takes this CPU for a Haswell)
// The inner product in oneDNN's layout needs another 105 us per step to reorder the weights.
// Therefore fp32 uses matmul everywhere. oneDNN 2 has no fp64, so fp64 uses OpenBLAS. In bfloat16,
// oneDNN's matmul reaches 205 to 230 Gflop/s on one core of a Zen 4 with AVX512-BF16 (layers of a
// transformer of width 128 at 2048 rows); in fp32, 100 to 115.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/queue.h"
#include "core/base/result.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// Input of a matrix product: a tensor that is used as a matrix, or as its transpose.
struct Operand {
  compute::Tensor tensor;
  bool transposed = false;

  std::int64_t rows() const { return tensor.shape[transposed ? 1 : 0]; }
  std::int64_t columns() const { return tensor.shape[transposed ? 0 : 1]; }
};

// Product result [m,n] = activation(left [m,k] right [k,n] + bias [n]). The bias may be empty. All
// tensors have one dtype, except that bfloat16 inputs may have an fp32 result.
struct ProductSpec {
  Operand left, right;
  compute::Tensor result, bias;
  compute::Activation activation = compute::Activation::none;
  // how factors are rounded; any value other than `full` requires fp32 tensors
  compute::Multiplies multiplies = compute::Multiplies::full;
};

class Product {
 public:
  virtual ~Product() = default;
  virtual void run(CpuQueue& queue) = 0;
};

// Prepares a product. If k = 0, the result is 0. A result without elements is left unchanged.
// `validate` must have accepted the shapes.
base::Result<std::unique_ptr<Product>> prepare_product(const ProductSpec& spec,
                                                       const dnnl::engine& engine, int cores);

}  // namespace trainyard::cpu
