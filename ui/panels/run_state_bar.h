// SPDX-License-Identifier: GPL-3.0-or-later
// Status of the run in one line: state, step, progress, time left, loss. If there is too little
// room, it drops first the progress bar (which repeats the text), then long words, the accuracy,
// the loss and the time left. The run's name, state and steps stay as long as possible.
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QWidget>
#include <deque>

#include "ui/model/runs/run.h"
#include "ui/theme/tinted_label.h"

class QProgressBar;

namespace trainyard::ui {

// Estimates the remaining seconds from the steps of the last seconds. The pace gives a lower bound.
// Returns nothing while neither is known.
class TimeLeftEstimator {
 public:
  void note(double seconds, std::int64_t step,
            double seconds_per_step = 0);  // the pace; if it changes, earlier steps are ignored
  std::optional<double> left(std::int64_t steps) const;
  void clear() { notes_.clear(); }

 private:
  std::deque<std::pair<double, std::int64_t>> notes_;
  double pace_ = 0;
};

class RunStateBar : public QWidget {
  Q_OBJECT
 public:
  explicit RunStateBar(QWidget* parent = nullptr);
  void set_run(Run* run);                                         // null: hidden
  QString state_text() const { return state_.join(separator_); }  // full text
  QString shown_state() const { return state_label_->text(); }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void set_state(TextColor tint, const QStringList& words, const QStringList& brief,
                 const QString& separator);
  void fit();
  int width_for(const QString& state, const QStringList& figures, int progress) const;
  void show_live(const session::Status& status);
  void show_old();

  QPointer<Run> run_;
  QElapsedTimer clock_;
  TimeLeftEstimator eta_;
  QStringList state_, short_state_,
      figures_;  // most important first; brief: the state as a shorter text
  QString separator_;
  bool training_ = false;
  TintedLabel *name_, *state_label_, *figures_label_;
  QProgressBar* progress_;
};

}  // namespace trainyard::ui
