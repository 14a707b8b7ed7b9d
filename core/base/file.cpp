// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <regex>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "core/base/units.h"

namespace trainyard::base {
namespace {

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Reads up to the end of the file, at most `most` bytes. The end is where read() returns 0, because
// files of the kernel (/proc, /sys) report no size.
bool read_up_to(int fd, std::string& content, std::size_t most) {
  std::size_t at = 0;
  while (at < most) {
    if (at == content.size()) content.resize(std::min(most, 2 * content.size()));
    const ssize_t got = ::read(fd, content.data() + at, content.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  content.resize(at);
  return true;
}

std::string temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> count{0};
  return path.string() + ".new-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

// Creates a new temporary file beside `path`. The name may already exist, if an earlier process
// with the same id was killed.
Descriptor open_beside(const std::filesystem::path& path, std::string& name) {
  for (int i = 0; i < 100; ++i) {
    name = temporary_beside(path);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return Descriptor(file);
  }
  return Descriptor(-1);
}

// Copies the permissions of the file to be replaced, if it exists, to `fd`.
void keep_permissions(int fd, const std::filesystem::path& old) {
  struct stat status {};
  if (::stat(old.c_str(), &status) == 0) ::fchmod(fd, status.st_mode & 07777);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const Descriptor file(::open(path.c_str(),
                               // O_NONBLOCK: opening a named pipe that has no writer must not block
                               O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return fail(system_problem(path.string(), "cannot open the file", errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail({"not_a_regular_file", ProblemCode::bad_input, path.string(),
                 S_ISDIR(status.st_mode) ? "the path is a directory"
                                         : "the path is a device, a pipe or a socket",
                 "a file",
                 S_ISDIR(status.st_mode) ? "Name a file of this directory." : "Name a file."});
  std::string content(std::min(static_cast<std::size_t>(status.st_size), max_bytes) + 1, '\0');
  if (!read_up_to(file.get(), content, max_bytes + 1))
    return fail(system_problem(path.string(), "cannot read the file", errno));
  if (content.size() <= max_bytes) return content;
  const auto size = std::max(content.size(), static_cast<std::size_t>(status.st_size));
  return fail({"file_too_large", ProblemCode::bad_input, path.string(),
               fmt::format("the file has {}", format_bytes(static_cast<double>(size))),
               fmt::format("at most {}", format_bytes(static_cast<double>(max_bytes))),
               "Name a smaller file."});
}

Result<std::string> hash_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  ContentHasher hasher;
  std::array<char, std::size_t{64} << 10> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0)
    hasher.add({block.data(), static_cast<std::size_t>(file.gcount())});
  if (!file.eof()) return fail(system_problem(path.string(), "cannot read the file", errno));
  return hasher.hash();
}

std::filesystem::path resolve_link(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target;
}

bool is_not_regular_file(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Result<void> write_file_atomically(const std::filesystem::path& name, std::string_view content) {
  const std::filesystem::path path = resolve_link(name);
  if (is_not_regular_file(path))
    return fail({"not_a_regular_file", ProblemCode::failed, path.string(),
                 "the path is not a regular file and is not replaced", "", "Choose another name."});
  std::string temporary;
  {
    const Descriptor file = open_beside(path, temporary);
    if (file.get() < 0)
      return fail(
          system_problem(path.string(), "cannot create a temporary file in this directory", errno));
    keep_permissions(file.get(), path);
    if (!write_all(file.get(), content) || ::fsync(file.get()) != 0) {
      const int reason = errno;
      ::unlink(temporary.c_str());
      return fail(system_problem(
          path.string(), "cannot write the file; the previous version is unchanged", reason));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return fail(system_problem(
        path.string(), "cannot replace the file; the previous version is unchanged", reason));
  }
  sync_directory(path.parent_path());
  return {};
}

int remove_unfinished(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  static const std::regex unfinished(R"(.*\.new-(\d{1,9})-\d+)");
  std::error_code error;
  std::vector<fs::path> found;
  for (auto at = fs::recursive_directory_iterator(directory, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::smatch match;
    const std::string name = at->path().filename().string();
    if (!at->is_regular_file(error) || !std::regex_match(name, match, unfinished)) continue;
    const auto process = static_cast<pid_t>(std::stol(match[1]));
    if (::kill(process, 0) != 0 && errno == ESRCH) found.push_back(at->path());
  }
  return static_cast<int>(
      std::ranges::count_if(found, [&](const fs::path& file) { return fs::remove(file, error); }));
}

void sync_directory(const std::filesystem::path& directory) {
  const Descriptor file(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.is_open()) ::fsync(file.get());
}

}  // namespace trainyard::base
