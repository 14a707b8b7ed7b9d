// SPDX-License-Identifier: GPL-3.0-or-later
// Text for counts and sizes: "1 rank", "1,234 ranks", "1.5 MB".
#pragma once

#include <QString>
#include <cstdint>

namespace trainyard::ui {

QString grouped(std::int64_t number);  // "1,234,567"
// Returns the argument `n` of tr() for a count, as in tr("%n step(s)", nullptr, plural(steps)). If
// there is no translation, "%n" is shown with grouped digits, and "step(s)" as "step" or "steps".
// For a count above the largest int, use tr("%1 byte(s)", nullptr,
// plural(bytes)).arg(grouped(bytes)).
int plural(std::int64_t number);
QString size_text(std::int64_t bytes);  // "1.5 MB"
// Returns the singular: "step" for "steps". Unit symbols, such as "s" and "B/s", are unchanged.
QString singular(const QString& noun);

}  // namespace trainyard::ui
