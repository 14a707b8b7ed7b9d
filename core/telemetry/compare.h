// SPDX-License-Identifier: GPL-3.0-or-later
// What differs between experiments: for runs that are overlaid, the table that says why their
// curves are not the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace trainyard::telemetry {

// A place whose value is not the same in all documents.
struct Difference {
  std::string path;  // "topology.hosts[0].name", as base::value_at takes it
  std::vector<std::optional<base::Json>>
      values;  // one a document; nothing where the document has no such place
};

// Only leaves are listed: numbers, texts, truths, nulls and empty lists or objects. In the order of
// the first document; places that it lacks follow, in the order of theirs. Lists are compared by
// position.
std::vector<Difference> differences(std::span<const base::Json> documents);

}  // namespace trainyard::telemetry
