// SPDX-License-Identifier: GPL-3.0-or-later
// Whether an op's tensors fit each other: the same refusal on every device.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/compute/ops.h"

namespace trainyard::compute {

std::string_view name(const Op& op);  // "linear_forward"

using Reaches = std::function<bool(const std::byte* place)>;

// A Problem names the op and the first tensor that does not fit, with what was found and what fits.
// B and P may be 0; a tensor without elements needs no address. Values (a label out of range, say)
// are not looked at. `reaches`: of a device that does not reach all memory of the process.
base::Result<void> validate(const Op& op, const Reaches& reaches = {});

}  // namespace trainyard::compute
