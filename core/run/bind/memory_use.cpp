// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/memory_use.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "core/base/units.h"

namespace trainyard::run {
namespace {

MemoryPurpose part_of(const std::string& name) {
  const auto is_one = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto begins = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* one) { return name.starts_with(one); });
  };
  if (is_one({"params", "shard"}) || begins({"params.v"})) return MemoryPurpose::parameters;
  if (is_one({"grads", "grad_shard", "micro_grads", "compensated"}))
    return MemoryPurpose::gradients;
  if (begins({"moment"})) return MemoryPurpose::moments;
  if (is_one({"input", "labels", "sample_numbers"}) ||
      begins({"act.", "grad.", "partial.", "sums.", "gradient_sums.", "pre", "columns."}))
    return MemoryPurpose::activations;
  return MemoryPurpose::other;
}

MemoryPurpose part_of(const plan::Buffer& buffer) {
  switch (buffer.place) {
    case plan::MemoryKind::host: return MemoryPurpose::host;
    case plan::MemoryKind::disk: return MemoryPurpose::disk;
    case plan::MemoryKind::device: break;
  }
  return part_of(buffer.name);
}

}  // namespace

std::vector<MemoryRegion> memory_regions(const plan::RankPlan& plan, const Layout& layout) {
  std::vector<MemoryRegion> regions,
      // Memory by purpose. `regions`: buffers outside scratch memory. `gradients`: gradients in
      // scratch memory. All other bytes of scratch memory count as activations
      gradients;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Placement& place = layout.buffers[b];
    const bool scratch = !place.shared && place.place == plan::MemoryKind::device &&
                         place.offset >= layout.scratch_first;
    const MemoryRegion region{part_of(plan.buffers[b]), place.shared, place.offset,
                              plan.buffers[b].bytes()};
    if (region.bytes > 0 && !scratch) regions.push_back(region);
    if (region.bytes > 0 && scratch && region.part == MemoryPurpose::gradients)
      gradients.push_back(region);
  }
  std::sort(gradients.begin(), gradients.end(),
            [](const MemoryRegion& a, const MemoryRegion& b) { return a.offset < b.offset; });
  std::int64_t end = layout.scratch_first;
  const auto up_to = [&](MemoryPurpose part, std::int64_t last) {
    if (last > end) regions.push_back({part, false, end, last - end});
    end = std::max(end, last);
  };
  for (const MemoryRegion& region : gradients) {
    up_to(MemoryPurpose::activations, region.offset);
    up_to(MemoryPurpose::gradients, region.offset + region.bytes);
  }
  up_to(MemoryPurpose::activations, layout.private_bytes);
  return regions;
}

std::int64_t MemoryUse::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), padding) - of(MemoryPurpose::host) -
         of(MemoryPurpose::disk);
}

MemoryUse memory_use(const plan::RankPlan& plan, const Layout& layout) {
  MemoryUse use;
  for (const MemoryRegion& region : memory_regions(plan, layout))
    use.bytes[static_cast<std::size_t>(region.part)] += region.bytes;
  use.padding = layout.device_bytes() - use.total();
  return use;
}

std::string describe(const MemoryUse& use) {
  const auto note = [](std::int64_t bytes) {
    return base::format_bytes(static_cast<double>(bytes));
  };
  std::string text = note(use.total());
  const char* separator = ": ";
  for (const auto& [part, name] : base::Names<MemoryPurpose>::table) {
    if (use.of(part) == 0 || !is_on_device(part)) continue;
    text += fmt::format("{}{} {}", separator, name, note(use.of(part)));
    separator = ", ";
  }
  if (use.of(MemoryPurpose::host) > 0)
    text += fmt::format("; and {} in host memory", note(use.of(MemoryPurpose::host)));
  if (use.of(MemoryPurpose::disk) > 0)
    text += fmt::format("; and {} on disk", note(use.of(MemoryPurpose::disk)));
  return text;
}

std::int64_t resident_of(const std::byte* begin, std::int64_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin),
             end = first + static_cast<std::uintptr_t>(std::max<std::int64_t>(bytes, 0));
  std::array<unsigned char, 4096> pages{};  // flags of the pages of one call
  std::int64_t resident = 0;
  for (std::uintptr_t start = first / page * page; start < end; start += pages.size() * page) {
    const std::uintptr_t count =
        std::min<std::uintptr_t>(pages.size(), (end - start + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(start), count * page, pages.data()) != 0) return bytes;
    for (std::uintptr_t p = 0; p < count; ++p)
      if ((pages[p] & 1) != 0)
        resident += static_cast<std::int64_t>(std::min(end, start + (p + 1) * page) -
                                              std::max(first, start + p * page));
  }
  return resident;
}

}  // namespace trainyard::run
