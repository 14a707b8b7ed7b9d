// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/figures_reader.h"

#include <QElapsedTimer>
#include <utility>

#include "ui/model/runs/work_scheduler.h"

namespace trainyard::ui {
namespace {

constexpr int kSoonMilliseconds = 100;
constexpr qint64 kTurnNanoseconds = 4'000'000;

}  // namespace

FiguresCalculator::FiguresCalculator(QObject* parent) : QObject(parent) {
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kSoonMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &FiguresCalculator::begin);
}

void FiguresCalculator::set_source(const SpanStore* store, RankTimes looked_at) {
  store_ = store;
  looked_at_ = std::move(looked_at);
  busy_ = again_ = false;
  by_rank_.clear();
  delay_timer_.stop();
  if (store_) ask();
}

void FiguresCalculator::ask() {
  if (busy_) again_ = true;
  else if (store_ && !delay_timer_.isActive()) delay_timer_.start();
}

void FiguresCalculator::begin() {
  if (!store_) return;
  busy_ = true;
  open_.clear();
  WorkScheduler::instance().ask(this, Work::drawing, [this] { go_on(); });
}

void FiguresCalculator::go_on() {
  if (!store_ || !busy_) return;
  QElapsedTimer clock;
  clock.start();
  while (static_cast<int>(open_.size()) < store_->ranks() &&
         clock.nsecsElapsed() < kTurnNanoseconds) {
    const int rank = static_cast<int>(open_.size());
    const Times looked_at = looked_at_(rank);
    open_.push_back(looked_at.empty() ? std::nullopt
                                      : std::optional(figures_of(*store_, rank, looked_at)));
  }
  if (static_cast<int>(open_.size()) < store_->ranks())
    return WorkScheduler::instance().ask(this, Work::drawing, [this] { go_on(); });
  busy_ = false;
  by_rank_ = std::move(open_);
  if (std::exchange(again_, false)) ask();
  emit computed();
}

TimelineFigures FiguresCalculator::all() const {
  std::vector<RankFigures> known;
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank)
    if (by_rank_[rank]) known.push_back(*by_rank_[rank]), ranks.push_back(static_cast<int>(rank));
  TimelineFigures all = average_over_ranks(known);
  if (all.least_efficient >= 0)
    all.least_efficient = ranks[static_cast<std::size_t>(all.least_efficient)];
  return all;
}

}  // namespace trainyard::ui
