// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/count_text.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QTranslator>

#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

QString steps(std::int64_t n) { return QObject::tr("%n step(s)", nullptr, plural(n)); }

TEST(Counted, only_one_is_singular) {
  EXPECT_EQ(steps(1), "1 step");
  EXPECT_EQ(steps(0), "0 steps");
  EXPECT_EQ(QObject::tr("%n class(es) of %1", nullptr, 2).arg("digits"), "2 classes of digits");
  EXPECT_EQ(QObject::tr("%n switch(es)", nullptr, 1), "1 switch");
  EXPECT_EQ(QObject::tr("a choice (s)"), "a choice (s)") << "a text without a count is unchanged";
}

TEST(Counted, installed_translation_has_precedence) {
  class German : public QTranslator {
   public:
    bool isEmpty() const override { return false; }
    QString translate(const char*, const char* source, const char*, int n) const override {
      return QString(source) == "%n step(s)" ? QString(n == 1 ? "%n Schritt" : "%n Schritte")
                                             : QString();
    }
  } german;
  QCoreApplication::installTranslator(&german);
  EXPECT_EQ(steps(2), "2 Schritte");
  QCoreApplication::removeTranslator(&german);
  EXPECT_EQ(steps(2), "2 steps");
}

TEST(Counted, count_above_the_int_maximum_is_plural) {
  EXPECT_EQ(
      QObject::tr("%1 parameter(s)", nullptr, plural(7'000'000'000)).arg(grouped(7'000'000'000)),
      "7,000,000,000 parameters");
}

TEST(Counted, large_numbers_are_grouped) {
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(steps(60'000), "60,000 steps");
}

TEST(Counted, unit_symbols_have_no_singular) {
  for (const char* unit : {"s", "B", "B/s", "bit/s", "flop/s", ""}) EXPECT_EQ(singular(unit), unit);
}

TEST(Counted, device_figures_use_singular_and_plural) {
  topology::Device device{.name = "cpu0"};
  EXPECT_EQ(device_figures(device), "1 core, 4 GB");
  device.cores = 16;
  EXPECT_EQ(device_figures(device), "16 cores, 4 GB");
  device.gpu = 3;
  EXPECT_EQ(device_figures(device), "16 cores, 4 GB") << "the device is not a GPU";
  device.kind = topology::DeviceKind::gpu;
  EXPECT_EQ(device_figures(device), "GPU 3, 4 GB") << "a GPU of this machine";
}

}  // namespace
}  // namespace trainyard::ui
