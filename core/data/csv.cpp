// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/data/csv_table.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;
using base::shown;

using Rows = std::span<const std::int64_t>;

// Mean and standard deviation of a column over the training samples.
struct Moments {
  double mean = 0, deviation = 0;
};

// `value(row)` is the value of a sample.
template <class Value>
Moments moments_of(Rows train, const Value& value) {
  const double count = static_cast<double>(train.size());
  double mean = 0, square = 0;
  for (const std::int64_t row : train) mean += value(row) / count;
  for (const std::int64_t row : train) square += (value(row) - mean) * (value(row) - mean) / count;
  return {mean, std::sqrt(square)};
}

// Standardizes the column into `features`, whose elements are `stride` apart. A constant column
// becomes 0.
//
// The column is standardized in double precision. As in earlier versions, its values are first
// rounded to fp32 if this changes no standardized value by more than 2^-14, so that files give the
// same weights in all versions. fp32 has a relative rounding error of at most 2^-24.
void standardize(const std::vector<double>& values, Rows train, float* features,
                 std::size_t stride) {
  const auto exact = [&](std::int64_t row) { return values[static_cast<std::size_t>(row)]; };
  const auto rounded = [&](std::int64_t row) -> double { return static_cast<float>(exact(row)); };
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const auto is_spread = [](const Moments& moments, double least) {
    return moments.deviation > least * std::abs(moments.mean);
  };
  const auto write = [&](const Moments& moments, bool varies, const auto& value) {
    const double scale = varies ? 1.0 / moments.deviation : 0.0;
    for (std::int64_t row = 0; row < std::ssize(values); ++row)
      features[static_cast<std::size_t>(row) * stride] =
          static_cast<float>((value(row) - moments.mean) * scale);
  };
  const Moments of_rounded = moments_of(train, rounded);
  if (largest * 0x1p-24 <= of_rounded.deviation * 0x1p-14)
    return write(of_rounded, is_spread(of_rounded, 1e-7), rounded);
  const Moments of_exact = moments_of(train, exact);
  if (is_spread(of_exact, 1e-13)) return write(of_exact, true, exact);
  // A small spread around a large mean: differences from one of the values are exact.
  const double origin = exact(train.front());
  const auto relative = [&](std::int64_t row) { return exact(row) - origin; };
  const Moments of_relative = moments_of(train, relative);
  if (of_relative.deviation > 0) write(of_relative, true, relative);
  else write(of_exact, false, exact);
}

// True for an integer with separated groups of three digits, such as "1,234,567".
bool has_thousands_separators(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto digits = [](std::string_view group) {
    return !group.empty() && group.find_first_not_of("0123456789") == group.npos;
  };
  if (text.size() < 5) return false;
  for (; text.size() > 4; text.remove_suffix(4))
    if (!digits(text.substr(text.size() - 3)) ||
        std::string_view(",.' ").find(text[text.size() - 4]) == std::string_view::npos)
      return false;
  return text.size() < 4 && digits(text);
}

// Encodes a category as one feature for each text of the training samples, in sorted order: 1 for
// the sample's text, else 0. A text of held-out samples only ("other") and a missing text give only
// zeros. Returns the texts.
struct Categories {
  std::vector<std::int64_t> feature_of;  // by index of the text; -1: no training sample has it
  std::int64_t count = 0;
};

Categories categories_of(const CsvColumn& column, Rows train) {
  Categories categories{std::vector<std::int64_t>(column.words.size(), -1), 0};
  std::vector<bool> seen(column.words.size());
  for (const std::int64_t row : train)
    if (const double word = column.values[static_cast<std::size_t>(row)]; !std::isnan(word))
      seen[static_cast<std::size_t>(word)] = true;
  for (const std::size_t word : sorted_words(column.words))
    if (seen[word]) categories.feature_of[word] = categories.count++;
  return categories;
}

void encode(const CsvColumn& column, const Categories& categories, float* features,
            std::size_t stride) {
  for (std::size_t row = 0; row < column.values.size(); ++row) {
    std::fill_n(features + row * stride, categories.count, 0.0F);
    if (std::isnan(column.values[row])) continue;
    const std::int64_t feature =
        categories.feature_of[static_cast<std::size_t>(column.values[row])];
    if (feature >= 0) features[row * stride + static_cast<std::size_t>(feature)] = 1;
  }
}

std::string samples_text(std::int64_t count) { return base::counted(count, "sample"); }

// "3 classes: setosa (50), versicolor (50), ..."
std::string classes_text(const CsvTable& table) {
  constexpr std::size_t kShown = 10;
  std::vector<std::int64_t> counts(table.classes.size());
  for (const std::int32_t label : table.labels) ++counts[static_cast<std::size_t>(label)];
  std::string text = base::counted(std::ssize(table.classes), "class", "classes") + ": ";
  for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", table.classes[i], format_count(counts[i]));
  return counts.size() > kShown ? text + ", ..." : text;
}

// Notes on the samples, the dialect and the labels of the file.
std::vector<std::string> notes_of(const CsvTable& table, const std::string& file) {
  std::vector<std::string> notes{
      fmt::format("{}: {} read, {} dropped because of missing values; {} in column {}; {}", file,
                  samples_text(table.read), format_count(table.dropped), classes_text(table),
                  shown(table.label_name), table.dialect.text())};
  if (table.doubtful_header)
    notes.push_back(fmt::format(
        "{}: the first line is used as a header, although it contains a number; if it is a sample, "
        "set data.csv.header to absent",
        file));
  if (table.dropped_last_column)
    notes.push_back(fmt::format(
        "{}: lines end with a delimiter; the last column has no name and no values, and is ignored",
        file));
  if (2 * table.classes.size() > table.labels.size())
    notes.push_back(fmt::format(
        "{}: most classes have a single sample; column {} seems to hold numbers to predict "
        "(regression), or names, rather than classes",
        file, shown(table.label_name)));
  if (table.latin1)
    notes.push_back(
        fmt::format("{} is Latin-1 or Windows-1252, not UTF-8; its texts were converted", file));
  for (std::size_t i = 0; i < table.classes.size(); ++i)
    if (is_missing(table.classes[i]))
      notes.push_back(fmt::format(
          "{}: {} of {} have the label {}, which is used as a class; to leave them out, set "
          "data.csv.missing to drop",
          file, format_count(std::ranges::count(table.labels, static_cast<std::int32_t>(i))),
          samples_text(std::ssize(table.labels)), table.classes[i]));
  for (std::size_t i = 0; i < table.features.size(); ++i)
    if (table.features[i].name.empty())
      notes.push_back(fmt::format(
          "{}: a column without a name is used as a feature; if it holds row numbers, list it in "
          "data.csv.ignored (feature {} of {})",
          file, i + 1, table.features.size()));
  return notes;
}

// Features of all samples, [samples, width], row-major.
struct Features {
  std::size_t width = 0;
  std::vector<float> values;
};

// Writes the features column by column, and frees each column after it was written.
class Encoder {
 public:
  Encoder(CsvTable& table, const FileSplit& split, std::string file,
          std::vector<std::string>& notes)
      : table_(table), split_(split), file_(std::move(file)), notes_(notes) {}

  Result<Features> encode_all() {
    std::vector<Categories> categories;
    Features features;
    for (const CsvColumn& column : table_.features) {
      categories.push_back(column.category ? categories_of(column, train()) : Categories{});
      features.width += column.category ? static_cast<std::size_t>(categories.back().count) : 1;
    }
    features.values.resize(table_.labels.size() * features.width);
    float* first = features.values.data();
    for (std::size_t i = 0; i < table_.features.size(); ++i) {
      CsvColumn& column = table_.features[i];
      if (column.category) {
        note_category(column, categories[i]);
        encode(column, categories[i], first, features.width);
        first += categories[i].count;
      } else {
        if (auto filled = fill_missing(column); !filled) return fail(filled.error());
        note_constant(column);
        standardize(column.values, train(), first++, features.width);
      }
      std::vector<double>().swap(column.values);
    }
    return features;
  }

 private:
  Rows train() const { return split_.rows(Split::train); }

  void note_category(const CsvColumn& column, const Categories& categories) {
    std::int64_t other = 0, missing = 0;
    for (const double word : column.values) {
      if (std::isnan(word)) ++missing;
      else if (categories.feature_of[static_cast<std::size_t>(word)] < 0) ++other;
    }
    std::string note =
        fmt::format("{}: column {} has {}, each a feature of value 0 or 1", file_,
                    shown(column.name), base::counted(categories.count, "category", "categories"));
    if (std::ranges::all_of(column.words, has_thousands_separators))
      note += "; if these are numbers, remove their thousands separators";
    else if (2 * column.words.size() > column.values.size())
      note +=
          "; most texts occur only once, so list the column in data.csv.ignored if it holds "
          "names; if it holds numbers, set data.csv.decimal, and remove thousands separators";
    if (other > 0)
      note +=
          fmt::format("; {} outside the training samples have other categories (all features 0)",
                      samples_text(other));
    if (missing > 0)
      note += fmt::format("; {} have no value (all features 0)", samples_text(missing));
    notes_.push_back(std::move(note));
  }

  void note_constant(const CsvColumn& column) {
    if (std::ranges::all_of(column.values, [&](double v) { return v == column.values.front(); }))
      notes_.push_back(
          fmt::format("{}: column {} has the same value in every sample, so its feature is 0",
                      file_, shown(column.name)));
  }

  // Replaces missing numbers by the mean of the training samples that have a value.
  Result<void> fill_missing(CsvColumn& column) {
    const auto missing =
        std::ranges::count_if(column.values, [](double v) { return std::isnan(v); });
    if (missing == 0) return {};
    double sum = 0;
    std::int64_t count = 0;
    for (const std::int64_t row : train())
      if (const double value = column.values[static_cast<std::size_t>(row)]; !std::isnan(value))
        sum += value, ++count;
    if (count == 0)
      return fail({"bad_data_file", ProblemCode::bad_input, file_,
                   fmt::format("column {} has no value in any training sample", shown(column.name)),
                   "at least one value", "List the column in data.csv.ignored."});
    const double mean = sum / static_cast<double>(count);
    for (double& value : column.values)
      if (std::isnan(value)) value = mean;
    notes_.push_back(fmt::format("{}: column {}: {} replaced by the mean {:.6g}", file_,
                                 shown(column.name), base::counted(missing, "missing value"),
                                 mean));
    return {};
  }

  CsvTable& table_;
  const FileSplit& split_;
  std::string file_;
  std::vector<std::string>& notes_;
};

class CsvSet : public StoredSet {
 public:
  CsvSet(DataSummary summary, FileSplit split, std::vector<std::int32_t> labels, Features features,
         std::vector<std::string> notes)
      : StoredSet(std::move(summary), std::move(split), std::move(labels)),
        features_(std::move(features)),
        notes_(std::move(notes)) {}

  std::vector<std::string> notes() const override { return notes_; }

 private:
  void copy_row(std::size_t row, std::span<float> features) const override {
    std::copy_n(features_.values.begin() + static_cast<std::ptrdiff_t>(row * features_.width),
                features_.width, features.begin());
  }

  Features features_;
  std::vector<std::string> notes_;
};

Problem suggest_other_points(Problem problem) {
  if (problem.code == ProblemCode::unavailable && problem.advice.empty())
    problem.advice =
        "Copy the file there, set data.file to another file, or set data.kind to blobs or spirals, "
        "which need no file.";
  return problem;
}

}  // namespace

Result<std::shared_ptr<const StoredSet>> open_csv(const DataSpec& spec,
                                                  const std::filesystem::path& directory) {
  if (spec.file.empty())
    return fail({"file_not_set", ProblemCode::bad_input, "data.file", "no file is given",
                 "the path of a CSV file",
                 "Set data.file, or set data.kind to blobs or spirals, which need no file."});
  const auto path = (directory / spec.file).lexically_normal();
  auto table = read_csv(spec.csv, spec.label_column, path).map_error(suggest_other_points);
  if (!table) return fail(table.error());
  auto split = FileSplit::make(spec, std::ssize(table->labels), path);
  if (!split) return fail(split.error());
  std::vector<std::string> notes = notes_of(*table, path.filename().string());
  auto features = Encoder(*table, *split, path.filename().string(), notes).encode_all();
  if (!features) return fail(features.error());
  DataSummary summary{{static_cast<std::int64_t>(features->width)},
                      std::ssize(table->classes),
                      std::ssize(split->rows(Split::train)),
                      std::ssize(split->rows(Split::held_out))};
  return std::make_shared<CsvSet>(std::move(summary), std::move(*split), std::move(table->labels),
                                  std::move(*features), std::move(notes));
}

}  // namespace trainyard::data
