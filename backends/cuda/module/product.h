// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cublasLt.h>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Room in which products work, for one at a time.
struct Workspace {
  static constexpr std::int64_t kBytes = std::int64_t{32} << 20;
  Memory memory;
};

// By cuBLASLt: what is fp32 is multiplied in fp32, but where TF32 is asked for.
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
