// SPDX-License-Identifier: GPL-3.0-or-later
// Names of buffers. The name of a buffer that holds one piece of a larger buffer is the name of the
// larger buffer, '@', and the name of the piece: "act.s3@1" or "moment1@near".
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace trainyard::plan {

inline constexpr char kPiece = '@';

inline std::string_view base_name(std::string_view name) {
  return name.substr(0, name.find(kPiece));
}

// Returns the name of the buffer for a parameter version on a server. A server keeps several
// versions, because it may still send one version while it computes the next.
inline std::string version_name(std::ptrdiff_t version) {
  return "params.v" + std::to_string(version);
}

// True for buffers that the host reads or writes between ops: losses, norms and other reported
// numbers, and inputs of ops such as the learning rate.
inline bool is_host_accessed(std::string_view name) {
  constexpr std::array<std::string_view, 8> kHostAccessed{
      "metrics", "local_norms", "statistics",     "rate",
      "factor",  "loss_scale",  "squared_errors", "spread"};
  return std::ranges::find(kHostAccessed, name) != kHostAccessed.end();
}

}  // namespace trainyard::plan
