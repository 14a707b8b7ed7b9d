// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/turns.h"

#include <algorithm>
#include <utility>

namespace trainyard::ui {
namespace {

constexpr int kBreathMilliseconds = 1;

}  // namespace

Turns& Turns::instance() {
  static Turns turns;
  return turns;
}

Turns::Turns() {
  turn_.setSingleShot(true);
  turn_.setInterval(kBreathMilliseconds);
  connect(&turn_, &QTimer::timeout, this, &Turns::run_next);
}

bool Turns::waits(const QObject* owner) const {
  return std::ranges::any_of(waiting_, [&](const Waiting& one) { return one.owner == owner; });
}

void Turns::ask(QObject* owner, std::function<void()> piece) {
  if (!waits(owner)) waiting_.push_back({owner, std::move(piece)});
  if (!turn_.isActive()) turn_.start();
}

void Turns::run_next() {
  while (!waiting_.empty() && !waiting_.front().owner) waiting_.pop_front();
  if (waiting_.empty()) return;
  const Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  turn_.start();
  next.piece();
}

}  // namespace trainyard::ui
