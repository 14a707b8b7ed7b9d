// SPDX-License-Identifier: GPL-3.0-or-later
// Labels of the workbench that the manual quotes in italics: *Show location*.
#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

#include "core/base/file.h"
#include "tests/manual/checks.h"

namespace trainyard::manual {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Replaces the places of arguments (%1, %Ln) by "n", and removes mnemonics.
std::string plain_label(std::string text) {
  static const std::regex argument("%L?[0-9n]"), adjacent("\"\\s*\n\\s*\"");
  text = std::regex_replace(text, argument, "n");
  std::erase(text, '&');
  return lower(std::move(text));
}

// Returns the text of all source files and examples, in which labels are searched.
std::string source_texts(const fs::path& source) {
  static const std::regex adjacent("\"[ \t]*\n[ \t]*\"");
  std::string all;
  for (const char* folder : {"ui", "core", "app", "resources/experiments"})
    for (const auto& entry : fs::recursive_directory_iterator(source / folder))
      if (const auto extension = entry.path().extension();
          extension == ".cpp" || extension == ".h" || extension == ".json")
        all += std::regex_replace(base::read_file(entry.path(), std::size_t{1} << 22).value_or(""),
                                  adjacent, "");
  return plain_label(std::move(all));
}

// Returns the quoted labels of a page. A path of menus, such as *File > Open*, gives its parts.
std::vector<std::string> labels_of(const Page& page) {
  static const std::regex code_block("```[^`]*```"), code("`[^`\n]*`"),
      italics(R"((^|[^*\w])\*([A-Z][^*]{1,80})\*(?!\*))"), spaces("\\s+");
  const std::string text =
      std::regex_replace(std::regex_replace(page.text, code_block, ""), code, "");
  std::vector<std::string> labels;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), italics);
       at != std::sregex_iterator(); ++at) {
    std::istringstream parts(std::regex_replace((*at)[2].str(), spaces, " "));
    for (std::string part; std::getline(parts, part, '>');) {
      part.erase(0, part.find_first_not_of(' '));
      part.erase(part.find_last_not_of(" .:") + 1);
      labels.push_back(part);
    }
  }
  return labels;
}

}  // namespace

base::Problems check_labels(const Manual& manual, const fs::path& source) {
  const std::string texts = source_texts(source);
  base::Problems problems;
  for (const Page& page : manual.pages())
    for (const std::string& label : labels_of(page))
      if (texts.find(lower(label)) == std::string::npos)
        problems.push_back({"unknown_label", base::ProblemCode::bad_input, page.file,
                            "the workbench has no label \"" + label + "\"", "", ""});
  return problems;
}

}  // namespace trainyard::manual
