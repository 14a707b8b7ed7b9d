// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/text_panel.h"

#include <gtest/gtest.h>

#include <QTest>

#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

class TextPanelTest : public testing::Test {
 protected:
  void show(const std::vector<std::pair<const char*, const char*>>& lines) {
    auto writer = synthetic_.create(directory_.path().toStdString());
    for (const auto& [level, text] : lines)
      EXPECT_TRUE(
          writer.append_json(telemetry::FrameType::log, 0,
                             {{"level", level}, {"time_ns", 1'000'000'000}, {"text", text}}));
    EXPECT_TRUE(writer.append_json(telemetry::FrameType::result, -1, {{"status", "completed"}}));
    EXPECT_TRUE(writer.close());
    run_ = ui::Run::open({}, directory_.path());
    EXPECT_TRUE(QTest::qWaitFor([&] { return run_->complete(); }));
    panel_.set_run(run_.get());
  }

  QTemporaryDir directory_;
  test::SyntheticRun synthetic_{.ranks = 1};
  std::unique_ptr<ui::Run> run_;
  SampledTextPanel panel_;
};

TEST_F(TextPanelTest, shows_only_sampled_text_of_the_log) {
  show({{"info", "ready"},
        {"text", "after step 9:\nthe dog <b>sees</b>\na cat"},
        {"text", "after step 19:\nbirds sing."}});
  EXPECT_EQ(panel_.text().trimmed().toStdString(),
            "after step 9:\nthe dog <b>sees</b>\na cat\n\nafter step 19:\nbirds sing.");
  EXPECT_EQ(panel_.note(), "");
}

TEST_F(TextPanelTest, states_the_reason_if_it_is_empty) {
  EXPECT_TRUE(panel_.note().contains("press Run"));
  show({{"info", "ready"}});
  EXPECT_EQ(panel_.text(), "");
  EXPECT_TRUE(panel_.note().contains("no text"));
}

TEST_F(TextPanelTest, clears_a_removed_run) {
  show({{"text", "after step 9:\nthe dog"}});
  run_.reset();
  EXPECT_EQ(panel_.text(), "");
  EXPECT_TRUE(panel_.note().contains("press Run"));
}

}  // namespace
}  // namespace trainyard::ui
