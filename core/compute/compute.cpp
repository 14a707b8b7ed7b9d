// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/compute.h"

#include <algorithm>
#include <thread>

namespace trainyard::compute {

base::Result<void> finish(Queue& queue) {
  for (const std::uint64_t mark = queue.record(); !queue.reached(mark);) std::this_thread::yield();
  return queue.state();
}

void Compute::load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                         std::span<const float, 256> value_of) {
  std::vector<float> values(source.size());
  std::ranges::transform(source, values.begin(), [&](std::uint8_t byte) { return value_of[byte]; });
  load(destination, values);
}

}  // namespace trainyard::compute
