// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace trainyard::base {
namespace {

int cores_of_affinity() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Returns this process's control group in the unified hierarchy, from the line "0::/GROUP"; empty
// if there is none.
std::string group_of_this_process() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return "";
}

// Returns the CPU quota of one control group, in cores, without regard to its ancestors; 0 if none
// is set.
double quota_here(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  // both numbers are in microseconds; `quota` stays 0 if the file contains "max" instead of a
  // number
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

// Returns the memory limit of one control group, in bytes, without regard to its ancestors; 0 if
// none is set: the file then contains "max".
double memory_limit_here(const std::filesystem::path& group) {
  std::ifstream file(group / "memory.max");
  double bytes = 0;
  return file >> bytes ? bytes : 0;
}

// Returns the tightest limit of a control group and its ancestors; 0 if none is set. The root is
// read, too, because in a container the root is a control group of the host.
double least_limit(const std::filesystem::path& root, const std::string& group,
                   double (*limit_here)(const std::filesystem::path&)) {
  double least = 0;
  const auto regard = [&least](double limit) {
    if (limit > 0) least = least > 0 ? std::min(least, limit) : limit;
  };
  std::filesystem::path here = root;
  regard(limit_here(here));
  for (const auto& name : std::filesystem::path(group).relative_path())
    regard(limit_here(here /= name));
  return least;
}

// Returns the value of TRAINYARD_CPU_LEVEL; 0 if it is not set to a number.
int level_limit() {
  const char* text = std::getenv("TRAINYARD_CPU_LEVEL");
  return text != nullptr ? std::atoi(text) : 0;
}

int count_usable_cores() {
  const double quota = quota_cores("/sys/fs/cgroup", group_of_this_process());
  const int cores = cores_of_affinity();
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
}

}  // namespace

double quota_cores(const std::filesystem::path& root, const std::string& group) {
  return least_limit(root, group, quota_here);
}

std::int64_t memory_limit(const std::filesystem::path& root, const std::string& group) {
  return static_cast<std::int64_t>(least_limit(root, group, memory_limit_here));
}

std::int64_t usable_memory() {
  const std::int64_t machine = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE)) *
                               static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)),
                     limit = memory_limit("/sys/fs/cgroup", group_of_this_process());
  return limit > 0 ? std::min(machine, limit) : machine;
}

int usable_cores() {
  static const int cores = count_usable_cores();
  return cores;
}

int cpu_level() {
  int level = 0;
#if defined(__x86_64__)
  level = 1;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    level = 3;
  if (level == 3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512vl"))
    level = 4;
#endif
  const int most = level_limit();
  if (most < 1 || level <= most) return level;
  return most < 3 ? 1 : most;
}

bool is_cpu_level_limited() { return level_limit() > 0; }

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "";
}

}  // namespace trainyard::base
