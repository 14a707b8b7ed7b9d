// SPDX-License-Identifier: GPL-3.0-or-later
// Small English grammar. Letter statistics are not enough to predict its sentences: verbs agree
// with subjects across intervening words.
//
//   sentence  = phrase verb [phrase] [where] "."
//   phrase    = determiner [adjective] noun [where | "that" verb phrase]
//   where     = preposition phrase
//
// Verb and determiner agree with the noun in number. Sentence i is f(seed, i): every choice is the
// next element of its stream.
#include <array>
#include <set>

#include "core/base/random.h"
#include "core/data/text.h"

namespace trainyard::data {
namespace {

using Word = std::array<std::string_view, 2>;  // Forms of a word: singular, plural.

constexpr std::array<Word, 3> kDeterminers{{{"the", "the"}, {"a", "some"}, {"this", "these"}}};
constexpr std::array<std::string_view, 6> kAdjectives{"small", "old",   "green",
                                                      "quiet", "happy", "tired"};
constexpr std::array<Word, 10> kNouns{{{"dog", "dogs"},
                                       {"cat", "cats"},
                                       {"child", "children"},
                                       {"bird", "birds"},
                                       {"driver", "drivers"},
                                       {"train", "trains"},
                                       {"horse", "horses"},
                                       {"fox", "foxes"},
                                       {"woman", "women"},
                                       {"man", "men"}}};
constexpr std::array<Word, 4> kAlone{
    {{"sleeps", "sleep"}, {"waits", "wait"}, {"runs", "run"}, {"sings", "sing"}}};
constexpr std::array<Word, 5> kOfAnother{{{"sees", "see"},
                                          {"hears", "hear"},
                                          {"follows", "follow"},
                                          {"likes", "like"},
                                          {"knows", "know"}}};
constexpr std::array<std::string_view, 4> kPrepositions{"near", "behind", "with", "under"};
// Maximum number of phrases per sentence. The generator ends the sentence after them.
constexpr int kMaxPhrases = 4;

class Sentence {
 public:
  Sentence(std::uint64_t seed, std::uint32_t number)
      : random_(seed, base::Purpose::generate, number) {}

  std::string text() {
    const std::size_t subject = phrase();
    if (chance(0.4)) {
      say(pick(kAlone)[subject]);
    } else {
      say(pick(kOfAnother)[subject]);
      phrase();
    }
    if (chance(0.3)) where();
    text_.back() = '.';
    return text_ + "\n";
  }

 private:
  // Adds a phrase. Returns its grammatical number: 0: singular, 1: plural.
  std::size_t phrase() {
    ++phrases_;
    const std::size_t number = chance(0.5) ? 1 : 0;
    say(pick(kDeterminers)[number]);
    if (chance(0.4)) say(pick(kAdjectives));
    say(pick(kNouns)[number]);
    if (phrases_ >= kMaxPhrases) return number;
    if (chance(0.15)) {
      where();
    } else if (chance(0.2)) {
      say("that");
      say(pick(kOfAnother)[number]);
      phrase();
    }
    return number;
  }

  void where() {
    say(pick(kPrepositions));
    phrase();
  }

  void say(std::string_view word) { (text_ += word) += ' '; }
  bool chance(double part) { return random_.uniform(next_++) < part; }
  template <class Words>
  const typename Words::value_type& pick(const Words& words) {
    return words[random_.below(next_++, words.size())];
  }

  base::Random random_;
  std::uint64_t next_ = 0;
  int phrases_ = 0;
  std::string text_;
};

}  // namespace

std::string grammar_text(std::uint64_t seed, std::int64_t characters) {
  std::string text;
  for (std::uint32_t number = 0; std::ssize(text) < characters; ++number)
    text += Sentence(seed, number).text();
  text.resize(static_cast<std::size_t>(characters));
  return text;
}

std::string grammar_alphabet() {
  std::set<char> alphabet{'\n', ' ', '.'};
  const auto take = [&](const auto& words) {
    for (const auto& word : words) alphabet.insert(word.begin(), word.end());
  };
  for (const Word& word : kDeterminers) take(word);
  for (const Word& word : kNouns) take(word);
  for (const Word& word : kAlone) take(word);
  for (const Word& word : kOfAnother) take(word);
  take(kAdjectives);
  take(kPrepositions);
  take(std::array<std::string_view, 1>{"that"});
  return {alphabet.begin(), alphabet.end()};
}

}  // namespace trainyard::data
