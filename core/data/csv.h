// SPDX-License-Identifier: GPL-3.0-or-later
// CSV (RFC 4180): a header line with column names, one sample per line, commas between fields.
// Fields that contain commas, quotes (doubled) or line breaks are in double quotes. One column is
// the class; the others are finite numbers. Blanks around a field are removed. The file may be
// compressed with gzip.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/stored_set.h"

namespace trainyard::data {

// Classes are numbered in the order of their labels: by value if all are integers, else by text.
// Each feature is standardized to zero mean and unit variance over the training samples.
base::Result<std::shared_ptr<const StoredSet>> open_csv(const DataSpec& spec,
                                                        const std::filesystem::path& directory);

}  // namespace trainyard::data
