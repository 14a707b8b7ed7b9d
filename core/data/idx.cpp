// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/idx.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/base/units.h"
#include "core/data/classes.h"
#include "core/data/idx_file.h"
#include "core/data/stored_set.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;

const char* const kMnistAdvice =
    "Get train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz (60,000 samples) or "
    "t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz (10,000) of "
    "MNIST, "
    "for example from https://ossci-datasets.s3.amazonaws.com/mnist/, and put them, packed or not, "
    "into ";

struct Labels {
  std::vector<std::int32_t> values;
  std::int64_t classes = 0;
  std::vector<std::string> notes;
};

// Reads the label files of MNIST (one dimension) and of QMNIST (two dimensions: the first column is
// the class; Yadav and Bottou 2019, "Cold Case: The Lost MNIST Digits"). Compares the number of
// labels with the number of images before reading the labels.
Result<Labels> read_labels(const std::filesystem::path& path, std::int64_t samples,
                           const std::filesystem::path& images) {
  auto file = open_idx_file(path, 1, 2);
  if (!file) return fail(file.error());
  if (const std::int64_t labels = file->extents[0]; labels != samples)
    return fail({"labels_differ", ProblemCode::bad_input, path.string(),
                 fmt::format("the file has {} labels, but {} has {} images", format_count(labels),
                             images.filename().string(), format_count(samples)),
                 "as many labels as images", "Use two files of the same data set."});
  Labels labels;
  std::optional<Problem> wrong;
  auto read = read_rows(*file, [&](std::int64_t sample, std::span<const std::uint8_t> row) {
    const double value = element_value(file->type, row.data());
    const bool is_class = value >= 0 && value < kMaxClasses && value == std::floor(value);
    if (!is_class && !wrong)
      wrong = file->source.problem(
          fmt::format("label {:.9g} of sample {} is not a class", value, format_count(sample)),
          fmt::format("a whole number from 0 to {}", kMaxClasses - 1),
          "Number the classes from 0, and correct the label.");
    labels.values.push_back(is_class ? static_cast<std::int32_t>(value) : 0);
  });
  if (!read) return fail(read.error());
  if (wrong) return fail(*wrong);
  labels.classes = *std::ranges::max_element(labels.values) + 1;
  if (labels.classes == 1)
    return fail(file->source.problem("all labels are 0", "two classes or more",
                                     "Name a file with labels of several classes."));
  if (file->row() > 1)
    labels.notes.push_back(fmt::format("{}: each label has {} columns; the first is the class",
                                       path.filename().string(), file->row()));
  return labels;
}

std::filesystem::path place(const std::filesystem::path& directory, const std::string& name) {
  return (directory / name).lexically_normal();
}

Problem add_mnist_advice(Problem problem) {
  if (problem.code != ProblemCode::unavailable || !problem.advice.empty()) return problem;
  const auto folder = std::filesystem::path(problem.where).parent_path();
  problem.advice = kMnistAdvice + (folder.empty() ? "this folder" : folder.string()) +
                   "; or set data.kind to digits, which needs no file";
  return problem;
}

enum class Completeness { checked, not_checked };

// The two files of a data set: the open file of images, and the labels.
struct Pair {
  IdxFile images;
  Labels labels;
  DataSummary summary;
};

// `check`: reads the images as well, to check that the file is complete.
Result<Pair> open_pair(const DataSpec& spec, const std::filesystem::path& directory,
                       Completeness check = Completeness::checked) {
  for (const auto& [name, field] :
       {std::pair{&spec.images, "data.images"}, std::pair{&spec.labels, "data.labels"}})
    if (name->empty())
      return fail({"file_not_set", ProblemCode::bad_input, field, "no file is given",
                   "the path of an IDX file", "Or set data.kind to digits, which needs no file."});
  const auto images_path = place(directory, spec.images),
             labels_path = place(directory, spec.labels);
  if (images_path == labels_path)
    return fail({"bad_data_file", ProblemCode::bad_input, "data.labels",
                 "the file is also that of the images", "the file of the labels",
                 "Name the file of the labels, such as train-labels-idx1-ubyte."});
  auto images = open_idx_file(images_path, 2, 4).map_error(add_mnist_advice);
  if (!images) return fail(images.error());
  const std::int64_t samples = images->extents[0];
  auto labels = read_labels(labels_path, samples, images_path).map_error(add_mnist_advice);
  if (!labels) return fail(labels.error());
  if (check == Completeness::checked)
    if (auto complete = check_complete(*images, images_path); !complete)
      return fail(complete.error());
  return split_sizes(spec, samples, images_path).map([&](const auto& sizes) {
    DataSummary summary{{images->extents.begin() + 1, images->extents.end()},
                        labels->classes,
                        sizes.first,
                        sizes.second};
    return Pair{std::move(*images), std::move(*labels), std::move(summary)};
  });
}

// Elements of the samples that the experiment uses. Other samples of the file are not stored.
struct UsedRows {
  std::vector<std::int64_t> position;  // by sample of the file; -1: not used
  std::int64_t count = 0;
};

UsedRows used_rows(const FileSplit& split, std::int64_t samples) {
  UsedRows used{std::vector<std::int64_t>(static_cast<std::size_t>(samples), -1), 0};
  for (const Split part : {Split::train, Split::held_out})
    for (const std::int64_t row : split.rows(part))
      used.position[static_cast<std::size_t>(row)] = 0;
  for (std::int64_t& position : used.position)
    if (position == 0) position = used.count++;
  return used;
}

// Mean and scale to unit variance of `count` values, given their sum and sum of squares.
struct Scaling {
  double mean = 0, scale = 1;
};
Scaling scaling_of(double count, double sum, double squares) {
  const double mean = sum / count, variance = squares / count - mean * mean;
  return {mean, variance > 1e-9 ? 1.0 / std::sqrt(variance) : 1.0};
}

// Images of bytes, which are stored as bytes.
class ByteImages : public StoredSet {
 public:
  ByteImages(DataSummary summary, const FileSplit& split, std::vector<std::int32_t> labels,
             UsedRows used, std::vector<std::uint8_t> pixels, std::vector<std::string> notes)
      : StoredSet(std::move(summary), split, std::move(labels)),
        used_(std::move(used)),
        pixels_(std::move(pixels)),
        notes_(std::move(notes)) {
    standardize(split.rows(Split::train));
  }

  std::vector<std::string> notes() const override { return notes_; }
  const ByteValues* byte_values() const override { return &value_of_; }
  void fill_bytes(Split split, std::span<const std::int64_t> indices,
                  std::span<std::uint8_t> features, std::span<std::int32_t> labels) const override {
    for_each(split, indices, labels, [&](std::size_t row, std::size_t first) {
      const auto pixels = pixels_of(row);
      std::copy_n(pixels.data(), pixels.size(), features.data() + first);
    });
  }

 private:
  std::span<const std::uint8_t> pixels_of(std::size_t row) const {
    const auto width = static_cast<std::size_t>(summary().features());
    return std::span(pixels_).subspan(static_cast<std::size_t>(used_.position[row]) * width, width);
  }
  void copy_row(std::size_t row, std::span<float> features) const override {
    std::ranges::transform(pixels_of(row), features.begin(),
                           [this](std::uint8_t pixel) { return value_of_[pixel]; });
  }

  // Computes the feature value of each pixel value (0 to 255). Mean and variance are exact, because
  // the sums are of integers. If all pixels are equal, every feature value is 0.
  void standardize(std::span<const std::int64_t> rows) {
    std::array<std::int64_t, 256> times{};
    for (const std::int64_t row : rows)
      for (const std::uint8_t pixel : pixels_of(static_cast<std::size_t>(row))) ++times[pixel];
    double count = 0, sum = 0, squares = 0;
    for (std::size_t pixel = 0; pixel < times.size(); ++pixel) {
      const double share = static_cast<double>(times[pixel]),
                   value = static_cast<double>(pixel) / 255.0;
      count += share, sum += share * value, squares += share * value * value;
    }
    const auto [mean, scale] = scaling_of(count, sum, squares);
    for (std::size_t pixel = 0; pixel < value_of_.size(); ++pixel)
      value_of_[pixel] = static_cast<float>((static_cast<double>(pixel) / 255.0 - mean) * scale);
  }

  UsedRows used_;
  std::vector<std::uint8_t> pixels_;  // used samples x features, as in the file
  std::vector<std::string> notes_;
  ByteValues value_of_{};
};

// Images of numbers other than bytes, which are stored as standardized fp32 numbers.
class NumberImages : public StoredSet {
 public:
  NumberImages(DataSummary summary, FileSplit split, std::vector<std::int32_t> labels,
               UsedRows used, std::vector<float> features, std::vector<std::string> notes)
      : StoredSet(std::move(summary), std::move(split), std::move(labels)),
        used_(std::move(used)),
        features_(std::move(features)),
        notes_(std::move(notes)) {}

  std::vector<std::string> notes() const override { return notes_; }

 private:
  void copy_row(std::size_t row, std::span<float> features) const override {
    const auto width = static_cast<std::size_t>(summary().features());
    std::copy_n(features_.begin() + used_.position[row] * static_cast<std::ptrdiff_t>(width), width,
                features.begin());
  }

  UsedRows used_;
  std::vector<float> features_;
  std::vector<std::string> notes_;
};

// Standardizes the numbers over those of the training samples, in double precision.
std::vector<float> standardized(const std::vector<double>& numbers, const FileSplit& split,
                                const UsedRows& used, std::size_t width) {
  double count = 0, sum = 0, squares = 0, mean = 0;
  const auto for_each_number = [&](const auto& visit) {
    for (const std::int64_t row : split.rows(Split::train))
      for (std::size_t i = 0; i < width; ++i)
        visit(
            numbers[static_cast<std::size_t>(used.position[static_cast<std::size_t>(row)]) * width +
                    i]);
  };
  for_each_number([&](double number) { ++count, sum += number; });
  mean = sum / count;
  for_each_number([&](double number) { squares += (number - mean) * (number - mean); });
  const double deviation = std::sqrt(squares / count);
  const double scale = deviation > 1e-13 * std::abs(mean) ? 1.0 / deviation : 0.0;
  std::vector<float> features(numbers.size());
  std::ranges::transform(numbers, features.begin(), [&](double number) {
    return static_cast<float>((number - mean) * scale);
  });
  return features;
}

Result<std::shared_ptr<const Dataset>> read_byte_images(Pair pair, const FileSplit& split,
                                                        UsedRows used) {
  std::vector<std::uint8_t> pixels;
  auto read = read_rows(pair.images, [&](std::int64_t sample, std::span<const std::uint8_t> row) {
    if (used.position[static_cast<std::size_t>(sample)] >= 0)
      pixels.insert(pixels.end(), row.begin(), row.end());
  });
  if (!read) return fail(read.error());
  return std::make_shared<ByteImages>(std::move(pair.summary), split, std::move(pair.labels.values),
                                      std::move(used), std::move(pixels),
                                      std::move(pair.labels.notes));
}

Result<std::shared_ptr<const Dataset>> read_number_images(Pair pair, const FileSplit& split,
                                                          UsedRows used) {
  const IdxFile& images = pair.images;
  std::vector<double> numbers;
  std::optional<Problem> wrong;
  auto read = read_rows(pair.images, [&](std::int64_t sample, std::span<const std::uint8_t> row) {
    if (used.position[static_cast<std::size_t>(sample)] < 0) return;
    if (!wrong) wrong = wrong_number(images, sample, row);
    for (std::size_t at = 0; at < row.size(); at += images.width())
      numbers.push_back(element_value(images.type, row.data() + at));
  });
  if (!read) return fail(read.error());
  if (wrong) return fail(*wrong);
  const auto width = images.row();
  auto features = standardized(numbers, split, used, width);
  return std::make_shared<NumberImages>(std::move(pair.summary), split,
                                        std::move(pair.labels.values), std::move(used),
                                        std::move(features), std::move(pair.labels.notes));
}

}  // namespace

Result<DataSummary> inspect_idx(const DataSpec& spec, const std::filesystem::path& directory) {
  return open_pair(spec, directory).map([](const Pair& pair) { return pair.summary; });
}

Result<Survey> survey_idx(const DataSpec& spec, const std::filesystem::path& directory) {
  return open_pair(spec, directory).and_then([&](const Pair& pair) {
    return FileSplit::make(spec, pair.images.extents[0], spec.images)
        .map([&](const FileSplit& split) {
          return Survey{pair.summary, training_labels(split, pair.labels.values),
                        pair.labels.notes};
        });
  });
}

Result<std::shared_ptr<const Dataset>> open_idx(const DataSpec& spec,
                                                const std::filesystem::path& directory) {
  auto pair = open_pair(spec, directory, Completeness::not_checked);
  if (!pair) return fail(pair.error());
  const std::int64_t samples = pair->images.extents[0];
  auto split = FileSplit::make(spec, samples, spec.images);
  if (!split) return fail(split.error());
  UsedRows used = used_rows(*split, samples);
  return pair->images.type == ElementType::uint8
             ? read_byte_images(std::move(*pair), *split, std::move(used))
             : read_number_images(std::move(*pair), *split, std::move(used));
}

}  // namespace trainyard::data
