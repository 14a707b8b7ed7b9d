// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/columns.h"

#include <algorithm>

#include "core/data/shares.h"

namespace trainyard::data {
namespace {

DataSummary narrowed(DataSummary summary, std::int64_t columns) {
  summary.sample_shape = {columns};
  return summary;
}

class Columns final : public Dataset {
 public:
  Columns(std::shared_ptr<const Dataset> all, std::int64_t first, std::int64_t count)
      : all_(std::move(all)), summary_(narrowed(all_->summary(), count)), first_(first) {}

  const DataSummary& summary() const override { return summary_; }

  // Reads the full samples one at a time, so that only one of them is in memory.
  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    thread_local std::vector<float> sample;
    sample.resize(static_cast<std::size_t>(all_->summary().features()));
    const auto columns = static_cast<std::size_t>(summary_.features());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      all_->fill(split, indices.subspan(i, 1), sample, labels.subspan(i, 1));
      std::copy_n(sample.begin() + first_, columns,
                  features.begin() + static_cast<std::ptrdiff_t>(i * columns));
    }
  }

 private:
  std::shared_ptr<const Dataset> all_;
  DataSummary summary_;
  std::int64_t first_;
};

}  // namespace

std::pair<std::int64_t, std::int64_t> columns_of(std::int64_t features, std::int64_t ranks,
                                                 std::int64_t rank) {
  return slice(features, ranks, rank);
}

std::shared_ptr<const Dataset> only_columns(std::shared_ptr<const Dataset> all, std::int64_t first,
                                            std::int64_t count) {
  return std::make_shared<const Columns>(std::move(all), first, count);
}

}  // namespace trainyard::data
