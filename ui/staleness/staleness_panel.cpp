// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/staleness/staleness_panel.h"

#include <QEvent>
#include <QHeaderView>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "ui/charts/run_lines.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using telemetry::WorkerStaleness;

constexpr int kLookEvery = 250;  // interval of updates in milliseconds
constexpr std::int64_t kMaxTailRatio = 2, kRoom = 20;
// minimum width of the histogram beside the table, in characters
constexpr int kHistogramLetters = 16;
enum Column { worker, applied, share, delayed, dropped, mean, p95, most, columns };

QString counted(std::int64_t number) { return QString::fromStdString(base::format_count(number)); }

// Returns the columns that may be hidden if there is too little room, in the order in which they
// are hidden.
std::vector<int> hiding_order(bool any_dropped) {
  return any_dropped ? std::vector<int>{share, p95, most, mean, delayed, dropped}
                     : std::vector<int>{dropped, share, p95, most, delayed, mean};
}

SeriesPoint bar(std::int64_t staleness, std::int64_t gradients) {
  const auto at = static_cast<double>(staleness);
  return {at, at, at, static_cast<double>(gradients)};
}

// Returns the staleness of the last bar of the histogram. It is normally the maximum. If a few very
// stale gradients would leave no room for the other bars, it is the 99th percentile.
std::int64_t last_bar(const WorkerStaleness& all) {
  const std::int64_t most = all.most(), percentile = all.quantile(0.99);
  return most > kMaxTailRatio * std::max<std::int64_t>(percentile, kRoom) ? percentile : most;
}

// Returns series of the staleness of gradients. With servers, they are by worker, as received by
// the first server. With pipeline stages, they are by stage, as applied by the stage.
std::vector<std::pair<int, const telemetry::Series*>> gradients_of_workers(
    const telemetry::History& history) {
  std::vector<std::pair<int, const telemetry::Series*>> all;
  for (const telemetry::SeriesKey& key :
       telemetry::gradient_series(history, telemetry::Metric::staleness))
    all.emplace_back(key.index, &history.series().at(key));
  return all;
}

}  // namespace

StalenessPanel::StalenessPanel(QWidget* parent) : QWidget(parent) {
  summary_ = paragraph(TextColor::text, this);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  summary_->setContentsMargins(8, 6, 8, 2);
  parts_ = new QSplitter(Qt::Horizontal, this);
  histogram_ = new PlotView(parts_);
  histogram_->set_count_axis(tr("versions"));
  histogram_->enable_point_choice(tr("Show the last gradient of this staleness on the timeline"));
  connect(histogram_, &PlotView::point_chosen, this,
          [this](const QString&, const SeriesPoint& bar) { want_staleness(std::round(bar.step)); });
  table_ = new QTreeWidget(parts_);
  table_->setRootIsDecorated(false);
  table_->setUniformRowHeights(true);
  table_->setAllColumnsShowFocus(true);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  connect(table_, &QTreeWidget::itemActivated, this,
          [this](QTreeWidgetItem* row) { want_gradient(table_->indexOfTopLevelItem(row)); });
  const std::pair<QString, QString> headings[columns] = {
      {tr("Worker"), tr("Source of the gradients")},
      {tr("Applied"), tr("Gradients used in an update")},
      {tr("Share"), tr("Share of all applied gradients")},
      {tr("Delayed"), tr("Applied gradients with a staleness above 0")},
      {tr("Dropped"), tr("Gradients that arrived too late and were not used")},
      {tr("Mean"), tr("Mean staleness of applied gradients: parameter version at the update minus "
                      "parameter version used to compute the gradient")},
      {tr("p95"), tr("95th percentile of staleness")},
      {tr("Max"), tr("Maximum staleness")}};
  table_->setColumnCount(columns);
  for (int column = 0; column < columns; ++column) {
    table_->headerItem()->setText(column, headings[column].first);
    table_->headerItem()->setToolTip(column, headings[column].second);
    table_->headerItem()->setTextAlignment(
        column, (column == worker ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->header()->setStretchLastSection(false);
  parts_->setChildrenCollapsible(false);
  connect(parts_, &QSplitter::splitterMoved, this, [this] {
    resized_by_user_ = true;
    fit_table();
  });
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(summary_);
  column->addWidget(parts_, 1);
  setFocusProxy(table_);
  later_.setSingleShot(true);
  later_.setInterval(kLookEvery);
  connect(&later_, &QTimer::timeout, this, &StalenessPanel::look);
  show_all();
}

void StalenessPanel::set_run(Run* run) {
  if (run_) disconnect(run_, nullptr, this, nullptr);
  run_ = run;
  counts_ = {};
  theory_.reset();
  histogram_->clear_series();
  table_->clear();
  if (run_) {
    const auto news = [this] {
      if (!later_.isActive()) later_.start();
    };
    connect(run_, &Run::updated, this, news);
    connect(run_, &Run::ended, this, news);
    connect(run_, &QObject::destroyed, this, [this] { set_run(nullptr); });
  }
  look();
}

// Counts new gradients if the panel is visible. Gradients that arrive while the panel is hidden are
// counted when it is shown.
void StalenessPanel::look() {
  if (!isVisible()) return;
  if (run_) {
    if (!theory_) theory_ = recorded_staleness_theory(run_->history());
    counts_.read(run_->history());
  }
  show_all();
}

void StalenessPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  look();
}

void StalenessPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) show_table();
}

void StalenessPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_table();
}

QString StalenessPanel::summary_text() const { return summary_->text(); }

QString StalenessPanel::make_summary() const {
  if (!run_)
    return tr(
        "No run selected. Run an experiment with parameter servers or the pipeline schedule "
        "pipedream, or open such a run.");
  const WorkerStaleness all = counts_.all();
  if (all.applied + all.dropped == 0)
    return theory_ ? tr("No gradients applied yet.")
                   : tr("Gradients of this run cannot be stale: it has neither parameter servers "
                        "nor stages that update after every micro-batch.");
  QString text = tr("Gradients: %1 applied, %2 of them delayed, %3 dropped. Staleness: mean %4, "
                    "p95 %5, maximum %6.")
                     .arg(counted(all.applied), counted(all.delayed()), counted(all.dropped),
                          QString::number(all.mean(), 'f', 2), counted(all.quantile(0.95)),
                          counted(all.most()));
  if (!theory_) return text;
  const QString formula = QString::fromStdString(theory_->words);
  if (theory_->mean)
    text += " " + tr("Theory: mean %1 (%2).").arg(QString::number(*theory_->mean, 'f', 2), formula);
  else if (theory_->most)
    text += " " + tr("Theory: at most %1 (%2).").arg(counted(*theory_->most), formula);
  return text;
}

void StalenessPanel::show_all() {
  summary_->setText(make_summary());
  const bool any = !counts_.workers().empty();
  histogram_->set_empty_text(any ? QString() : tr("No gradients"));
  parts_->setVisible(any);
  summary_->set_tint(any ? TextColor::text : TextColor::dim);
  summary_->setAlignment(any ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignCenter);
  show_histogram();
  show_table();
}

void StalenessPanel::show_histogram() {
  const WorkerStaleness all = counts_.all();
  const std::int64_t last = last_bar(all);
  histogram_->set_title(last < all.most() ? tr("Gradients by staleness, without the top 1 %")
                                          : tr("Gradients by staleness"),
                        tr("gradients"));
  std::int64_t highest = 0;  // height of the stacked bars of all workers
  for (const auto& [staleness, gradients] : all.counts)
    if (staleness <= last) highest = std::max(highest, gradients);
  for (const WorkerStaleness& one : counts_.workers()) {
    const QString id = QString("worker%1").arg(one.rank);
    const bool visible = !histogram_->model().find(id) || histogram_->model().find(id)->visible;
    histogram_->remove_series(id);
    histogram_->put_series(id, {.label = gradient_owner_text(run_->history(), one.rank),
                                .color = one.rank,
                                .stacked = true,
                                .joining = Joining::never});
    std::vector<SeriesPoint> bars;
    for (std::int64_t staleness = 0; !one.counts.empty() && staleness <= std::min(one.most(), last);
         ++staleness) {
      const auto at = one.counts.find(staleness);
      bars.push_back(bar(staleness, at == one.counts.end() ? 0 : at->second));
    }
    histogram_->append(id, bars);
    histogram_->set_series_visible(id, visible);
  }
  histogram_->remove_series("theory");
  if (!theory_ || highest == 0 || (!theory_->mean && !theory_->most)) return;
  const double at = theory_->mean ? *theory_->mean : static_cast<double>(*theory_->most);
  histogram_->put_series("theory",
                         {.label = theory_->mean ? tr("theoretical mean") : tr("theoretical bound"),
                          .color = kTextColor,
                          .dashed = true,
                          .joining = Joining::always});
  histogram_->append("theory", std::vector<SeriesPoint>{
                                   {at, at, at, 0}, {at, at, at, static_cast<double>(highest)}});
}

// Requests to show the stalest gradient of a worker. If several gradients are equally stale,
// requests the last one, because the timeline keeps only the latest ops.
void StalenessPanel::want_gradient(int row) {
  if (!run_ || row < 0 || row >= static_cast<int>(counts_.workers().size()))
    return;  // the last row is the total of all workers
  const int rank = counts_.workers()[static_cast<std::size_t>(row)].rank;
  for (const auto& [worker, gradients] : gradients_of_workers(run_->history())) {
    if (worker != rank) continue;
    const auto stalest = std::max_element(gradients->values.rbegin(), gradients->values.rend());
    emit gradient_requested(
        rank, gradients->seconds[static_cast<std::size_t>(gradients->values.rend() - stalest) - 1]);
  }
}

// Requests to show the last gradient, of any worker, that has the given staleness.
void StalenessPanel::want_staleness(double staleness) {
  if (!run_) return;
  std::optional<std::pair<double, int>> last;  // (time, worker)
  for (const auto& [worker, gradients] : gradients_of_workers(run_->history()))
    for (std::size_t i = gradients->values.size(); i-- > 0;) {
      if (gradients->values[i] != staleness) continue;
      last = std::max(last, std::optional(std::pair(gradients->seconds[i], worker)));
      break;
    }
  if (last) emit gradient_requested(last->second, last->first);
}

void StalenessPanel::show_table() {
  const auto& workers = counts_.workers();
  const WorkerStaleness all = counts_.all();
  const int rows = workers.empty() ? 0 : static_cast<int>(workers.size()) + 1;
  const bool stages = run_ && stages_report_staleness(run_->history());
  table_->headerItem()->setText(worker, stages ? tr("Stage") : tr("Worker"));
  table_->setAccessibleName(stages ? tr("Effective updates by stage")
                                   : tr("Effective updates by worker"));
  while (table_->topLevelItemCount() > rows)
    delete table_->takeTopLevelItem(table_->topLevelItemCount() - 1);
  while (table_->topLevelItemCount() < rows) new QTreeWidgetItem(table_);
  for (int row = 0; row < rows; ++row)
    fill(*table_->topLevelItem(row), row + 1 < rows ? workers[static_cast<std::size_t>(row)] : all,
         all.applied);
  fit_table();
}

// Makes the table as wide as its columns. If the histogram would then be narrower than its minimum,
// hides columns of the table.
void StalenessPanel::fit_table() {
  if (table_->topLevelItemCount() == 0 || !parts_->isVisible()) return;
  QHeaderView& header = *table_->header();
  for (int column = 0; column < columns; ++column) header.setSectionHidden(column, false);
  header.resizeSections(QHeaderView::ResizeToContents);
  // Width of the table's frame and scroll bar, which is added to the width of its columns.
  const int beside = table_->width() - table_->viewport()->width();
  const int least = std::max({fontMetrics().averageCharWidth() * kHistogramLetters,
                              histogram_->minimumWidth(), histogram_->minimumSizeHint().width()});
  const int room =
      (resized_by_user_ ? table_->width() : parts_->width() - parts_->handleWidth() - least) -
      beside;
  for (const int column : hiding_order(counts_.all().dropped > 0))
    if (header.length() > room) header.setSectionHidden(column, true);
  const int table = header.length() + beside;
  if (!resized_by_user_) parts_->setSizes({parts_->width() - parts_->handleWidth() - table, table});
}

void StalenessPanel::fill(QTreeWidgetItem& row, const WorkerStaleness& one,
                          std::int64_t applied_by_all) const {
  const double part = applied_by_all > 0 ? 100 * static_cast<double>(one.applied) /
                                               static_cast<double>(applied_by_all)
                                         : 0;
  const QString cells[columns] = {one.rank < 0 ? tr("all") : tr("rank %1").arg(one.rank),
                                  counted(one.applied),
                                  QString::number(part, 'f', 1) + " %",
                                  counted(one.delayed()),
                                  counted(one.dropped),
                                  QString::number(one.mean(), 'f', 2),
                                  counted(one.quantile(0.95)),
                                  counted(one.most())};
  const Colors& colors = Theme::instance().colors();
  QString help = tr("%1: gradients applied %2 (%3), delayed %4, dropped %5; staleness mean %6, p95 "
                    "%7, maximum %8")
                     .arg(cells[worker], cells[applied], cells[share], cells[delayed],
                          cells[dropped], cells[mean], cells[p95], cells[most]);
  if (one.rank >= 0)
    help +=
        "\n" +
        tr("Press Enter or double-click to show the push of the stalest gradient on the timeline");
  for (int column = 0; column < columns; ++column) {
    row.setText(column, cells[column]);
    row.setToolTip(column, help);
    row.setTextAlignment(column,
                         (column == worker ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    row.setForeground(column, one.rank < 0 ? colors.dim : colors.text);
  }
}

}  // namespace trainyard::ui
