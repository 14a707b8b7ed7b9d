// SPDX-License-Identifier: GPL-3.0-or-later
// Matcher of numbers and names in texts of the workbench; tests do not compare their wording.
#pragma once

#include <gmock/gmock.h>

#include <QString>

namespace trainyard::ui::test {

// Matches a QString that contains all of these numbers and names.
template <class... Parts>
auto HasAll(Parts... parts) {
  return testing::ResultOf(
      "text", [](const QString& text) { return text.toStdString(); },
      testing::AllOf(testing::HasSubstr(parts)...));
}

}  // namespace trainyard::ui::test
