// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/rank_environment.h"

#include <fmt/core.h>

#include <algorithm>

namespace trainyard::session {

std::vector<std::string> thread_settings(std::int64_t cores) {
  std::vector<std::string> settings{fmt::format("OPENBLAS_NUM_THREADS={}", cores)};
  if (cores > 1) settings.emplace_back("OMP_WAIT_POLICY=passive");
  return settings;
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
