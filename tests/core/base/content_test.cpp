// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/content.h"

#include <gmock/gmock.h>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

using testing::AllOf;

TEST(Content, names_the_encoding_of_wide_text) {
  const auto encoding_of = [](std::string_view start) {
    const auto problem = wide_text(start, "file");
    return problem ? problem->what : "";
  };
  EXPECT_THAT(encoding_of("\xff\xfe"
                          "a"),
              testing::HasSubstr("UTF-16"));
  EXPECT_THAT(encoding_of("\xfe\xff"), testing::HasSubstr("UTF-16"));
  EXPECT_THAT(encoding_of(std::string_view("\xff\xfe\0\0", 4)), testing::HasSubstr("UTF-32"));
  EXPECT_THAT(encoding_of(std::string_view("a\0b\0c\0", 6)), testing::HasSubstr("UTF-16"))
      << "without a byte order mark";
  EXPECT_EQ(encoding_of(std::string_view("\0\1\2\xff\n\n\n\0", 8)), "") << "binary data";
  EXPECT_EQ(encoding_of("plain"), "");
  EXPECT_EQ(encoding_of("\xEF\xBB\xBFplain"), "");
}

TEST(Content, recognizes_web_pages) {
  for (const char* page :
       {"<!DOCTYPE html>", "<html>", " \r\n<!doctype HTML>", "\xEF\xBB\xBF<HTML>"})
    EXPECT_TRUE(web_page(page, "file")) << page;
  for (const char* other : {"", "<", "<htm", "x,<html>", "<svg>"})
    EXPECT_FALSE(web_page(other, "file")) << other;
}

TEST(Content, reports_the_first_byte_that_is_not_utf_8) {
  EXPECT_FALSE(not_utf8("Müller", "file"));
  EXPECT_THAT(*not_utf8("M\xfcller", "file", 100),
              AllOf(IsProblem("not_utf8", "file"), Reports("byte 101"), Advises("iconv")));
  EXPECT_EQ(utf8_of_windows1252("M\xfcller, 5 \x80"), "Müller, 5 €");
}

TEST(Content, replaces_control_characters) {
  EXPECT_EQ(printable("a\tb\nMüller 训练"), "a\tb\nMüller 训练");
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\xc2\x9b"), "a\uFFFD[2Jb\uFFFD\uFFFD");
  EXPECT_EQ(printable("a\u202Eb"), "a\uFFFDb") << "right-to-left override";
  EXPECT_EQ(printable("M\xfcller"), "M\uFFFDller");
  EXPECT_EQ(printable_line("a\tb\nerror: forged"), "a b\\nerror: forged");
  EXPECT_EQ(to_text(Json("Müller 训练 \x1b\x7f\xc2\x9b\u202E")),
            "\"Müller 训练 \\u001b\\u007f\\u009b\\u202e\"");
  EXPECT_EQ(to_text(Json("M\xfcller")), "\"M\uFFFDller\"");
  EXPECT_TRUE(has_control_characters("a\nb"));
  EXPECT_TRUE(has_control_characters("\x1b"));
  EXPECT_FALSE(has_control_characters("Übung für Anfänger"));
}

}  // namespace
}  // namespace trainyard::base
