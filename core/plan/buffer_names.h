// SPDX-License-Identifier: GPL-3.0-or-later
// Names of buffers. A buffer that holds one piece of a larger buffer is named after it: its name,
// '@' and the piece, as in "act.s3@1" and "moment1@near".
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

// Returns the name of the buffer for a parameter version on a server. A server keeps several,
// because one may still be sent while the next is computed.
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
