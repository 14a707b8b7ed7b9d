// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/text.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>
#include <map>

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
        windows_((std::ssize(characters_.numbers) - 1) / context_) {
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
      const auto at = characters_.numbers.begin() + (before + index) * context_;
      feature = std::transform(at, at + context_, feature,
                               [](std::int32_t number) { return static_cast<float>(number); });
      label = std::copy_n(at + 1, context_, label);
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
                 "the text needs at least two distinct characters", "a text", ""});
  const std::int64_t windows = (std::ssize(characters.numbers) - 1) / spec.context;
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

}  // namespace

Result<Characters> characters_of(std::string_view text, const std::string& where) {
  if (const auto wrong = utf8::find_invalid(text.begin(), text.end()); wrong != text.end())
    return fail({"not_utf8", ProblemCode::bad_input, where,
                 fmt::format("the text is not UTF-8: byte {} does not begin a character",
                             format_count(wrong - text.begin())),
                 "text in UTF-8", "Convert the file, for example with iconv -t UTF-8."});
  std::map<std::uint32_t, std::int32_t> numbers;
  for (auto at = text.begin(); at != text.end();) numbers.emplace(utf8::unchecked::next(at), 0);
  Characters characters;
  for (auto& [code_point, number] : numbers) {
    number = static_cast<std::int32_t>(characters.vocabulary.size());
    utf8::unchecked::append(code_point, std::back_inserter(characters.vocabulary.emplace_back()));
  }
  characters.numbers.reserve(text.size());
  for (auto at = text.begin(); at != text.end();)
    characters.numbers.push_back(numbers[utf8::unchecked::next(at)]);
  return characters;
}

Result<std::shared_ptr<const Dataset>> open_text(const DataSpec& spec,
                                                 const std::filesystem::path& directory) {
  if (spec.file.empty())
    return fail({"file_not_set", ProblemCode::bad_input, "data.file", "no file is given",
                 "the path of a text file", ""});
  const std::string path = (directory / spec.file).lexically_normal().string();
  auto source = ByteSource::open(path);
  if (!source) return fail(suggest_other_texts(source.error()));
  return source->read_all(kMaxTextBytes)
      .and_then([&](const std::string& text) { return characters_of(text, path); })
      .and_then([&](Characters characters) { return cut(std::move(characters), spec, path); });
}

std::shared_ptr<const Dataset> make_grammar(const DataSpec& spec) {
  const std::string text =
      grammar_text(static_cast<std::uint64_t>(spec.seed),
                   (spec.train_samples + spec.held_out_samples) * spec.context + 1);
  const std::string alphabet = grammar_alphabet();
  Characters characters;
  for (const char character : alphabet) characters.vocabulary.emplace_back(1, character);
  for (const char character : text)
    characters.numbers.push_back(static_cast<std::int32_t>(alphabet.find(character)));
  return std::make_shared<TextSet>(std::move(characters), spec, spec.train_samples,
                                   spec.held_out_samples);
}

}  // namespace trainyard::data
