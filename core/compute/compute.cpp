// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/compute.h"

#include <thread>

namespace trainyard::compute {

base::Result<void> finish(Queue& queue) {
  for (const std::uint64_t mark = queue.record(); !queue.reached(mark);) std::this_thread::yield();
  return queue.state();
}

}  // namespace trainyard::compute
