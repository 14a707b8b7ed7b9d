// SPDX-License-Identifier: GPL-3.0-or-later
// How the run goes, in one line: state, step, progress, time left, loss. Where they have no room
// the bar goes first, for the words say it too, then long words, the accuracy, the loss and the
// time left. Which run it is, its state and its steps stay while there is room for them.
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QWidget>
#include <deque>

#include "ui/model/run.h"
#include "ui/theme/tinted_label.h"

class QProgressBar;

namespace trainyard::ui {

// Seconds that are left, from the steps of the last seconds, and never less than their pace takes;
// nothing before either is known.
class Eta {
 public:
  void note(double seconds, std::int64_t step,
            double seconds_per_step = 0);  // of the pace; another one makes older steps no measure
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
  void set_run(Run* run);                                         // null: hides
  QString state_text() const { return state_.join(separator_); }  // all of it
  QString shown_state() const { return state_label_->text(); }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void set_state(Tint tint, const QStringList& words, const QStringList& brief,
                 const QString& separator);
  void fit();
  int room_for(const QString& state, const QStringList& figures, int progress) const;
  void show_live(const session::Status& status);
  void show_old();

  QPointer<Run> run_;
  QElapsedTimer clock_;
  Eta eta_;
  QStringList state_, brief_,
      figures_;  // what matters most first; brief: the state in fewer letters
  QString separator_;
  bool training_ = false;
  TintedLabel *name_, *state_label_, *figures_label_;
  QProgressBar* progress_;
};

}  // namespace trainyard::ui
