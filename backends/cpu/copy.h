// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::cpu {

// The ranges do not overlap. Long ones are written past the caches: what one rank copies, its peers have just read, and to take each
// line back from their caches in order costs up to seven times as much (1 MiB between two cores of an EPYC: 220 us against 31).
void copy(std::byte* destination, const std::byte* source, std::int64_t bytes);

}  // namespace trainyard::cpu
