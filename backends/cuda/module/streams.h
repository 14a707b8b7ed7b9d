// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "core/compute/streams.h"

namespace trainyard::cuda::module {

// Creates streams on GPU `number`.
base::Result<std::unique_ptr<compute::Streams>> make_streams(int number);

}  // namespace trainyard::cuda::module
