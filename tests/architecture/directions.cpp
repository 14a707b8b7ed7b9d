// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/architecture/directions.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace trainyard::architecture {
namespace {

namespace fs = std::filesystem;

// Libraries that only some folders may name. The first pattern that fits an include decides.
struct LibraryRule {
  std::regex includes;
  const char* library;
  Folders folders;  // "ui" stands for ui and every folder in it
};

const std::vector<LibraryRule>& library_rules() {
  static const std::vector<LibraryRule> rules{
      {std::regex("QtCharts.*|Q(Chart|ChartView|PolarChart|\\w+Series|\\w+Axis|BarSet|BoxSet|"
                  "CandlestickSet)"),
       "Qt Charts",
       {"ui/charts"}},
      {std::regex("Q[A-Z]\\w*|Qt[A-Z]\\w*/.*"), "Qt", {"ui", "app"}},
      {std::regex("zmq.*"), "ZeroMQ", {"backends/zmq", "app"}},
      {std::regex("(cuda|cub|cudnn|curand|nvml).*"), "CUDA", {"backends/cuda", "backends/nccl"}},
      {std::regex("nccl.*"), "NCCL", {"backends/nccl"}},
      {std::regex("gloo/.*"), "Gloo", {"backends/gloo"}},
      {std::regex("(oneapi/|dnnl|cblas|openblas).*"), "oneDNN and BLAS", {"backends/cpu"}},
  };
  return rules;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_source(const fs::path& file) {
  static const Folders extensions{".h", ".cpp", ".cu", ".cuh"};
  return extensions.contains(file.extension());
}

// The regular files under root/top, as paths relative to root, sorted.
std::vector<std::string> files_under(const fs::path& root, const std::string& top) {
  std::vector<std::string> files;
  if (!fs::exists(root / top)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / top))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).generic_string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string finding(const std::string& file, std::size_t line, const std::string& what) {
  return file + ":" + std::to_string(line) + ": " + what;
}

std::string join(const Folders& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

bool reaches(const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto at = directions().find(from);
  return at != directions().end() && std::ranges::any_of(at->second, [&](const std::string& next) {
           return reaches(next, to);
         });
}

// Returns the problem of `#include "target"` in `file`, or an empty string if there is none.
std::string own_include_problem(const fs::path& root, const std::string& file,
                                const std::string& target) {
  if (target.ends_with(".moc")) return "";
  const std::string from = folder_of(file), to = folder_of(target);
  if (to.empty()) return "\"" + target + "\" is not a path from the root of the sources";
  if (!fs::exists(root / target)) return "\"" + target + "\" does not exist";
  if (may_include(from, to)) return "";
  const auto allowed = directions().find(from);
  return from + " must not know " + to +
         " (it may know: " + join(allowed == directions().end() ? Folders{} : allowed->second) +
         ")";
}

std::string library_problem(const std::string& file, const std::string& target) {
  static const std::regex widget("QtWidgets.*|Q\\w*Widget|QMainWindow|QDialog|QGraphics.*");
  const std::string from = folder_of(file), top = from.substr(0, from.find('/'));
  if (from == "ui/model" && std::regex_match(target, widget))
    return "ui/model holds no widgets (<" + target + ">)";
  for (const LibraryRule& rule : library_rules())
    if (std::regex_match(target, rule.includes))
      return rule.folders.contains(from) || rule.folders.contains(top)
                 ? ""
                 : from + " must not name " + rule.library + " (<" + target + ">; only " +
                       join(rule.folders) + " may)";
  return "";
}

// Documents, tables, golden plans and pictures have no room for a remark.
bool wants_tag(const fs::path& file) {
  static const Folders bare{".csv", ".json", ".plan", ".png", ".try"};
  return !bare.contains(file.extension()) && !file.string().ends_with('~');
}

bool has_tag(const fs::path& file) {
  const auto lines = lines_of(file);
  const auto last =
      lines.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, lines.size()));
  return std::any_of(lines.begin(), last, [](const std::string& line) {
    return line.find("SPDX-License-Identifier: GPL-3.0-or-later") != std::string::npos;
  });
}

// The KNOWS of one `trainyard_folder(...)` line that the table does not hold.
void check_build_line(const std::string& file, std::size_t number, const std::string& line,
                      Findings& findings) {
  static const std::regex call(R"(\s*trainyard_folder\((\S+)(.*)\))");
  std::smatch parts;
  if (!std::regex_match(line, parts, call)) return;
  const std::string folder = parts[1];
  const auto allowed = directions().find(folder);
  if (allowed == directions().end())
    return findings.push_back(finding(file, number, folder + " is not in the table of directions"));
  std::istringstream words(parts[2]);
  bool knows = false;
  for (std::string word; words >> word;) {
    if (word == "KNOWS" || word == "LINKS") knows = word == "KNOWS";
    else if (knows && !allowed->second.contains(word))
      findings.push_back(finding(file, number, folder + " must not know " + word));
  }
}

}  // namespace

const std::map<std::string, Folders>& directions() {
  static const std::map<std::string, Folders> table{
      {"core/base", {}},
      {"core/topology", {"core/base"}},
      {"core/compute", {"core/base"}},
      {"core/data", {"core/base"}},
      {"core/telemetry", {"core/base"}},
      {"core/manual", {"core/base"}},
      {"core/model", {"core/compute", "core/base"}},
      {"core/comm", {"core/compute", "core/topology", "core/base"}},
      {"core/plan", {"core/topology", "core/base"}},
      {"core/collective", {"core/plan", "core/topology", "core/base"}},
      {"core/experiment",
       {"core/topology", "core/model", "core/data", "core/collective", "core/base"}},
      {"core/check", {"core/plan", "core/collective", "core/model", "core/base"}},
      {"core/strategy", {"core/plan", "core/experiment", "core/base"}},
      {"core/run",
       {"core/plan", "core/collective", "core/model", "core/comm", "core/compute", "core/data",
        "core/telemetry", "core/base"}},
      {"core/sim", {"core/run", "core/plan", "core/topology", "core/telemetry", "core/base"}},
      {"core/session",
       {"core/strategy", "core/check", "core/run", "core/sim", "core/experiment", "core/telemetry",
        "core/base"}},
      {"backends/cpu", {"core/compute", "core/base"}},
      {"backends/cuda", {"core/compute", "core/base"}},
      {"backends/inproc", {"core/comm", "core/session", "core/base"}},
      {"backends/shm", {"core/comm", "core/session", "core/base"}},
      {"backends/ssh", {"core/session", "core/base"}},
      {"backends/zmq", {"core/comm", "core/session", "core/base"}},
      {"backends/nccl", {"core/comm", "core/compute", "core/base"}},
      {"backends/gloo", {"core/comm", "core/compute", "core/base"}},
  };
  return table;
}

std::vector<std::string> product_sources(const fs::path& root) {
  std::vector<std::string> sources;
  for (const char* top : {"app", "core", "backends", "ui"})
    std::ranges::copy_if(files_under(root, top), std::back_inserter(sources), is_source);
  return sources;
}

std::vector<Include> includes_of(const fs::path& root, const std::string& file) {
  static const std::regex include(R"(\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::vector<Include> includes;
  const auto lines = lines_of(root / file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch parts;
    if (lines[i].find("include") != std::string::npos && std::regex_match(lines[i], parts, include))
      includes.push_back({i + 1, parts[2], parts[1] == "<"});
  }
  return includes;
}

std::string folder_of(const std::string& file) {
  const auto first = file.find('/');
  const std::string top = file.substr(0, first);
  if (first == std::string::npos || !Folders{"app", "core", "backends", "ui"}.contains(top))
    return "";
  const auto second = file.find('/', first + 1);
  return top == "app" || second == std::string::npos ? top : file.substr(0, second);
}

bool may_include(const std::string& from, const std::string& to) {
  if (from == to || from == "app") return true;
  if (to == "app") return false;
  if (from.starts_with("ui"))
    return to.starts_with("core/") || (to.starts_with("ui") && from != "ui/model");
  if (from.starts_with("backends/"))
    return directions().contains(from) && directions().at(from).contains(to);
  return reaches(from, to);
}

Findings check_includes(const fs::path& root) {
  Findings findings;
  for (const std::string& file : product_sources(root))
    for (const Include& include : includes_of(root, file)) {
      const std::string problem = include.library ? library_problem(file, include.target)
                                                  : own_include_problem(root, file, include.target);
      if (!problem.empty()) findings.push_back(finding(file, include.line, problem));
    }
  return findings;
}

Findings check_namespaces(const fs::path& root) {
  static const std::regex opening(R"(namespace trainyard::([\w:]+)\s*\{.*)");
  Findings findings;
  for (const std::string& file : product_sources(root)) {
    if (!file.ends_with(".h") || file.starts_with("app/")) continue;
    const std::string folder = "/" + fs::path(file).parent_path().string() + "/";
    bool opened = false, named = false;
    for (const std::string& line : lines_of(root / file)) {
      std::smatch parts;
      if (!std::regex_match(line, parts, opening) || parts[1] == "base")
        continue;  // base is opened anywhere, to specialize its templates
      opened = true;
      std::istringstream spaces(std::regex_replace(parts[1].str(), std::regex("::"), " "));
      for (std::string name; spaces >> name;)
        named = named || folder.find("/" + name + "/") != std::string::npos;
    }
    if (opened && !named)
      findings.push_back(
          finding(file, 1, "no namespace here is named for its folder or one above"));
  }
  return findings;
}

Findings check_tags(const fs::path& root) {
  std::vector<std::string> files;
  for (const char* top :
       {"app", "core", "backends", "ui", "tests", "packaging", "resources", ".ci"})
    std::ranges::copy(files_under(root, top), std::back_inserter(files));
  for (const char* file :
       {"CMakeLists.txt", "README.md", ".gitignore", ".clang-format", ".clang-tidy"})
    if (fs::exists(root / file)) files.emplace_back(file);
  Findings findings;
  for (const std::string& file : files)
    if (wants_tag(root / file) && !has_tag(root / file))
      findings.push_back(finding(file, 1, "no SPDX-License-Identifier in the first three lines"));
  return findings;
}

Findings check_build_files(const fs::path& root) {
  Findings findings;
  for (const std::string file : {"core/CMakeLists.txt", "backends/CMakeLists.txt"}) {
    const auto lines = lines_of(root / file);
    for (std::size_t i = 0; i < lines.size(); ++i)
      check_build_line(file, i + 1, lines[i], findings);
  }
  return findings;
}

}  // namespace trainyard::architecture
