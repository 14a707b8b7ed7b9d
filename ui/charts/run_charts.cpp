// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_charts.h"

#include <QAction>
#include <QComboBox>
#include <QElapsedTimer>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/charts/chart_scroll.h"
#include "ui/charts/fault_marks.h"
#include "ui/model/runs/work_scheduler.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr qint64 kReadNanoseconds = 3'000'000;  // time limit per read of the histories

}  // namespace

RunCharts::RunCharts(QWidget* parent) : QWidget(parent), grid_(new ChartGrid) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGrid / 2);
  build_bar();
  column->addWidget(new ChartScroll(grid_, this), 1);
  for (const ChartKind kind : kChartKinds) {
    const ChartTitle title = chart_title(kind);
    PlotView* plot = plots_[kind] = grid_->add(title.name);
    plot->set_title(title.title, title.unit);
    plot->set_help(title.help);
    plot->set_crosshair_group(&crosshair_);
  }
  link_gradients();
  show_special_charts();
  offer_choices();
}

void RunCharts::link_gradients() {
  PlotView* staleness = plots_.at(ChartKind::staleness);
  staleness->enable_point_choice(tr("Show this gradient on the timeline"));
  connect(staleness, &PlotView::point_chosen, this,
          [this](const QString& series, const SeriesPoint& point) {
            const QString worker = "1/worker";
            if (runs_.size() == 1 && series.startsWith(worker))
              emit gradient_requested(series.mid(worker.size()).toInt(), point.seconds);
          });
}

RunCharts::~RunCharts() { no_longer_simulated_.request_stop(); }

void RunCharts::set_runs(const std::vector<Run*>& runs) {
  for (const auto& shown : runs_)
    if (shown->run) disconnect(shown->run, nullptr, this, nullptr);
  runs_.clear();
  no_longer_simulated_.request_stop();
  no_longer_simulated_ = {};
  for (Run* run : runs) {
    Shown& shown = *runs_.emplace_back(std::make_unique<Shown>(choice_));
    shown.run = run;
    shown.prefix = QString("%1/").arg(runs_.size());
    request_simulation(shown);
    connect(run, &Run::updated, this, &RunCharts::request_read);
    connect(run, &QObject::destroyed, this, [this, run] {
      std::vector<Run*> left;
      for (const auto& one : runs_)
        if (one->run && one->run != run) left.push_back(one->run);
      set_runs(left);
    });
  }
  for (const auto& [kind, plot] : plots_) plot->clear_series();
  show_special_charts();
  offer_choices();
  read_some();
}

std::optional<RunStyle> RunCharts::look_of(const Shown& shown) const {
  if (runs_.size() < 2) return {};
  const auto at = static_cast<int>(
      std::ranges::find_if(runs_, [&](const auto& one) { return one.get() == &shown; }) -
      runs_.begin());
  return RunStyle{names_[at], at};
}

// Updates the names of the runs, which come from their recordings. If a name changed, the lines of
// all charts are selected again.
void RunCharts::name_runs() {
  QStringList names;
  for (const auto& shown : runs_) names << (shown->run ? shown->run->name() : QString());
  names = distinct_suffixes(names);
  if (names == names_) return;
  names_ = names;
  for (const auto& shown : runs_) shown->known_series = 0;
}

bool RunCharts::reading() const { return WorkScheduler::instance().waits(this); }

std::int64_t RunCharts::steps() const {
  const PlotSeries* line = plots_.at(ChartKind::loss)->model().find("1/train");
  return line && line->points.size() > 0
             ? static_cast<std::int64_t>(line->points.at(line->points.size() - 1).step) + 1
             : 0;
}

void RunCharts::request_read() {
  WorkScheduler::instance().ask(this, Work::reading, [this] { read_some(); });
}

// Reads new data for a few milliseconds; the remaining data is read in later iterations of the
// event loop. All lines are read at equal pace, so that they grow together.
void RunCharts::read_some() {
  QElapsedTimer clock;
  clock.start();
  bool more = false;
  name_runs();
  do {
    more = false;
    for (const auto& shown : runs_)
      if (shown->run) more = read_portion(*shown) || more;
  } while (more && clock.nsecsElapsed() < kReadNanoseconds);
  if (more) request_read();
  mark_faults();
  update_empty_texts();
}

void RunCharts::show_fault_marks(bool shown) { marks_->setChecked(shown); }

void RunCharts::mark_faults() {
  std::vector<PlotMark> marks;
  for (const auto& shown : runs_) {
    if (!shown->run || !marks_->isChecked()) continue;
    const std::vector<PlotMark> of_run =
        fault_marks(shown->run->history(), shown->progress, look_of(*shown));
    marks.insert(marks.end(), of_run.begin(), of_run.end());
  }
  for (const auto& [kind, plot] : plots_) plot->set_marks(marks);
}

// Reads a portion of a run's new data. Returns true if there is more to read. If several runs are
// overlaid, the parts of step times are not read, because they are not shown.
bool RunCharts::read_portion(Shown& shown) {
  const telemetry::History& history = shown.run->history();
  if (history.series().size() != shown.known_series) plan_lines(shown);
  if (shown.progress.lacks_simulated()) simulate(shown);
  bool more = shown.progress.read(history, shown.run->complete());
  if (runs_.size() == 1) more = shown.split.read(history) || more;
  for (auto& [kind, readers] : shown.readers)
    for (auto& [id, reader] : readers) {
      std::vector<SeriesPoint> points;
      more = reader.read(history, shown.progress, shown.split, points) || more;
      plots_[kind]->append(shown.prefix + id, points);
    }
  return more;
}

// Updates the texts that charts without points show.
void RunCharts::update_empty_texts() {
  const auto all = [this](const auto& holds) {
    return std::ranges::all_of(runs_,
                               [&](const auto& one) { return one->run && holds(*one->run); });
  };
  const bool silent = all([](const Run& run) { return run.history().ranks() == 1; });
  const bool ended = all([](const Run&run) { return run.complete(); }), over = ended && !reading();
  const QString none = runs_.size() > 1 ? tr("These runs recorded no such values")
                                        : tr("This run recorded no such values");
  const QString unsimulated = why_not_simulated();
  const QString to_come =
      ended ? tr("Reading the recording ...") : tr("Waiting for the first points");
  const QString text = !unsimulated.isEmpty() ? unsimulated
                       : runs_.empty()        ? tr("No points yet: press Run")
                       : over                 ? none
                                              : to_come;
  const bool served = all([](const Run& run) { return !run.history().staleness_mean().empty(); });
  const bool apart = all([](const Run& run) { return run.history().steps_apart(); });
  for (const auto& [kind, plot] : plots_) {
    const bool traffic = kind == ChartKind::rank_bytes || kind == ChartKind::link_bytes;
    plot->set_empty_text(runs_.empty()       ? text
                         : traffic && silent ? tr("A single rank sends no data")
                         : kind == ChartKind::update_ratio && served
                             ? tr("No update ratio per segment: each server updates only its shard "
                                  "of the parameters")
                         : kind == ChartKind::link_bytes && apart
                             ? tr("No link traffic per step: ranks run their steps independently")
                             : text);
  }
}

// Selects the lines of all charts again when the run has new metrics. Unchanged lines keep their
// points and continue after them.
void RunCharts::plan_lines(Shown& shown) {
  shown.known_series = shown.run->history().series().size();
  for (const ChartKind kind : kChartKinds) plan_chart(shown, kind);
  show_special_charts();
  offer_choices();
}

// Shows the charts of data that only few runs have, if they have lines.
void RunCharts::show_special_charts() {
  for (const auto& [kind, plot] : plots_)
    if (is_special(kind))
      grid_->set_present(chart_title(kind).name, !plot->model().series().empty());
}

void RunCharts::plan_chart(Shown& shown, ChartKind kind) {
  auto& readers = shown.readers[kind];
  QStringList& order = shown.order[kind];
  order.clear();
  for (const LineSpec& spec : lines_of(kind, shown.run->history(), look_of(shown), choice_)) {
    const QString id = shown.prefix + spec.id;
    order << id;
    const auto old = readers.find(spec.id);
    const bool other = old != readers.end() && !old->second.reads_as(spec);
    if (other) {
      plots_[kind]->remove_series(id);
      readers.erase(old);
    }
    plots_[kind]->put_series(id, spec.style);
    readers.try_emplace(spec.id, spec);
  }
  drop_lines(shown, kind);
  order_lines(kind);
}

// Removes lines that are no longer selected. Example: until the requested segment has data, the
// first segment with data is shown in its place, and its line is removed afterwards.
void RunCharts::drop_lines(Shown& shown, ChartKind kind) {
  std::erase_if(shown.readers[kind], [&](const auto& reader) {
    const QString id = shown.prefix + reader.first;
    if (shown.order[kind].contains(id)) return false;
    plots_[kind]->remove_series(id);
    return true;
  });
}

// Orders the lines of a chart by run, and within a run by their fixed order, not by which line got
// points first.
void RunCharts::order_lines(ChartKind kind) {
  QStringList all;
  for (const auto& shown : runs_) all << shown->order[kind];
  plots_[kind]->order_series(all);
}

void RunCharts::set_choice(const LineChoice& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  for (const auto& shown : runs_) {
    restart_lines(*shown, {ChartKind::gradient_norm, ChartKind::update_ratio, ChartKind::step_time,
                           ChartKind::buffers});
    shown->split = StepSplit(choice_.step_time_of);
  }
  read_some();
}

// Removes the run's lines from charts of these kinds. The lines are then read again from the start.
void RunCharts::restart_lines(Shown& shown, const std::vector<ChartKind>& kinds) {
  for (const ChartKind kind : kinds) {
    for (const auto& [id, reader] : shown.readers[kind])
      plots_[kind]->remove_series(shown.prefix + id);
    shown.readers[kind].clear();
    plots_[kind]->home();
  }
  shown.known_series = 0;
}

void RunCharts::set_frozen(bool frozen) {
  // Checking the Freeze button calls this function again, with the button in the new state.
  if (frozen != freeze_->isChecked()) return freeze_->setChecked(frozen);
  for (const auto& [kind, plot] : plots_) plot->set_frozen(frozen);
  emit frozen_changed(frozen);
}

bool RunCharts::frozen() const { return freeze_->isChecked(); }

void RunCharts::set_x_axis(XAxis axis) {
  axis_->setCurrentIndex(static_cast<int>(axis));
  crosshair_.set_x({});
  for (const auto& [kind, plot] : plots_) plot->set_x_axis(axis);
  for (const auto& shown : runs_) request_simulation(*shown);
  request_read();
}

void RunCharts::set_smoothing(double weight) {
  smoothing_->setValue(qRound(weight * 100));
  for (const auto& [kind, plot] : plots_) plot->set_smoothing(weight);
}

}  // namespace trainyard::ui
