// SPDX-License-Identifier: GPL-3.0-or-later
// Text by character, for models that predict the next character. A sample is a window of `context`
// characters; its labels are the characters that follow each of them. Characters are numbered in
// the order of their code points. Windows are contiguous in the order of the text: the first are
// for training, the last are held out. They share no character except one label at their border.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

struct Characters {
  std::vector<std::int32_t> numbers;    // Character numbers of the text.
  std::vector<std::string> vocabulary;  // UTF-8 of each character number.
};

// `where` names the text in a Problem, which gives the first byte that is not UTF-8.
base::Result<Characters> characters_of(std::string_view text, const std::string& where);

// Opens UTF-8 text, plain or .gz. Returns a Problem if the file is missing, empty, damaged or not
// UTF-8, has only one distinct character, or has fewer windows than requested.
base::Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                       const std::filesystem::path& directory);

// Sentences of a small grammar (grammar.cpp), as long as the windows of the spec need.
std::string grammar_text(std::uint64_t seed, std::int64_t characters);
std::string grammar_alphabet();  // All characters that may occur.
std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec);

}  // namespace trainyard::data
