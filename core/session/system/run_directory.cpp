// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_directory.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>

#include "core/telemetry/recording.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::ProblemCode;

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

base::Result<void> make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return base::fail(
        base::system_problem(path.string(), "cannot make this directory", error.value()));
  return {};
}

std::string time_and_name(const std::string& experiment_name) {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(text.data(), text.size(), "%Y-%m-%d_%H-%M-%S", &local);
  std::string slug;
  for (const char c : experiment_name.substr(0, 60)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!slug.empty() && slug.back() != '-') slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return std::string(text.data()) + "_" + (slug.empty() ? "untitled" : slug);
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
  if (const char* data = environment("XDG_DATA_HOME")) return fs::path(data) / "trainyard" / "runs";
  const char* home = environment("HOME");
  return fs::path(home != nullptr ? home : "/tmp") / ".local" / "share" / "trainyard" / "runs";
}

base::Result<fs::path> make_runtime_directory() {
  const char* runtime = environment("XDG_RUNTIME_DIR");
  const fs::path directory = runtime != nullptr
                                 ? fs::path(runtime) / "trainyard"
                                 : fs::path("/tmp/trainyard-" + std::to_string(::getuid()));
  if (const auto made = make_directories(directory); !made) return base::fail(made.error());
  struct stat status {};
  // Both the directory and, if it is a symbolic link, its target must belong to this user.
  // Otherwise this process would change the mode of a foreign directory and delete files in it.
  const auto is_of_this_run = [&](int (*look)(const char*, struct stat*)) {
    return look(directory.c_str(), &status) == 0 && status.st_uid == ::getuid();
  };
  if (!is_of_this_run(::lstat) || !is_of_this_run(::stat))
    return base::fail({"foreign_directory", ProblemCode::unavailable, directory.string(),
                       "the directory belongs to another user", "a directory of this user",
                       "Set XDG_RUNTIME_DIR to a directory of yours."});
  ::chmod(directory.c_str(), 0700);
  return directory;
}

base::Result<fs::path> make_new_run_directory(const fs::path& runs,
                                              const std::string& experiment_name) {
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
