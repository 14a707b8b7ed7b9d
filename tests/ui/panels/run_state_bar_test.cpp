// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_state_bar.h"

#include <gtest/gtest.h>

#include <QLayout>
#include <QProgressBar>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/answering_coordinator.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

class RunStateBarTest : public testing::TestWithParam<double> {
 protected:
  RunStateBarTest() {
    Theme::instance().apply(Theme::Kind::light, GetParam());
    const trainyard::test::SyntheticRun synthetic;
    auto writer = synthetic.create(directory_.path().toStdString());
    EXPECT_TRUE(synthetic.append(writer, 0, 260));
    EXPECT_TRUE(test::give_coordinator(directory_.path()));
    run_ = ui::Run::open({test::connect_to_answering, {}, {}, {}}, directory_.path());
    bar_.set_run(run_.get());
    bar_.show();
    EXPECT_TRUE(QTest::qWaitFor([&] { return run_->live() && bar_.state_text().contains(" left") && !run_->history().held_out_accuracy().empty(); }));
  }
  ~RunStateBarTest() override { Theme::instance().apply(Theme::Kind::light); }

  void show(int width) {
    bar_.resize(width, bar_.sizeHint().height());
    QCoreApplication::processEvents();
    bar_.layout()->activate();  // news may have come meanwhile
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
  // All figures that are said, in one label.
  QString figures() const {
    for (const QLabel* label : bar_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().startsWith("loss")) return label->text();
    return {};
  }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  RunStateBar bar_;
};

TEST_P(RunStateBarTest, long_words_give_way_before_progress_time_left_and_loss) {
  const int whole = static_cast<int>(1400 * GetParam());
  show(whole);
  const int at_most = progress();
  EXPECT_EQ(bar_.shown_state(), bar_.state_text());
  EXPECT_TRUE(figures().contains("accuracy"));
  EXPECT_GT(at_most, 100);
  bool shrank = false, accurate = true, nameless = false;
  for (int width = whole; width >= 60; width -= 10) {
    show(width);
    const QString state = bar_.shown_state();
    EXPECT_TRUE(state.startsWith("Running")) << width;
    shrank = shrank || (progress() > 0 && progress() < at_most);
    nameless = nameless || !shows_name();
    accurate = figures().contains("accuracy");
    EXPECT_TRUE(accurate || nameless) << width << ": what is long and known goes first";
    EXPECT_TRUE(state == bar_.state_text() || (nameless && !accurate)) << width << ": then words are cut short";
    EXPECT_TRUE(progress() > 0 || !state.contains("step")) << width << ": then the bar goes";
    EXPECT_TRUE(!figures().isEmpty() || progress() == 0) << width << ": then the loss";
    EXPECT_TRUE(state.contains(" left") || figures().isEmpty()) << width << ": then the time left";
    EXPECT_TRUE(state.contains("1,000") || !state.contains(" left")) << width;
  }
  EXPECT_TRUE(shrank) << "the bar, before it goes";
  show(static_cast<int>(324 * GetParam()));
  EXPECT_TRUE(bar_.shown_state().contains("1,000") && bar_.shown_state().contains(" left")) << bar_.shown_state().toStdString();
  EXPECT_FALSE(figures().isEmpty()) << "all that matters, between the panels of a window of 900";
}

TEST_P(RunStateBarTest, nothing_that_it_says_is_cut) {
  for (int width = static_cast<int>(250 * GetParam()); width <= 1600; width += 50) {
    show(width);
    for (const QLabel* label : bar_.findChildren<QLabel*>())
      if (label->isVisible() && label->text() != run_->name()) {
        EXPECT_LE(label->fontMetrics().horizontalAdvance(label->text()), label->width()) << width << " " << label->text().toStdString();
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Scale, RunStateBarTest, testing::Values(1.0, 2.0), [](const auto& scale) { return scale.param > 1 ? "large" : "usual"; });

}  // namespace
}  // namespace trainyard::ui
