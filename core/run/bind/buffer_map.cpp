// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/buffer_map.h"

#include <fmt/core.h>

namespace trainyard::run {

using compute::Tensor;

BufferMap::BufferMap(const plan::RankPlan& plan, const PrivateArena& own, const SharedArena& shared,
                     const OffloadSpace* offload_space, const SharedBuffer& shared_buffer)
    : plan_(plan),
      layout_(layout(plan)),
      own_(own),
      shared_(shared),
      offload_space_(offload_space),
      shared_buffer_(shared_buffer) {}

base::Result<void> BufferMap::fits() const {
  const std::int64_t private_bytes = layout_.private_bytes - apart(),
                     shared_bytes = shared_.on_device != nullptr ? layout_.shared_host_bytes
                                                                 : layout_.shared_bytes;
  const std::string rank = fmt::format("rank {}", plan_.rank);
  if (std::ssize(own_.memory) < private_bytes || std::ssize(shared_.memory) < shared_bytes)
    return base::fail({"arena_too_small", base::ProblemCode::failed, rank,
                       "the private or the shared memory is smaller than the plan needs", "", ""});
  if (offload_space_ == nullptr && layout_.host_bytes + layout_.disk_bytes > 0)
    return base::fail({"no_offload_memory", base::ProblemCode::failed, rank,
                       "the plan offloads buffers, but there is no memory for them", "", ""});
  return {};
}

std::vector<MemorySpan> BufferMap::in_memory(bool on_device) const {
  std::vector<MemorySpan> parts;
  for (const MemoryRegion& region : memory_regions(plan_, layout_))
    parts.push_back({region.part, begin_of(region, on_device), region.bytes});
  return parts;
}

const std::byte* BufferMap::begin_of(const MemoryRegion& region, bool on_device) const {
  if (region.part == MemoryPurpose::disk) return nullptr;
  if (region.part == MemoryPurpose::host) return offload_space_->host(region.offset);
  const bool of_device = region.shared ? is_in_device_memory(region.offset)
                                       : on_device && !is_host_accessible(region.offset);
  return of_device ? nullptr : in_arena(region.shared, region.offset);
}

const OffloadSpace* BufferMap::file_of(plan::BufferId id) const {
  return layout_.buffers[id.index()].place == plan::MemoryKind::disk ? offload_space_ : nullptr;
}

std::byte* BufferMap::address(plan::BufferId id) const {
  if (shared_buffer_.data != nullptr && id == shared_buffer_.buffer) return shared_buffer_.data;
  const Placement& place = layout_.buffers[id.index()];
  if (place.place == plan::MemoryKind::host) return offload_space_->host(place.offset);
  if (place.place == plan::MemoryKind::disk) return offload_space_->disk(place.offset);
  return in_arena(place.shared, place.offset);
}

std::byte* BufferMap::in_arena(bool shared, std::int64_t offset) const {
  if (!shared)
    return is_host_accessible(offset) ? own_.result_memory + offset
                                      : own_.memory.data() + (offset - apart());
  return is_in_device_memory(offset) ? shared_.on_device + (offset - layout_.shared_host_bytes)
                                     : shared_.memory.data() + offset;
}

Tensor BufferMap::tensor(const plan::Access& access) const {
  const base::DType dtype = plan_.buffers[access.buffer.index()].dtype;
  return {dtype, {access.count}, address(access.buffer) + access.first * base::size_of(dtype)};
}

Tensor BufferMap::named(const std::string& name) const {
  const plan::BufferId id = plan_.buffer(name);
  return id.valid() ? flat(name, plan_.buffers[id.index()].elements) : Tensor{};
}

Tensor BufferMap::flat(const std::string& name, std::int64_t elements) const {
  const plan::BufferId id = plan_.buffer(name);
  return id.valid() ? Tensor{plan_.buffers[id.index()].dtype, {elements}, address(id)} : Tensor{};
}

Tensor BufferMap::with_rows(Tensor tensor, std::int64_t rows, std::int64_t width) {
  if (tensor.data != nullptr) tensor.shape = {rows, width};
  return tensor;
}

Tensor BufferMap::sub(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return tensor.data == nullptr
             ? Tensor{}
             : Tensor{tensor.dtype, {count}, tensor.data + first * base::size_of(tensor.dtype)};
}

}  // namespace trainyard::run
