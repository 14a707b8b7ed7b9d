// SPDX-License-Identifier: GPL-3.0-or-later
// Translated text of charts.
#pragma once

#include <QCoreApplication>

namespace trainyard::ui {

inline QString chart_text(const char* source, int n = -1) {
  return QCoreApplication::translate("charts", source, nullptr, n);
}

}  // namespace trainyard::ui
