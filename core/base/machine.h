// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

namespace trainyard::base {

// Cores of this machine that this process may use: its affinity, and the quota of processor time
// that its control groups grant, rounded up; at least 1.
int usable_cores();

// The tightest quota of the control group `group` ("/a/b") and those above it, in cores, as
// `cpu.max` under `root` says (cgroup v2: "QUOTA PERIOD", or "max PERIOD" for none); 0 where none
// is set. Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, "CPU Interface Files".
double quota_cores(const std::filesystem::path& root, const std::string& group);

}  // namespace trainyard::base
