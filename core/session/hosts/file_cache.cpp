// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/file_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/file.h"
#include "core/base/units.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kPartSuffix = ".part";

std::string size_text(std::int64_t bytes) { return base::format_bytes(static_cast<double>(bytes)); }

std::int64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

}  // namespace

FileCache::FileCache(fs::path directory, std::int64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes), output_(-1) {}

FileCache::~FileCache() = default;

base::Problem FileCache::problem(const char* id, std::string what, std::string advice) const {
  return {id,
          base::ProblemCode::unavailable,
          directory_.string(),
          std::move(what),
          "",
          std::move(advice)};
}

std::optional<fs::path> FileCache::find(const SharedFile& file) {
  const fs::path path = directory_ / file.hash;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  if (size_of(path) != file.bytes || base::hash_of_file(path).value_or("") != file.hash) {
    fs::remove(path, error);
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // marks it as used now
  used_.insert(file.hash);
  return path;
}

Result<std::int64_t> FileCache::begin(const SharedFile& file) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error)
    return base::fail(
        base::system_problem(directory_.string(), "cannot make the directory", error.value()));
  receiving_ = file;
  part_ = directory_ / (file.hash + kPartSuffix);
  const auto open_part = [this] {
    output_ = base::Descriptor(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return output_.is_open();
  };
  if (!open_part())
    return base::fail(base::system_problem(part_.string(), "cannot write the file", errno));
  if (::flock(output_.get(), LOCK_EX | LOCK_NB) != 0) {  // another process receives this file
    part_ = directory_ / fmt::format("{}-{}{}", file.hash, ::getpid(), kPartSuffix);
    if (!open_part())
      return base::fail(base::system_problem(part_.string(), "cannot write the file", errno));
  }
  received_ = size_of(part_);
  if (received_ > file.bytes) {
    received_ = 0;
    [[maybe_unused]] const int cut = ::ftruncate(output_.get(), 0);
  }
  ::lseek(output_.get(), received_, SEEK_SET);
  remove_unused(file.bytes);
  const std::int64_t needs = file.bytes - received_ + kSpareBytes;
  const auto space = fs::space(directory_, error);
  if (!error && static_cast<std::int64_t>(space.available) < needs)
    return base::fail(problem(
        "disk_full",
        fmt::format("the disk has {} free, but a file of the run needs {}",
                    size_text(static_cast<std::int64_t>(space.available)), size_text(needs)),
        "Free space on this disk, or use a smaller data set."));
  return received_;
}

// Removes the files that were not used for the longest time, so that another `bytes` fit.
void FileCache::remove_unused(std::int64_t bytes) {
  struct Cached {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Cached> files;
  std::error_code error;
  std::int64_t total = bytes;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::error_code gone;
    const auto used = fs::last_write_time(entry.path(), gone);
    if (gone || entry.path() == part_) continue;
    const std::int64_t size = size_of(entry.path());
    total += size;
    if (!used_.contains(entry.path().filename().string()))
      files.push_back({used, size, entry.path()});
  }
  std::ranges::sort(files, {}, &Cached::used);
  for (const Cached& file : files) {
    if (total <= max_bytes_) return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

Result<bool> FileCache::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(output_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return base::fail(base::system_problem(part_.string(), "cannot write the file", errno));
    received_ += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return received_ < receiving_.bytes ? Result<bool>(false) : finish();
}

Result<bool> FileCache::finish() {
  std::error_code error;
  const auto hash = base::hash_of_file(part_);
  if (!hash || *hash != receiving_.hash) {
    fs::remove(part_, error);
    return base::fail(problem("file_damaged",
                              fmt::format("the file {} arrived with other contents than it has "
                                          "on the coordinator's machine",
                                          receiving_.path),
                              "Do not change data files while a run starts. Run again."));
  }
  fs::rename(part_, directory_ / receiving_.hash, error);
  output_.close();
  if (error)
    return base::fail(
        base::system_problem(part_.string(), "cannot rename the file", error.value()));
  return true;
}

}  // namespace trainyard::session
