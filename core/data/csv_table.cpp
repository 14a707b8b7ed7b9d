// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv_table.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "core/base/content.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/data/byte_source.h"
#include "core/data/classes.h"
#include "core/data/csv_records.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;
using base::shown;

constexpr std::size_t kDetectionBytes = std::size_t{1} << 20;
constexpr double kLargest = std::numeric_limits<float>::max();
constexpr std::size_t kMaxCategories = 1000;

// Texts by index, in order of first appearance.
class WordList {
 public:
  std::size_t index(const std::string& word) {
    return index_of_.try_emplace(word, index_of_.size()).first->second;
  }
  std::size_t size() const { return index_of_.size(); }
  std::vector<std::string> words() const {
    std::vector<std::string> words(index_of_.size());
    for (const auto& [word, index] : index_of_) words[index] = word;
    return words;
  }

 private:
  std::unordered_map<std::string, std::size_t> index_of_;
};

// A feature column while the file is read.
struct ColumnState {
  std::size_t field = 0;        // index in a record
  bool forced = false;          // listed in data.csv.categories
  bool trailing = false;        // last column, without a name: every line may end with a delimiter
  std::int64_t empty_line = 0;  // first line without a value; 0: none yet
  std::int64_t number_line = 0, text_line = 0;  // first lines with a number, a text; 0: none yet
  std::string first_text;
  WordList words;
};

// Advice for a first line that has only one column.
std::string advice_for_one_column(const std::string& line) {
  if (line.starts_with('#')) return "Remove comment lines: a CSV file has none.";
  return "If columns are separated by another character, convert the file.";
}

class Reader {
 public:
  Reader(const CsvSpec& spec, const std::string& label_column, const std::filesystem::path& path,
         std::string start, ByteSource* source, std::size_t max_bytes)
      : spec_(spec),
        label_column_(label_column),
        path_(path),
        max_bytes_(max_bytes),
        complete_(start.size() < kDetectionBytes) {
    table_.dialect = detect_dialect(start, complete_, spec, label_column);
    // leaves the line break, so that lines keep their numbers
    if (stated_delimiter(start)) start.erase(0, start.find_first_of("\r\n"));
    ends_with_delimiter_ = ends_with_delimiter(start);
    records_.emplace(std::move(start), complete_ ? nullptr : source, table_.dialect.delimiter);
  }

  Result<CsvTable> read() {
    if (auto columns = read_first_record(); !columns) return fail(columns.error());
    while (true) {
      const auto outcome = records_->next();
      if (outcome == CsvRecords::Outcome::end) break;
      if (auto sample = outcome == CsvRecords::Outcome::record
                            ? read_sample(records_->fields())
                            : Result<void>(fail(broken(outcome)));
          !sample)
        return fail(sample.error());
    }
    if (auto dropped = drop_trailing_column(); !dropped) return fail(dropped.error());
    if (table_.labels.empty())
      return fail(
          table_.read > 0
              ? problem("every sample has a missing value", "a sample without missing value",
                        "List columns that are often empty in data.csv.ignored.")
              : problem("the file has a header line but no samples", "one sample per line",
                        "Add samples, or set data.csv.header to absent if the line is a sample."));
    table_.classes = classes_.words();
    if (table_.classes.size() < 2)
      return fail(problem(fmt::format("every sample has the label {}", shown(table_.classes[0])),
                          "two classes or more",
                          "Set data.label_column to the column that contains the classes."));
    sort_classes();
    for (std::size_t i = 0; i < states_.size(); ++i)
      table_.features[i].words = states_[i].words.words();
    return std::move(table_);
  }

 private:
  Problem problem(std::string what, std::string accepted, std::string advice = "") const {
    return {"bad_data_file", ProblemCode::bad_input, path_.string(),
            std::move(what), std::move(accepted),    std::move(advice)};
  }
  Problem problem_here(std::string what, std::string accepted = "", std::string advice = "") const {
    Problem here = problem(std::move(what), std::move(accepted), std::move(advice));
    here.where = fmt::format("{}, line {}", here.where, records_->line());
    return here;
  }
  Problem broken(CsvRecords::Outcome outcome) const {
    switch (outcome) {
      case CsvRecords::Outcome::unreadable: return records_->source_problem();
      case CsvRecords::Outcome::unclosed_quote:
        return problem_here("a quoted field does not end", "a closing \"",
                            "Close the quote, or remove it.");
      case CsvRecords::Outcome::too_many_fields:
        return problem_here(
            fmt::format("the line has more than {} fields", format_count(CsvRecords::kMaxFields)),
            "fewer columns",
            "Remove columns, or set data.csv.delimiter if the file has another delimiter.");
      case CsvRecords::Outcome::too_long:
        return problem_here(
            fmt::format("the line has more than {}",
                        base::format_bytes(static_cast<double>(CsvRecords::kMaxBytes))),
            "shorter lines", "Close quotes that are open, or shorten the line.");
      default:
        return problem_here("text follows the closing quote of a field",
                            "a comma or the end of the line",
                            "Write a quote within a quoted field twice.");
    }
  }

  // True if each of the first lines, of which there are several, ends with an empty field.
  bool ends_with_delimiter(const std::string& start) const {
    CsvRecords records(start, nullptr, table_.dialect.delimiter, complete_);
    std::int64_t ended = 0, others = 0;
    bool last_is_other = false;
    while (records.next() == CsvRecords::Outcome::record) {
      last_is_other = !trimmed(records.fields().back()).empty();
      ++(last_is_other ? others : ended);
    }
    if (!complete_ && last_is_other) --others;  // the last line may be cut off
    return ended > 1 && others == 0;
  }

  // Text of the file as UTF-8.
  std::string text_of(std::string_view field) {
    if (utf8::is_valid(field.begin(), field.end())) return std::string(field);
    table_.latin1 = true;
    return base::utf8_of_windows1252(field);
  }

  Result<void> read_first_record() {
    const auto outcome = records_->next();
    if (outcome == CsvRecords::Outcome::end)
      return fail(problem("the file is empty", "a header line and one sample per line",
                          "Set data.file to a file with samples."));
    if (outcome != CsvRecords::Outcome::record) return fail(broken(outcome));
    const std::vector<std::string> fields = records_->fields();
    for (std::size_t i = 0; i < fields.size(); ++i)
      names_.push_back(table_.dialect.header ? text_of(trimmed(fields[i]))
                                             : fmt::format("column {}", i + 1));
    table_.doubtful_header = table_.dialect.header && spec_.header == CsvHeader::detect &&
                             !counts_columns(names_) &&
                             std::ranges::any_of(names_, [&](const std::string& name) {
                               return csv_number(name, table_.dialect.decimal_comma).has_value();
                             });
    if (names_.size() < 2)
      return fail(problem_here(fmt::format("the first line has one column when columns are {}",
                                           spec_.delimiter == CsvDelimiter::detect
                                               ? "separated by commas, semicolons or tabs"
                                               : "separated as data.csv.delimiter states"),
                               "the label and at least one feature",
                               advice_for_one_column(fields.front())));
    auto columns = choose_columns();
    if (columns && !table_.dialect.header) return read_sample(fields);
    return columns;
  }

  Result<void> choose_columns() {
    label_ = names_.size() - 1;
    const bool is_unnamed = !table_.dialect.header || names_.back().empty();
    if (ends_with_delimiter_ && is_unnamed && names_.size() > 2) --label_;
    if (!label_column_.empty()) {
      const auto found = column(label_column_);
      if (!found) return fail(found.error());
      label_ = *found;
    }
    table_.label_name = names_[label_];
    std::vector<bool> ignored(names_.size()), forced(names_.size());
    if (auto marked = mark(spec_.ignored, "data.csv.ignored", ignored); !marked) return marked;
    if (auto marked = mark(spec_.categories, "data.csv.categories", forced); !marked) return marked;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (i == label_ || ignored[i]) continue;
      ColumnState state;
      state.field = i;
      state.forced = forced[i];
      state.trailing = i + 1 == names_.size() &&
                       (table_.dialect.header ? names_[i].empty() : ends_with_delimiter_);
      states_.push_back(std::move(state));
      table_.features.push_back({names_[i], forced[i], {}, {}});
    }
    if (states_.empty())
      return fail(problem("every column except the label is ignored", "at least one feature",
                          "Remove columns from data.csv.ignored."));
    return {};
  }

  Result<std::size_t> column(const std::string& name) const {
    if (const auto found = find_column(names_, name)) return *found;
    if (std::ranges::count(names_, name) > 1)
      return fail(problem_here(fmt::format("two columns are named {}", shown(name)),
                               "distinct names", "Give the position of the column, from 1."));
    return fail(problem_here(fmt::format("no column is named {}", shown(name)), columns(),
                             "Give the name or the position of a column, from 1."));
  }

  Result<void> mark(const std::vector<std::string>& names, const char* field,
                    std::vector<bool>& marks) const {
    for (const std::string& name : names) {
      const auto found = column(name);
      if (!found) return fail(found.error());
      if (*found == label_)
        return fail({"label_is_no_feature", ProblemCode::bad_input, field,
                     fmt::format("the column {} contains the labels", shown(name)),
                     "columns other than data.label_column",
                     "Remove this column from the list, or change data.label_column."});
      marks[*found] = true;
    }
    return {};
  }

  std::string columns() const {
    constexpr std::size_t kShown = 12;
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, names_.size()); ++i)
      list += (i == 0 ? "" : ", ") + shown(names_[i]);
    return names_.size() > kShown ? list + ", ..." : list;
  }

  Result<void> read_sample(const std::vector<std::string>& fields) {
    if (fields.size() != names_.size())
      return fail(problem_here(
          fmt::format("the line has {}", base::counted(std::ssize(fields), "field")),
          fmt::format("{}, as in the first line", format_count(std::ssize(names_))),
          fields.size() < names_.size()
              ? "Correct the line: a field is missing, or its delimiter."
              : "Correct the line. A field that contains the delimiter needs quotes."));
    ++table_.read;
    if (spec_.missing == CsvMissing::drop && has_missing(fields)) {
      ++table_.dropped;
      return {};
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto value = value_of(trimmed(fields[states_[i].field]), states_[i]);
      if (!value) return fail(value.error());
      table_.features[i].values.push_back(*value);
    }
    if (table_.labels.size() * (states_.size() + 1) * sizeof(double) > max_bytes_)
      return fail(problem_here(fmt::format("the table needs more than {} of memory",
                                           base::format_bytes(static_cast<double>(max_bytes_))),
                               "fewer lines or columns",
                               "List columns that are not needed in data.csv.ignored."));
    return read_label(text_of(trimmed(fields[label_])));
  }

  bool has_missing(const std::vector<std::string>& fields) const {
    return is_missing(trimmed(fields[label_])) ||
           std::ranges::any_of(states_, [&](const ColumnState& state) {
             return !state.trailing && is_missing(trimmed(fields[state.field]));
           });
  }

  Result<double> value_of(std::string_view field, ColumnState& state) {
    if (is_missing(field)) {
      if (state.empty_line == 0) state.empty_line = records_->line();
      if (spec_.missing == CsvMissing::mean || state.trailing) return kMissing;
      return fail(missing_value(field, state));
    }
    const auto number =
        state.forced ? std::nullopt : csv_number(field, table_.dialect.decimal_comma);
    return number ? number_of(*number, field, state) : word_of(field, state);
  }

  // Earlier versions had no categories, so they refused this field as no number.
  Problem missing_value(std::string_view field, const ColumnState& state) const {
    Problem missing =
        problem(fmt::format("column {} contains {}", shown(names_[state.field]), shown(field)),
                "a value", "To accept missing values, set data.csv.missing to drop or mean.");
    missing.where = fmt::format("{}, line {}", path_.string(), state.empty_line);
    return missing;
  }

  // Removes a last column without name and values: every line ends with a delimiter.
  Result<void> drop_trailing_column() {
    if (states_.empty() || !states_.back().trailing || states_.back().empty_line == 0) return {};
    const ColumnState& last = states_.back();
    if (last.number_line == 0 && last.text_line == 0) {
      states_.pop_back();
      table_.features.pop_back();
      table_.dropped_last_column = true;
      if (states_.empty())
        return fail(problem("no column has features", "the label and at least one feature",
                            "Add a column with a feature."));
      return {};
    }
    if (spec_.missing == CsvMissing::mean) return {};
    return fail(missing_value("", last));
  }

  Result<double> number_of(double number, std::string_view field, ColumnState& state) {
    if (state.text_line > 0) {  // the text is probably wrong, not the number
      Problem mixed =
          problem(fmt::format("column {} contains {}, but numbers in other lines, such as line {}",
                              shown(names_[state.field]), shown(state.first_text),
                              format_count(records_->line())),
                  "only finite numbers, or only texts",
                  state.text_line == 1 && !table_.dialect.header ? kHeaderAdvice : kMixedAdvice);
      mixed.where = fmt::format("{}, line {}", path_.string(), state.text_line);
      return fail(std::move(mixed));
    }
    if (!(std::abs(number) <= kLargest))
      return fail(problem_here(
          fmt::format("column {} contains {}", shown(names_[state.field]), shown(field)),
          fmt::format("numbers up to {:.3g}, the largest fp32 number", kLargest),
          "Correct the value, or list the column in data.csv.ignored."));
    if (state.number_line == 0) state.number_line = records_->line();
    return number;
  }

  Result<double> word_of(std::string_view field, ColumnState& state) {
    if (state.number_line > 0)
      return fail(problem_here(
          fmt::format("column {} contains {}", shown(names_[state.field]), shown(field)),
          "a finite number",
          table_.dialect.decimal_comma || !csv_number(field, true) ? kMixedAdvice
                                                                   : kDecimalAdvice));
    if (state.text_line == 0) state.text_line = records_->line(), state.first_text = field;
    CsvColumn& column = table_.features[static_cast<std::size_t>(&state - states_.data())];
    column.category = true;
    const std::size_t index = state.words.index(text_of(field));
    if (state.words.size() > kMaxCategories)
      return fail(
          problem_here(fmt::format("column {} has more than {} distinct texts",
                                   shown(names_[state.field]), format_count(kMaxCategories)),
                       fmt::format("at most {} categories", format_count(kMaxCategories)),
                       "If the column is a name or a comment, list it in data.csv.ignored."));
    return static_cast<double>(index);
  }

  Result<void> read_label(const std::string& label) {
    if (label.empty() && names_.back().empty() && label_ + 1 == names_.size())
      return fail(problem_here(
          "the header ends with a comma, so the last column has no name, and it is empty here",
          "a last column with the label",
          "Remove the comma at the end of each line, or set data.label_column."));
    if (label.empty())
      return fail(problem_here("the label is empty", "a label",
                               "Add the label, or set data.csv.missing to drop."));
    const std::size_t index = classes_.index(label);
    if (classes_.size() > static_cast<std::size_t>(kMaxClasses))
      return fail(problem_here(fmt::format("column {} has more than {} distinct labels",
                                           shown(names_[label_]), kMaxClasses),
                               fmt::format("at most {}", kMaxClasses),
                               "Check that data.label_column names the column with the class."));
    table_.labels.push_back(static_cast<std::int32_t>(index));
    return {};
  }

  // Renumbers the labels from order of appearance to sorted order.
  void sort_classes() {
    const std::vector<std::size_t> order = sorted_words(table_.classes);
    std::vector<std::int32_t> position(order.size());
    std::vector<std::string> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      position[order[i]] = static_cast<std::int32_t>(i);
      sorted.push_back(table_.classes[order[i]]);
    }
    for (auto& label : table_.labels) label = position[static_cast<std::size_t>(label)];
    table_.classes = std::move(sorted);
  }

  static constexpr const char* kMixedAdvice =
      "Correct the value, or list the column in data.csv.categories or data.csv.ignored.";
  static constexpr const char* kHeaderAdvice =
      "If the first line is a header, set data.csv.header to present.";
  static constexpr const char* kDecimalAdvice =
      "If it is a decimal comma, set data.csv.decimal to comma.";

  const CsvSpec& spec_;
  const std::string& label_column_;
  const std::filesystem::path& path_;
  std::size_t max_bytes_;
  bool complete_;  // the text at the start is the entire file
  bool ends_with_delimiter_ = false;
  std::optional<CsvRecords> records_;
  std::vector<std::string> names_;
  std::size_t label_ = 0;
  std::vector<ColumnState> states_;  // of the feature columns
  WordList classes_;
  CsvTable table_;
};

std::optional<std::int64_t> integer_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

}  // namespace

std::vector<std::size_t> sorted_words(const std::vector<std::string>& words) {
  std::vector<std::optional<std::int64_t>> numbers;
  numbers.reserve(words.size());
  for (const auto& word : words) numbers.push_back(integer_of(word));
  const bool whole = std::ranges::all_of(numbers, [](const auto& n) { return n.has_value(); });
  std::vector<std::size_t> order(words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (whole && numbers[a] != numbers[b]) return *numbers[a] < *numbers[b];
    return words[a] < words[b];
  });
  return order;
}

Result<CsvTable> read_csv(const CsvSpec& spec, const std::string& label_column,
                          const std::filesystem::path& path, std::size_t max_bytes) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  std::string start(kDetectionBytes, '\0');
  const auto got = source->read({reinterpret_cast<std::uint8_t*>(start.data()), start.size()});
  if (!got) return fail(got.error());
  start.resize(*got);
  if (auto wide = base::wide_text(start, path.string())) return fail(*wide);
  if (auto page = base::web_page(start, path.string())) return fail(*page);
  if (auto other = base::binary_document(start, path.string())) return fail(*other);
  return Reader(spec, label_column, path, std::move(start), &*source, max_bytes).read();
}

}  // namespace trainyard::data
