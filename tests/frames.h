// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of recordings as bytes, with valid checksums and any content.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/telemetry/frame.h"

namespace trainyard::telemetry {

template <class T>
std::string raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string frame_bytes(std::uint32_t type, int rank, std::string_view payload) {
  return raw_bytes(make_frame_header(type, rank, payload.size())) + std::string(payload) +
         raw_bytes(base::crc32c(std::as_bytes(std::span(payload))));
}

}  // namespace trainyard::telemetry
