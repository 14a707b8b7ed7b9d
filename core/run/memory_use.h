// SPDX-License-Identifier: GPL-3.0-or-later
// What the memory of a rank is for. By the names of buffers, as binding goes; of scratch that
// shares addresses what gradients ever take is theirs, the rest of activations.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/base/names.h"
#include "core/run/layout.h"

namespace trainyard::run {

enum class MemoryPart {
  parameters,   // gathered or its own, and the versions of a server
  gradients,    // of parameters
  moments,      // of the optimizer
  activations,  // and their gradients, sums, and the samples of a step
  other,        // copies of parameters, what is encoded, and results
  host,         // whatever was put aside there: not on the device, as all before
  disk,         // likewise
};
inline constexpr std::size_t kMemoryParts = 7;
constexpr bool is_on_device(MemoryPart part) { return part < MemoryPart::host; }

// Bytes [offset, offset + bytes) of the shared or of the private arena, or of what is put aside.
struct MemoryRegion {
  MemoryPart part = MemoryPart::other;
  bool shared = false;
  std::int64_t offset = 0, bytes = 0;
};

// Of a layout of the plan; every byte that a buffer takes is in one of them.
std::vector<MemoryRegion> memory_regions(const plan::RankPlan& plan, const Layout& layout);

// Bytes by part.
struct MemoryUse {
  std::array<std::int64_t, kMemoryParts> bytes{};

  std::int64_t of(MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }
  std::int64_t total() const;  // on the device
};
MemoryUse memory_use(const plan::RankPlan& plan, const Layout& layout);
std::string in_words(const MemoryUse& use);  // "12 MB: parameters 4 MB, gradients 4 MB, moments 3
                                             // MB, activations 1 MB; and 2 MB on disk"

// Of the bytes at `begin` those that are in memory, as the system says (mincore(2)); all of them,
// where it does not.
std::int64_t resident_of(const std::byte* begin, std::int64_t bytes);

}  // namespace trainyard::run

template <>
struct trainyard::base::Names<trainyard::run::MemoryPart> {
  using P = trainyard::run::MemoryPart;
  static constexpr std::pair<P, std::string_view> table[] = {{P::parameters, "parameters"},
                                                             {P::gradients, "gradients"},
                                                             {P::moments, "moments"},
                                                             {P::activations, "activations"},
                                                             {P::other, "other"},
                                                             {P::host, "host"},
                                                             {P::disk, "disk"}};
};
