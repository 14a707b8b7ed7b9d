// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/rank_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace trainyard::session {
namespace {

// Sources: oneDNN, "CPU Dispatcher Control"; OpenBLAS, "Runtime variables" and driver/others.
constexpr const char* kKernelVariables[] = {
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",     "OPENBLAS_BLOCK_FACTOR", "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",  "ONEDNN_CPU_ISA_HINTS", "DNNL_CPU_ISA_HINTS"};

}  // namespace

std::vector<std::string> thread_settings(std::int64_t cores) {
  std::vector<std::string> settings{fmt::format("OPENBLAS_NUM_THREADS={}", cores)};
  if (cores > 1) settings.emplace_back("OMP_WAIT_POLICY=passive");
  return settings;
}

std::vector<std::string> kernel_settings() {
  std::vector<std::string> settings;
  for (const char* name : kKernelVariables)
    if (const char* value = std::getenv(name))
      settings.push_back(fmt::format("{}={}", name, value));
  return settings;
}

void apply_kernel_settings(const std::vector<std::string>& settings) {
  for (const char* name : kKernelVariables) {
    const std::string prefix = fmt::format("{}=", name);
    const auto given = std::ranges::find_if(
        settings, [&](const std::string& one) { return one.starts_with(prefix); });
    const std::string value = given == settings.end() ? "" : given->substr(prefix.size());
    const bool is_plain = std::ranges::all_of(value, [](unsigned char character) {
      return std::isalnum(character) != 0 || character == '_';
    });
    if (value.empty() || !is_plain) ::unsetenv(name);
    else ::setenv(name, value.c_str(), 1);
  }
}

RankPlace place_of(int rank, const std::vector<int>& hosts) {
  const auto at = hosts.begin() + rank;
  return {rank, static_cast<std::int32_t>(std::count(hosts.begin(), at, *at)),
          static_cast<std::int32_t>(hosts.size())};
}

std::vector<std::string> place_variables(const RankPlace& place) {
  return {fmt::format("RANK={}", place.rank), fmt::format("LOCAL_RANK={}", place.local_rank),
          fmt::format("WORLD_SIZE={}", place.world)};
}

std::vector<std::string> cpu_level_settings(int level) {
  if (level < 1) return {};
  return {fmt::format("TRAINYARD_CPU_LEVEL={}", level),
          fmt::format("ONEDNN_MAX_CPU_ISA={}", level >= 4   ? "AVX512_CORE"
                                               : level >= 3 ? "AVX2"
                                                            : "SSE41"),
          fmt::format("OPENBLAS_CORETYPE={}", level >= 4   ? "SkylakeX"
                                              : level >= 3 ? "Haswell"
                                                           : "Nehalem")};
}

}  // namespace trainyard::session
