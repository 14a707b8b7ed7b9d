// SPDX-License-Identifier: GPL-3.0-or-later
// Comparison of a figure that the result of a run states with its recomputed value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/names.h"

namespace trainyard::session {

enum class CheckStatus : std::uint8_t { ok, mismatch, not_checked };

// Comparison of one figure.
struct FigureCheck {
  std::string name;  // Key in the result, such as "wire_bytes.payload".
  // Null if not known. Numbers that are not finite are null, as in the result.
  base::Json stated, recomputed;
  CheckStatus status = CheckStatus::ok;
  std::string note;  // Reason why the figure is not checked, or what the comparison means.
};

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::CheckStatus> {
  using S = trainyard::session::CheckStatus;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::ok, "ok"}, {S::mismatch, "mismatch"}, {S::not_checked, "not_checked"}};
};
