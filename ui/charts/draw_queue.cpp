// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/draw_queue.h"

#include <algorithm>

#include "ui/charts/plot_view.h"

namespace trainyard::ui {
namespace {

constexpr int kBreathMilliseconds = 16;

}  // namespace

DrawQueue& DrawQueue::instance() {
  static DrawQueue queue;
  return queue;
}

DrawQueue::DrawQueue() {
  turn_.setSingleShot(true);
  connect(&turn_, &QTimer::timeout, this, &DrawQueue::draw_next);
}

void DrawQueue::ask(PlotView* plot) {
  if (std::ranges::none_of(waiting_, [&](const QPointer<PlotView>& one) { return one == plot; })) waiting_.emplace_back(plot);
  if (!turn_.isActive()) turn_.start(0);
}

void DrawQueue::draw_next() {
  while (!waiting_.empty() && !waiting_.front()) waiting_.pop_front();  // it is gone
  if (waiting_.empty()) return;
  PlotView* plot = waiting_.front();
  waiting_.pop_front();
  turn_.start(kBreathMilliseconds);
  plot->refresh();
}

}  // namespace trainyard::ui
