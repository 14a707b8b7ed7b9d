// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

namespace trainyard::base {

// Returns the number of cores that this process may use: its affinity, limited by the CPU quota of
// its control groups (rounded up); at least 1.
int usable_cores();

// Returns the tightest CPU quota, in cores, of control group `group` ("/a/b") and its ancestors,
// from `cpu.max` under `root` (cgroup v2: "QUOTA PERIOD", or "max PERIOD" for none); 0 if none is
// set. Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, "CPU Interface Files".
double quota_cores(const std::filesystem::path& root, const std::string& group);

}  // namespace trainyard::base
