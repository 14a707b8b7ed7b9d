// SPDX-License-Identifier: GPL-3.0-or-later
// Data sets: labeled samples by index, for classification. Generated sets need no file; file sets
// are read once into memory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/data/csv_spec.h"
#include "core/data/sharding.h"

namespace trainyard::data {

enum class DataKind {
  digits,   // Drawn strokes, 28 x 28, 10 classes.
  spirals,  // Interleaved spirals in the plane.
  blobs,    // Gaussian clouds.
  clicks,   // Click log: columns of indices, then of numbers; see clicks.h.
  grammar,  // Sentences of a small grammar, by character; see text.h.
  idx,      // IDX files (LeCun's MNIST format), plain or .gz.
  csv,      // One sample per line, one column is the label.
  text,     // Text file, by character; see text.h.
};

// The `data` part of an experiment. Fields that the kind does not use are kept and ignored.
struct DataSpec {
  DataKind kind = DataKind::digits;
  std::int64_t train_samples = 8000;  // For files, 0 means all samples that are not held out.
  // Number of held-out samples. In a file, they are the last samples after shuffling.
  std::int64_t held_out_samples = 2000;
  std::int64_t seed = 1;             // Seed of the generator and of the train / held-out split.
  double noise = 1.0;                // From 0 (clean) to 1 (default difficulty).
  std::int64_t classes = 3;          // Only for spirals and blobs.
  std::int64_t features = 2;         // Only for blobs.
  std::int64_t slot_count = 8;       // clicks: columns that are indices (`slots` is a macro of Qt).
  std::int64_t vocabulary = 20'000;  // clicks: number of indices of all slots together.
  double zipf_exponent = 1.05;       // clicks: how strongly frequencies of indices differ.
  std::int64_t dense = 8;            // clicks: number of columns with numbers.
  std::string images;                // idx: path of the images, relative to the experiment file.
  std::string labels;                // idx: path of the labels.
  std::int64_t context = 64;         // grammar, text: number of characters of a sample.
  std::string file;                  // csv, text: path of the file.
  std::string label_column;          // csv: name, or position from 1; empty: the last column.
  CsvSpec csv;
  ShardingSpec sharding;

  bool operator==(const DataSpec&) const = default;
};

// Height, width and channels of images, which are stored row-major, with channels last.
struct ImageShape {
  std::int64_t channels = 0, height = 0, width = 0;

  bool operator==(const ImageShape&) const = default;
};

// Properties of a set that are known without loading its samples. For IDX files they come from
// headers and labels; a CSV file is scanned.
struct DataSummary {
  std::vector<std::int64_t> sample_shape;  // Extents of a sample, such as {28, 28} or {2}.
  std::int64_t classes = 0;
  std::int64_t train_samples = 0;
  std::int64_t held_out_samples = 0;
  // Number of labels. A sequence has one per element; its elements are indices below `classes`.
  std::int64_t labels_of_sample = 1;

  bool sequences() const { return labels_of_sample > 1; }
  std::int64_t features() const;  // Product of sample_shape.
  // Returns height and width for samples of two extents, and channels as well for three; nothing
  // for samples of other shapes.
  std::optional<ImageShape> image() const;
};

// Labels of the training samples, by index; empty for sequences, which have no single class.
struct TrainingLabels {
  std::vector<std::int32_t> classes;
  std::vector<std::int64_t> rows;  // Row of each sample in the file; if empty, sample i is row i.
};

struct Survey {
  DataSummary summary;
  TrainingLabels labels;
  std::vector<std::string> notes = {};  // as `Dataset::notes`
};

// The first `slot_count` columns of a sample are indices below `vocabulary`. `slot_count` is 0 if a
// set has no indices.
struct Indices {
  std::int64_t slot_count = 0, vocabulary = 0;
};
Indices indices_of(const DataSpec& spec);

enum class Split { train, held_out };

// Feature value by byte, for sets whose features are stored as bytes.
using ByteValues = std::array<float, 256>;

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DataSummary& summary() const = 0;

  // Returns the text of each class, by class number, for text sets; else empty.
  virtual std::vector<std::string> vocabulary() const { return {}; }

  // Returns notes for the user on how a file was read, such as its detected dialect.
  virtual std::vector<std::string> notes() const { return {}; }

  // Writes sample indices[i] of the split into row i of `features` (row-major), and its labels into
  // row i of `labels`. Features have about zero mean and unit scale, except index columns, which
  // are not scaled. Thread-safe. Indices must be in range.
  virtual void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
                    std::span<std::int32_t> labels) const = 0;

  // For a set whose features are stored as bytes: `byte_values` returns the value of each byte, and
  // `fill_bytes` writes the features as bytes, in a quarter of the memory. For other sets
  // `byte_values` returns null and `fill_bytes` does nothing.
  virtual const ByteValues* byte_values() const { return nullptr; }
  virtual void fill_bytes(Split, std::span<const std::int64_t> /*indices*/,
                          std::span<std::uint8_t> /*features*/,
                          std::span<std::int32_t> /*labels*/) const {}
};

// Reads the summary of a data set (sizes, shapes, classes) without loading samples. Relative paths
// start at `directory`. A missing, truncated or inconsistent file is a Problem that names the file,
// what was found, and where to get the data.
base::Result<DataSummary> inspect(const DataSpec& spec, const std::filesystem::path& directory);
// Returns the summary, as `inspect` does, and also the training labels. Reads no more of the file
// than `inspect`.
base::Result<Survey> survey(const DataSpec& spec, const std::filesystem::path& directory);
base::Result<std::shared_ptr<const Dataset>> open(const DataSpec& spec,
                                                  const std::filesystem::path& directory);

// Replaces the location of a problem with a data file: the path becomes the field that names the
// file, such as data.file.
base::Problem at_field(base::Problem problem, const DataSpec& spec,
                       const std::filesystem::path& directory);

}  // namespace trainyard::data

template <>
struct trainyard::base::Names<trainyard::data::DataKind> {
  using Kind = trainyard::data::DataKind;
  static constexpr std::pair<Kind, std::string_view> table[] = {
      {Kind::digits, "digits"}, {Kind::spirals, "spirals"}, {Kind::blobs, "blobs"},
      {Kind::clicks, "clicks"}, {Kind::grammar, "grammar"}, {Kind::idx, "idx"},
      {Kind::csv, "csv"},       {Kind::text, "text"}};
};

template <>
struct trainyard::base::Fields<trainyard::data::DataSpec> {
  using Spec = trainyard::data::DataSpec;
  using Kind = trainyard::data::DataKind;
  static constexpr std::string_view title = "Data";
  static constexpr bool clicks(const Spec& s) { return s.kind == Kind::clicks; }
  static constexpr bool generated(const Spec& s) {
    return s.kind == Kind::digits || s.kind == Kind::spirals || s.kind == Kind::blobs || clicks(s);
  }
  static auto table() {
    return std::tuple{
        field("kind", &Spec::kind, "", {},
              "Data set; digits: generated images of digits; spirals, blobs: generated points; "
              "clicks: generated click log; grammar: generated text; idx: IDX files, as MNIST; "
              "csv: CSV file; text: text file"),
        field("train_samples", &Spec::train_samples, "samples", {0, 1e8},
              "Number of training samples. For data from files, 0 means all samples that are not "
              "held out"),
        field("held_out_samples", &Spec::held_out_samples, "samples", {0, 1e8},
              "Number of held-out samples, used for evaluation"),
        field("seed", &Spec::seed, "", {0, 9e15},
              "Random seed of the generator and of the split into training and held-out samples"),
        field("noise", &Spec::noise, "", {0, 10},
              "Difficulty of a generated data set. 0 is clean, 1 is the default", generated),
        field("classes", &Spec::classes, "classes", {2, 100}, "Number of classes",
              [](const Spec& s) { return s.kind == Kind::spirals || s.kind == Kind::blobs; }),
        field("features", &Spec::features, "features", {1, 4096}, "Number of input features",
              [](const Spec& s) { return s.kind == Kind::blobs; }),
        field("slots", &Spec::slot_count, "columns", {1, 1024},
              "Number of categorical features: columns that are indices", clicks),
        field("vocabulary", &Spec::vocabulary, "indices", {1, 1 << 24},
              "Total number of indices, divided evenly among the slots", clicks),
        field("zipf_exponent", &Spec::zipf_exponent, "", {0, 10},
              "Zipf exponent s: within a slot, index k (from 1) has a frequency proportional to k "
              "to the power of -s; 0: uniform",
              clicks),
        field("dense", &Spec::dense, "columns", {0, 4096},
              "Number of dense features: numeric columns after the index columns", clicks),
        field("images", &Spec::images, "", {0, 4096},
              "IDX file of the images, plain or .gz. A relative path starts at the directory of "
              "the experiment",
              [](const Spec& s) { return s.kind == Kind::idx; }),
        field("labels", &Spec::labels, "", {0, 4096}, "IDX file of the labels, plain or .gz",
              [](const Spec& s) { return s.kind == Kind::idx; }),
        field("context", &Spec::context, "characters", {2, 65'536},
              "Context length: characters per sample. The model predicts the next character after "
              "each",
              [](const Spec& s) { return s.kind == Kind::grammar || s.kind == Kind::text; }),
        field("file", &Spec::file, "", {0, 4096},
              "CSV file or UTF-8 text file, plain or .gz. A relative path starts at the directory "
              "of the experiment",
              [](const Spec& s) { return s.kind == Kind::csv || s.kind == Kind::text; }),
        field("label_column", &Spec::label_column, "", {0, 256},
              "Name of the column with the class label, or its position from 1; empty: the last "
              "column",
              [](const Spec& s) { return s.kind == Kind::csv; }),
        field("csv", &Spec::csv, "", {}, "Dialect and columns of the CSV file",
              [](const Spec& s) { return s.kind == Kind::csv; }),
        field("sharding", &Spec::sharding, "", {},
              "Assignment of training samples or features to ranks")};
  }
};
