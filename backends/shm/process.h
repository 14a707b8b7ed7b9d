// SPDX-License-Identifier: GPL-3.0-or-later
// Processes told apart for good: by id and start time, since the kernel uses ids again.
#pragma once

#include <cstdint>

namespace trainyard::shm {

struct ProcessIdentity {
  std::int64_t id = 0;
  std::int64_t start =
      0;  // clock ticks since boot, field 22 of /proc/ID/stat (proc(5)); 0 where /proc cannot say
};

ProcessIdentity this_process();

// False once it has ended, also while its parent has not waited for it yet.
bool runs(const ProcessIdentity& process);

}  // namespace trainyard::shm
