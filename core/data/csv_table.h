// SPDX-License-Identifier: GPL-3.0-or-later
// The samples of a CSV file by column, before the split into training and held-out samples.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/data/csv_dialect.h"

namespace trainyard::data {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct CsvColumn {
  std::string name;
  bool category = false;
  // One per sample: the number, or for a category the index of its text in `words`; kMissing if
  // missing.
  std::vector<double> values;
  std::vector<std::string> words;  // texts of a category, in order of first appearance
};

struct CsvTable {
  CsvDialect dialect;
  std::string label_name;
  std::vector<CsvColumn> features;
  // Class of each sample, as an index into `classes`, which are sorted: by value if all are
  // integers, else by text.
  std::vector<std::int32_t> labels;
  std::vector<std::string> classes;
  std::int64_t read = 0, dropped = 0;  // samples in the file, and of these dropped ones
  bool latin1 = false;                 // texts were converted from Latin-1
  bool doubtful_header = false;        // the detected header contains a number
  bool dropped_last_column = false;    // the last column had no name and no values
};

inline constexpr std::size_t kMaxTableBytes = std::size_t{1} << 31;

// Reads the file at `path` as the spec states; `label_column` as in DataSpec. Problems name the
// file and the line. A table that needs more than `max_bytes` is a Problem: a megabyte of gzip can
// hold a gigabyte of text.
base::Result<CsvTable> read_csv(const CsvSpec& spec, const std::string& label_column,
                                const std::filesystem::path& path,
                                std::size_t max_bytes = kMaxTableBytes);

// Returns the order of labels or categories: by value if all are integers, else by text.
std::vector<std::size_t> sorted_words(const std::vector<std::string>& words);

}  // namespace trainyard::data
