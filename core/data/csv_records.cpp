// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv_records.h"

#include <algorithm>

#include "core/base/content.h"

namespace trainyard::data {

CsvRecords::CsvRecords(std::string text, ByteSource* source, char delimiter, bool complete)
    : text_(std::move(text)),
      source_(source),
      separators_({delimiter, '\r', '\n'}),
      blanks_(delimiter == '\t' ? " " : " \t"),
      complete_(complete) {
  at_ = base::byte_order_mark(text_);
}

void CsvRecords::skip_break() {
  at_ += text_.compare(at_, 2, "\r\n") == 0 ? 2 : 1;
  ++next_line_;
}

void CsvRecords::skip_blanks() {
  at_ = std::min(text_.find_first_not_of(blanks_, at_), text_.size());
}

// Stops at the first line that contains more than blanks and delimiters, or at the end of the text.
void CsvRecords::skip_empty_lines() {
  const std::string fillers = blanks_ + separators_[0];
  while (at_ < text_.size()) {
    const std::size_t end = std::min(text_.find_first_not_of(fillers, at_), text_.size());
    if (end < text_.size() && text_[end] != '\n' && text_[end] != '\r') return;
    at_ = end;
    if (at_break()) skip_break();
  }
}

// Removes the text before `start` and appends a block, which is at least as long as the record read
// so far, so that long records take linear time. Returns false at the end of the file.
bool CsvRecords::refill(std::size_t start) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  if (source_ == nullptr) return false;
  text_.erase(0, start);
  const std::size_t kept = text_.size();
  text_.resize(kept + std::max(kBlock, kept));
  const auto got =
      source_->read({reinterpret_cast<std::uint8_t*>(text_.data()) + kept, text_.size() - kept});
  if (!got) source_problem_ = got.error();
  const bool whole = got && *got == text_.size() - kept;
  text_.resize(kept + (got ? *got : 0));
  if (!whole) source_ = nullptr;
  return got.has_value();
}

// A record that ends where the text ends may continue in the file, so it is read again after a
// refill.
CsvRecords::Outcome CsvRecords::next() {
  while (true) {
    const std::size_t start = at_;
    const std::int64_t first_line = next_line_;
    const Outcome outcome = read_record();
    if (at_ < text_.size() || source_ == nullptr) return outcome;
    if (text_.size() - start > kMaxBytes) return Outcome::too_long;
    if (!refill(start)) return Outcome::unreadable;
    at_ = 0, next_line_ = first_line;
  }
}

CsvRecords::Outcome CsvRecords::read_record() {
  skip_empty_lines();
  if (at_ >= text_.size()) return Outcome::end;
  line_ = next_line_;
  for (std::size_t count = 1;; ++count) {
    if (count > kMaxFields) return Outcome::too_many_fields;
    if (fields_.size() < count) fields_.emplace_back();
    if (const Outcome outcome = read_field(fields_[count - 1]); outcome != Outcome::record)
      return outcome;
    if (at_ < text_.size() && text_[at_] == separators_[0]) {
      ++at_;
      continue;
    }
    fields_.resize(count);
    if (at_break()) skip_break();
    return Outcome::record;
  }
}

// If blanks precede a quote that does not enclose the field, as in `1, "a" or "b"`, the field is
// unquoted.
CsvRecords::Outcome CsvRecords::read_field(std::string& field) {
  const std::size_t start = at_;
  const std::int64_t first_line = next_line_;
  skip_blanks();
  const bool quoted = at_ < text_.size() && text_[at_] == '"', indented = at_ > start;
  if (quoted) {
    const Outcome outcome = read_quoted(field);
    const bool may_continue = at_ >= text_.size() && (source_ != nullptr || !complete_);
    if (outcome == Outcome::record || !indented || may_continue) return outcome;
  }
  at_ = start, next_line_ = first_line;
  return read_unquoted(field);
}

CsvRecords::Outcome CsvRecords::read_unquoted(std::string& field) {
  const std::size_t end = std::min(text_.find_first_of(separators_, at_), text_.size());
  field.assign(text_, at_, end - at_);
  at_ = end;
  return Outcome::record;
}

CsvRecords::Outcome CsvRecords::read_quoted(std::string& field) {
  field.clear();
  while (true) {
    const std::size_t start = at_ + 1, quote = text_.find('"', start);
    if (quote == std::string::npos) return at_ = text_.size(), Outcome::unclosed_quote;
    field.append(text_, start, quote - start);
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') break;
    field += '"';  // two quotes stand for one
  }
  next_line_ += std::count(field.begin(), field.end(), '\n');
  skip_blanks();
  return at_ >= text_.size() || text_[at_] == separators_[0] || at_break()
             ? Outcome::record
             : Outcome::text_after_quote;
}

}  // namespace trainyard::data
