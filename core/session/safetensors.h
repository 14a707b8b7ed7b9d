// SPDX-License-Identifier: GPL-3.0-or-later
// Named tensors as the bytes of a safetensors file (https://github.com/huggingface/safetensors,
// "Format"):
//
//   8 bytes   length of the header, little-endian
//   header    {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...}, padded with spaces
//   data      row-major, little-endian; offsets count from here; no gaps, no overlaps
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/compute/tensor.h"

namespace trainyard::session {

struct NamedTensor {
  std::string name;
  base::DType dtype = base::DType::fp32;  // fp32 or fp64
  compute::Shape shape;
  std::span<const std::byte> data;  // need not be aligned
};

// Names differ; data is as long as dtype and shape say.
std::string write_safetensors(std::span<const NamedTensor> tensors);

// The tensors in the order of their data, as views into `file`. Anything that breaks the format
// above, a tensor of more than four dimensions, another dtype, or a header over 16 MiB is
// bad_input; `where` names the file in it.
base::Result<std::vector<NamedTensor>> read_safetensors(std::string_view file,
                                                        const std::string& where);

}  // namespace trainyard::session
