// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/names.h"

namespace trainyard::base {

enum class DType : std::uint8_t { fp32, fp64, int32 };

constexpr std::int64_t size_of(DType dtype) { return dtype == DType::fp64 ? 8 : 4; }

template <>
struct Names<DType> {
  static constexpr std::pair<DType, std::string_view> table[] = {{DType::fp32, "fp32"}, {DType::fp64, "fp64"}, {DType::int32, "int32"}};
};

}  // namespace trainyard::base
