// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/base/units.h"
#include "core/data/byte_source.h"
#include "core/data/csv_records.h"
#include "core/data/idx.h"
#include "core/data/stored_set.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::size_t kMaxTableBytes = std::size_t{1} << 31;
constexpr double kLargest = std::numeric_limits<float>::max();

struct Table {
  std::size_t columns = 0, label_column = 0;
  std::vector<float> features;  // [samples, columns - 1], row-major
  // Class of each sample, as an index into `names`. `names` lists the labels in order of first
  // appearance.
  std::vector<std::int32_t> labels;
  std::vector<std::string> names;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view text) : path_(path), records_(text) {}

  Result<Table> read(const std::string& label_column) {
    if (auto header = read_header(label_column); !header) return fail(header.error());
    while (true) {
      const auto outcome = records_.next();
      if (outcome == CsvRecords::Outcome::end) break;
      if (auto sample = outcome == CsvRecords::Outcome::record
                            ? read_sample()
                            : Result<void>(fail(broken(outcome)));
          !sample)
        return fail(sample.error());
    }
    if (table_.labels.empty())
      return fail(problem("the file has a header line but no samples", "one sample per line"));
    if (table_.names.size() < 2)
      return fail(problem(fmt::format("every sample has the label {}", shown(table_.names[0])),
                          "two classes or more"));
    return std::move(table_);
  }

 private:
  Problem problem(std::string what, std::string accepted, std::string advice = "") const {
    return {"bad_data_file", ProblemCode::bad_input, path_.string(),
            std::move(what), std::move(accepted),    std::move(advice)};
  }
  Problem problem_here(std::string what, std::string accepted = "", std::string advice = "") const {
    return {"bad_data_file",
            ProblemCode::bad_input,
            fmt::format("{}, line {}", path_.string(), records_.line()),
            std::move(what),
            std::move(accepted),
            std::move(advice)};
  }
  Problem broken(CsvRecords::Outcome outcome) const {
    if (outcome == CsvRecords::Outcome::unclosed_quote)
      return problem_here("a quoted field does not end", "a closing \"");
    if (outcome == CsvRecords::Outcome::too_many_fields)
      return problem_here(
          fmt::format("the line has more than {} fields", format_count(CsvRecords::kMaxFields)),
          "fewer columns");
    return problem_here("text follows the closing quote of a field",
                        "a comma or the end of the line",
                        "Write a quote within a quoted field twice.");
  }

  Result<void> read_header(const std::string& label_column) {
    const auto outcome = records_.next();
    if (outcome == CsvRecords::Outcome::end)
      return fail(problem("the file is empty", "a header line and one sample per line"));
    if (outcome != CsvRecords::Outcome::record) return fail(broken(outcome));
    for (const auto& field : records_.fields()) header_.emplace_back(trimmed(field));
    table_.columns = header_.size();
    if (table_.columns < 2)
      return fail(problem_here("the header names only one column",
                               "the label and at least one feature, separated by commas"));
    return find_label(label_column);
  }

  Result<void> find_label(const std::string& name) {
    table_.label_column = table_.columns - 1;
    if (name.empty()) return {};
    const auto at = std::find(header_.begin(), header_.end(), name);
    if (at == header_.end())
      return fail(problem_here(fmt::format("no column is named {}", shown(name)), columns()));
    if (std::find(at + 1, header_.end(), name) != header_.end())
      return fail(
          problem_here(fmt::format("two columns are named {}", shown(name)), "one label column"));
    table_.label_column = static_cast<std::size_t>(at - header_.begin());
    return {};
  }

  std::string columns() const {
    constexpr std::size_t kShown = 12;
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, header_.size()); ++i)
      list += (i == 0 ? "" : ", ") + shown(header_[i]);
    return header_.size() > kShown ? list + ", ..." : list;
  }

  Result<void> read_sample() {
    const auto& fields = records_.fields();
    if (fields.size() != table_.columns)
      return fail(
          problem_here(fmt::format("the line has {}", base::counted(std::ssize(fields), "field")),
                       fmt::format("{}, as in the header", format_count(std::ssize(header_)))));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i == table_.label_column) continue;
      const auto value = parse<double>(trimmed(fields[i]));
      if (!value || !(std::abs(*value) <= kLargest))
        return fail(
            problem_here(fmt::format("column {} contains {}", shown(header_[i]), shown(fields[i])),
                         "a finite number"));
      table_.features.push_back(static_cast<float>(*value));
    }
    return read_label(std::string(trimmed(fields[table_.label_column])));
  }

  Result<void> read_label(const std::string& label) {
    if (label.empty()) return fail(problem_here("the label is empty"));
    const auto [at, fresh] =
        index_of_.try_emplace(label, static_cast<std::int32_t>(table_.names.size()));
    if (fresh) table_.names.push_back(label);
    if (std::ssize(table_.names) > kMaxClasses)
      return fail(problem_here(fmt::format("column {} has more than {} distinct labels",
                                           shown(header_[table_.label_column]), kMaxClasses),
                               fmt::format("at most {}", kMaxClasses),
                               "Check that data.label_column names the column with the class."));
    table_.labels.push_back(at->second);
    return {};
  }

  const std::filesystem::path& path_;
  CsvRecords records_;
  std::vector<std::string> header_;
  std::unordered_map<std::string, std::int32_t> index_of_;
  Table table_;
};

// Renumbers the labels from order of appearance to sorted order.
void sort_classes(Table& table) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const auto& name : table.names) numbers.push_back(parse<std::int64_t>(name));
  const bool whole = std::all_of(numbers.begin(), numbers.end(),
                                 [](const auto& number) { return number.has_value(); });
  std::vector<std::size_t> order(table.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (whole && numbers[a] != numbers[b]) return *numbers[a] < *numbers[b];
    return table.names[a] < table.names[b];
  });
  std::vector<std::int32_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::int32_t>(i);
  for (auto& label : table.labels) label = rank[static_cast<std::size_t>(label)];
}

// Standardizes the features; a constant feature becomes 0.
void standardize(std::vector<float>& features, std::size_t width,
                 std::span<const std::int64_t> train) {
  const auto row_of = [&](std::int64_t row) {
    return std::span(features).subspan(static_cast<std::size_t>(row) * width, width);
  };
  const double count = static_cast<double>(train.size());
  std::vector<double> mean(width), square(width), scale(width);
  for (const std::int64_t row : train)
    for (std::size_t i = 0; i < width; ++i) mean[i] += row_of(row)[i] / count;
  for (const std::int64_t row : train)
    for (std::size_t i = 0; i < width; ++i)
      square[i] += (row_of(row)[i] - mean[i]) * (row_of(row)[i] - mean[i]) / count;
  for (std::size_t i = 0; i < width; ++i)
    scale[i] = std::sqrt(square[i]) > 1e-7 * std::abs(mean[i]) ? 1.0 / std::sqrt(square[i]) : 0.0;
  for (std::size_t at = 0; at < features.size(); ++at)
    features[at] = static_cast<float>((features[at] - mean[at % width]) * scale[at % width]);
}

class CsvSet : public StoredSet {
 public:
  CsvSet(DataSummary summary, FileSplit split, Table table)
      : StoredSet(std::move(summary), std::move(split), std::move(table.labels)),
        width_(table.columns - 1),
        features_(std::move(table.features)) {}

 private:
  void copy_row(std::size_t row, std::span<float> features) const override {
    std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(row * width_), width_,
                features.begin());
  }

  std::size_t width_;
  std::vector<float> features_;
};

Result<Table> read_table(const DataSpec& spec, const std::filesystem::path& path) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  return source->read_all(kMaxTableBytes).and_then([&](const std::string& text) {
    return Reader(path, text).read(spec.label_column);
  });
}

Problem suggest_other_points(Problem problem) {
  if (problem.code == ProblemCode::unavailable && problem.advice.empty())
    problem.advice =
        "Copy the file there, set data.file to another file, or set data.kind to blobs or spirals, "
        "which need no file";
  return problem;
}

}  // namespace

Result<std::shared_ptr<const StoredSet>> open_csv(const DataSpec& spec,
                                                  const std::filesystem::path& directory) {
  if (spec.file.empty())
    return fail({"file_not_set", ProblemCode::bad_input, "data.file", "no file is given",
                 "the path of a CSV file", ""});
  const auto path = (directory / spec.file).lexically_normal();
  auto table = read_table(spec, path).map_error(suggest_other_points);
  if (!table) return fail(table.error());
  const std::int64_t samples = std::ssize(table->labels);
  auto split = FileSplit::make(spec, samples, path);
  if (!split) return fail(split.error());
  const auto train = split->rows(Split::train);
  sort_classes(*table);
  standardize(table->features, table->columns - 1, train);
  DataSummary summary{{static_cast<std::int64_t>(table->columns - 1)},
                      std::ssize(table->names),
                      std::ssize(train),
                      std::ssize(split->rows(Split::held_out))};
  return std::make_shared<CsvSet>(std::move(summary), std::move(*split), std::move(*table));
}

}  // namespace trainyard::data
