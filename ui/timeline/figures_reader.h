// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the numbers that a timeline shows for a range of time, such as the efficiency. It
// examines one rank at a time and processes other events in between, because a range may contain
// very many ops.
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

  // Sets the spans to examine, and a function that returns the ranges of time to examine on a rank.
  // A rank without such times is skipped. The function is called once per rank, when that rank is
  // examined.
  using RankTimes = std::function<Times(int rank)>;
  void set_source(const SpanStore* store, RankTimes looked_at);
  void ask();  // starts the computation soon; if one is in progress, it starts again after that
  const std::vector<std::optional<RankFigures>>& by_rank() const {
    return by_rank_;
  }  // results when `computed` was last emitted
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
