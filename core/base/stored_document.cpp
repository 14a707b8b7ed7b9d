// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/stored_document.h"

#include <fmt/core.h>

#include <utility>

namespace trainyard::base::detail {

void report_missing(Problems& problems, const std::string& path, std::string accepted) {
  problems.push_back({"missing_field", ProblemCode::bad_input, path, "the value is missing",
                      std::move(accepted),
                      "The file is damaged, or another program wrote it: use a complete copy."});
}

std::size_t count_entries(const Json& value) {
  if (!value.is_array()) return 0;
  std::size_t entries = value.size();
  for (const Json& entry : value) entries += count_entries(entry);
  return entries;
}

void report_entries(Problems& problems, const std::string& path, std::size_t entries) {
  report(problems, "wrong_length", path, fmt::format("has {} entries", entries),
         fmt::format("at most {} entries", kMaxStoredEntries));
}

}  // namespace trainyard::base::detail
