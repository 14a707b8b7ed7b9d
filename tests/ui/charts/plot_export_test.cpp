// SPDX-License-Identifier: GPL-3.0-or-later
// A chart as files.
#include "ui/charts/plot_export.h"

#include <QTemporaryDir>
#include <algorithm>
#include <cmath>

#include "core/base/file.h"
#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

TEST_F(PlotViewTest, exports_every_point_as_csv_whatever_is_shown) {
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(std::sin(i) / 3);
  values[5] = kNaN;
  add(values);
  plot_.set_series_visible("a", false);
  plot_.zoom_at({0.5, 0.5}, 0.1, false);
  const std::string csv = csv_of(plot_.model());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 20'001);
  char last[64];
  std::snprintf(last, sizeof last, "\"a\",19999,%.17g,%.17g,%.17g\n", 19999.0 * 128, 19999 * 0.01, values.back());
  EXPECT_TRUE(csv.ends_with(last));
  EXPECT_THAT(csv, HasSubstr(",nan\n"));
}

TEST_F(PlotViewTest, writes_pictures_and_refuses_other_suffixes) {
  add({1, 3, 2});
  plot_.set_title("Loss");
  QTemporaryDir directory;
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.png")));
  EXPECT_EQ(QImage(directory.filePath("a.png")).width(), 2 * plot_.width());
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.svg")));
  EXPECT_THAT(*base::read_file(directory.filePath("a.svg").toStdString(), 1 << 22), HasSubstr("<svg"));
  EXPECT_FALSE(save_plot(plot_, directory.filePath("a.bmp")));
}

}  // namespace
}  // namespace trainyard::ui
