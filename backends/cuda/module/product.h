// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cublasLt.h>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Workspace of cuBLASLt. All matrix products share it, so only one may run at a time.
struct Workspace {
  static constexpr std::int64_t kBytes = std::int64_t{32} << 20;
  Memory memory;
};

// Matrix products by cuBLASLt. fp32 inputs are multiplied in fp32, unless TF32 is requested.
class Products {
 public:
  static base::Result<std::unique_ptr<Products>> make(Device& device);
  ~Products();

  base::Result<Run> product(const Product& product);

 private:
  Products() = default;
  cublasLtHandle_t handle_ = nullptr;
  Workspace workspace_;
};

}  // namespace trainyard::cuda::module
