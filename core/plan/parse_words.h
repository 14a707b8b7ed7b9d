// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a plan's text word by word. Every reading function returns false after the first problem.
// The class keeps this problem.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/plan/parse_token.h"

namespace trainyard::plan {

struct Word {
  std::string_view text;
  std::size_t column = 1;
};

// returns the text in quotes, shortened for an error message
std::string quoted(std::string_view text);

class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}

  bool next_line();  // skips blank lines; after the last line there are no words
  bool more() const { return used_ < words_.size(); }
  const Word& first() const { return words_.front(); }  // first word of the line
  const Word& peek() const { return more() ? words_[used_] : end_; }
  Word take() { return more() ? words_[used_++] : end_; }
  bool take_if(std::string_view text);
  bool expect(std::string_view text) {
    return take_if(text) || fail_at_word(peek(), std::string(text));
  }
  bool ended() { return !more() || fail_at_word(peek(), "the end of the line"); }

  template <class Integer>
  bool number(Integer& value) {
    const Word at = take();
    return number(at, at.text, value);
  }
  template <class Integer>
  bool number(const Word& at, std::string_view text,
              Integer& value) {  // `text`: the digits within the word
    const std::int64_t most =
        std::min<std::int64_t>(kMaxNumber, std::numeric_limits<Integer>::max());
    const auto found = number_of(text, most);
    if (!found) return fail_at_word(at, fmt::format("a number from 0 to {}", most));
    value = static_cast<Integer>(*found);
    return true;
  }

  bool fail(const Word& at, std::string what, std::string accepted);
  bool fail_at_word(const Word& at, std::string accepted);
  const base::Problem& problem() const { return problem_; }

 private:
  void cut(std::string_view line);

  std::string_view text_;
  std::size_t at_ = 0, line_ = 0, used_ = 0;
  std::vector<Word> words_;
  Word end_;
  base::Problem problem_;
};

}  // namespace trainyard::plan
