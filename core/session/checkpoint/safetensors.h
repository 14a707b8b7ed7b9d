// SPDX-License-Identifier: GPL-3.0-or-later
// Named tensors as the bytes of a safetensors file (https://github.com/huggingface/safetensors,
// "Format"):
//
//   8 bytes   length of the header, little-endian
//   header    {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...},
//             padded with spaces
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
  base::DType dtype = base::DType::fp32;  // fp32 or fp64.
  compute::Shape shape;
  std::span<const std::byte> data;  // Need not be aligned.
};

// Returns the bytes of the file. Names must be distinct, and the size of data must match dtype and
// shape.
std::string write_safetensors(std::span<const NamedTensor> tensors);

// Returns the tensors in the order of their data, as views into `file`. Returns bad_input for
// anything that breaks the format above, a tensor of more than four dimensions, another dtype, or a
// header over 16 MiB. `where` names the file in the Problem.
base::Result<std::vector<NamedTensor>> read_safetensors(std::string_view file,
                                                        const std::string& where);

}  // namespace trainyard::session
