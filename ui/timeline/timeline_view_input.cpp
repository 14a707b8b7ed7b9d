// SPDX-License-Identifier: GPL-3.0-or-later
// Clicks and keys that only a timeline handles, in addition to those of all views with a time axis.
#include <QKeyEvent>

#include "ui/timeline/timeline_view.h"

namespace trainyard::ui {

// Handles a click. On the band of steps, it chooses a step; elsewhere, it selects an op. If several
// ops share the column of pixels at that point, it first zooms in until they are separate.
void TimelineView::click(const QPointF& at) {
  const TimelineScene now = scene();
  if (at.x() >= now.body.left() && at.y() < now.body.top()) {
    const std::size_t step =
        steps_->first_ending_after(now.columns().time_at(at.x() - now.body.left()));
    const auto clicked =
        step < steps_->steps().size() ? std::optional(steps_->steps()[step].step) : std::nullopt;
    return choose_step(clicked == chosen_step_ ? std::nullopt : clicked);
  }
  const auto place = place_at(at);
  if (place && merged_at(*place, at)) return show_range(zoomed(view_, fraction(at), 0.25));
  select(place, false);
}

TimeView::Under TimelineView::under(const QPointF& at) const {
  const auto place = place_at(at);
  return !place ? Under::nothing : place == selected_ ? Under::selected : Under::another;
}

bool TimelineView::act_by_key(const QKeyEvent& event) {
  if (event.key() == Qt::Key_F) return set_following(!following_), true;
  if (event.key() == Qt::Key_Home && event.modifiers() & Qt::ControlModifier) return home(), true;
  return false;
}

bool TimelineView::navigate_by_key(int key) {
  switch (key) {
    case Qt::Key_Left: return walk_along(Walk::previous), true;
    case Qt::Key_Right: return walk_along(Walk::next), true;
    case Qt::Key_Home: return walk_along(Walk::first), true;
    case Qt::Key_End: return walk_along(Walk::last), true;
    case Qt::Key_Up: return walk_to_lane(-1), true;
    case Qt::Key_Down: return walk_to_lane(1), true;
    case Qt::Key_Return:
    case Qt::Key_Enter: return selected_ ? (emit plan_requested(), true) : false;
    case Qt::Key_Escape:
      return selected_ || chosen_step_ ? (select({}), choose_step({}), true) : false;
    default: return false;
  }
}

// Selects the op nearest to the time in the center of the view, on the topmost visible lane that
// has ops.
void TimelineView::start_walking() {
  const TimelineScene now = scene();
  const Nanoseconds middle = view_.begin + view_.width() / 2;
  for (const LaneRow& row : rows_.rows()) {
    if (now.row_rect(row).top() < now.body.top()) continue;
    if (const auto found = nearest(*store_, held_, row.rank, row.lane, middle))
      return select(found);
  }
}

void TimelineView::walk_along(Walk way) {
  if (!selected_ || !span_at(*store_, *selected_)) return start_walking();
  if (const auto found = walk(*store_, held_, *selected_, way)) select(found);
}

// Moves the selection to the next lane that has ops: to the op nearest in time to the selected op.
void TimelineView::walk_to_lane(int way) {
  const OpSpan* span = selected_ ? span_at(*store_, *selected_) : nullptr;
  if (!span) return start_walking();
  const auto& rows = rows_.rows();
  for (int at = rows_.row_of(selected_->rank, selected_->lane) + way;
       at >= 0 && at < static_cast<int>(rows.size()); at += way) {
    const LaneRow& row = rows[static_cast<std::size_t>(at)];
    if (const auto found = nearest(*store_, held_, row.rank, row.lane,
                                   span->begin + (span->end - span->begin) / 2))
      return select(found);
  }
}

}  // namespace trainyard::ui
