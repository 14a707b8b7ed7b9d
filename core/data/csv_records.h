// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/byte_source.h"

namespace trainyard::data {

// Splits CSV text (RFC 4180) into records, one at a time. Skips blank lines and a byte order mark.
class CsvRecords {
 public:
  // Reads `text`, and then the rest of the file from `source`, in blocks; only `text` if null.
  CsvRecords(std::string text, ByteSource* source, char delimiter);

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
  bool refill(std::size_t start);  // reads more text after the record that begins at `start`
  Outcome read_record();
  Outcome read_field(std::string& field);
  Outcome read_quoted(std::string& field);

  std::string text_;
  ByteSource* source_;
  std::optional<base::Problem> source_problem_;
  std::string separators_;  // delimiter and line breaks
  std::size_t at_ = 0;
  std::int64_t line_ = 0, next_line_ = 1;
  std::vector<std::string> fields_;
};

}  // namespace trainyard::data
