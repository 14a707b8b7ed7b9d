// SPDX-License-Identifier: GPL-3.0-or-later
// The bar above the charts: what they show, and the truths that belong to every figure.
#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSlider>
#include <QToolButton>
#include <algorithm>

#include "ui/charts/flow_layout.h"
#include "ui/charts/run_charts.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

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

void RunCharts::build_bar() {
  auto* bar = new QWidget(this);
  bar_ = new FlowLayout(bar, kGrid / 2);
  bar_->setContentsMargins(kGrid, kGrid / 2, kGrid, 0);
  layout()->addWidget(bar);
  freeze_ = new QAction(icon("freeze"), tr("&Freeze charts"), this);
  freeze_->setCheckable(true);
  freeze_->setToolTip(tr("The charts stand still; training and recording go on"));
  connect(freeze_, &QAction::toggled, this, &RunCharts::set_frozen);
  build_choices(*bar);
  build_menu_button(*bar);
}

void RunCharts::build_choices(QWidget& bar) {
  axis_ = labelled_combo(&bar, *bar_, tr("&x axis"));
  refill(*axis_, {{tr("step"), 0}, {tr("samples"), 1}, {tr("wall time"), 2}}, 0);
  connect(axis_, &QComboBox::currentIndexChanged, this, [this](int index) { set_x_axis(static_cast<XAxis>(index)); });
  smoothing_ = smoothing_slider(&bar, *bar_);
  connect(smoothing_, &QSlider::valueChanged, this, [this](int percent) { set_smoothing(percent / 100.0); });
  segment_ = labelled_combo(&bar, *bar_, tr("&Gradients of"));
  step_time_ = labelled_combo(&bar, *bar_, tr("S&tep time of"));
  const auto chosen = [this] { set_choice({segment_->currentData().toInt(), step_time_->currentData().toInt()}); };
  connect(segment_, &QComboBox::currentIndexChanged, this, chosen);
  connect(step_time_, &QComboBox::currentIndexChanged, this, chosen);
}

void RunCharts::build_menu_button(QWidget& bar) {
  auto* charts = new QToolButton(&bar);
  charts->setText(tr("Charts ▾"));
  charts->setToolTip(tr("Show or hide charts"));
  charts_menu_ = new QMenu(charts);
  connect(charts, &QToolButton::clicked, this, [this, charts] { charts_menu_->popup(charts->mapToGlobal(charts->rect().bottomLeft())); });
  connect(charts_menu_, &QMenu::aboutToShow, this, &RunCharts::fill_chart_menu);
  bar_->addWidget(charts);
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

// Beside the choices where there is room, each whole, else in rows below.
void RunCharts::set_badges(const QStringList& badges) {
  const auto count = static_cast<std::size_t>(badges.size());
  for (; badges_.size() > count; badges_.pop_back()) delete badges_.back();
  while (badges_.size() < count) {
    badges_.push_back(new TintedLabel(Tint::warning, bar_->parentWidget()));
    badges_.back()->set_elided();
    badges_.back()->setContentsMargins(kGrid / 2, 0, kGrid / 2, 0);
    bar_->addWidget(badges_.back());
  }
  for (std::size_t i = 0; i < count; ++i)
    if (const QString text = "● " + badges[static_cast<int>(i)]; text != badges_[i]->text()) badges_[i]->setText(text);
}

}  // namespace trainyard::ui
