// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/process_alive.h"

#include <signal.h>

#include <fstream>
#include <string>

namespace trainyard::ui {

bool process_alive(std::int64_t process) {
  if (process <= 0 || ::kill(static_cast<pid_t>(process), 0) != 0) return false;
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() || line[name_end + 2] != 'Z';
}

}  // namespace trainyard::ui
