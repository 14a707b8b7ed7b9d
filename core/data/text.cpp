// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/text.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>

#include "core/base/content.h"
#include "core/base/units.h"
#include "core/data/byte_source.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 31;

class TextSet final : public Dataset {
 public:
  TextSet(Characters characters, const DataSpec& spec, std::int64_t train, std::int64_t held_out)
      : characters_(std::move(characters)),
        context_(spec.context),
        windows_((characters_.count - 1) / context_) {
    summary_ = {{context_}, std::ssize(characters_.vocabulary), train, held_out, context_};
  }

  const DataSummary& summary() const override { return summary_; }
  std::vector<std::string> vocabulary() const override { return characters_.vocabulary; }

  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    const std::int64_t before = split == Split::train ? 0 : windows_ - summary_.held_out_samples;
    auto feature = features.begin();
    auto label = labels.begin();
    for (const std::int64_t index : indices) {
      const std::int64_t start = (before + index) * context_;
      for (std::int64_t i = 0; i < context_; ++i) {
        *feature++ = static_cast<float>(characters_.at(start + i));
        *label++ = static_cast<std::int32_t>(characters_.at(start + i + 1));
      }
    }
  }

 private:
  Characters characters_;
  std::int64_t context_, windows_;
  DataSummary summary_;
};

Problem too_short(const DataSpec& spec, std::int64_t windows, const std::string& where) {
  return {
      "text_too_short",
      ProblemCode::bad_input,
      where,
      fmt::format(
          "the text has {} of {} characters, but {} training and {} held-out samples are requested",
          base::counted(windows, "sample"), format_count(spec.context),
          format_count(std::max<std::int64_t>(spec.train_samples, 1)),
          format_count(spec.held_out_samples)),
      "a longer text",
      spec.train_samples > 0 ? "Lower data.train_samples (0: all samples that are not held out), "
                               "data.held_out_samples or data.context."
                             : "Lower data.held_out_samples or data.context."};
}

Result<std::shared_ptr<const Dataset>> cut(Characters characters, const DataSpec& spec,
                                           const std::string& where) {
  if (characters.vocabulary.size() < 2)
    return fail({"text_too_uniform", ProblemCode::bad_input, where,
                 "the text has fewer than two distinct characters",
                 "a text with two or more distinct characters", "Set data.file to another text."});
  const std::int64_t windows = (characters.count - 1) / spec.context;
  const std::int64_t train =
      spec.train_samples > 0 ? spec.train_samples : windows - spec.held_out_samples;
  if (train < 1 || train + spec.held_out_samples > windows)
    return fail(too_short(spec, windows, where));
  return std::make_shared<TextSet>(std::move(characters), spec, train, spec.held_out_samples);
}

Problem suggest_other_texts(Problem problem) {
  if (problem.code == ProblemCode::unavailable && problem.advice.empty())
    problem.advice =
        "Copy the file there, set data.file to another file, or set data.kind to grammar, which "
        "needs no file";
  return problem;
}

// Returns the length of the text without an incomplete character at its end.
std::size_t complete_length(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;  // not the first byte of a character
    const std::size_t length = byte >= 0xF0 ? 4 : (byte >= 0xE0 ? 3 : 2);
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

Result<Characters> read_characters(ByteSource& source, CharacterReader reader,
                                   const std::string& path) {
  std::string block(std::size_t{1} << 20, '\0');
  for (std::size_t total = 0;;) {
    const auto got = source.read({reinterpret_cast<std::uint8_t*>(block.data()), block.size()});
    if (!got) return fail(got.error());
    const std::string_view bytes(block.data(), *got);
    if (total == 0)
      if (auto wide = base::wide_text(bytes, path)) return fail(*wide);
    if (auto added = reader.add(bytes); !added) return fail(added.error());
    total += *got;
    if (*got < block.size()) return reader.finish();
    if (total > kMaxTextBytes)
      return fail(
          source.problem(fmt::format("the text has more than {}",
                                     base::format_bytes(static_cast<double>(kMaxTextBytes))),
                         "a smaller file"));
  }
}

}  // namespace

void CharacterNumbers::push_back(std::uint32_t number) {
  if (wide_.empty() && number > 0xFF) {
    wide_.assign(narrow_.begin(), narrow_.end());
    std::vector<std::uint8_t>().swap(narrow_);
    wide_.push_back(number);
  } else if (wide_.empty()) {
    narrow_.push_back(static_cast<std::uint8_t>(number));
  } else {
    wide_.push_back(number);
  }
}

void CharacterNumbers::drop(std::size_t count) {
  const auto first = static_cast<std::ptrdiff_t>(count);
  if (wide_.empty()) narrow_.erase(narrow_.begin(), narrow_.begin() + first);
  else wide_.erase(wide_.begin(), wide_.begin() + first);
}

void CharacterNumbers::renumber(const std::vector<std::uint32_t>& renumbered) {
  for (std::uint8_t& number : narrow_) number = static_cast<std::uint8_t>(renumbered[number]);
  for (std::uint32_t& number : wide_) number = renumbered[number];
}

CharacterReader::CharacterReader(std::string where, std::int64_t first, std::int64_t last)
    : where_(std::move(where)), keep_first_(first), keep_last_(last) {}

Result<void> CharacterReader::add(std::string_view bytes) {
  const std::int64_t start = bytes_ - std::ssize(rest_);
  rest_ += bytes;
  bytes_ += std::ssize(bytes);
  const std::string_view text = std::string_view(rest_).substr(0, complete_length(rest_));
  if (auto wrong = base::not_utf8(text, where_, start)) return fail(*wrong);
  auto at =
      text.begin() + static_cast<std::ptrdiff_t>(start == 0 ? base::byte_order_mark(text) : 0);
  while (at != text.end()) add_character(utf8::unchecked::next(at));
  rest_.erase(0, text.size());
  return {};
}

void CharacterReader::add_character(char32_t code_point) {
  const std::uint32_t number =
      numbers_.try_emplace(code_point, static_cast<std::uint32_t>(numbers_.size())).first->second;
  CharacterNumbers& last = characters_.last;
  if (characters_.count++ < keep_first_) return characters_.first.push_back(number);
  last.push_back(number);
  // drops old numbers only when there are twice as many as needed, so that the cost per character
  // is constant on average
  const auto keep = static_cast<std::size_t>(keep_last_);
  if (last.size() > 2 * keep + (std::size_t{1} << 16)) last.drop(last.size() - keep);
}

Result<Characters> CharacterReader::finish() {
  if (auto wrong = base::not_utf8(rest_, where_, bytes_ - std::ssize(rest_))) return fail(*wrong);
  std::vector<std::uint32_t> by_code_point(numbers_.size());
  std::uint32_t next = 0;
  for (const auto& [code_point, number] : numbers_) {
    by_code_point[number] = next++;
    utf8::unchecked::append(code_point, std::back_inserter(characters_.vocabulary.emplace_back()));
  }
  characters_.first.renumber(by_code_point);
  characters_.last.renumber(by_code_point);
  return std::move(characters_);
}

Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                 const std::filesystem::path& directory) {
  if (spec.file.empty())
    return fail({"file_not_set", ProblemCode::bad_input, "data.file", "no file is given",
                 "the path of a text file",
                 "Set data.file, or set data.kind to grammar, which needs no file."});
  const std::string path = (directory / spec.file).lexically_normal().string();
  auto source = ByteSource::open(path);
  if (!source) return fail(suggest_other_texts(source.error()));
  // The held-out windows end less than one window before the end of the text.
  const bool all = spec.train_samples == 0;
  CharacterReader reader(
      path, all ? static_cast<std::int64_t>(kMaxTextBytes) : spec.train_samples * spec.context + 1,
      all ? 0 : (spec.held_out_samples + 1) * spec.context + 1);
  return read_characters(*source, std::move(reader), path).and_then([&](Characters characters) {
    return cut(std::move(characters), spec, path);
  });
}

std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec) {
  const std::string text =
      grammar_text(static_cast<std::uint64_t>(spec.seed),
                   (spec.train_samples + spec.held_out_samples) * spec.context + 1);
  const std::string alphabet = grammar_alphabet();
  Characters characters;
  characters.count = std::ssize(text);
  for (const char character : alphabet) characters.vocabulary.emplace_back(1, character);
  for (const char character : text)
    characters.first.push_back(static_cast<std::uint32_t>(alphabet.find(character)));
  return std::make_shared<TextSet>(std::move(characters), spec, spec.train_samples,
                                   spec.held_out_samples);
}

}  // namespace trainyard::data
