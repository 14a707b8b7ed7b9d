// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

// Splits CSV text (RFC 4180) into records, one at a time. Skips blank lines and a byte order mark.
class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text);

  enum class Outcome { record, end, unclosed_quote, text_after_quote, too_many_fields };
  static constexpr std::size_t kMaxFields = 1 << 20;  // Maximum number of fields per record.
  Outcome next();

  const std::vector<std::string>& fields() const {
    return fields_;
  }                                            // Fields of the record that `next` found.
  std::int64_t line() const { return line_; }  // Index of the record's first line, from 1.

 private:
  bool at_break() const { return at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'); }
  void skip_break();
  Outcome read_field(std::string& field);
  Outcome read_quoted(std::string& field);

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, next_line_ = 1;
  std::vector<std::string> fields_;
};

}  // namespace trainyard::data
