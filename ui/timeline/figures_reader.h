// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the figures of a timeline. It examines one rank per turn of the event loop, because a
// range may contain very many ops.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <functional>

#include "ui/model/spans/timeline_figures.h"

namespace trainyard::ui {

class FiguresCalculator : public QObject {
  Q_OBJECT
 public:
  explicit FiguresCalculator(QObject* parent);

  // Sets the store, and a function that returns the times of a rank to examine. A rank without
  // times is skipped. The function is called once per rank, in the rank's turn.
  using RankTimes = std::function<Times(int rank)>;
  void set_source(const SpanStore* store, RankTimes looked_at);
  void ask();  // starts the computation soon; if one is in progress, it starts again after that
  const std::vector<std::optional<RankFigures>>& by_rank() const {
    return by_rank_;
  }  // figures at the last `computed`
  TimelineFigures all() const;

 signals:
  void computed();

 private:
  void begin();
  void go_on();
  const SpanStore* store_ = nullptr;
  RankTimes looked_at_;
  QTimer delay_timer_;
  bool busy_ = false, again_ = false;
  std::vector<std::optional<RankFigures>> by_rank_, open_;
};

}  // namespace trainyard::ui
