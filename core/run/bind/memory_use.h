// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a rank by purpose, which is derived from buffer names. Scratch buffers may share
// addresses: bytes that gradients use at any time count as gradients, all others as activations.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/base/names.h"
#include "core/run/bind/layout.h"

namespace trainyard::run {

enum class MemoryPurpose {
  parameters,   // gathered or local ones, and the versions of a server
  gradients,    // gradients of parameters
  moments,      // optimizer moments
  activations,  // activations and their gradients, batch norm sums, and the samples of a step
  other,        // copies of parameters, encoded data, and results
  host,         // offloaded to host memory; all purposes before this one are on the device
  disk,         // offloaded to disk
};
inline constexpr std::size_t kMemoryParts = 7;
constexpr bool is_on_device(MemoryPurpose part) { return part < MemoryPurpose::host; }

// Bytes [offset, offset + bytes) of the shared or private arena, or of offloaded memory.
struct MemoryRegion {
  MemoryPurpose part = MemoryPurpose::other;
  bool shared = false;
  std::int64_t offset = 0, bytes = 0;
};

// Returns the regions of a layout, which together contain every byte of every buffer.
std::vector<MemoryRegion> memory_regions(const plan::RankPlan& plan, const Layout& layout);

// Bytes by purpose.
struct MemoryUse {
  std::array<std::int64_t, kMemoryParts> bytes{};
  std::int64_t padding = 0;  // on the device, between buffers, whose addresses are aligned

  std::int64_t of(MemoryPurpose part) const { return bytes[static_cast<std::size_t>(part)]; }
  // sum of all purposes on the device, and padding; equals Layout::device_bytes
  std::int64_t total() const;
};
MemoryUse memory_use(const plan::RankPlan& plan, const Layout& layout);
// Returns text such as "12 MB: parameters 4 MB, gradients 4 MB, moments 3 MB, activations 1 MB; and
// 2 MB on disk".
std::string describe(const MemoryUse& use);

// Returns how many bytes of the range at `begin` are resident (mincore(2)); all bytes if mincore is
// unavailable.
std::int64_t resident_of(const std::byte* begin, std::int64_t bytes);

}  // namespace trainyard::run

template <>
struct trainyard::base::Names<trainyard::run::MemoryPurpose> {
  using P = trainyard::run::MemoryPurpose;
  static constexpr std::pair<P, std::string_view> table[] = {{P::parameters, "parameters"},
                                                             {P::gradients, "gradients"},
                                                             {P::moments, "moments"},
                                                             {P::activations, "activations"},
                                                             {P::other, "other"},
                                                             {P::host, "host"},
                                                             {P::disk, "disk"}};
};
