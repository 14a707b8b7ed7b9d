// SPDX-License-Identifier: GPL-3.0-or-later
// Reckons the figures of a timeline rank by rank, one in a turn of the event loop: a range may hold
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

  // The store, and what of a rank's time is looked at; a rank of which nothing is is left out.
  // Asked once a rank, when its turn comes.
  using LookedAt = std::function<Times(int rank)>;
  void set_source(const SpanStore* store, LookedAt looked_at);
  void ask();  // soon; while it reckons, once more after that
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
