// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/count_text.h"

#include "core/base/units.h"

namespace trainyard::ui {

QString grouped(std::int64_t number) { return QString::fromStdString(base::format_count(number)); }

QString counted(std::int64_t number, const QString& things) {
  return grouped(number) + " " + (number == 1 ? singular(things) : things);
}

QString size_text(std::int64_t bytes) {
  return QString::fromStdString(base::format_bytes(static_cast<double>(bytes)));
}

QString singular(const QString& things) {
  if (things.size() < 3 || things.contains('/') || !things.endsWith('s')) return things;
  const bool hissing = things.endsWith("sses") || things.endsWith("ches");  // classes, switches
  return things.chopped(hissing ? 2 : 1);
}

}  // namespace trainyard::ui
