// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/json.h"

namespace trainyard::telemetry {
namespace {

// Values of all compared documents by path, in order of first appearance. Contains only leaves of
// the JSON.
class Table {
 public:
  explicit Table(std::size_t documents) : documents_(documents) {}

  void add(std::size_t document, const base::Json& value, const std::string& path) {
    if (value.is_structured() && !value.empty()) return add_children(document, value, path);
    const auto [at, added] = row_of_.try_emplace(path, rows_.size());
    if (added) rows_.push_back({path, std::vector<std::optional<base::Json>>(documents_)});
    rows_[at->second].values[document] = value;
  }

  std::vector<Difference> different_rows() && {
    std::erase_if(rows_, [](const Difference& row) {
      return std::all_of(row.values.begin(), row.values.end(),
                         [&](const auto& value) { return value == row.values.front(); });
    });
    return std::move(rows_);
  }

 private:
  void add_children(std::size_t document, const base::Json& value, const std::string& path) {
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        add(document, value[i], fmt::format("{}[{}]", path, i));
    } else {
      for (const auto& [key, child] : value.items())
        add(document, child, path.empty() ? key : fmt::format("{}.{}", path, key));
    }
  }

  std::size_t documents_;
  std::vector<Difference> rows_;
  std::unordered_map<std::string, std::size_t> row_of_;
};

}  // namespace

std::vector<Difference> differences(std::span<const base::Json> documents) {
  Table table(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) table.add(i, documents[i], "");
  return std::move(table).different_rows();
}

}  // namespace trainyard::telemetry
