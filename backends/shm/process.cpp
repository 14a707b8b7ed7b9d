// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

namespace trainyard::shm {
namespace {

struct Status {
  char state = '?';
  std::int64_t start = 0;
};

// Parses the fields after the command name (field 2). The name may contain spaces and parentheses,
// so fields are counted from the last closing parenthesis.
std::optional<Status> parse(std::string_view text) {
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  text.remove_prefix(bracket + 1);
  Status status;
  for (int field = 3; field <= 22; ++field) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return std::nullopt;
    const std::string_view word = text.substr(0, text.find(' '));
    if (field == 3) status.state = word.front();
    if (field == 22 &&
        std::from_chars(word.data(), word.data() + word.size(), status.start).ec != std::errc{})
      return std::nullopt;
    text.remove_prefix(word.size());
  }
  return status;
}

// Reads the state and start time of a process. Must not allocate memory, because it is called while
// a rank waits for its peers.
std::optional<Status> read_status(std::int64_t id) {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(id));
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> text;
  const auto bytes = ::read(file, text.data(), text.size());
  ::close(file);
  if (bytes <= 0) return std::nullopt;
  return parse({text.data(), static_cast<std::size_t>(bytes)});
}

}  // namespace

ProcessIdentity this_process() {
  const std::int64_t id = ::getpid();
  const auto status = read_status(id);
  return {id, status ? status->start : 0};
}

bool runs(const ProcessIdentity& process) {
  if (::kill(static_cast<pid_t>(process.id), 0) != 0 && errno == ESRCH) return false;
  const auto status = read_status(process.id);
  // Without /proc the start time is unknown and cannot be compared. The process exists, because
  // `kill` could signal it.
  if (!status || process.start == 0) return true;
  return status->start == process.start && status->state != 'Z' && status->state != 'X';
}

}  // namespace trainyard::shm
