// SPDX-License-Identifier: GPL-3.0-or-later
// Sets read from files: which of a file's samples are trained on, and the samples, in memory.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/data/dataset.h"

namespace trainyard::data {

// The file's samples in an order shuffled by the seed; the first train, the last are held out.
class FileSplit {
 public:
  // `file` is named when it has too few samples for the spec.
  static base::Result<FileSplit> make(const DataSpec& spec, std::int64_t samples,
                                      const std::filesystem::path& file);

  // By index.
  std::span<const std::int64_t> rows(Split split) const {
    return split == Split::train ? std::span(order_).first(train_)
                                 : std::span(order_).last(held_out_);
  }

 private:
  std::vector<std::int64_t> order_;
  std::size_t train_ = 0, held_out_ = 0;
};

// {to train on, held out} of a file of `samples`.
base::Result<std::pair<std::int64_t, std::int64_t>> split_sizes(const DataSpec& spec,
                                                                std::int64_t samples,
                                                                const std::filesystem::path& file);

// Of the file's labels, those of the samples to train on.
TrainingLabels training_labels(const FileSplit& split, std::span<const std::int32_t> labels);

class StoredSet : public Dataset {
 public:
  // labels[row] and the features that `copy_row` writes are those of the file's sample `row`.
  StoredSet(DataSummary summary, FileSplit split, std::vector<std::int32_t> labels);

  const DataSummary& summary() const override { return summary_; }
  TrainingLabels training_labels() const { return data::training_labels(split_, labels_); }
  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override;

 protected:
  // use(row of the file, where the sample's features begin)
  template <class Use>
  void for_each(Split split, std::span<const std::int64_t> indices, std::span<std::int32_t> labels,
                const Use& use) const {
    const auto rows = split_.rows(split);
    const auto width = static_cast<std::size_t>(summary_.features());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(indices[i])]);
      labels[i] = labels_[row];
      use(row, i * width);
    }
  }

 private:
  virtual void copy_row(std::size_t row, std::span<float> features) const = 0;

  DataSummary summary_;
  FileSplit split_;
  std::vector<std::int32_t> labels_;
};

// Text from a file, fit to be shown: short, quoted, with what does not print as \xNN.
std::string shown(std::string_view text);

}  // namespace trainyard::data
