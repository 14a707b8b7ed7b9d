// SPDX-License-Identifier: GPL-3.0-or-later
// How the run goes, in one line: state, step, progress, time left; and the truths that belong to its figures.
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QWidget>
#include <deque>

#include "ui/model/run.h"
#include "ui/theme/tinted_label.h"

class QProgressBar;

namespace trainyard::ui {

// Seconds that are left, from the steps of the last seconds; nothing before there are any.
class Eta {
 public:
  void note(double seconds, std::int64_t step);
  std::optional<double> left(std::int64_t steps) const;
  void clear() { notes_.clear(); }

 private:
  std::deque<std::pair<double, std::int64_t>> notes_;
};

class RunStateBar : public QWidget {
  Q_OBJECT
 public:
  explicit RunStateBar(QWidget* parent = nullptr);
  void set_run(Run* run);  // null: hides
  QString state_text() const { return state_->text(); }

 private:
  void refresh();
  void show_live(const session::Status& status);
  void show_old();

  QPointer<Run> run_;
  QElapsedTimer clock_;
  Eta eta_;
  TintedLabel *name_, *state_, *figures_;
  QProgressBar* progress_;
};

}  // namespace trainyard::ui
