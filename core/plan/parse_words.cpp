// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/parse_words.h"

#include <fmt/core.h>

namespace trainyard::plan {

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text.substr(0, kMaxQuoted));
}

bool WordReader::next_line() {
  words_.clear();
  used_ = 0;
  while (words_.empty() && at_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    cut(text_.substr(at_, end - at_));
    at_ = end + 1;
    ++line_;
  }
  return true;
}

void WordReader::cut(std::string_view line) {
  for (std::size_t i = line.find_first_not_of(' '); i < line.size();
       i = line.find_first_not_of(' ', i)) {
    const std::size_t end = std::min(line.find(' ', i), line.size());
    words_.push_back({line.substr(i, end - i), i + 1});
    i = end;
  }
  end_ = {{}, line.size() + 1};
}

bool WordReader::take_if(std::string_view text) {
  if (peek().text != text) return false;
  ++used_;
  return true;
}

bool WordReader::fail(const Word& at, std::string what, std::string accepted) {
  const std::string where = fmt::format("line {}, column {}", line_, at.column);
  problem_ = {"bad_plan_text", base::ProblemCode::bad_input, where,
              std::move(what), std::move(accepted),          ""};
  return false;
}

bool WordReader::fail_at_word(const Word& at, std::string accepted) {
  return fail(at, at.text.empty() ? "the line ends here" : fmt::format("found {}", quoted(at.text)),
              std::move(accepted));
}

}  // namespace trainyard::plan
