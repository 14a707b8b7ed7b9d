// SPDX-License-Identifier: GPL-3.0-or-later
// Translated text of timelines.
#pragma once

#include <QCoreApplication>

namespace trainyard::ui {

inline QString timeline_text(const char* source, int n = -1) {
  return QCoreApplication::translate("timeline", source, nullptr, n);
}

}  // namespace trainyard::ui
