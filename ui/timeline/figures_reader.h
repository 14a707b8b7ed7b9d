// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the figures of a timeline, one rank per turn of the event loop, because a range may hold
// very many ops.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <functional>

#include "ui/model/timeline_figures.h"

namespace trainyard::ui {

class FiguresReader : public QObject {
  Q_OBJECT
 public:
  explicit FiguresReader(QObject* parent);

  // Store, and the times of a rank to examine; a rank with no times is skipped. Called once per
  // rank, in its turn.
  using LookedAt = std::function<Times(int rank)>;
  void set_source(const SpanStore* store, LookedAt looked_at);
  void ask();  // starts soon; if it is computing, again after that
  const std::vector<std::optional<RankFigures>>& by_rank() const {
    return by_rank_;
  }  // as of the last `reckoned`
  TimelineFigures all() const;

 signals:
  void reckoned();

 private:
  void begin();
  void go_on();
  const SpanStore* store_ = nullptr;
  LookedAt looked_at_;
  QTimer soon_;
  bool busy_ = false, again_ = false;
  std::vector<std::optional<RankFigures>> by_rank_, open_;
};

}  // namespace trainyard::ui
