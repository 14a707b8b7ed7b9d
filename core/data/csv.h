// SPDX-License-Identifier: GPL-3.0-or-later
// CSV (RFC 4180): a header line that names the columns, one sample a line, commas between fields,
// fields in double quotes where they hold commas, quotes (doubled) or line breaks. One column is
// the class; the others are finite numbers. Blanks around a field are dropped. The file may be
// packed with gzip.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/stored.h"

namespace trainyard::data {

// Classes are numbered in the order of their labels: by value when all are whole numbers, else by
// text. Each feature is shifted and scaled to zero mean and unit variance over the samples that
// train.
base::Result<std::shared_ptr<const StoredSet>> open_csv(const DataSpec& spec,
                                                        const std::filesystem::path& directory);

}  // namespace trainyard::data
