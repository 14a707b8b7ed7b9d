// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace trainyard::shm {
namespace {

struct Status {
  char state = '?';
  std::int64_t start = 0;
};

// The command's name, field 2, may hold spaces and brackets: fields are counted from its last closing bracket.
std::optional<Status> read_status(std::int64_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  Status status;
  rest >> status.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) rest >> skipped;
  rest >> status.start;
  if (!rest) return std::nullopt;
  return status;
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
  if (!status || process.start == 0) return true;  // it answers to a signal; more cannot be known
  return status->start == process.start && status->state != 'Z' && status->state != 'X';
}

}  // namespace trainyard::shm
