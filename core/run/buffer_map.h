// SPDX-License-Identifier: GPL-3.0-or-later
// Where the buffers of a rank's plan lie: from their names, and from what ops touch of them, to
// tensors.
#pragma once

#include <string>
#include <vector>

#include "core/run/bound_plan.h"

namespace trainyard::run {

class BufferMap {
 public:
  // The plan must outlive it; of arenas, what is put aside and what is lent as `bind` says.
  BufferMap(const plan::RankPlan& plan, const OwnArena& own, const SharedArena& shared,
            const SwapSpace* aside, const Lent& lent);

  // Whether all buffers have a place.
  base::Result<void> fits() const;

  // All of it by what it is for; what lies on a device that is not the host has no beginning for
  // it.
  std::vector<ResidentPart> in_memory(bool on_device) const;
  // The file that the buffer is put aside in; null: it is not.
  const SwapSpace* file_of(plan::BufferId id) const;

  std::byte* address(plan::BufferId id) const;
  compute::Tensor tensor(const plan::Access& access) const;
  compute::Tensor matrix(const plan::Access& access, std::int64_t columns) const {
    return with_rows(tensor(access), access.count / columns, columns);
  }

  // These are empty where the plan has no such buffer: a plan may do less than train.
  compute::Tensor named(const std::string& name) const;
  compute::Tensor flat(const std::string& name, std::int64_t elements) const;  // its beginning
  compute::Tensor part(const std::string& name, const plan::Access& access) const {
    return sub(named(name), access.first, access.count);
  }

  // Of a tensor, empty of an empty one.
  static compute::Tensor with_rows(compute::Tensor tensor, std::int64_t rows, std::int64_t width);
  static compute::Tensor sub(const compute::Tensor& tensor, std::int64_t first, std::int64_t count);

 private:
  bool is_lent(std::int64_t offset) const {
    return shared_.on_device != nullptr && offset >= layout_.shared_host_bytes;
  }
  bool is_at_hand(std::int64_t offset) const {
    return own_.at_hand != nullptr && offset < layout_.result_bytes;
  }
  std::int64_t apart() const { return own_.at_hand != nullptr ? layout_.result_bytes : 0; }
  std::byte* in_arena(bool shared, std::int64_t offset) const;
  const std::byte* begin_of(const MemoryRegion& region, bool on_device) const;

  const plan::RankPlan& plan_;
  Layout layout_;
  OwnArena own_;
  SharedArena shared_;
  const SwapSpace* aside_;
  Lent lent_;
};

}  // namespace trainyard::run
