// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
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

// Returns the memory that this process may use: that of the machine, limited by its control groups.
std::int64_t usable_memory();

// Returns the tightest memory limit, in bytes, of control group `group` and its ancestors, from
// `memory.max` under `root` (cgroup v2); 0 if none is set.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, "Memory Interface Files".
std::int64_t memory_limit(const std::filesystem::path& root, const std::string& group);

// Returns the x86-64 level of this CPU, among those for which loops are compiled: 4 (AVX-512), 3
// (AVX2 and FMA), 1 (any x86-64); 0 on other architectures. The environment variable
// TRAINYARD_CPU_LEVEL lowers it. Source: https://gitlab.com/x86-psABIs/x86-64-ABI,
// "Micro-Architecture Levels".
int cpu_level();
// True if TRAINYARD_CPU_LEVEL is set to a level.
bool is_cpu_level_limited();

// Returns the model name of this CPU, from /proc/cpuinfo; empty if it is not stated there.
std::string cpu_name();

}  // namespace trainyard::base
