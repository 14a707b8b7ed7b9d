// SPDX-License-Identifier: GPL-3.0-or-later
// IDX, the format of MNIST (LeCun, Cortes and Burges, "The MNIST database of handwritten digits",
// file formats): two zero bytes, the element type, the rank, each extent as a big-endian 32-bit
// number, then the elements, big-endian. Element types: uint8, int8, int16, int32, float, double.
// Images have rank 2 to 4, samples first. Labels have rank 1, or rank 2 as in QMNIST, where the
// first column is the class. Files may be compressed with gzip.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/data/dataset.h"

namespace trainyard::data {

// Pixels are standardized to zero mean and unit variance over the pixels of training samples; bytes
// are scaled to 0 .. 1 first. Stores only the samples that the experiment uses.
base::Result<std::shared_ptr<const Dataset>> open_idx(const DataSpec& spec,
                                                      const std::filesystem::path& directory);

// Read both files, and check that they are complete, but store only the labels. Images that did not
// change since the last check are not read again.
base::Result<DataSummary> inspect_idx(const DataSpec& spec, const std::filesystem::path& directory);
base::Result<Survey> survey_idx(const DataSpec& spec, const std::filesystem::path& directory);

}  // namespace trainyard::data
