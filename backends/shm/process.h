// SPDX-License-Identifier: GPL-3.0-or-later
// Unique identity of a process: its process id and its start time. The id alone is not unique,
// because the kernel reuses ids.
#pragma once

#include <cstdint>

namespace trainyard::shm {

struct ProcessIdentity {
  std::int64_t id = 0;
  // Start time in clock ticks since boot, field 22 of /proc/ID/stat (proc(5)); 0 if /proc is not
  // available.
  std::int64_t start = 0;
};

ProcessIdentity this_process();

// True while the process runs. False if it has ended, even if its parent has not waited for it yet.
bool runs(const ProcessIdentity& process);

}  // namespace trainyard::shm
