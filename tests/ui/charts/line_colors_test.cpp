// SPDX-License-Identifier: GPL-3.0-or-later
// Colors of lines of ranks, runs, parts of a step, and other lines.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/run/bind/memory_use.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/charts/plot_painter.h"
#include "ui/charts/run_lines.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kColors = 8;                  // of ranks and runs, before they repeat
constexpr double kSeen = 3;                 // the contrast that WCAG 2.1 asks for of what is drawn
constexpr double kMinColorDifference = 20;  // in CIELAB; a difference of 2 is just noticeable

telemetry::History history_of_ranks(int ranks) {
  QTemporaryDir directory;
  test::SyntheticRun{.ranks = ranks}.record(directory.path().toStdString(), 3);
  return *telemetry::History::load(directory.path().toStdString());
}

// Converts sRGB (D65) to CIELAB.
std::array<double, 3> cielab(const QColor& color) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const auto root = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double r = linear(color.redF()), g = linear(color.greenF()), b = linear(color.blueF());
  const double x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505),
               y = root(0.2126 * r + 0.7152 * g + 0.0722 * b),
               z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double difference(const QColor& one, const QColor& other) {
  const auto a = cielab(one), b = cielab(other);
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(LineColors, reduced_values_have_a_color_unlike_any_rank) {
  const auto lines = lines_of(ChartKind::gradient_norm, history_of_ranks(8), {}, {.segment = 0});
  ASSERT_EQ(lines.size(), 9u);
  for (const LineSpec& one : lines) {
    EXPECT_EQ(one.id == "reduced0", one.style.color == kTextColor) << one.id.toStdString();
    for (int rank = 0; rank < kColors && one.id == "reduced0"; ++rank)
      EXPECT_NE(color_of(one.style), Theme::instance().series_color(rank));
  }
}

TEST(LineColors, parts_of_a_step_have_distinct_visible_colors_unlike_any_rank) {
  const auto parts = lines_of(ChartKind::step_time, history_of_ranks(4), {}, {});
  ASSERT_EQ(parts.size(), kStepParts);
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    std::vector<QColor> others;
    for (int rank = 0; rank < kColors; ++rank)
      others.push_back(Theme::instance().series_color(rank));
    for (const LineSpec& part : parts) {
      const QColor color = series_pen(part.style, 1.5).color();
      EXPECT_GE(contrast(color, Theme::instance().colors().card), kSeen)
          << part.style.label.toStdString();
      for (const QColor& other : others)
        EXPECT_GE(difference(color, other), kMinColorDifference)
            << part.style.label.toStdString() << " is like " << other.name().toStdString();
      others.push_back(color);
    }
  }
}

TEST(LineColors, exist_for_each_purpose_of_buffers) {
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    for (int part = 0; part < static_cast<int>(run::kMemoryParts); ++part) {
      const QColor color = Theme::instance().component_color(part);
      EXPECT_GE(contrast(color, Theme::instance().colors().card), kSeen) << part;
      for (int rank = 0; rank < kColors; ++rank)
        EXPECT_GE(difference(color, Theme::instance().series_color(rank)), kMinColorDifference)
            << part;
      for (int other = 0; other < part; ++other)
        EXPECT_GE(difference(color, Theme::instance().component_color(other)), kMinColorDifference)
            << part << ", " << other;
    }
  }
}

TEST(LineColors, are_distinct_for_overlaid_runs) {
  const auto history = history_of_ranks(4);
  for (const ChartKind kind : kChartKinds)
    for (const LineSpec& one : lines_of(kind, history, RunStyle{"second", 1}, {})) {
      EXPECT_EQ(one.style.color, 1);
      EXPECT_TRUE(one.style.label.startsWith("second"));
    }
}

}  // namespace
}  // namespace trainyard::ui
