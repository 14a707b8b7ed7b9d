// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_directory.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8.h>

#include <array>
#include <cctype>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <cwctype>

#include "core/telemetry/recording.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::ProblemCode;

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Returns the variable if it is an absolute path. Others must be ignored (XDG Base Directory
// Specification).
const char* absolute_path(const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

base::Result<void> make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return base::fail(
        base::system_problem(path.string(), "cannot make this directory", error.value()));
  return {};
}

// Character classes of Unicode. glibc's class "combining" holds the categories Mn, Mc and Me; a C
// library without this class gives 0, which no character belongs to.
struct UnicodeClasses {
  locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  wctype_t combining = locale != nullptr ? ::wctype_l("combining", locale) : 0;

  bool is_letter_or_digit(wint_t c) const {
    return c < 0x80 ? std::isalnum(static_cast<int>(c)) != 0
                    : locale != nullptr && ::iswalnum_l(c, locale) != 0;
  }
  bool is_combining_mark(wint_t c) const {
    return combining != 0 && ::iswctype_l(c, combining, locale) != 0;
  }
  wint_t lower(wint_t c) const {
    return c < 0x80 ? static_cast<wint_t>(std::tolower(static_cast<int>(c)))
                    : ::towlower_l(c, locale);
  }
};

// Returns the experiment's name as part of a file name: letters and digits of every script in lower
// case with their combining marks, and "-" for everything else.
std::string name_part(const std::string& experiment_name) {
  constexpr int kMaxCharacters = 60;
  constexpr std::size_t kMaxBytes = 120;
  static const UnicodeClasses unicode;
  std::string part;
  const std::string name = utf8::replace_invalid(experiment_name, U'\uFFFD');
  auto at = name.begin();
  for (int i = 0; i < kMaxCharacters && at != name.end() && part.size() < kMaxBytes; ++i) {
    const auto c = static_cast<wint_t>(utf8::unchecked::next(at));
    const bool after_letter = !part.empty() && part.back() != '-';
    if (unicode.is_letter_or_digit(c) || (after_letter && unicode.is_combining_mark(c)))
      utf8::unchecked::append(unicode.lower(c), std::back_inserter(part));
    else if (after_letter) part += '-';
  }
  while (!part.empty() && part.back() == '-') part.pop_back();
  return part;
}

std::string time_and_name(const std::string& experiment_name) {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(text.data(), text.size(), "%Y-%m-%d_%H-%M-%S", &local);
  const std::string name = name_part(experiment_name);
  return fmt::format("{}_{}", text.data(), name.empty() ? "untitled" : name);
}

// Temporary directory of this user, for a user without home directory.
fs::path temporary_directory() { return fmt::format("/tmp/trainyard-{}", ::getuid()); }

// Makes a directory that only this user can enter.
base::Result<void> make_private_directory(const fs::path& directory, const char* advice) {
  if (const auto made = make_directories(directory); !made) return base::fail(made.error());
  struct stat status {};
  // Both the directory and, if it is a symbolic link, its target must belong to this user.
  // Otherwise this process would change the mode of a foreign directory and delete files in it.
  const auto is_of_this_user = [&](int (*look)(const char*, struct stat*)) {
    return look(directory.c_str(), &status) == 0 && status.st_uid == ::getuid();
  };
  if (!is_of_this_user(::lstat) || !is_of_this_user(::stat))
    return base::fail({"foreign_directory", ProblemCode::unavailable, directory.string(),
                       "the directory belongs to another user", "a directory of this user",
                       advice});
  ::chmod(directory.c_str(), 0700);
  return {};
}

fs::path home_directory() {
  if (const char* home = environment("HOME")) return home;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

}  // namespace

std::string use_of(const fs::path& directory, const char* file, const std::string& of_what) {
  std::error_code error;
  if (fs::exists(directory / file, error))
    return fmt::format("the directory already contains {}", of_what);
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (const auto name = entry.path().filename();
        name != "experiment.json" && name != "console.log")
      return fmt::format("the directory is not empty: it contains {}", name.string());
  return "";
}

fs::path default_runs_directory() {
  if (const char* data = absolute_path("XDG_DATA_HOME"))
    return fs::path(data) / "trainyard" / "runs";
  std::error_code error;
  const fs::path home = home_directory();
  if (home.empty() || !fs::is_directory(home, error)) return temporary_directory() / "runs";
  return home / ".local" / "share" / "trainyard" / "runs";
}

base::Result<fs::path> make_runtime_directory() {
  const char* runtime = absolute_path("XDG_RUNTIME_DIR");
  const fs::path directory =
      runtime != nullptr ? fs::path(runtime) / "trainyard" : temporary_directory();
  return make_private_directory(directory, "Set XDG_RUNTIME_DIR to a directory of yours.").map([&] {
    return directory;
  });
}

base::Result<fs::path> make_new_run_directory(const fs::path& runs,
                                              const std::string& experiment_name) {
  if (runs.parent_path() == temporary_directory())
    if (const auto made = make_private_directory(
            runs.parent_path(), "Set HOME or XDG_DATA_HOME to a directory that you own.");
        !made)
      return base::fail(made.error());
  if (const auto made = make_directories(runs); !made) return base::fail(made.error());
  const std::string name = time_and_name(experiment_name);
  for (int copy = 1; copy < 1000; ++copy) {
    const fs::path path = runs / (copy == 1 ? name : name + "-" + std::to_string(copy));
    if (::mkdir(path.c_str(), 0755) == 0) return path;
    if (errno != EEXIST)
      return base::fail(
          base::system_problem(path.string(), "cannot make a directory for the run", errno));
  }
  return base::fail({"no_free_name", ProblemCode::failed, runs.string(),
                     "the directory has no free name for a run", "", "Remove old runs."});
}

base::Result<fs::path> make_run_directory(const fs::path& directory,
                                          const std::string& experiment_name) {
  auto path = directory.empty() ? make_new_run_directory(default_runs_directory(), experiment_name)
                                : make_directories(directory).map([&] { return directory; });
  if (!path) return path;
  if (const std::string in_use = use_of(*path, telemetry::kRecordingFile, "a run"); !in_use.empty())
    return base::fail({"directory_in_use", ProblemCode::bad_input, path->string(), in_use,
                       "a new or empty directory", "Choose another --out."});
  if (const auto made = make_directories(*path / "logs"); !made) return base::fail(made.error());
  return fs::absolute(*path);
}

}  // namespace trainyard::session
