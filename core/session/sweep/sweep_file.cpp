// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/stored_document.h"
#include "core/session/system/run_directory.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Problem;
using base::ProblemCode;

constexpr std::size_t kMaxSweepBytes = 64u << 20;
constexpr const char* kLockFile = "sweep.lock";

// Returns the canonical text including its checksum, so that edits can be detected.
std::string text_of(Sweep sweep) {
  const auto dump = [&sweep] { return base::to_text(base::write_document(sweep), 2) + "\n"; };
  sweep.xxh64 = std::string(16, '0');
  sweep.xxh64 = base::hex(base::xxh64(dump()));
  return dump();
}

Problem unreadable(const fs::path& path, const std::string& what) {
  return {"bad_sweep_file",
          ProblemCode::bad_input,
          path.string(),
          what,
          "the manifest of a sweep, as trainyard-cli sweep writes it",
          "The runs of the sweep can be opened one by one: each has a directory beside this file."};
}

base::Result<Sweep> parse(const std::string& text, const fs::path& path) {
  const auto json = base::parse_json(text, path.string());
  if (!json) return base::fail(json.error());
  if (!json->is_object() || json->value("format", base::Json()) != Sweep{}.format)
    return base::fail(unreadable(path, "the file is not the manifest of a sweep"));
  Sweep sweep;
  base::Problems problems;
  base::read_complete(*json, sweep, "", problems);
  if (!problems.empty())
    return base::fail(unreadable(path, fmt::format("the file is damaged, or of another version: {}",
                                                   base::to_string(problems.front()))));
  if (text != text_of(sweep))
    return base::fail(unreadable(path, "does not match its own checksum"));
  return sweep;
}

struct flock full_file_lock(short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

fs::path default_sweeps_directory() { return default_runs_directory().parent_path() / "sweeps"; }

base::Result<fs::path> make_sweep_directory(const fs::path& directory,
                                            const std::string& experiment_name) {
  if (directory.empty()) return make_new_run_directory(default_sweeps_directory(), experiment_name);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return base::fail(
        base::system_problem(directory.string(), "cannot make this directory", error.value()));
  if (const std::string in_use = use_of(directory, kSweepFile, "a sweep"); !in_use.empty())
    return base::fail({"directory_in_use", ProblemCode::bad_input, directory.string(), in_use,
                       "a new or empty directory", "Choose another --out."});
  return fs::absolute(directory);
}

base::Result<void> write_sweep(const Sweep& sweep, const fs::path& directory) {
  return base::write_file_atomically(directory / kSweepFile, text_of(sweep));
}

base::Result<Sweep> read_sweep(const fs::path& directory) {
  const fs::path path = directory / kSweepFile;
  return base::read_file(path, kMaxSweepBytes).and_then([&](const std::string& text) {
    return parse(text, path);
  });
}

base::Result<SweepLock> SweepLock::take(const fs::path& directory) {
  const fs::path path = directory / kLockFile;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return base::fail(
        base::system_problem(path.string(), "cannot make the lock of the sweep", errno));
  SweepLock lock(file);
  struct flock wanted = full_file_lock(F_WRLCK);
  if (::fcntl(file, F_SETLK, &wanted) == 0) return lock;
  return base::fail({"directory_in_use", ProblemCode::unavailable, directory.string(),
                     "another sweep uses this directory", "a new directory",
                     "Choose another --out."});
}

SweepLock::~SweepLock() {
  if (file_ >= 0) ::close(file_);
}

SweepLock::SweepLock(SweepLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

std::optional<pid_t> sweeping_process(const fs::path& directory) {
  const int file = ::open((directory / kLockFile).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct flock asked = full_file_lock(F_WRLCK);
  const bool answered = ::fcntl(file, F_GETLK, &asked) == 0;
  ::close(file);
  if (!answered || asked.l_type == F_UNLCK) return std::nullopt;
  return asked.l_pid;
}

}  // namespace trainyard::session
