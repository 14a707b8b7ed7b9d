// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/count_text.h"

#include "core/base/units.h"

namespace trainyard::ui {

QString grouped(std::int64_t number) { return QString::fromStdString(base::format_count(number)); }

QString counted(std::int64_t number, const QString& noun) {
  return grouped(number) + " " + (number == 1 ? singular(noun) : noun);
}

QString size_text(std::int64_t bytes) {
  return QString::fromStdString(base::format_bytes(static_cast<double>(bytes)));
}

QString singular(const QString& noun) {
  if (noun.size() < 3 || noun.contains('/') || !noun.endsWith('s')) return noun;
  const bool ends_in_es = noun.endsWith("sses") || noun.endsWith("ches");  // classes, switches
  return noun.chopped(ends_in_es ? 2 : 1);
}

}  // namespace trainyard::ui
