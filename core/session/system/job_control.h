// SPDX-License-Identifier: GPL-3.0-or-later
// Job control: Ctrl-Z on the terminal suspends a run with all its processes, and `fg` continues it.
#pragma once

#include <functional>

namespace trainyard::session {

struct JobControl {
  std::function<bool()> take_request;  // returns true once after each Ctrl-Z
  // Suspends this process, and returns when it continues. Returns at once if the process has no
  // terminal that could continue it.
  std::function<void()> suspend;

  bool requested() const { return take_request && take_request(); }
};

}  // namespace trainyard::session
