// SPDX-License-Identifier: GPL-3.0-or-later
// Translated text of charts.
#pragma once

#include <QCoreApplication>

namespace trainyard::ui {

inline QString chart_text(const char* source) {
  return QCoreApplication::translate("charts", source);
}

}  // namespace trainyard::ui
