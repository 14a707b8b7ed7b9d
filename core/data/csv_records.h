// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/byte_source.h"

namespace trainyard::data {

// Splits CSV text (RFC 4180) into records, one at a time. Skips a byte order mark and lines that
// contain only blanks and delimiters. A quoted field may have blanks (spaces, tabs) before its
// opening and after its closing quote.
class CsvRecords {
 public:
  // Reads `text`, and then the rest of the file from `source`, in blocks; only `text` if null.
  // `complete`: `text` and `source` are the entire file, so its last record is complete.
  CsvRecords(std::string text, ByteSource* source, char delimiter, bool complete = true);

  enum class Outcome {
    record,
    end,
    unclosed_quote,
    text_after_quote,
    too_many_fields,
    too_long,
    unreadable,  // see `source_problem`
  };
  static constexpr std::size_t kMaxFields = 1 << 20;  // maximum number of fields per record
  static constexpr std::size_t kMaxBytes = 1 << 26;   // maximum length of a record
  Outcome next();

  // fields of the last record
  const std::vector<std::string>& fields() const { return fields_; }
  std::int64_t line() const { return line_; }  // first line of the last record, from 1
  const base::Problem& source_problem() const { return *source_problem_; }

 private:
  bool at_break() const { return at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'); }
  void skip_break();
  void skip_blanks();
  void skip_empty_lines();
  bool refill(std::size_t start);  // reads more text after the record that begins at `start`
  Outcome read_record();
  Outcome read_field(std::string& field);
  Outcome read_unquoted(std::string& field);
  Outcome read_quoted(std::string& field);

  std::string text_;
  ByteSource* source_;
  std::optional<base::Problem> source_problem_;
  std::string separators_;  // delimiter and line breaks
  std::string blanks_;      // space and tab, without the delimiter
  bool complete_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, next_line_ = 1;
  std::vector<std::string> fields_;
};

}  // namespace trainyard::data
