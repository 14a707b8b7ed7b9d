// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/content.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/units.h"

namespace trainyard::base {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Encoding {
  std::string_view mark, name;
};
// UTF-32 comes first, because its little-endian mark begins like that of UTF-16.
constexpr Encoding kEncodings[] = {{std::string_view("\xFF\xFE\0\0", 4), "UTF-32"},
                                   {std::string_view("\0\0\xFE\xFF", 4), "UTF-32"},
                                   {"\xFF\xFE", "UTF-16"},
                                   {"\xFE\xFF", "UTF-16"}};

// Returns the encoding of the text by its byte order mark, or by its zero bytes: in UTF-16 every
// second byte of Latin text is zero, and no other. Empty if the text has neither.
std::string_view wide_encoding(std::string_view start) {
  for (const Encoding& encoding : kEncodings)
    if (start.starts_with(encoding.mark)) return encoding.name;
  const std::string_view sample = start.substr(0, 256);
  std::array<std::size_t, 2> zeros{};  // at even and at odd positions
  for (std::size_t i = 0; i < sample.size(); ++i)
    if (sample[i] == '\0') ++zeros[i % 2];
  const auto [fewer, more] = std::minmax(zeros[0], zeros[1]);
  return sample.size() >= 4 && fewer == 0 && more >= sample.size() / 3 ? "UTF-16" : "";
}

}  // namespace

std::size_t byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

std::optional<Problem> web_page(std::string_view start, const std::string& file) {
  start.remove_prefix(byte_order_mark(start));
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  std::string first(start.substr(0, 14));
  std::transform(first.begin(), first.end(), first.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!first.starts_with("<!doctype html") && !first.starts_with("<html")) return std::nullopt;
  return Problem{"bad_data_file",
                 ProblemCode::bad_input,
                 file,
                 "the file is a web page, perhaps an error message of a server",
                 "a data file",
                 "Download the file again."};
}

std::optional<Problem> binary_document(std::string_view start, const std::string& file) {
  struct Format {
    std::string_view begin, name;
  };
  constexpr Format kFormats[] = {
      {"PK\x03\x04", "a ZIP archive, as a spreadsheet of Excel (.xlsx) or LibreOffice (.ods) is"},
      {"\xD0\xCF\x11\xE0", "an Excel spreadsheet (.xls)"},
      {"PAR1", "a Parquet file"},
      {"ARROW1", "an Arrow file"},
      {"%PDF-", "a PDF document"},
      {"SQLite format 3", "an SQLite database"}};
  for (const Format& format : kFormats)
    if (start.starts_with(format.begin))
      return Problem{"bad_data_file",
                     ProblemCode::bad_input,
                     file,
                     fmt::format("the file is {}", format.name),
                     "a text file",
                     "Export the data as CSV."};
  return std::nullopt;
}

std::optional<Problem> wide_text(std::string_view start, const std::string& file) {
  const std::string_view name = wide_encoding(start);
  if (name.empty()) return std::nullopt;
  return Problem{"not_utf8",
                 ProblemCode::bad_input,
                 file,
                 fmt::format("the text is {}", name),
                 "text in UTF-8",
                 fmt::format("Convert the file, for example with iconv -f {} -t UTF-8.", name)};
}

std::optional<Problem> not_utf8(std::string_view text, const std::string& file,
                                std::int64_t start) {
  const auto wrong = utf8::find_invalid(text.begin(), text.end());
  if (wrong == text.end()) return std::nullopt;
  constexpr std::string_view kGzip = "\x1f\x8b";
  const bool is_binary = text.find('\0') != std::string_view::npos;
  return Problem{
      "not_utf8",
      ProblemCode::bad_input,
      file,
      fmt::format("the text is not UTF-8: byte {} does not begin a character",
                  format_count(start + (wrong - text.begin()))),
      "text in UTF-8",
      start == 0 && text.starts_with(kGzip) ? "The file is compressed: decompress it with gunzip."
      : is_binary
          ? "The file seems to be binary: choose a text file."
          : "Convert the file from its encoding, such as Latin-1 (iconv -f LATIN1 -t UTF-8) "
            "or Windows-1252 (iconv -f CP1252 -t UTF-8)."};
}

std::string utf8_of_windows1252(std::string_view text) {
  // Characters of the bytes 0x80 to 0x9F; all others have their own numbers.
  // https://encoding.spec.whatwg.org/index-windows-1252.txt
  constexpr std::array<char16_t, 32> kSpecial{
      0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
      0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  std::string converted;
  for (const char byte : text) {
    const auto c = static_cast<unsigned char>(byte);
    utf8::append(static_cast<char32_t>(c >= 0x80 && c < 0xA0 ? kSpecial[c - 0x80U] : c),
                 std::back_inserter(converted));
  }
  return converted;
}

}  // namespace trainyard::base
