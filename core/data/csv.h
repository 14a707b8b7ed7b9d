// SPDX-License-Identifier: GPL-3.0-or-later
// CSV (RFC 4180): one sample per line. Fields that contain the delimiter, quotes (doubled) or line
// breaks are in double quotes. One column is the class; the others are numbers, or texts that are
// categories. Blanks around a field are removed, also outside its quotes. Lines of blanks and
// delimiters are skipped. The file may be compressed with gzip. Dialect and columns: csv_spec.h.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/stored_set.h"

namespace trainyard::data {

// Classes are numbered in the order of their labels: by value if all are integers, else by text.
// Each numeric feature is standardized to zero mean and unit variance over the training samples. A
// category becomes one feature (0 or 1) for each of its texts.
base::Result<std::shared_ptr<const StoredSet>> open_csv(const DataSpec& spec,
                                                        const std::filesystem::path& directory);

}  // namespace trainyard::data
