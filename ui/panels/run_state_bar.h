// SPDX-License-Identifier: GPL-3.0-or-later
// Status of the run in one line: state, step, progress, time left, loss. If there is too little
// room, it is shortened in this order: no progress bar (the text has the same information), shorter
// words, no accuracy, no loss, no time left. The run's name, state and steps stay as long as
// possible.
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QWidget>
#include <deque>

#include "ui/model/runs/run.h"
#include "ui/theme/tinted_label.h"

class QProgressBar;

namespace trainyard::ui {

// Estimates the remaining time in seconds from the steps of the last few seconds. The pace, which
// is the minimum time of a step, gives a lower bound. Returns nothing if neither steps nor a pace
// are known.
class TimeLeftEstimator {
 public:
  // `seconds_per_step`: the pace; 0: full speed. If the pace changes, earlier steps are ignored.
  void note(double seconds, std::int64_t step, double seconds_per_step = 0);
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
  void set_run(Run* run);                                         // null hides the bar
  QString state_text() const { return state_.join(separator_); }  // full text of the state
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
      figures_;  // figures_: most important value first; brief_: shorter text of the state
  QString separator_;
  bool training_ = false;
  TintedLabel *name_, *state_label_, *figures_label_;
  QProgressBar* progress_;
};

}  // namespace trainyard::ui
