// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cblas.h>

#include <cstdint>

namespace trainyard::cpu {

inline blasint to_blas(std::int64_t extent) { return static_cast<blasint>(extent); }

}  // namespace trainyard::cpu
