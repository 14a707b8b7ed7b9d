// SPDX-License-Identifier: GPL-3.0-or-later
// Text for counts and sizes: "1 rank", "1,234 ranks", "1.5 MB".
#pragma once

#include <QString>
#include <cstdint>

namespace trainyard::ui {

QString grouped(std::int64_t number);  // "1,234,567"
QString counted(std::int64_t number,
                const QString& noun);   // "steps" -> "1 step", "0 steps", "1,234 steps"
QString size_text(std::int64_t bytes);  // "1.5 MB"
// "steps" -> "step"; unit symbols ("s", "B/s") are unchanged
QString singular(const QString& noun);

}  // namespace trainyard::ui
