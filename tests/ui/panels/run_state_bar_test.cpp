// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_state_bar.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QProgressBar>
#include <QTemporaryDir>
#include <QTest>
#include <deque>

#include "tests/ui/charts/synthetic_run.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// Answers whatever it is asked: step 123 of 1,000.
class Answerer : public session::ControlClient {
 public:
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds) override {
    if (asked_.empty()) return std::nullopt;
    session::Status status;
    status.answers = asked_.front();
    status.state = session::RunState::running;
    status.step = 123;
    status.steps = 1000;
    asked_.pop_front();
    return session::Message(status);
  }
  base::Result<void> send(const session::Message& message) override {
    asked_.push_back(std::get<session::Ask>(message).id);
    return {};
  }

 private:
  std::deque<std::uint64_t> asked_;
};

class RunStateBarTest : public testing::TestWithParam<double> {
 protected:
  RunStateBarTest() {
    Theme::instance().apply(Theme::Kind::light, GetParam());
    const trainyard::test::SyntheticRun synthetic;
    auto writer = synthetic.create(directory_.path().toStdString());
    EXPECT_TRUE(synthetic.append(writer, 0, 123));
    QFile control(directory_.filePath("control"));
    EXPECT_TRUE(control.open(QIODevice::WriteOnly) && control.write("anywhere") > 0);
    control.close();
    run_ = ui::Run::open({[](const std::string&) { return std::make_unique<Answerer>(); }, {}, {}, {}}, directory_.path());
    bar_.set_run(run_.get());
    bar_.show();
    EXPECT_TRUE(QTest::qWaitFor([&] { return run_->live() && bar_.state_text().contains("step 123") && !run_->history().train_loss().empty(); }));
  }
  ~RunStateBarTest() override { Theme::instance().apply(Theme::Kind::light); }

  void show(int width) {
    bar_.resize(width, bar_.sizeHint().height());
    QCoreApplication::processEvents();
  }
  int progress() const {
    const auto* bar = bar_.findChild<QProgressBar*>();
    return bar->isVisible() ? bar->width() : 0;
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

TEST_P(RunStateBarTest, shows_the_words_before_the_progress) {
  const int whole = static_cast<int>(1400 * GetParam());
  show(whole);
  const int at_most = progress();
  EXPECT_EQ(bar_.shown_state(), bar_.state_text());
  EXPECT_GT(at_most, 100);
  int shorter = 0, gone = 0, without_step = 0;
  for (int width = whole; width >= 60; width -= 10) {
    show(width);
    shorter = std::max(shorter, progress() > 0 && progress() < at_most ? width : 0);
    gone = std::max(gone, progress() == 0 ? width : 0);
    if (bar_.shown_state() != bar_.state_text() || figures().isEmpty()) {
      EXPECT_EQ(progress(), 0) << width;
    }
    if (!bar_.shown_state().contains("step 123 of 1,000")) {
      without_step = std::max(without_step, width);
      EXPECT_EQ(figures(), "") << width;
    }
    EXPECT_TRUE(bar_.shown_state().startsWith("Running")) << width;
  }
  EXPECT_GT(shorter, gone) << "it shrinks before it goes";
  EXPECT_GT(gone, without_step);
  EXPECT_LT(without_step, 450 * GetParam()) << "the step is said in a window of 900, in large type too";
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
