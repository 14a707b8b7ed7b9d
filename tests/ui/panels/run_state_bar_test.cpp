// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_state_bar.h"

#include <gtest/gtest.h>

#include <QLayout>
#include <QProgressBar>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/json.h"
#include "tests/ui/answering_coordinator.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/has_all.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

class RunStateBarTest : public testing::TestWithParam<double> {
 protected:
  RunStateBarTest() {
    Theme::instance().apply(Theme::Kind::light, GetParam());
    const test::SyntheticRun synthetic;
    auto writer = synthetic.create(directory_.path().toStdString());
    EXPECT_TRUE(synthetic.append(writer, 0, 260));
    EXPECT_TRUE(test::give_coordinator(directory_.path()));
    run_ = ui::Run::open({test::connect_to_answering, {}, {}, {}}, directory_.path());
    bar_.set_run(run_.get());
    bar_.show();
    EXPECT_TRUE(QTest::qWaitFor([&] {
      return run_->live() && bar_.state_text().contains(" left") &&
             !run_->history().held_out_accuracy().empty();
    }));
  }
  ~RunStateBarTest() override { Theme::instance().apply(Theme::Kind::light); }

  void show(int width) {
    bar_.resize(width, bar_.sizeHint().height());
    QCoreApplication::processEvents();
    bar_.layout()->activate();  // new values may have arrived
  }
  int progress() const {
    const auto* bar = bar_.findChild<QProgressBar*>();
    return bar->isVisible() ? bar->width() : 0;
  }
  bool shows_name() const {
    for (const QLabel* label : bar_.findChildren<QLabel*>())
      if (label->isVisible() && label->text() == run_->name()) return true;
    return false;
  }
  // Returns all figures of the bar as one text.
  QString figures() const {
    for (const QLabel* label : bar_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().startsWith("loss")) return label->text();
    return {};
  }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  RunStateBar bar_;
};

TEST_P(RunStateBarTest, hides_items_in_order_of_importance) {
  const int whole = static_cast<int>(1400 * GetParam());
  show(whole);
  const int at_most = progress();
  EXPECT_EQ(bar_.shown_state(), bar_.state_text());
  EXPECT_TRUE(figures().contains("accuracy"));
  EXPECT_GT(at_most, 100);
  bool shrank = false;
  for (int width = whole; width >= 60; width -= 10) {
    show(width);
    const QString state = bar_.shown_state();
    EXPECT_TRUE(state.startsWith("Running")) << width;
    shrank = shrank || (progress() > 0 && progress() < at_most);
    EXPECT_TRUE(state == bar_.state_text() || progress() == 0)
        << width << ": the bar goes before words are cut short";
    EXPECT_TRUE(figures().contains("accuracy") || state != bar_.state_text())
        << width << ": then the accuracy";
    EXPECT_TRUE(state.contains(" left") || figures().isEmpty())
        << width << ": after the loss the time left";
    EXPECT_TRUE(shows_name() || !state.contains(" left"))
        << width << ": and only then which run it is";
    EXPECT_TRUE(state.contains("1,000") || !shows_name()) << width << ": and how far";
  }
  EXPECT_TRUE(shrank) << "the progress bar is visible first";
  show(static_cast<int>(324 * GetParam()));
  EXPECT_TRUE(bar_.shown_state().contains("1,000") && bar_.shown_state().contains(" left"))
      << bar_.shown_state().toStdString();
  EXPECT_TRUE(shows_name()) << "the important items fit a window of 900 pixels";
}

TEST_P(RunStateBarTest, texts_are_not_truncated) {
  for (int width = static_cast<int>(250 * GetParam()); width <= 1600; width += 50) {
    show(width);
    for (const QLabel* label : bar_.findChildren<QLabel*>())
      if (label->isVisible() && label->text() != run_->name()) {
        EXPECT_LE(label->fontMetrics().horizontalAdvance(label->text()), label->width())
            << width << " " << label->text().toStdString();
      }
  }
}

// Ranks at different steps.
class ApartCoordinator : public test::AnsweringCoordinator {
 public:
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds limit) override {
    auto message = AnsweringCoordinator::receive(limit);
    if (!message || !*message) return message;
    auto& status = std::get<session::Status>(**message);
    for (const std::int64_t ahead : {0, 77, 5}) {
      session::RankStatus rank;
      rank.rank = static_cast<int>(status.ranks.size());
      rank.step = status.step + ahead;
      status.ranks.push_back(rank);
    }
    return message;
  }
};

TEST(RunStateBarAsync, shows_the_local_steps_of_the_slowest_and_fastest_rank) {
  for (const bool in_pairs : {true, false}) {
    const QTemporaryDir directory;
    const test::SyntheticRun synthetic{.averages = in_pairs ? 1.0 : 0.0};
    auto writer = synthetic.create(directory.path().toStdString());
    ASSERT_TRUE(synthetic.append(writer, 0, 20));
    ASSERT_TRUE(test::give_coordinator(directory.path()));
    const auto connect =
        [](const std::string&) -> base::Result<std::unique_ptr<session::ControlClient>> {
      return std::make_unique<ApartCoordinator>();
    };
    const auto run = ui::Run::open({connect, {}, {}, {}}, directory.path());
    RunStateBar bar;
    bar.set_run(run.get());
    bar.show();
    const QRegularExpression apart(
        R"(\b(\d+) of 1,000 steps by the slowest rank, (\d+) by the fastest)");
    ASSERT_TRUE(QTest::qWaitFor([&] {
      return bar.state_text().contains(" of 1,000 steps") &&
             apart.match(bar.state_text()).hasMatch() == in_pairs;
    })) << bar.state_text().toStdString();
    if (in_pairs) {
      EXPECT_EQ(apart.match(bar.state_text()).captured(2).toInt(),
                apart.match(bar.state_text()).captured(1).toInt() + 77);
    }
  }
}

// Text of the bar for an ended run.
QString text_of(const base::Json& result) {
  const QTemporaryDir directory;
  const test::SyntheticRun synthetic{
      .experiment = {{"document", {{"training", {{"steps", 1'000'000}}}}}}};
  auto writer = synthetic.create(directory.path().toStdString());
  EXPECT_TRUE(synthetic.append(writer, 0, 3));
  EXPECT_TRUE(writer.append_json(telemetry::FrameType::result, -1, result));
  EXPECT_TRUE(writer.close());
  const auto run = ui::Run::open({}, directory.path());
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return run->complete() && !run->history().result().is_null(); }));
  RunStateBar bar;
  bar.set_run(run.get());
  return bar.state_text();
}

TEST(RunStateBarEnd, counts_steps_before_the_checkpoint_of_a_resumed_run) {
  EXPECT_THAT(text_of({{"status", "stopped"}, {"steps", 53'302}, {"wall_seconds", 40}}),
              test::HasAll("stopped", "53,302 of 1,000,000 steps"));
  EXPECT_THAT(text_of({{"status", "stopped"},
                       {"steps", 53'302},
                       {"first_step", 209'800},
                       {"wall_seconds", 40}}),
              test::HasAll("stopped", "263,102 of 1,000,000 steps", "(from step 209,800)"));
  EXPECT_THAT(text_of({{"status", "completed"},
                       {"steps", 790'200},
                       {"first_step", 209'800},
                       {"wall_seconds", 40}}),
              test::HasAll("completed", " 1,000,000 steps", "(from step 209,800)"));
}

INSTANTIATE_TEST_SUITE_P(Scale, RunStateBarTest, testing::Values(1.0, 2.0),
                         [](const auto& scale) { return scale.param > 1 ? "large" : "usual"; });

}  // namespace
}  // namespace trainyard::ui
