// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_charts.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/charts/flow_layout.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QComboBox* labelled_combo(QWidget* parent, FlowLayout& row, const QString& label) {
  auto* pair = new QWidget(parent);
  auto* line = new QHBoxLayout(pair);
  line->setContentsMargins(0, 0, kGrid, 0);
  auto* text = new QLabel(label, pair);
  auto* combo = new QComboBox(pair);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  combo->setAccessibleName(label);
  text->setBuddy(combo);
  line->addWidget(text);
  line->addWidget(combo);
  row.addWidget(pair);
  return combo;
}

QSlider* smoothing_slider(QWidget* parent, FlowLayout& row) {
  auto* pair = new QWidget(parent);
  auto* line = new QHBoxLayout(pair);
  line->setContentsMargins(0, 0, kGrid, 0);
  auto* text = new QLabel(RunCharts::tr("S&moothing"), pair);
  auto* slider = new QSlider(Qt::Horizontal, pair);
  slider->setRange(0, 99);
  slider->setFixedWidth(parent->fontMetrics().height() * 6);
  slider->setAccessibleName(RunCharts::tr("Smoothing"));
  slider->setToolTip(RunCharts::tr("Weight of the moving average; the raw line stays, pale"));
  text->setBuddy(slider);
  line->addWidget(text);
  line->addWidget(slider);
  row.addWidget(pair);
  return slider;
}

void refill(QComboBox& combo, const std::vector<std::pair<QString, int>>& items, int current) {
  const QSignalBlocker quiet(&combo);
  combo.clear();
  for (const auto& [text, value] : items) combo.addItem(text, value);
  combo.setCurrentIndex(std::max(0, combo.findData(current)));
}

}  // namespace

RunCharts::RunCharts(QWidget* parent) : QWidget(parent), grid_(new ChartGrid) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  build_bar();
  badges_ = new QLabel(this);
  badges_->setWordWrap(true);
  badges_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  badges_->setContentsMargins(kGrid, 0, kGrid, 0);
  badges_->hide();
  column->addWidget(badges_);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(grid_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  column->addWidget(scroll, 1);
  for (const ChartKind kind : kChartKinds) {
    const ChartTitle title = chart_title(kind);
    PlotView* plot = plots_[kind] = grid_->add(title.name);
    plot->set_title(title.title, title.unit);
    plot->set_crosshair_group(&crosshair_);
  }
  offer_choices();
}

RunCharts::~RunCharts() = default;

void RunCharts::build_bar() {
  auto* bar = new QWidget(this);
  auto* row = new FlowLayout(bar, kGrid / 2);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, 0);
  static_cast<QVBoxLayout*>(layout())->addWidget(bar);
  freeze_ = new QAction(icon("freeze"), tr("&Freeze charts"), this);
  freeze_->setCheckable(true);
  freeze_->setToolTip(tr("The charts stand still; training and recording go on"));
  connect(freeze_, &QAction::toggled, this, &RunCharts::set_frozen);
  axis_ = labelled_combo(bar, *row, tr("&x axis"));
  refill(*axis_, {{tr("step"), 0}, {tr("samples"), 1}, {tr("wall time"), 2}}, 0);
  connect(axis_, &QComboBox::currentIndexChanged, this, [this](int index) { set_x_axis(static_cast<XAxis>(index)); });
  smoothing_ = smoothing_slider(bar, *row);
  connect(smoothing_, &QSlider::valueChanged, this, [this](int percent) { set_smoothing(percent / 100.0); });
  segment_ = labelled_combo(bar, *row, tr("&Gradients of"));
  step_time_ = labelled_combo(bar, *row, tr("S&tep time of"));
  const auto chosen = [this] { set_choice({segment_->currentData().toInt(), step_time_->currentData().toInt()}); };
  connect(segment_, &QComboBox::currentIndexChanged, this, chosen);
  connect(step_time_, &QComboBox::currentIndexChanged, this, chosen);
  auto* charts = new QToolButton(bar);
  charts->setText(tr("Charts ▾"));
  charts->setToolTip(tr("Show or hide charts"));
  charts_menu_ = new QMenu(charts);
  connect(charts, &QToolButton::clicked, this, [this, charts] { charts_menu_->popup(charts->mapToGlobal(charts->rect().bottomLeft())); });
  connect(charts_menu_, &QMenu::aboutToShow, this, &RunCharts::fill_chart_menu);
  row->addWidget(charts);
}

void RunCharts::fill_chart_menu() {
  charts_menu_->clear();
  for (const ChartKind kind : kChartKinds) {
    const ChartTitle title = chart_title(kind);
    QAction* action = charts_menu_->addAction(title.title, this, [this, name = QString(title.name)](bool on) { grid_->set_shown(name, on); });
    action->setCheckable(true);
    action->setChecked(grid_->shown(title.name));
  }
}

void RunCharts::set_runs(const std::vector<Run*>& runs) {
  for (const auto& shown : runs_)
    if (shown->run) disconnect(shown->run, nullptr, this, nullptr);
  runs_.clear();
  for (Run* run : runs) {
    Shown& shown = *runs_.emplace_back(std::make_unique<Shown>());
    shown.run = run;
    shown.prefix = QString("%1/").arg(runs_.size());
    connect(run, &Run::updated, this, [this, &shown] { update_run(shown); });
    connect(run, &QObject::destroyed, this, [this, run] {
      std::vector<Run*> left;
      for (const auto& one : runs_)
        if (one->run && one->run != run) left.push_back(one->run);
      set_runs(left);
    });
  }
  reset_lines();
}

// Everything is read again from the histories: the lines are others.
void RunCharts::reset_lines() {
  for (const auto& [kind, plot] : plots_) plot->clear_series();
  offer_choices();
  for (const auto& shown : runs_) {
    shown->readers.clear();
    shown->known_series = 0;
    if (shown->run) update_run(*shown);
  }
}

std::optional<RunLook> RunCharts::look_of(const Shown& shown) const {
  if (runs_.size() < 2) return {};
  const auto at = std::ranges::find_if(runs_, [&](const auto& one) { return one.get() == &shown; });
  return RunLook{shown.run->name(), static_cast<int>(at - runs_.begin())};
}

void RunCharts::update_run(Shown& shown) {
  const telemetry::History& history = shown.run->history();
  if (history.series().size() != shown.known_series) plan_lines(shown);
  shown.samples.update(history);
  for (auto& [kind, readers] : shown.readers)
    for (auto& [id, reader] : readers) plots_[kind]->append(shown.prefix + id, reader.read(history, shown.samples));
}

// New metrics have appeared: lines that are the same as before go on where they were.
void RunCharts::plan_lines(Shown& shown) {
  shown.known_series = shown.run->history().series().size();
  for (const ChartKind kind : kChartKinds) plan_chart(shown, kind);
  offer_choices();
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
  order_lines(kind);
}

// Run by run, and within a run as planned, whichever reported first.
void RunCharts::order_lines(ChartKind kind) {
  QStringList all;
  for (const auto& shown : runs_) all << shown->order[kind];
  plots_[kind]->order_series(all);
}

void RunCharts::offer_choices() {
  const telemetry::History* history = runs_.empty() || !runs_.front()->run ? nullptr : &runs_.front()->run->history();
  std::vector<std::pair<QString, int>> segments, ranks{{tr("mean of ranks"), LineChoice::kMean}, {tr("slowest rank"), LineChoice::kSlowest}};
  for (std::size_t i = 0; history && i < history->segments().size(); ++i)
    segments.emplace_back(QString::fromStdString(history->segments()[i]), static_cast<int>(i));
  if (segments.empty()) segments.emplace_back(tr("segment 0"), 0);
  segments.emplace_back(tr("all segments"), -1);
  for (int rank = 0; history && rank < history->ranks(); ++rank) ranks.emplace_back(tr("rank %1").arg(rank), rank);
  refill(*segment_, segments, choice_.segment);
  refill(*step_time_, ranks, choice_.step_time_of);
}

void RunCharts::set_choice(const LineChoice& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  for (const ChartKind kind : {ChartKind::gradient_norm, ChartKind::update_ratio, ChartKind::step_time}) {
    plots_[kind]->clear_series();
    for (const auto& shown : runs_) shown->readers[kind].clear();
  }
  for (const auto& shown : runs_) {
    shown->known_series = 0;
    if (shown->run) update_run(*shown);
  }
}

void RunCharts::set_badges(const QStringList& badges) {
  const Colours& colours = Theme::instance().colours();
  QStringList spans;
  for (const QString& badge : badges) spans << QString("<span style='color:%1'>● %2</span>").arg(colours.warning.name(), badge.toHtmlEscaped());
  badges_->setText(spans.join("&nbsp;&nbsp; "));
  badges_->setVisible(!badges.isEmpty());
}

void RunCharts::set_frozen(bool frozen) {
  if (frozen != freeze_->isChecked()) return freeze_->setChecked(frozen);  // which calls this again
  for (const auto& [kind, plot] : plots_) plot->set_frozen(frozen);
  emit frozen_changed(frozen);
}

bool RunCharts::frozen() const { return freeze_->isChecked(); }

void RunCharts::set_x_axis(XAxis axis) {
  axis_->setCurrentIndex(static_cast<int>(axis));
  crosshair_.set_x({});
  for (const auto& [kind, plot] : plots_) plot->set_x_axis(axis);
}

void RunCharts::set_smoothing(double weight) {
  smoothing_->setValue(qRound(weight * 100));
  for (const auto& [kind, plot] : plots_) plot->set_smoothing(weight);
}

}  // namespace trainyard::ui
