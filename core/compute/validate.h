// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that an op's tensors fit each other. The rules are the same for every device.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/compute/ops.h"

namespace trainyard::compute {

std::string_view name(const Op& op);  // "linear_forward"

using IsAccessible = std::function<bool(const std::byte* place)>;

// Returns a Problem that names the op and the first tensor that does not fit, with what was found
// and what would fit. B and P may be 0; a tensor without elements needs no address. Values, such as
// labels out of range, are not checked. `reaches` tells whether the device can access an address;
// null: it can access all memory of the process.
base::Result<void> validate(const Op& op, const IsAccessible& reaches = {});

}  // namespace trainyard::compute
