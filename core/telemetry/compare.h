// SPDX-License-Identifier: GPL-3.0-or-later
// Differences between experiments. A table of them explains why the curves of overlaid runs differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace trainyard::telemetry {

// Path whose value is not the same in all documents.
struct Difference {
  std::string path;  // "topology.hosts[0].name", as for `base::value_at`.
  std::vector<std::optional<base::Json>>
      values;  // By document; unset if the document has no such path.
};

// Compares leaves only: numbers, strings, booleans, nulls, and empty lists or objects. The result
// follows the order of the first document; paths that it lacks come after, in the order of the
// other documents. List elements are compared by index.
std::vector<Difference> differences(std::span<const base::Json> documents);

}  // namespace trainyard::telemetry
