// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_colors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

int difference(const QColor& one, const QColor& other) {
  return std::max({std::abs(one.red() - other.red()), std::abs(one.green() - other.green()),
                   std::abs(one.blue() - other.blue())});
}

TEST(TimelineColors, differ_for_each_kind_of_op) {
  for (const auto theme : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(theme);
    const auto kinds = timeline_colors().kinds;
    for (std::size_t i = 0; i < kinds.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(difference(kinds[i], kinds[j]), 25)
            << span_kind_text(static_cast<SpanKind>(i)).toStdString() << " and "
            << span_kind_text(static_cast<SpanKind>(j)).toStdString();
  }
}

}  // namespace
}  // namespace trainyard::ui
