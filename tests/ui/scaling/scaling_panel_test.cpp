// SPDX-License-Identifier: GPL-3.0-or-later
// The panel without a window: requests, following of a sweep on disk, and display.
#include "ui/scaling/scaling_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QComboBox>
#include <QDir>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <set>

#include "core/base/file.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/sweep/sweep_text.h"
#include "tests/core/session/sweep/sweeps.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using collective::Algorithm;
using session::Sweep;
using session::VariantState;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kPatience = 20'000;

class ScalingPanelTest : public testing::Test {
 protected:
  ScalingPanelTest() {
    services_.runs_directory = scratch_.filePath("runs");
    services_.command_line_program = scratch_.filePath("program.sh");
    document_.reset(session::four_ranks());
    panel_ = std::make_unique<ScalingPanel>(document_, services_);
    panel_->resize(1400, 420);
    panel_->show();
  }
  ~ScalingPanelTest() override { Theme::instance().apply(Theme::Kind::light); }

  // Writes a sweep next to the runs, as `name`.
  QString keep(const Sweep& sweep, const QString& name = "2026-11-21_14-03-12_small") {
    const QString directory = scratch_.filePath("sweeps/" + name);
    QDir().mkpath(directory);
    EXPECT_TRUE(session::write_sweep(sweep, directory.toStdString()));
    return directory;
  }
  void open(const Sweep& sweep) {
    panel_->open_sweep(keep(sweep));
    ASSERT_TRUE(wait([&] { return panel_->follower().sweep().has_value(); }));
  }
  void program(const char* script) {
    std::ofstream(services_.command_line_program.toStdString()) << "#!/bin/bash\n"
                                                                << script << "\n";
    QFile::setPermissions(services_.command_line_program,
                          QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  static bool wait(const std::function<bool()>& condition) {
    return QTest::qWaitFor(condition, kPatience);
  }
  QString cell(int row, session::SweepColumn column) {
    return panel_->table().topLevelItem(row)->text(static_cast<int>(column));
  }
  std::vector<double> values(ScalingChart chart, const QString& id) {
    const PlotSeries* series = panel_->charts().plot(chart).model().find(id);
    std::vector<double> all;
    for (std::size_t i = 0; series && i < series->points.size(); ++i)
      all.push_back(series->points.value(i));
    return all;
  }
  std::vector<double> ranks(ScalingChart chart, const QString& id) {
    const PlotSeries* series = panel_->charts().plot(chart).model().find(id);
    std::vector<double> all;
    for (std::size_t i = 0; series && i < series->points.size(); ++i)
      all.push_back(series->points.at(i).step);
    return all;
  }
  std::string empty(ScalingChart chart) {
    panel_->charts().plot(chart).refresh();
    return panel_->charts().plot(chart).overlay().empty.toStdString();
  }

  QTemporaryDir scratch_;
  Services services_;
  Document document_;
  std::unique_ptr<ScalingPanel> panel_;
};

TEST_F(ScalingPanelTest, shows_a_hint_without_sweeps) {
  EXPECT_THAT(empty(ScalingChart::speed_up), HasSubstr("Start sweep"));
  EXPECT_EQ(panel_->status(), "No sweep selected");
  EXPECT_TRUE(panel_->start_button().isEnabled());
  EXPECT_TRUE(panel_->cancel_button().isHidden());
  EXPECT_FALSE(panel_->export_button().isEnabled());
  EXPECT_TRUE(panel_->hint().contains("3 runs of 50 steps"));
  document_.reset({});
  EXPECT_THAT(panel_->hint().toStdString(), HasSubstr("Draw devices"))
      << "an empty drawing is not an error";
  EXPECT_FALSE(panel_->start_button().isEnabled());
}

TEST_F(ScalingPanelTest, defaults_to_the_drawing_until_edited) {
  EXPECT_THAT(panel_->form().request()->ranks, ElementsAre(1, 2, 4));
  EXPECT_THAT(panel_->form().request()->algorithms, ElementsAre(Algorithm::ring));
  document_.reset(strategy::small(6));
  document_.set_value("strategy.algorithm", "star");
  EXPECT_THAT(panel_->form().request()->ranks, ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(panel_->form().request()->algorithms, ElementsAre(Algorithm::star));
  panel_->form().ranks().setFocus();
  panel_->form().ranks().selectAll();
  QTest::keyClicks(&panel_->form().ranks(), "2,6");
  document_.reset(strategy::small(8));
  EXPECT_THAT(panel_->form().request()->ranks, ElementsAre(2, 6)) << "typed ranks are kept";
}

TEST_F(ScalingPanelTest, can_be_operated_by_keyboard) {
  QListWidget& list = panel_->form().algorithms();
  list.setFocus();
  list.setCurrentRow(1);
  QTest::keyClick(&list, Qt::Key_Space);
  panel_->form().scaling().setFocus();
  QTest::keyClicks(&panel_->form().scaling(), "s");
  panel_->form().steps().setValue(20);
  const auto request = panel_->form().request();
  EXPECT_THAT(request->algorithms, ElementsAre(Algorithm::ring, Algorithm::direct));
  EXPECT_EQ(request->scaling, experiment::Scaling::strong);
  EXPECT_TRUE(panel_->hint().contains("5 runs of 20 steps")) << "one rank is run once";
}

TEST_F(ScalingPanelTest, reports_invalid_input_and_does_not_start) {
  for (const auto& [typed, words] :
       {std::pair("1,x", "\"x\""), std::pair("8", "(accepted: 1 to 4)")}) {
    panel_->form().ranks().selectAll();
    QTest::keyClicks(&panel_->form().ranks(), typed);
    EXPECT_THAT(panel_->hint().toStdString(), HasSubstr(words));
    EXPECT_FALSE(panel_->start_button().isEnabled());
  }
  panel_->form().ranks().selectAll();
  QTest::keyClicks(&panel_->form().ranks(), "1,2");
  EXPECT_TRUE(panel_->start_button().isEnabled());
  panel_->form().algorithms().item(0)->setCheckState(Qt::Unchecked);
  EXPECT_THAT(panel_->hint().toStdString(), HasSubstr("algorithm"));
}

TEST_F(ScalingPanelTest, does_not_start_during_a_run_and_states_the_reason) {
  panel_->set_training("digits 14:03");
  EXPECT_FALSE(panel_->start_button().isEnabled());
  EXPECT_THAT(panel_->hint().toStdString(), HasSubstr("digits 14:03"));
  panel_->set_training({});
  EXPECT_TRUE(panel_->start_button().isEnabled());
}

TEST_F(ScalingPanelTest, shows_one_point_per_run_of_a_sweep) {
  open(session::measured_sweep());
  EXPECT_THAT(values(ScalingChart::speed_up, "alone"), ElementsAre(1));
  EXPECT_THAT(ranks(ScalingChart::speed_up, "ring"), ElementsAre(2, 4));
  EXPECT_THAT(values(ScalingChart::speed_up, "ring"),
              ElementsAre(testing::DoubleNear(1.6, 1e-9), testing::DoubleNear(2, 1e-9)));
  EXPECT_THAT(values(ScalingChart::efficiency, "direct"),
              ElementsAre(testing::DoubleNear(80, 1e-9), testing::DoubleNear(62.5, 1e-9)));
  EXPECT_THAT(values(ScalingChart::speed_up, "ideal"), ElementsAre(1, 4));
  EXPECT_THAT(values(ScalingChart::efficiency, "ideal"), ElementsAre(100, 100));
  EXPECT_THAT(values(ScalingChart::step_time, "ring"), ElementsAre(0.010, 0.016));
  EXPECT_THAT(values(ScalingChart::step_time, "ring/beside"), ElementsAre(0.005, 0.008))
      << "simulated";
  EXPECT_THAT(values(ScalingChart::all_bytes, "ring"), ElementsAre(2000, 6000));
  EXPECT_EQ(values(ScalingChart::busiest_bytes, "ring"),
            values(ScalingChart::busiest_bytes, "ring/beside"))
      << "equals the formula";
  for (const auto& series : panel_->charts().plot(ScalingChart::speed_up).model().series())
    EXPECT_EQ(series->style.joining, series->id == "ideal" ? Joining::always : Joining::never)
        << series->id.toStdString();
}

TEST_F(ScalingPanelTest, has_distinct_markers_of_algorithms) {
  Sweep sweep = session::measured_sweep();
  sweep.variants.resize(1);
  for (int a = 0; a < static_cast<int>(Algorithm::automatic); ++a)
    sweep.variants.push_back(session::measured(4, static_cast<Algorithm>(a), 32, 0.016));
  open(sweep);
  std::set<std::pair<int, Marker>> looks;
  const auto& all = panel_->charts().plot(ScalingChart::step_time).model().series();
  for (const auto& series : all)
    if (!series->style.hollow) looks.emplace(series->style.color, series->style.marker);
  EXPECT_EQ(looks.size(), 11u) << "ten algorithms and one rank";
}

TEST_F(ScalingPanelTest, has_one_color_per_algorithm_in_all_charts) {
  open(session::measured_sweep());
  for (const ScalingChart chart :
       {ScalingChart::speed_up, ScalingChart::step_time, ScalingChart::all_bytes}) {
    const PlotModel& model = panel_->charts().plot(chart).model();
    EXPECT_NE(model.find("ring")->style.color, model.find("direct")->style.color);
    EXPECT_EQ(model.find("ring")->style.color,
              panel_->charts().plot(ScalingChart::speed_up).model().find("ring")->style.color);
  }
}

TEST_F(ScalingPanelTest, axis_of_ranks_begins_at_zero_with_integers) {
  open(session::measured_sweep());
  PlotView& plot = panel_->charts().plot(ScalingChart::speed_up);
  plot.refresh();
  EXPECT_EQ(plot.shown().x.low, 0);
  EXPECT_GT(plot.shown().x.high, 4);
  EXPECT_LT(plot.shown().x.high, 6);
}

TEST_F(ScalingPanelTest, shows_caveats_beside_the_figures) {
  Sweep sweep = session::measured_sweep();
  sweep.scaling = experiment::Scaling::strong;
  sweep.variants[3].shared_cores_caveat =
      "4 ranks share 2 cores: times include waiting for each other";
  open(sweep);
  EXPECT_THAT(panel_->caveats().toStdString(), HasSubstr("4 ranks share 2 cores"));
  for (const char* words :
       {"strong scaling", "against 1 rank", "50 steps", "10 of warm-up", "evaluation off"})
    EXPECT_THAT(panel_->notes().toStdString(), HasSubstr(words));
  EXPECT_EQ(panel_->status(), "Strong-scaling sweep completed");
}

TEST_F(ScalingPanelTest, lists_failed_and_skipped_runs_with_their_reason) {
  Sweep sweep = session::measured_sweep();
  sweep.state = session::SweepState::failed;
  sweep.variants[3].state = VariantState::failed;
  sweep.variants[3].reason = "rank 2 died";
  sweep.variants[4].state = VariantState::left_out;
  sweep.variants[4].reason = "does not fit";
  open(sweep);
  EXPECT_EQ(cell(3, session::SweepColumn::state), "failed: rank 2 died");
  EXPECT_EQ(cell(4, session::SweepColumn::state), "left out: does not fit");
  EXPECT_EQ(cell(3, session::SweepColumn::speed_up), "-");
  EXPECT_THAT(ranks(ScalingChart::speed_up, "ring"), ElementsAre(2));
  EXPECT_EQ(panel_->status(), "Weak-scaling sweep failed");
}

TEST_F(ScalingPanelTest, opens_the_run_of_a_row_by_keyboard) {
  open(session::measured_sweep());
  QString opened;
  QObject::connect(panel_.get(), &ScalingPanel::open_requested,
                   [&](const QString& directory) { opened = directory; });
  panel_->table().setFocus();
  panel_->table().setCurrentItem(panel_->table().topLevelItem(3));
  QTest::keyClick(&panel_->table(), Qt::Key_Return);
  EXPECT_EQ(opened, panel_->follower().directory() + "/4_ring");
}

TEST_F(ScalingPanelTest, saves_its_table_with_every_figure) {
  open(session::measured_sweep());
  const QString file = scratch_.filePath("scaling.csv");
  ASSERT_TRUE(panel_->save_table(file));
  EXPECT_THAT(base::read_file(file.toStdString(), 1 << 20).value(),
              HasSubstr("4,ring,ring,done,\"\",40,32,0.016"));
}

TEST_F(ScalingPanelTest, reports_an_unreadable_manifest) {
  const QString directory = keep(session::measured_sweep());
  std::ofstream(QDir(directory).filePath("sweep.json").toStdString())
      << "{\"format\": \"trainyard sweep\", \"version\": 1";
  panel_->open_sweep(directory);
  ASSERT_TRUE(wait([&] { return !panel_->follower().error_text().isEmpty(); }));
  EXPECT_THAT(panel_->status().toStdString(), HasSubstr("sweep.json"));
  EXPECT_EQ(panel_->table().topLevelItemCount(), 0);
}

TEST_F(ScalingPanelTest, distinguishes_interrupted_from_running_sweeps) {
  Sweep sweep = session::measured_sweep();
  sweep.state = session::SweepState::running;
  sweep.variants[4].state = VariantState::running;
  open(sweep);  // no process holds its lock
  EXPECT_TRUE(panel_->follower().ended_early());
  EXPECT_TRUE(panel_->status().contains("killed"));
  EXPECT_TRUE(panel_->status().contains("4 of 5 runs"));
  EXPECT_TRUE(panel_->start_button().isEnabled());
}

TEST_F(ScalingPanelTest, lists_stored_sweeps_and_shows_the_selected_one) {
  Sweep second = session::measured_sweep();
  second.name = "second";
  second.state = session::SweepState::canceled;
  keep(session::measured_sweep());
  const QString wanted = keep(second, "2026-11-22_10-00-00_second");
  panel_->list_sweeps_later();
  ASSERT_TRUE(wait([&] { return panel_->list().count() == 3; }));
  EXPECT_EQ(panel_->list().itemText(1), "second, 2026-11-21 14:03:12, cancelled")
      << "the newest first";
  panel_->list().setFocus();
  QTest::keyClick(&panel_->list(), Qt::Key_Down);
  ASSERT_TRUE(wait([&] { return panel_->follower().sweep().has_value(); }));
  EXPECT_EQ(panel_->follower().directory(), wanted);
}

// A separate process holds the lock and updates the manifest.
TEST_F(ScalingPanelTest, attaches_to_a_live_sweep_follows_and_cancels_it) {
  Sweep sweep = session::measured_sweep();
  sweep.state = session::SweepState::running;
  for (const std::size_t i : {2u, 3u, 4u}) sweep.variants[i].state = VariantState::waiting;
  sweep.variants[2].state = VariantState::running;
  const std::string directory = keep(sweep).toStdString();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto lock = session::SweepLock::take(directory);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char ready_byte = 0;
  ASSERT_EQ(::read(ready[0], &ready_byte, 1), 1);
  panel_->list_sweeps_later();
  ASSERT_TRUE(wait([&] { return panel_->sweeping() && panel_->follower().sweep().has_value(); }));
  EXPECT_THAT(panel_->status().toStdString(),
              testing::AllOf(HasSubstr("2 of 5 runs"), HasSubstr("direct on 2 ranks")));
  EXPECT_FALSE(panel_->start_button().isEnabled());
  EXPECT_FALSE(panel_->cancel_button().isHidden());
  EXPECT_THAT(ranks(ScalingChart::speed_up, "ring"), ElementsAre(2));

  sweep.variants[2].state = VariantState::done;
  sweep.variants[3].state = VariantState::done;
  ASSERT_TRUE(session::write_sweep(sweep, directory));
  ASSERT_TRUE(wait([&] { return ranks(ScalingChart::speed_up, "ring").size() == 2; }));

  QTest::mouseClick(&panel_->cancel_button(), Qt::LeftButton);
  EXPECT_THAT(panel_->status().toStdString(), HasSubstr("Canceling")) << "acknowledged immediately";
  int how = 0;
  ::waitpid(child, &how, 0);
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGINT);
  ASSERT_TRUE(wait([&] { return !panel_->sweeping(); }));
  EXPECT_TRUE(panel_->cancel_button().isHidden());
  for (const int end : ready) ::close(end);
}

TEST_F(ScalingPanelTest, starts_the_program_with_a_copy_of_the_document_and_the_options) {
  program("printf '%s\\n' \"$@\" > \"$4/../arguments\"");
  panel_->form().steps().setValue(30);
  QTest::mouseClick(&panel_->start_button(), Qt::LeftButton);
  const std::string arguments = scratch_.filePath("sweeps/arguments").toStdString();
  ASSERT_TRUE(wait(
      [&] { return QFile::exists(QString::fromStdString(arguments)) && !panel_->sweeping(); }));
  const std::string directory = panel_->follower().directory().toStdString();
  EXPECT_EQ(base::read_file(arguments, 1 << 16).value(),
            "sweep\n" + directory + "/experiment.json\n--out\n" + directory +
                "\n--data-directory\n" + document_.directory().toStdString() +
                "\n--steps\n30\n--scaling\nweak\n--ranks\n1,2,4\n--algorithms\nring\n");
  EXPECT_EQ(experiment::load(directory + "/experiment.json").value(), document_.experiment());
}

TEST_F(ScalingPanelTest, shows_the_output_of_a_program_that_ends_early) {
  program("echo 'error: data.file: nowhere.csv: cannot be opened' >&2; exit 2");
  QTest::mouseClick(&panel_->start_button(), Qt::LeftButton);
  ASSERT_TRUE(wait([&] { return !panel_->follower().error_text().isEmpty(); }));
  EXPECT_THAT(panel_->status().toStdString(), HasSubstr("data.file: nowhere.csv"));
}

TEST_F(ScalingPanelTest, reports_a_program_that_cannot_start) {
  QTest::mouseClick(&panel_->start_button(), Qt::LeftButton);
  EXPECT_THAT(panel_->hint().toStdString(), HasSubstr("cannot be started"));
}

TEST_F(ScalingPanelTest, has_accessible_names_of_all_controls) {
  for (const QWidget* widget : std::initializer_list<const QWidget*>{
           &panel_->form().ranks(), &panel_->form().algorithms(), &panel_->form().scaling(),
           &panel_->form().steps(), &panel_->list(), &panel_->table(), &panel_->charts()})
    EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
}

TEST_F(ScalingPanelTest, fields_are_not_truncated_at_twice_the_text_size) {
  Theme::instance().apply(Theme::Kind::dark, 2);
  panel_->resize(2000, 900);
  QCoreApplication::processEvents();
  EXPECT_TRUE(
      wait([&] { return panel_->form().width() >= panel_->form().minimumSizeHint().width(); }));
  EXPECT_GE(panel_->start_button().width(), panel_->start_button().sizeHint().width() * 9 / 10);
}

}  // namespace
}  // namespace trainyard::ui
