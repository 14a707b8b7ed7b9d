// SPDX-License-Identifier: GPL-3.0-or-later
// Serializes a Problem with a size limit, to pass the reason of an abort to another process.
// Layout: one byte of code, then the five texts, each as a little-endian 16-bit length and its
// bytes. Texts that do not fit are truncated.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace trainyard::comm {

constexpr std::size_t kMaxProblemBytes = 2048;

// Serializes a Problem to at most `kMaxProblemBytes` bytes.
std::vector<std::byte> to_bytes(const base::Problem& problem);

// Deserializes a Problem. Never fails: a field that cannot be decoded is empty.
base::Problem problem_from_bytes(std::span<const std::byte> bytes);

}  // namespace trainyard::comm
