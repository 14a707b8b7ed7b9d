// SPDX-License-Identifier: GPL-3.0-or-later
// A buffer that holds but a piece of what another name stands for is called by that name, '@', and
// which piece it is: "act.s3@1", "moment1@near".
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace trainyard::plan {

inline constexpr char kPiece = '@';

inline std::string_view whole_name(std::string_view name) {
  return name.substr(0, name.find(kPiece));
}

// Of a server's parameters, of which it keeps several: one may still be given while the next is
// made.
inline std::string version_name(std::ptrdiff_t version) {
  return "params.v" + std::to_string(version);
}

// What the host reads or writes between ops: losses, norms and other numbers that it tells of, and
// what an op is to go by.
inline bool is_told(std::string_view name) {
  constexpr std::array<std::string_view, 8> kTold{"metrics",        "local_norms", "statistics",
                                                  "rate",           "factor",      "loss_scale",
                                                  "squared_errors", "spread"};
  return std::ranges::find(kTold, name) != kTold.end();
}

}  // namespace trainyard::plan
