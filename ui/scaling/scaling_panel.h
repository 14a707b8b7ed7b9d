// SPDX-License-Identifier: GPL-3.0-or-later
// Panel about the scaling of training. It starts a sweep of the document and follows it. It shows
// that sweep, or an old one, as charts and a table.
#pragma once

#include <QWidget>

#include "ui/model/runs/sweep_follower.h"
#include "ui/model/runs/sweep_list.h"
#include "ui/scaling/scaling_charts.h"
#include "ui/scaling/scaling_form.h"
#include "ui/scaling/scaling_table.h"

class QComboBox;
class QProgressBar;
class QPushButton;

namespace trainyard::ui {

class TintedLabel;

class ScalingPanel : public QWidget {
  Q_OBJECT
 public:
  ScalingPanel(Document& document, const Services& services, QWidget* parent = nullptr);

  void open_sweep(const QString& directory);
  // lists the sweeps on disk; if no sweep is displayed, follows the newest live one
  void list_sweeps_later();
  // Sets the name of the run that trains now; empty if there is none. During a run, no sweep can be
  // started, because both would share cores.
  void set_training(const QString& run);
  bool sweeping() const { return follower_.live(); }
  void cancel() { follower_.cancel(); }

  SweepFollower& follower() { return follower_; }
  ScalingForm& form() { return *form_; }
  ScalingCharts& charts() { return *charts_; }
  ScalingTable& table() { return *table_; }
  QPushButton& start_button() { return *start_; }
  QPushButton& cancel_button() { return *cancel_; }
  QPushButton& export_button() { return *export_; }
  QComboBox& list() { return *list_; }
  QString status() const;   // progress or outcome
  QString caveats() const;  // caveats of the results
  QString notes() const;    // how the results were measured
  QString hint() const;     // effect of Start, or why it is disabled
  base::Result<void> save_table(const QString& file) const;

 signals:
  void open_requested(const QString& run_directory);
  void sweeping_changed();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* build_controls();
  QWidget* build_views();
  void start();
  void show_form();
  void show_sweep();
  void show_notes(const session::Sweep* sweep);
  void show_list(const std::vector<SweepEntry>& entries);
  void choose_listed(int row);
  void ask_where_to_save();
  QString status_text() const;
  QString empty_text() const;

  Document& document_;
  const Services& services_;
  SweepFollower follower_;
  ScalingForm* form_;
  ScalingCharts* charts_;
  ScalingTable* table_;
  QPushButton *start_, *cancel_, *export_;
  QComboBox* list_;
  QProgressBar* bar_;
  TintedLabel *hint_, *status_, *caveats_, *notes_;
  QString training_;
  std::vector<SweepEntry> listed_;
  bool was_sweeping_ = false, listing_ = false, list_again_ = false, refused_ = false;
};

}  // namespace trainyard::ui
