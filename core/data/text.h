// SPDX-License-Identifier: GPL-3.0-or-later
// Text, character by character, for models that foretell the next one. A sample is a window of
// `context` characters, and its labels are the characters that follow each of them; characters are
// numbered in the order of their code points. Windows lie end to end, in the order of the text: the
// first ones are trained on, the last ones held out, and none of either sees a character of the
// other but the one label at their border.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

struct Characters {
  std::vector<std::int32_t> numbers;    // of the text
  std::vector<std::string> vocabulary;  // by number, each in UTF-8
};

// `where` names the text in a Problem: where it is not UTF-8, by the byte.
base::Result<Characters> characters_of(std::string_view text, const std::string& where);

// UTF-8, plain or .gz. A missing, empty or damaged file, one that is not UTF-8, of one character
// only or with fewer windows than are asked for is a Problem.
base::Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                       const std::filesystem::path& directory);

// Sentences of a small grammar (grammar.cpp), as many as the windows of the spec take.
std::string grammar_text(std::uint64_t seed, std::int64_t characters);
std::string grammar_alphabet();  // every character that may come
std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec);

}  // namespace trainyard::data
