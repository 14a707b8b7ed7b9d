// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/rank_environment.h"

#include <fmt/core.h>

namespace trainyard::session {

std::vector<std::string> thread_settings(std::int64_t cores) {
  std::vector<std::string> settings{fmt::format("OPENBLAS_NUM_THREADS={}", cores)};
  if (cores > 1) settings.emplace_back("OMP_WAIT_POLICY=passive");
  return settings;
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
