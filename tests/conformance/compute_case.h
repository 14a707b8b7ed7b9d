// SPDX-License-Identifier: GPL-3.0-or-later
// An op on made-up tensors: what goes in, and which tensors come out.
#pragma once

#include <functional>
#include <string>

#include "core/compute/ops.h"
#include "tests/conformance/compute_values.h"

namespace trainyard::conformance {

struct Sizes {
  std::int64_t batch, inputs, outputs;
};

struct Case {
  compute::Op op;
  std::vector<std::pair<const char*, Tensor>> results;
};

// The same case each time it is called with a Values of the same seed.
using MakeCase = std::function<Case(Values&, DType, const Sizes&)>;

struct NamedCase {
  std::string name;
  MakeCase make;
};

}  // namespace trainyard::conformance
