// SPDX-License-Identifier: GPL-3.0-or-later
// Versions of experiment documents. Each file is read with the keys and defaults of its version, so
// its meaning never changes.
//
//   1   every key of every kind is written; keys of other kinds are ignored
//   2   only values that differ from their defaults are written; keys of other kinds are refused;
//       a device entry may have a count; `synchronised` of a batch_norm layer is `synchronized`
//
// To change a default, add a version, and a step in `upgrade` that writes the old default into
// older documents that lack the key. Golden files in tests/golden/experiment_defaults guard
// the defaults.
#pragma once

#include <string>

#include "core/base/json_fwd.h"

namespace trainyard::experiment {

// Renames old keys to their current names, for example synchronised to synchronized. If an object
// has both the old and the new name of a key, the old name remains and is refused as unknown.
void rename_old_keys(base::Json& document);

bool has_version(const base::Json& document, int version);

// True if the document has no version, or a number above kVersion.
bool lacks_version(const base::Json& document);
bool is_newer(const base::Json& document);

// Returns the path with every old name replaced by its current one.
std::string present_path(std::string path);

}  // namespace trainyard::experiment
