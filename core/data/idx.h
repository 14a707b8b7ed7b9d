// SPDX-License-Identifier: GPL-3.0-or-later
// IDX, the format of MNIST (LeCun, Cortes and Burges, "The MNIST database of handwritten digits",
// file formats): two zero bytes, the element type, the rank, each extent as a big-endian 32-bit
// number, then the elements. Here of unsigned bytes (type 8): images of rank 2 to 4, samples first,
// and labels of rank 1. Files may be packed with gzip.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/dataset.h"

namespace trainyard::data {

constexpr std::int64_t kMostClasses = 100;  // of a file; more is a sign of the wrong file or column

// Pixels are scaled to 0 .. 1, then shifted and scaled to zero mean and unit variance over the
// pixels that train.
base::Result<std::shared_ptr<const Dataset>> open_idx(const DataSpec& spec,
                                                      const std::filesystem::path& directory);

// Reads the header of the images and the whole, small file of labels.
base::Result<DataSummary> inspect_idx(const DataSpec& spec, const std::filesystem::path& directory);
base::Result<Survey> survey_idx(const DataSpec& spec, const std::filesystem::path& directory);

}  // namespace trainyard::data
