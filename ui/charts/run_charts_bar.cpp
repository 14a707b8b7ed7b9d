// SPDX-License-Identifier: GPL-3.0-or-later
// Bar above the charts. It has the choices of data and the caveats that apply to all values.
#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSlider>
#include <QStandardItemModel>
#include <QToolButton>
#include <algorithm>

#include "ui/charts/run_charts.h"
#include "ui/theme/flow_layout.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

// minimum number of visible characters of a badge when all badges share a line
constexpr int kBadgeCharacters = 16;

const QString kBullet = QStringLiteral("● ");

QComboBox* labeled_combo(QWidget* parent, FlowLayout& row, const QString& label) {
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
  slider->setAccessibleName(RunCharts::tr("Smoothing"));
  slider->setToolTip(
      RunCharts::tr("Weight of the moving average; the raw line stays visible in a pale color"));
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
  freeze_->setToolTip(tr("Stop updating the charts; training and recording continue"));
  connect(freeze_, &QAction::toggled, this, &RunCharts::set_frozen);
  marks_ = new QAction(tr("Show faults"), this);
  marks_->setCheckable(true);
  marks_->setChecked(true);
  marks_->setToolTip(tr(
      "Mark where a rank failed, stalled, slowed down or rejoined; hover over a mark for details"));
  connect(marks_, &QAction::toggled, this, &RunCharts::mark_faults);
  build_menu_buttons(*bar);
  build_choices(*bar);
  connect(choices_button_, &QToolButton::toggled, this, &RunCharts::fit_bar);
  connect(&Theme::instance(), &Theme::changed, this, &RunCharts::fit_bar,
          Qt::QueuedConnection);  // queued, so that the child widgets get the new theme first
}

void RunCharts::build_choices(QWidget& bar) {
  axis_ = labeled_combo(&bar, *bar_, tr("&x axis"));
  refill(*axis_,
         {{tr("step"), 0},
          {tr("samples"), 1},
          {tr("bytes sent"), 2},
          {tr("wall time"), 3},
          {tr("simulated time"), 4},
          {tr("passes over the data"), 5}},
         0);
  axis_->setObjectName("x_axis");
  axis_->setToolTip(
      tr("Steps are numbered from 0, here and in exports. Bytes sent: total payload of all ranks. "
         "Simulated time: end of the step at the drawn speeds, as the simulator predicts it; "
         "includes earlier evaluations"));
  connect(axis_, &QComboBox::currentIndexChanged, this,
          [this](int index) { set_x_axis(static_cast<XAxis>(index)); });
  smoothing_ = smoothing_slider(&bar, *bar_);
  connect(smoothing_, &QSlider::valueChanged, this,
          [this](int percent) { set_smoothing(percent / 100.0); });
  segment_ = labeled_combo(&bar, *bar_, tr("&Gradients of"));
  step_time_ = labeled_combo(&bar, *bar_, tr("S&tep time of"));
  buffers_ = labeled_combo(&bar, *bar_, tr("&Buffers of"));
  buffers_->setObjectName("buffers_of");
  choices_ = {axis_->parentWidget(), smoothing_->parentWidget(), segment_->parentWidget(),
              step_time_->parentWidget(), buffers_->parentWidget()};
  const auto chosen = [this] {
    set_choice({segment_->currentData().toInt(), step_time_->currentData().toInt(),
                buffers_->currentData().toInt()});
  };
  for (const QComboBox* combo : {segment_, step_time_, buffers_})
    connect(combo, &QComboBox::currentIndexChanged, this, chosen);
}

void RunCharts::build_menu_buttons(QWidget& bar) {
  for (QToolButton** button : {&charts_button_, &choices_button_})
    bar_->addWidget(*button = new QToolButton(&bar));
  charts_button_->setText(tr("Charts ▾"));
  charts_button_->setToolTip(tr("Show or hide charts"));
  charts_menu_ = new QMenu(charts_button_);
  connect(charts_button_, &QToolButton::clicked, this, [this] {
    charts_menu_->popup(charts_button_->mapToGlobal(charts_button_->rect().bottomLeft()));
  });
  connect(charts_menu_, &QMenu::aboutToShow, this, &RunCharts::fill_chart_menu);
  choices_button_->setText(tr("Options"));
  choices_button_->setCheckable(true);
  choices_button_->setToolTip(
      tr("Show chart options: x axis, smoothing, gradients, step times and buffers"));
}

void RunCharts::fill_chart_menu() {
  charts_menu_->clear();
  for (const ChartKind kind : kChartKinds) {
    const ChartTitle title = chart_title(kind);
    if (!grid_->there(title.name)) continue;
    QAction* action = charts_menu_->addAction(
        title.title, this,
        [this, name = QString(title.name)](bool on) { grid_->set_shown(name, on); });
    action->setCheckable(true);
    action->setChecked(grid_->shown(title.name));
  }
  const auto has_faults = [](const auto& shown) {
    return shown->run && !shown->run->history().faults().empty();
  };
  if (std::ranges::none_of(runs_, has_faults)) return;
  charts_menu_->addSeparator();
  charts_menu_->addAction(marks_);
}

void RunCharts::offer_choices() {
  const telemetry::History* history =
      runs_.empty() || !runs_.front()->run ? nullptr : &runs_.front()->run->history();
  std::vector<std::pair<QString, int>> segments,
      ranks{{tr("mean of ranks"), LineChoice::kMean}, {tr("slowest rank"), LineChoice::kSlowest}},
      fullest{{tr("fullest rank"), LineChoice::kFullest}};
  if (history)
    for (const int segment : segments_with_gradients(*history))
      segments.emplace_back(segment_name(*history, segment), segment);
  if (segments.empty()) segments.emplace_back(tr("segment 0"), 0);
  segments.emplace_back(tr("all segments"), -1);
  for (int rank = 0; history && rank < history->ranks(); ++rank)
    for (auto* of : {&ranks, &fullest}) of->emplace_back(tr("rank %1").arg(rank), rank);
  offer_bytes();
  refill(*segment_, segments, choice_.segment);
  refill(*step_time_, ranks, choice_.step_time_of);
  refill(*buffers_, fullest, choice_.buffers_of);
}

// Enables the x axis in bytes only if a run reports sent bytes, or may still report them because it
// has not completed a step. Without sent bytes, all points would be at 0.
void RunCharts::offer_bytes() {
  const auto may_send = [](const auto& shown) {
    return shown->run &&
           (sends(shown->run->history()) || shown->run->history().train_loss().empty());
  };
  const bool offered = runs_.empty() || std::ranges::any_of(runs_, may_send);
  const int bytes = static_cast<int>(XAxis::bytes);
  qobject_cast<QStandardItemModel*>(axis_->model())->item(bytes)->setEnabled(offered);
  if (!offered && axis_->currentIndex() == bytes) set_x_axis(XAxis::step);
}

void RunCharts::set_badges(const QStringList& badges) {
  if (badges == badges_) return;
  badges_ = badges;
  fit_bar();
}

// True if, below the bar with all choices and badges, there is room for a chart. `badges`: the
// widths of the badges.
bool RunCharts::leaves_chart(const QList<int>& badges) const {
  QList<QSize> sizes{charts_button_->sizeHint()};
  for (const QWidget* choice : choices_) sizes << choice->sizeHint();
  for (const int badge : badges) sizes << QSize(badge, fontMetrics().height());
  const int bar = FlowLayout::height_of(sizes, width() - 2 * kGrid, bar_->spacing()) + kGrid;
  return height() - bar - layout()->spacing() >= plots_.begin()->second->minimumSizeHint().height();
}

QSize RunCharts::sizeHint() const {
  const QSize chart = plots_.begin()->second->minimumSizeHint();
  return {chart.width(), chart.height() + charts_button_->sizeHint().height() +
                             bar_->contentsMargins().top() + layout()->spacing()};
}

// Makes the bar lower if it would take the room of a chart. First, all badges share one line. If
// that is not enough, the choices move to a menu.
void RunCharts::fit_bar() {
  smoothing_->setFixedWidth(fontMetrics().height() * 6);
  QList<int> widths;
  for (const QString& badge : badges_)
    widths << fontMetrics().horizontalAdvance(kBullet + badge) + kGrid;
  const bool sharing = !leaves_chart(widths),
             tight = !leaves_chart(badges_.isEmpty() ? QList<int>() : QList{width()});
  choices_button_->setVisible(tight);
  for (QWidget* choice : choices_) choice->setVisible(!tight || choices_button_->isChecked());
  show_badges(sharing && badges_.size() > 1 ? QStringList(badges_.join("  " + kBullet)) : badges_);
  const int buttons = charts_button_->sizeHint().width() + choices_button_->sizeHint().width() +
                      2 * kGrid + 2 * bar_->spacing();
  const int left = std::max(width() - buttons, kBadgeCharacters * fontMetrics().averageCharWidth());
  for (TintedLabel* label : badge_labels_) label->setMaximumWidth(tight ? left : QWIDGETSIZE_MAX);
}

// Places the badges beside the choices if there is room, otherwise in rows below.
void RunCharts::show_badges(const QStringList& badges) {
  const auto count = static_cast<std::size_t>(badges.size());
  for (; badge_labels_.size() > count; badge_labels_.pop_back()) delete badge_labels_.back();
  while (badge_labels_.size() < count) {
    badge_labels_.push_back(new TintedLabel(TextColor::warning, bar_->parentWidget()));
    badge_labels_.back()->set_elided();
    badge_labels_.back()->setContentsMargins(kGrid / 2, 0, kGrid / 2, 0);
    bar_->addWidget(badge_labels_.back());
  }
  for (std::size_t i = 0; i < count; ++i)
    badge_labels_[i]->setText(kBullet + badges[static_cast<int>(i)]);
}

void RunCharts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_bar();
}

}  // namespace trainyard::ui
