// SPDX-License-Identifier: GPL-3.0-or-later
// Interface of the substitute for cuDNN's library to tests: what it must refuse, and which
// convolutions were requested. `cudnn_stand_in()` of the library returns it.
#pragma once

#include <cstddef>

namespace trainyard::cuda::stand_in {

struct Cudnn {
  std::size_t version = 0;
  bool starts = true, has_algorithms = true, adds_bias = true, makes = true;
  // Number of ops that it made.
  int outputs = 0, outputs_with_bias = 0, input_gradients = 0, weight_gradients = 0;

  int all() const { return outputs + outputs_with_bias + input_gradients + weight_gradients; }
};

}  // namespace trainyard::cuda::stand_in
