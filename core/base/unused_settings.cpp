// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/unused_settings.h"

#include <fmt/core.h>

namespace trainyard::base {

std::string to_string(const UnusedSetting& unused) {
  std::string text = unused.path + " is set, but has no effect";
  if (unused.condition.empty()) return text + " with the other settings";
  return text + fmt::format(": {} is {} (needed: {})", unused.condition, unused.found,
                            joined_names(unused.needed));
}

}  // namespace trainyard::base
