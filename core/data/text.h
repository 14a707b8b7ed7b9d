// SPDX-License-Identifier: GPL-3.0-or-later
// Text by character, for models that predict the next character. A sample is a window of `context`
// characters; the label of each character is the character that follows it. Characters are numbered
// in the order of their code points. Windows are contiguous and in the order of the text; the first
// are for training, the last are held out. Windows share no character, except that the last label
// of a window is the first character of the next. A byte order mark is not a character.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

// Ids of a text's characters (tokens), one byte each if the text has at most 256 distinct
// characters.
class CharacterNumbers {
 public:
  void push_back(std::uint32_t number);
  std::uint32_t operator[](std::size_t at) const { return wide_.empty() ? narrow_[at] : wide_[at]; }
  std::size_t size() const { return wide_.empty() ? narrow_.size() : wide_.size(); }
  // Removes the first `count` numbers.
  void drop(std::size_t count);
  // Replaces each number n by renumbered[n], which must fit into the same number of bytes.
  void renumber(const std::vector<std::uint32_t>& renumbered);

 private:
  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint32_t> wide_;  // all numbers, as soon as one does not fit into a byte
};

// Characters of a text that the samples use: the first ones and the last ones.
struct Characters {
  std::int64_t count = 0;               // characters of the full text
  CharacterNumbers first;               // the first characters of the text
  CharacterNumbers last;                // the last characters; empty if `first` has all
  std::vector<std::string> vocabulary;  // all characters of the text in UTF-8, by number

  // Returns the number of the character at position `at`, which must be among the kept ones.
  std::uint32_t at(std::int64_t at) const {
    const auto from_end = static_cast<std::size_t>(count - at);
    return at < static_cast<std::int64_t>(first.size()) ? first[static_cast<std::size_t>(at)]
                                                        : last[last.size() - from_end];
  }
};

// Numbers the characters of UTF-8 text, which is given in blocks. A byte order mark at the start is
// not a character. Keeps only `first` characters at the start and `last` at the end, so that a
// large file needs no more memory than its samples.
class CharacterReader {
 public:
  CharacterReader(std::string where, std::int64_t first, std::int64_t last);

  // Adds the next bytes of the text. Returns a Problem that names `where` and the first byte that
  // is not UTF-8.
  base::Result<void> add(std::string_view bytes);
  base::Result<Characters> finish();

 private:
  void add_character(char32_t code_point);

  std::string where_,
      rest_;  // `rest_`: the first bytes of a character that continues in the next block
  std::int64_t bytes_ = 0, keep_first_, keep_last_;
  std::map<char32_t, std::uint32_t> numbers_;  // in order of first appearance
  Characters characters_;
};

// Opens UTF-8 text, plain or .gz. Returns a Problem if the file is missing, empty, damaged or not
// UTF-8, has only one distinct character, or has fewer windows than requested.
base::Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                       const std::filesystem::path& directory);

// Returns sentences of a small grammar (grammar.cpp), cut to `characters` characters.
std::string grammar_text(std::uint64_t seed, std::int64_t characters);
std::string grammar_alphabet();  // Returns all characters that may occur in sentences.
std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec);

}  // namespace trainyard::data
