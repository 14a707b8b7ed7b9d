// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_colors.h"

#include "ui/theme/theme.h"
#include "ui/timeline/timeline_text.h"

namespace trainyard::ui {
namespace {

// indices of the theme's colors for the components of a step; charts use the same indices
enum PartColor { compute, waiting, transfer, input };

}  // namespace

TimelineColors timeline_colors() {
  const Theme& theme = Theme::instance();
  const Colors& c = theme.colors();
  const QColor computing = theme.component_color(compute), moving = theme.component_color(transfer);
  TimelineColors made;
  const auto set = [&made](SpanKind kind, const QColor& color) {
    made.kinds[static_cast<std::size_t>(kind)] = color;
  };
  set(SpanKind::input, theme.component_color(input));
  set(SpanKind::forward, mixed(computing, c.canvas, 0.35));
  set(SpanKind::loss, mixed(computing, c.text, 0.6));
  set(SpanKind::backward, computing);
  set(SpanKind::update, mixed(computing, c.text, 0.3));
  set(SpanKind::other, mixed(computing, c.canvas, 0.65));
  set(SpanKind::send, mixed(moving, c.canvas, 0.6));
  set(SpanKind::receive, moving);
  set(SpanKind::collective, mixed(moving, theme.dark() ? c.canvas : c.text, 0.3));
  set(SpanKind::offload, mixed(theme.component_color(input), c.text, 0.35));
  made.waiting = theme.component_color(waiting);
  made.held = c.text;  // the same color as in the chart of step times
  made.ground = c.canvas, made.stripe = mixed(c.canvas, c.window, 0.6), made.line = c.grid;
  made.text = c.text, made.dim = c.dim, made.accent = c.accent, made.selection = c.selection;
  return made;
}

QColor text_on(const QColor& ground) {
  const QColor dark("#14171c"), light("#ffffff");
  return contrast(dark, ground) > contrast(light, ground) ? dark : light;
}

QString span_kind_text(SpanKind kind) {
  static constexpr const char* kWords[] = {QT_TRANSLATE_NOOP("timeline", "input"),
                                           QT_TRANSLATE_NOOP("timeline", "forward"),
                                           QT_TRANSLATE_NOOP("timeline", "loss"),
                                           QT_TRANSLATE_NOOP("timeline", "backward"),
                                           QT_TRANSLATE_NOOP("timeline", "update"),
                                           QT_TRANSLATE_NOOP("timeline", "other compute"),
                                           QT_TRANSLATE_NOOP("timeline", "send"),
                                           QT_TRANSLATE_NOOP("timeline", "transfer"),
                                           QT_TRANSLATE_NOOP("timeline", "engine collective"),
                                           QT_TRANSLATE_NOOP("timeline", "offload and fetch")};
  return timeline_text(kWords[static_cast<std::size_t>(kind)]);
}

QString waiting_text() { return timeline_text("waiting for a peer"); }
QString held_text() { return timeline_text("delayed (slowed or paced)"); }

}  // namespace trainyard::ui
