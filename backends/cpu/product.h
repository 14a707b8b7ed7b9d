// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products, prepared once. Measured on one core of a Zen 5 (AVX-512, peak about 262 Gflop/s
// fp32) for the layers of a 784-512-512-10 network at batch 128, Gflop/s of forward / backward
// input / backward weight of the first layer:
//   oneDNN 2.6.3 matmul on plain layouts   240 / 251 / 256   (bias and activation fused)
//   oneDNN inner product, plain            236 / 242 / 220
//   oneDNN inner product, its own layout   266 / 177 / 251   (and 105 us to reorder the weights at every step)
//   dnnl_sgemm                             242 / 254 / 255
//   OpenBLAS 0.3.21 sgemm                  122 / 125 / 127   (it takes this CPU for a Haswell)
// So fp32 is matmul throughout; oneDNN 2 has no fp64, so that is OpenBLAS. Of bfloat16, on one core
// of a Zen 4 with AVX512-BF16, for the layers of a transformer of width 128 at 2048 rows, oneDNN's
// matmul makes 205 to 230 Gflop/s, and 100 to 115 of fp32.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/queue.h"
#include "core/base/result.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// A matrix in memory, or the transpose of one.
struct Operand {
  compute::Tensor tensor;
  bool transposed = false;

  std::int64_t rows() const { return tensor.shape[transposed ? 1 : 0]; }
  std::int64_t columns() const { return tensor.shape[transposed ? 0 : 1]; }
};

// result [m,n] = activation(left [m,k] right [k,n] + bias [n]); the bias may be empty. All of one
// dtype, but of bfloat16 factors the result may be fp32.
struct ProductSpec {
  Operand left, right;
  compute::Tensor result, bias;
  compute::Activation activation = compute::Activation::none;
  compute::Multiplies multiplies = compute::Multiplies::full;  // else of fp32 only
};

class Product {
 public:
  virtual ~Product() = default;
  virtual void run(CpuQueue& queue) = 0;
};

// A sum over nothing (k = 0) is 0; a result without elements is left alone. Of shapes that
// `validate` has accepted.
base::Result<std::unique_ptr<Product>> prepare_product(const ProductSpec& spec,
                                                       const dnnl::engine& engine, int cores);

}  // namespace trainyard::cpu
