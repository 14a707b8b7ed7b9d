// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_legend.h"

#include <QCoreApplication>
#include <QPainter>

#include "ui/theme/theme.h"
#include "ui/timeline/timeline_colours.h"

namespace trainyard::ui {
namespace {

struct Entry {
  QString text;
  QColor colour;
  Qt::BrushStyle hatching = Qt::SolidPattern;  // solid: none
};

// What one looks for first comes first.
std::vector<Entry> entries(bool held_back) {
  const TimelineColours colours = timeline_colours();
  std::vector<Entry> all;
  for (const SpanKind kind : {SpanKind::forward, SpanKind::loss, SpanKind::backward, SpanKind::update, SpanKind::send, SpanKind::receive, SpanKind::collective})
    all.push_back({kind_words(kind), colours.of(kind)});
  all.push_back({waiting_words(), colours.waiting, Qt::BDiagPattern});
  if (held_back) all.push_back({held_words(), mixed(colours.held, colours.ground, 0.35), Qt::FDiagPattern});
  for (const SpanKind kind : {SpanKind::input, SpanKind::other}) all.push_back({kind_words(kind), colours.of(kind)});
  return all;
}

int width_of(const Entry& entry, const QFontMetrics& metrics) { return metrics.height() + metrics.horizontalAdvance(entry.text) + 2 * kGrid; }

}  // namespace

TimelineLegend::TimelineLegend(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("What the colours mean"));
  show_held_back(false);
  connect(&Theme::instance(), &Theme::changed, this, [this] { updateGeometry(), update(); });
}

void TimelineLegend::show_held_back(bool shown) {
  held_back_ = shown;
  QStringList words;
  for (const Entry& entry : entries(held_back_)) words << entry.text;
  setAccessibleDescription(words.join(", "));
  updateGeometry();
  update();
}

QSize TimelineLegend::sizeHint() const {
  int width = 0;
  for (const Entry& entry : entries(held_back_)) width += width_of(entry, fontMetrics());
  return {width, fontMetrics().height() + 2};
}

void TimelineLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics = fontMetrics();
  const int mark = metrics.ascent() * 3 / 4;
  int left = 0;
  for (const Entry& entry : entries(held_back_)) {
    const int entry_width = width_of(entry, metrics);
    if (left + entry_width > width()) return;
    const QRect box(left, (height() - mark) / 2, mark * 4 / 3, mark);
    const bool hatched = entry.hatching != Qt::SolidPattern;
    if (hatched) painter.fillRect(box, mixed(entry.colour, Theme::instance().colours().canvas, 0.8));
    painter.fillRect(box, QBrush(entry.colour, entry.hatching));
    painter.setPen(Theme::instance().colours().text);
    painter.drawText(QRect(box.right() + 5, 0, entry_width, height()), Qt::AlignLeft | Qt::AlignVCenter, entry.text);
    left += entry_width;
  }
}

}  // namespace trainyard::ui
