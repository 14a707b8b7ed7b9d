// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv_records.h"

#include <algorithm>

namespace trainyard::data {

CsvRecords::CsvRecords(std::string_view text) : text_(text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

void CsvRecords::skip_break() {
  at_ += text_.substr(at_, 2) == "\r\n" ? 2 : 1;
  ++next_line_;
}

CsvRecords::Outcome CsvRecords::next() {
  while (at_break()) skip_break();
  if (at_ >= text_.size()) return Outcome::end;
  line_ = next_line_;
  for (std::size_t count = 1;; ++count) {
    if (count > kMaxFields) return Outcome::too_many_fields;
    if (fields_.size() < count) fields_.emplace_back();
    if (const Outcome outcome = read_field(fields_[count - 1]); outcome != Outcome::record)
      return outcome;
    if (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      continue;
    }
    fields_.resize(count);
    if (at_break()) skip_break();
    return Outcome::record;
  }
}

CsvRecords::Outcome CsvRecords::read_field(std::string& field) {
  if (at_ < text_.size() && text_[at_] == '"') return read_quoted(field);
  const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  field.assign(text_.substr(at_, end - at_));
  at_ = end;
  return Outcome::record;
}

CsvRecords::Outcome CsvRecords::read_quoted(std::string& field) {
  field.clear();
  while (true) {
    const std::size_t start = at_ + 1, quote = text_.find('"', start);
    if (quote == std::string_view::npos) return Outcome::unclosed_quote;
    field.append(text_.substr(start, quote - start));
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') break;
    field += '"';  // two quotes stand for one
  }
  next_line_ += std::count(field.begin(), field.end(), '\n');
  return at_ >= text_.size() || text_[at_] == ',' || at_break() ? Outcome::record
                                                                : Outcome::text_after_quote;
}

}  // namespace trainyard::data
