// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/machine.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace trainyard::base {

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace trainyard::base
