// SPDX-License-Identifier: GPL-3.0-or-later
// How stale the gradients of the shown run are: a histogram of each worker, and beside it who
// contributed how much, what came too late, and how stale it was; over both, in words, all of them
// and what theory says of them.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/staleness_counts.h"
#include "ui/charts/plot_view.h"
#include "ui/model/run.h"

class QLabel;
class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard::ui {

class StalenessPanel : public QWidget {
  Q_OBJECT
 public:
  explicit StalenessPanel(QWidget* parent = nullptr);

  void set_run(Run* run);  // null: none; one that is deleted disappears

  QString words() const;  // over the histogram
  PlotView& histogram() { return *histogram_; }
  QTreeWidget& table() {
    return *table_;
  }  // where it has no room for all columns, those that matter least are hidden; a row's help says
     // all of them

 signals:
  // A row was activated: the stalest gradient of that worker; or a bar was chosen: the last that
  // was as stale. As its server took it at that time of the recording.
  void gradient_wanted(int rank, double seconds);

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void look();
  void want_gradient(int row);
  void want_staleness(double staleness);
  void show_all();
  void show_histogram();
  void show_table();
  void fit_table();
  void fill(QTreeWidgetItem& row, const telemetry::WorkerStaleness& one,
            std::int64_t applied_by_all) const;
  QString summary() const;

  QPointer<Run> run_;
  telemetry::StalenessCounts counts_;
  std::optional<experiment::StalenessTheory> theory_;  // of a run with servers
  QTimer later_;                                       // counted at most a few times a second
  bool parted_ = false;  // by hand: histogram and table stay as wide as they were made
  QLabel* words_;
  QSplitter* parts_;
  PlotView* histogram_;
  QTreeWidget* table_;
};

}  // namespace trainyard::ui
