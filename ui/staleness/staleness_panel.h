// SPDX-License-Identifier: GPL-3.0-or-later
// Panel with the staleness of the gradients of the displayed run: a histogram by worker, and a
// table with each worker's contribution, late gradients and staleness. A text above them has the
// totals and the staleness that theory predicts.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/staleness_counts.h"
#include "ui/charts/plot_view.h"
#include "ui/model/runs/run.h"
#include "ui/theme/tinted_label.h"

class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard::ui {

class StalenessPanel : public QWidget {
  Q_OBJECT
 public:
  explicit StalenessPanel(QWidget* parent = nullptr);

  void set_run(Run* run);  // run to show, or null; if the run is deleted, the panel is cleared

  QString summary_text() const;  // text above the histogram
  PlotView& histogram() { return *histogram_; }
  QTreeWidget& table() {
    return *table_;
    // hides the least important columns if there is too little room; the tool tip of a row has all
    // values
  }

 signals:
  // Requests to show a gradient of a rank on the timeline. `seconds`: time in the recording at
  // which a server applied the gradient. A row of the table requests the stalest gradient of its
  // worker; a bar requests the last gradient with its staleness.
  void gradient_requested(int rank, double seconds);

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
  QString make_summary() const;

  QPointer<Run> run_;
  telemetry::StalenessCounts counts_;
  // staleness that theory predicts; only for a run with servers
  std::optional<experiment::StalenessTheory> theory_;
  QTimer later_;  // limits counting to a few times a second
  // true if the user resized histogram and table, which then keep their widths
  bool resized_by_user_ = false;
  TintedLabel* summary_;
  QSplitter* parts_;
  PlotView* histogram_;
  QTreeWidget* table_;
};

}  // namespace trainyard::ui
