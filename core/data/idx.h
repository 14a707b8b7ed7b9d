// SPDX-License-Identifier: GPL-3.0-or-later
// IDX, the format of MNIST (LeCun, Cortes and Burges, "The MNIST database of handwritten digits",
// file formats): two zero bytes, the element type, the rank, each extent as a big-endian 32-bit
// number, then the elements. Only unsigned bytes (type 8) are supported: images of rank 2 to 4,
// samples first, and labels of rank 1. Files may be compressed with gzip.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/dataset.h"

namespace trainyard::data {

// Maximum number of classes in a file; more indicate a wrong file or column.
constexpr std::int64_t kMaxClasses = 100;

// Pixels are scaled to 0 .. 1, then standardized to zero mean and unit variance over the pixels of
// training samples.
base::Result<std::shared_ptr<const Dataset>> open_idx(const DataSpec& spec,
                                                      const std::filesystem::path& directory);

// Reads the header of the image file, and the label file completely, because it is small.
base::Result<DataSummary> inspect_idx(const DataSpec& spec, const std::filesystem::path& directory);
base::Result<Survey> survey_idx(const DataSpec& spec, const std::filesystem::path& directory);

}  // namespace trainyard::data
