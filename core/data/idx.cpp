// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/idx.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/units.h"
#include "core/data/byte_source.h"
#include "core/data/stored_set.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::uint8_t kUnsignedByte = 8;
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 33;
constexpr std::uint64_t kMaxFeatures = std::uint64_t{1} << 24;

const char* const kMnistAdvice =
    "Get train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz (60,000 samples) or "
    "t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz (10,000) of "
    "MNIST, "
    "for example from https://ossci-datasets.s3.amazonaws.com/mnist/, and put them, packed or not, "
    "into ";

// An open IDX file with a plausible header. The read position is at the first element.
struct IdxFile {
  ByteSource source;
  std::vector<std::int64_t> extents;

  std::uint64_t elements() const {
    std::uint64_t product = 1;
    for (const std::int64_t extent : extents) product *= static_cast<std::uint64_t>(extent);
    return product;
  }
};

Result<void> read_exactly(ByteSource& source, std::span<std::uint8_t> bytes, const char* what) {
  return source.read(bytes).and_then([&](std::size_t got) -> Result<void> {
    if (got == bytes.size()) return {};
    return fail(source.problem(fmt::format("the file is truncated: it ends within its {}", what),
                               "", "Download or copy it again."));
  });
}

// Checks the extents in the header one by one, so that no product of extents can overflow.
Result<void> check_extents(const IdxFile& file) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : file.extents) {
    if (extent == 0) return fail(file.source.problem("the header states an extent of 0"));
    if (static_cast<std::uint64_t>(extent) > kMaxElements / elements)
      return fail(file.source.problem(
          fmt::format("the header states more than {} elements", format_count(kMaxElements))));
    elements *= static_cast<std::uint64_t>(extent);
  }
  if (elements / static_cast<std::uint64_t>(file.extents[0]) > kMaxFeatures)
    return fail(file.source.problem(fmt::format(
        "the header states more than {} features per sample", format_count(kMaxFeatures))));
  if (elements > file.source.max_bytes())
    return fail(file.source.problem(
        fmt::format("the header states {} elements, but the file is too small for them",
                    format_count(static_cast<std::int64_t>(elements)))));
  return {};
}

std::string in_hex(std::array<std::uint8_t, 4> word) {
  char text[12];
  std::snprintf(text, sizeof text, "%02x %02x %02x %02x", word[0], word[1], word[2], word[3]);
  return text;
}

std::string accepted_magic(int min_rank, int max_rank) {
  const std::string rank = std::to_string(min_rank);
  return "00 00 08 0" + rank +
         (max_rank > min_rank ? ", where the last byte is the number of dimensions, " + rank +
                                    " to " + std::to_string(max_rank)
                              : "");
}

Result<IdxFile> open_file(const std::filesystem::path& path, int min_rank, int max_rank) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  IdxFile file{std::move(*source), {}};
  std::array<std::uint8_t, 4> word{};
  if (auto read = read_exactly(file.source, word, "header"); !read) return fail(read.error());
  if (word[0] != 0 || word[1] != 0 || word[2] != kUnsignedByte || word[3] < min_rank ||
      word[3] > max_rank)
    return fail(file.source.problem(
        fmt::format("the file begins with {}, so it is not the IDX file that is needed here",
                    in_hex(word)),
        accepted_magic(min_rank, max_rank), "Are the files of images and labels swapped?"));
  for (int dimension = word[3]; dimension > 0; --dimension) {
    if (auto read = read_exactly(file.source, word, "header"); !read) return fail(read.error());
    file.extents.push_back(std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 |
                           std::int64_t{word[2]} << 8 | std::int64_t{word[3]});
  }
  return check_extents(file).map([&] { return std::move(file); });
}

// Allocates memory as data is read, so that a wrong header in a compressed file does not cause a
// large allocation.
Result<std::vector<std::uint8_t>> read_elements(IdxFile& file) {
  constexpr std::size_t kStep = std::size_t{1} << 24;
  const std::size_t wanted = file.elements();
  std::vector<std::uint8_t> elements;
  while (elements.size() < wanted) {
    const std::size_t start = elements.size();
    elements.resize(std::min(wanted, start + kStep));
    if (auto read = read_exactly(file.source, std::span(elements).subspan(start), "elements");
        !read)
      return fail(read.error());
  }
  std::uint8_t extra = 0;
  return file.source.read({&extra, 1})
      .and_then([&](std::size_t got) -> Result<std::vector<std::uint8_t>> {
        if (got == 0) return std::move(elements);
        return fail(
            file.source.problem(fmt::format("bytes follow the {} elements that the header states",
                                            format_count(static_cast<std::int64_t>(wanted)))));
      });
}

struct Labels {
  std::vector<std::int32_t> values;
  std::int64_t classes = 0;
};

// Compares the number of labels with the number of images before reading the labels.
Result<Labels> read_labels(const std::filesystem::path& path, std::int64_t samples,
                           const std::filesystem::path& images) {
  auto file = open_file(path, 1, 1);
  if (!file) return fail(file.error());
  if (const std::int64_t labels = file->extents[0]; labels != samples)
    return fail({"labels_differ", ProblemCode::bad_input, path.string(),
                 fmt::format("the file has {} labels, but {} has {} images", format_count(labels),
                             images.filename().string(), format_count(samples)),
                 "as many labels as images", "Use two files of the same data set."});
  auto bytes = read_elements(*file);
  if (!bytes) return fail(bytes.error());
  const auto largest = std::max_element(bytes->begin(), bytes->end());
  if (*largest >= kMaxClasses)
    return fail(file->source.problem(fmt::format("label {} of sample {} is out of range", *largest,
                                                 format_count(largest - bytes->begin())),
                                     fmt::format("0 to {}", kMaxClasses - 1)));
  if (*largest == 0) return fail(file->source.problem("all labels are 0", "two classes or more"));
  return Labels{{bytes->begin(), bytes->end()}, std::int64_t{*largest} + 1};
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

// The two files of a data set: images and labels. Only the parts that `inspect` needs are read.
struct Pair {
  IdxFile images;
  Labels labels;
  DataSummary summary;
};

Result<Pair> open_pair(const DataSpec& spec, const std::filesystem::path& directory) {
  for (const auto& [name, field] :
       {std::pair{&spec.images, "data.images"}, std::pair{&spec.labels, "data.labels"}})
    if (name->empty())
      return fail({"file_not_set", ProblemCode::bad_input, field, "no file is given",
                   "the path of an IDX file", "Or set data.kind to digits, which needs no file."});
  const auto images_path = place(directory, spec.images),
             labels_path = place(directory, spec.labels);
  auto images = open_file(images_path, 2, 4).map_error(add_mnist_advice);
  if (!images) return fail(images.error());
  const std::int64_t samples = images->extents[0];
  auto labels = read_labels(labels_path, samples, images_path).map_error(add_mnist_advice);
  if (!labels) return fail(labels.error());
  return split_sizes(spec, samples, images_path).map([&](const auto& sizes) {
    DataSummary summary{{images->extents.begin() + 1, images->extents.end()},
                        labels->classes,
                        sizes.first,
                        sizes.second};
    return Pair{std::move(*images), std::move(*labels), std::move(summary)};
  });
}

class IdxSet : public StoredSet {
 public:
  IdxSet(DataSummary summary, const FileSplit& split, std::vector<std::int32_t> labels,
         std::vector<std::uint8_t> pixels)
      : StoredSet(std::move(summary), split, std::move(labels)), pixels_(std::move(pixels)) {
    standardize(split.rows(Split::train));
  }

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
    return std::span(pixels_).subspan(row * width, width);
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
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double scale = variance > 1e-9 ? 1.0 / std::sqrt(variance) : 1.0;
    for (std::size_t pixel = 0; pixel < value_of_.size(); ++pixel)
      value_of_[pixel] = static_cast<float>((static_cast<double>(pixel) / 255.0 - mean) * scale);
  }

  std::vector<std::uint8_t> pixels_;  // samples x features, as in the file.
  ByteValues value_of_{};
};

}  // namespace

Result<DataSummary> inspect_idx(const DataSpec& spec, const std::filesystem::path& directory) {
  return open_pair(spec, directory).map([](const Pair& pair) { return pair.summary; });
}

Result<Survey> survey_idx(const DataSpec& spec, const std::filesystem::path& directory) {
  return open_pair(spec, directory).and_then([&](const Pair& pair) {
    return FileSplit::make(spec, pair.images.extents[0], spec.images)
        .map([&](const FileSplit& split) {
          return Survey{pair.summary, training_labels(split, pair.labels.values)};
        });
  });
}

Result<std::shared_ptr<const Dataset>> open_idx(const DataSpec& spec,
                                                const std::filesystem::path& directory) {
  auto pair = open_pair(spec, directory);
  if (!pair) return fail(pair.error());
  auto pixels = read_elements(pair->images);
  if (!pixels) return fail(pixels.error());
  auto split = FileSplit::make(spec, pair->images.extents[0], spec.images);
  if (!split) return fail(split.error());
  return std::make_shared<IdxSet>(std::move(pair->summary), *split, std::move(pair->labels.values),
                                  std::move(*pixels));
}

}  // namespace trainyard::data
