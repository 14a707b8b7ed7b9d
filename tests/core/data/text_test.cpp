// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/text.h"

#include <gmock/gmock.h>
#include <utf8.h>

#include <set>

#include "tests/core/data/files.h"
#include "tests/problem_matchers.h"

namespace trainyard::data {
namespace {

using base::Advises;
using base::IsProblem;
using base::Reports;
using testing::AllOf;
using testing::ElementsAre;

class Text : public testing::Test {
 protected:
  Text() {
    spec_.kind = DataKind::text;
    spec_.file = "book.txt";
    spec_.context = 4;
    spec_.train_samples = 0, spec_.held_out_samples = 1;
  }
  base::Result<std::shared_ptr<const Dataset>> open_written(const std::string& text) {
    folder_.write("book.txt", text);
    return open(spec_, folder_.path());
  }
  // The problem of opening this text as a file, or one without an id when there is none.
  base::Problem problem(const std::string& text) {
    const auto opened = open_written(text);
    return opened ? base::Problem{} : opened.error();
  }
  std::string path() const { return (folder_.path() / "book.txt").string(); }
  // "abcd>bcde": a sample and its labels.
  static std::string shown(const Dataset& set, Split split, std::int64_t index) {
    const auto context = static_cast<std::size_t>(set.summary().features());
    std::vector<float> features(context);
    std::vector<std::int32_t> labels(context);
    set.fill(split, std::vector<std::int64_t>{index}, features, labels);
    const auto vocabulary = set.vocabulary();
    std::string text;
    for (const float number : features) text += vocabulary[static_cast<std::size_t>(number)];
    text += ">";
    for (const std::int32_t number : labels) text += vocabulary[static_cast<std::size_t>(number)];
    return text;
  }

  DataSpec spec_;
  Folder folder_;
};

TEST_F(Text, is_split_into_consecutive_windows_labeled_with_the_next_characters) {
  const auto set =
      open_written("abcdefghijklm").value();  // three windows of four, and one more character
  EXPECT_EQ(set->summary().train_samples, 2);
  EXPECT_EQ(set->summary().held_out_samples, 1);
  EXPECT_EQ(set->summary().classes, 13);
  EXPECT_EQ(set->summary().labels_of_sample, 4);
  EXPECT_EQ(shown(*set, Split::train, 0), "abcd>bcde");
  EXPECT_EQ(shown(*set, Split::train, 1), "efgh>fghi");
  EXPECT_EQ(shown(*set, Split::held_out, 0), "ijkl>jklm");
}

TEST_F(Text, numbers_characters_by_code_point_and_not_by_byte) {
  const auto set = open_written("ñandú añil").value();
  EXPECT_THAT(set->vocabulary(), ElementsAre(" ", "a", "d", "i", "l", "n", "ñ", "ú"));
  EXPECT_EQ(shown(*set, Split::train, 0), "ñand>andú");
}

TEST_F(Text, can_be_compressed) {
  EXPECT_EQ(shown(*open_written(gzip("abcdefghi")).value(), Split::held_out, 0), "efgh>fghi");
}

TEST_F(Text, takes_the_requested_windows_and_holds_out_the_last) {
  spec_.train_samples = 1;
  const auto set = open_written("abcdefghijklm").value();
  EXPECT_EQ(set->summary().train_samples, 1);
  EXPECT_EQ(shown(*set, Split::held_out, 0), "ijkl>jklm");
}

TEST_F(Text, that_is_not_utf_8_is_refused_with_the_byte) {
  EXPECT_THAT(problem("abc\xff"
                      "defghijkl"),
              AllOf(IsProblem("not_utf8", path()), Reports("byte 3"), Advises("iconv")));
}

TEST_F(Text, byte_order_mark_is_no_character) {
  const auto set = open_written(
                       "\xEF\xBB\xBF"
                       "abcdefghijklm")
                       .value();
  EXPECT_EQ(set->summary().classes, 13);
  EXPECT_EQ(shown(*set, Split::train, 0), "abcd>bcde");
}

TEST_F(Text, in_utf_16_is_refused) {
  EXPECT_THAT(problem(std::string("\xff\xfe"
                                  "a\0b\0c\0",
                                  8)),
              AllOf(IsProblem("not_utf8", path()), Reports("UTF-16"), Advises("iconv")));
}

TEST_F(Text, reports_a_character_that_the_end_cuts_off) {
  EXPECT_THAT(problem("abcdefghi\xc3"), AllOf(IsProblem("not_utf8", path()), Reports("byte 9")));
}

TEST_F(Text, refuses_gzip_data_that_expands_without_limit) {
  EXPECT_THAT(problem(gzip(std::string(80'000'000, 'a'))),
              AllOf(IsProblem("bad_data_file", path()), Reports("100 times"), Advises("gunzip")));
}

TEST_F(Text, names_binary_files) {
  EXPECT_THAT(problem("\xff" + std::string(1, '\0') + "abcdefghi"), Advises("binary"));
}

// Blocks of a file cut characters of several bytes; only the first and last characters are kept.
TEST_F(Text, large_file_gives_the_same_windows_as_its_ends) {
  std::string text = "αβγδε", end = "ζηθικλμνξ";
  for (int i = 0; i < 1'200'000; ++i) text += i % 3 ? "ω" : "a";
  spec_.train_samples = 1;
  const auto set = open_written(text + end).value();
  EXPECT_EQ(set->summary().classes, 16);
  EXPECT_EQ(shown(*set, Split::train, 0), "αβγδ>βγδε");
  // of 1,200,014 characters, the last full window of 4 characters begins at 1,200,008
  EXPECT_EQ(shown(*set, Split::held_out, 0), "ικλμ>κλμν");
}

TEST_F(Text, can_have_more_than_256_distinct_characters) {
  std::string text;
  for (int i = 0; i < 400; ++i) utf8::append(static_cast<char32_t>(0x4E00 + i), text);
  const auto set = open_written(text).value();
  EXPECT_EQ(set->summary().classes, 400);
  EXPECT_EQ(shown(*set, Split::train, 80),
            text.substr(80 * 12, 12) + ">" + text.substr(80 * 12 + 3, 12));
}

TEST_F(Text, that_is_too_short_or_too_uniform_is_refused) {
  EXPECT_THAT(problem("abcde"), AllOf(IsProblem("text_too_short", path()), Reports("1 sample of 4"),
                                      Reports("1 training"), Reports("1 held-out")));
  EXPECT_THAT(problem(""), AllOf(IsProblem("bad_data_file", path()), Reports("empty")));
  EXPECT_THAT(problem("aaaaaaaaaaaaaa"), IsProblem("text_too_uniform", path()));
  spec_.train_samples = 2;
  EXPECT_THAT(problem("abcdefghi"),
              AllOf(IsProblem("text_too_short", path()), Reports("2 training")));
}

TEST_F(Text, that_is_missing_is_reported_with_an_alternative_without_files) {
  EXPECT_THAT(open(spec_, folder_.path()).error(),
              AllOf(IsProblem("missing_file", path()), Advises("grammar")));
  spec_.file = "";
  EXPECT_THAT(open(spec_, folder_.path()).error(), IsProblem("file_not_set", "data.file"));
}

TEST(Grammar, sentences_are_reproducible_and_use_its_alphabet) {
  const std::string text = grammar_text(1, 5000), alphabet = grammar_alphabet();
  EXPECT_EQ(text.size(), 5000u);
  EXPECT_EQ(grammar_text(1, 300), text.substr(0, 300));
  EXPECT_NE(grammar_text(2, 300), text.substr(0, 300));
  for (const char character : text)
    ASSERT_NE(alphabet.find(character), std::string::npos) << character;
  EXPECT_EQ(std::set<char>(text.begin(), text.end()).size(), alphabet.size())
      << "every character occurs";
}

// The verb after "the dog(s)" alone is that of its number.
TEST(Grammar, verbs_agree_with_their_subjects) {
  const std::string text = grammar_text(7, 200'000);
  const auto count = [&](const std::string& words) {
    std::int64_t found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
      ++found;
    return found;
  };
  EXPECT_GT(count("\nthe dog sees "), 3);
  EXPECT_GT(count("\nthe dogs see "), 3);
  EXPECT_EQ(count("\nthe dog see "), 0);
  EXPECT_EQ(count("\nthe dogs sees "), 0);
}

TEST(Grammar, is_a_data_set_without_files) {
  DataSpec spec;
  spec.kind = DataKind::grammar;
  spec.train_samples = 20, spec.held_out_samples = 5, spec.context = 8;
  const auto found = inspect(spec, ".").value();
  const auto set = open(spec, ".").value();
  EXPECT_EQ(found.labels_of_sample, 8);
  EXPECT_EQ(found.classes, std::ssize(grammar_alphabet()));
  EXPECT_EQ(set->summary().classes, found.classes);
  EXPECT_EQ(set->summary().train_samples, 20);
}

}  // namespace
}  // namespace trainyard::data
