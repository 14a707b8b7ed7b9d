// SPDX-License-Identifier: GPL-3.0-or-later
// Maps the buffers of a rank's plan, by name or access, to tensors in memory.
#pragma once

#include <string>
#include <vector>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

class BufferMap {
 public:
  // `plan` must outlive the map. The other arguments are described at `bind` (bound_plan.h).
  BufferMap(const plan::RankPlan& plan, const PrivateArena& own, const SharedArena& shared,
            const OffloadSpace* offload_space, const SharedBuffer& shared_buffer);

  // Returns a Problem if some buffer does not fit its memory.
  base::Result<void> fits() const;

  // Returns the ranges of all memory, by purpose. Ranges on a device other than the host have no
  // address.
  std::vector<MemorySpan> in_memory(bool on_device) const;
  // Returns the file to which the buffer is offloaded; null if there is none.
  const OffloadSpace* file_of(plan::BufferId id) const;

  std::byte* address(plan::BufferId id) const;
  compute::Tensor tensor(const plan::Access& access) const;
  compute::Tensor matrix(const plan::Access& access, std::int64_t columns) const {
    return with_rows(tensor(access), access.count / columns, columns);
  }

  // The following functions return an empty tensor if the plan has no such buffer, for example
  // because the plan does not train.
  compute::Tensor named(const std::string& name) const;
  // returns the first `elements` elements of the buffer
  compute::Tensor flat(const std::string& name, std::int64_t elements) const;
  compute::Tensor part(const std::string& name, const plan::Access& access) const {
    return sub(named(name), access.first, access.count);
  }

  // Return a reshaped tensor or a slice of it. An empty tensor stays empty.
  static compute::Tensor with_rows(compute::Tensor tensor, std::int64_t rows, std::int64_t width);
  static compute::Tensor sub(const compute::Tensor& tensor, std::int64_t first, std::int64_t count);

 private:
  bool is_in_device_memory(std::int64_t offset) const {
    return shared_.on_device != nullptr && offset >= layout_.shared_host_bytes;
  }
  bool is_host_accessible(std::int64_t offset) const {
    return own_.result_memory != nullptr && offset < layout_.result_bytes;
  }
  std::int64_t apart() const { return own_.result_memory != nullptr ? layout_.result_bytes : 0; }
  std::byte* in_arena(bool shared, std::int64_t offset) const;
  const std::byte* begin_of(const MemoryRegion& region, bool on_device) const;

  const plan::RankPlan& plan_;
  Layout layout_;
  PrivateArena own_;
  SharedArena shared_;
  const OffloadSpace* offload_space_;
  SharedBuffer shared_buffer_;
};

}  // namespace trainyard::run
