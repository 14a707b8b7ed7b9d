// SPDX-License-Identifier: GPL-3.0-or-later
// Text by character, for models that predict the next character. A sample is a window of `context`
// characters; the label of each character is the character that follows it. Characters are numbered
// in the order of their code points. Windows are contiguous and in the order of the text; the first
// are for training, the last are held out. Windows share no character, except that the last label
// of a window is the first character of the next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

struct Characters {
  std::vector<std::int32_t> numbers;    // Numbers of the text's characters, in order.
  std::vector<std::string> vocabulary;  // Character in UTF-8, by number.
};

// Converts UTF-8 text. Returns a Problem that names `where` and the first byte that is not UTF-8.
base::Result<Characters> characters_of(std::string_view text, const std::string& where);

// Opens UTF-8 text, plain or .gz. Returns a Problem if the file is missing, empty, damaged or not
// UTF-8, has only one distinct character, or has fewer windows than requested.
base::Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                       const std::filesystem::path& directory);

// Returns sentences of a small grammar (grammar.cpp), cut to `characters` characters.
std::string grammar_text(std::uint64_t seed, std::int64_t characters);
std::string grammar_alphabet();  // Returns all characters that may occur in sentences.
std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec);

}  // namespace trainyard::data
