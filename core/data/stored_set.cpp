// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/stored_set.h"

#include <fmt/core.h>

#include "core/base/units.h"
#include "core/data/permutation.h"

namespace trainyard::data {

using base::fail;
using base::format_count;
using base::ProblemCode;
using base::Result;

Result<std::pair<std::int64_t, std::int64_t>> split_sizes(const DataSpec& spec,
                                                          std::int64_t samples,
                                                          const std::filesystem::path& file) {
  if (spec.train_samples < 0 || spec.held_out_samples < 0)
    return fail({"out_of_range", ProblemCode::bad_input, "data", "a number of samples is negative",
                 "0 or more",
                 "Choose 0 or more for data.train_samples and data.held_out_samples."});
  const bool rest = spec.train_samples == 0;
  const std::string holds =
      fmt::format("{} has {}", file.filename().string(), base::counted(samples, "sample"));
  if (spec.held_out_samples > samples ||
      (!rest && spec.train_samples > samples - spec.held_out_samples)) {
    const std::string asked =
        rest ? "" : fmt::format("{} training and ", format_count(spec.train_samples));
    return fail({"too_few_samples", ProblemCode::bad_input,
                 rest ? "data.held_out_samples" : "data.train_samples",
                 fmt::format("{}{} held-out samples are requested; {}", asked,
                             format_count(spec.held_out_samples), holds),
                 fmt::format("at most {} together", format_count(samples)),
                 "Set data.train_samples to 0 to train on all samples that are not held out."});
  }
  const std::int64_t train = rest ? samples - spec.held_out_samples : spec.train_samples;
  if (train == 0)
    return fail({"too_few_samples", ProblemCode::bad_input, "data.held_out_samples",
                 fmt::format("no training samples are left; {}", holds),
                 fmt::format("less than {}", format_count(samples)),
                 "Lower data.held_out_samples."});
  return std::pair{train, spec.held_out_samples};
}

Result<FileSplit> FileSplit::make(const DataSpec& spec, std::int64_t samples,
                                  const std::filesystem::path& file) {
  return split_sizes(spec, samples, file).map([&](const auto& sizes) {
    FileSplit split;
    split.order_.resize(static_cast<std::size_t>(samples));
    permute(split.order_,
            base::Random(static_cast<std::uint64_t>(spec.seed), base::Purpose::split, 0));
    split.train_ = static_cast<std::size_t>(sizes.first);
    split.held_out_ = static_cast<std::size_t>(sizes.second);
    return split;
  });
}

TrainingLabels training_labels(const FileSplit& split, std::span<const std::int32_t> labels) {
  const auto rows = split.rows(Split::train);
  TrainingLabels training{{}, {rows.begin(), rows.end()}};
  for (const std::int64_t row : rows)
    training.classes.push_back(labels[static_cast<std::size_t>(row)]);
  return training;
}

StoredSet::StoredSet(DataSummary summary, FileSplit split, std::vector<std::int32_t> labels)
    : summary_(std::move(summary)), split_(std::move(split)), labels_(std::move(labels)) {}

void StoredSet::fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
                     std::span<std::int32_t> labels) const {
  const auto width = static_cast<std::size_t>(summary_.features());
  for_each(split, indices, labels, [&](std::size_t row, std::size_t first) {
    copy_row(row, features.subspan(first, width));
  });
}

}  // namespace trainyard::data
