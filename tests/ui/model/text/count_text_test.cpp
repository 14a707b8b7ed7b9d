// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/count_text.h"

#include <gtest/gtest.h>

#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

TEST(Counted, one_is_singular_and_nothing_else_is) {
  EXPECT_EQ(counted(1, "steps"), "1 step");
  EXPECT_EQ(counted(0, "steps"), "0 steps");
  EXPECT_EQ(counted(2, "classes"), "2 classes");
  EXPECT_EQ(counted(1, "classes"), "1 class");
  EXPECT_EQ(counted(1, "switches"), "1 switch");
  EXPECT_EQ(counted(1, "epochs"), "1 epoch");
}

TEST(Counted, large_numbers_are_grouped) {
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(counted(60'000, "samples"), "60,000 samples");
}

TEST(Counted, symbols_of_units_have_no_singular) {
  for (const char* unit : {"s", "B", "B/s", "bit/s", "flop/s", ""}) EXPECT_EQ(singular(unit), unit);
}

TEST(Counted, a_device_has_one_core_or_several) {
  topology::Device device{.name = "cpu0"};
  EXPECT_EQ(device_figures(device), "1 core, 4 GB");
  device.cores = 16;
  EXPECT_EQ(device_figures(device), "16 cores, 4 GB");
  device.gpu = 3;
  EXPECT_EQ(device_figures(device), "16 cores, 4 GB") << "it is no gpu";
  device.kind = topology::DeviceKind::gpu;
  EXPECT_EQ(device_figures(device), "GPU 3, 4 GB") << "of this machine";
}

}  // namespace
}  // namespace trainyard::ui
