// SPDX-License-Identifier: GPL-3.0-or-later
// Data sets read from files: the train / held-out split, and the samples in memory.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/data/dataset.h"

namespace trainyard::data {

// The train / held-out split of a file. The seed shuffles the samples; the first are for training,
// the last are held out.
class FileSplit {
 public:
  // Returns a Problem that names `file` if it has too few samples for the spec.
  static base::Result<FileSplit> make(const DataSpec& spec, std::int64_t samples,
                                      const std::filesystem::path& file);

  // Row numbers in the file of all samples of a split, by sample index.
  std::span<const std::int64_t> rows(Split split) const {
    return split == Split::train ? std::span(order_).first(train_)
                                 : std::span(order_).last(held_out_);
  }

 private:
  std::vector<std::int64_t> order_;
  std::size_t train_ = 0, held_out_ = 0;
};

// Returns the sample counts {training, held-out} for a file with `samples` samples.
base::Result<std::pair<std::int64_t, std::int64_t>> split_sizes(const DataSpec& spec,
                                                                std::int64_t samples,
                                                                const std::filesystem::path& file);

// Returns the labels of the training samples of a split. `labels`: label of each row of the file.
TrainingLabels training_labels(const FileSplit& split, std::span<const std::int32_t> labels);

class StoredSet : public Dataset {
 public:
  // labels[row] is the label of the file's sample `row`, whose features `copy_row` writes.
  StoredSet(DataSummary summary, FileSplit split, std::vector<std::int32_t> labels);

  const DataSummary& summary() const override { return summary_; }
  TrainingLabels training_labels() const { return data::training_labels(split_, labels_); }
  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override;

 protected:
  // Calls use(row in the file, offset of the sample's features in the output) for each of the
  // requested samples.
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

}  // namespace trainyard::data
