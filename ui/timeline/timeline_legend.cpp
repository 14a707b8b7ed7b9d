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
  bool hatched = false;
};

// What one looks for first comes first.
std::vector<Entry> entries() {
  const TimelineColours colours = timeline_colours();
  std::vector<Entry> all;
  for (const SpanKind kind : {SpanKind::forward, SpanKind::loss, SpanKind::backward, SpanKind::update, SpanKind::send, SpanKind::receive, SpanKind::collective})
    all.push_back({kind_words(kind), colours.of(kind)});
  all.push_back({QCoreApplication::translate("timeline", "waiting for a peer"), colours.waiting, true});
  for (const SpanKind kind : {SpanKind::input, SpanKind::other}) all.push_back({kind_words(kind), colours.of(kind)});
  return all;
}

int width_of(const Entry& entry, const QFontMetrics& metrics) { return metrics.height() + metrics.horizontalAdvance(entry.text) + 2 * kGrid; }

}  // namespace

TimelineLegend::TimelineLegend(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("What the colours mean"));
  QStringList words;
  for (const Entry& entry : entries()) words << entry.text;
  setAccessibleDescription(words.join(", "));
  connect(&Theme::instance(), &Theme::changed, this, [this] { updateGeometry(), update(); });
}

QSize TimelineLegend::sizeHint() const {
  int width = 0;
  for (const Entry& entry : entries()) width += width_of(entry, fontMetrics());
  return {width, fontMetrics().height() + 2};
}

void TimelineLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics = fontMetrics();
  const int mark = metrics.ascent() * 3 / 4;
  int left = 0;
  for (const Entry& entry : entries()) {
    const int entry_width = width_of(entry, metrics);
    if (left + entry_width > width()) return;
    const QRect box(left, (height() - mark) / 2, mark * 4 / 3, mark);
    painter.fillRect(box, entry.hatched ? mixed(entry.colour, Theme::instance().colours().canvas, 0.8) : entry.colour);
    if (entry.hatched) painter.fillRect(box, QBrush(entry.colour, Qt::BDiagPattern));
    painter.setPen(Theme::instance().colours().text);
    painter.drawText(QRect(box.right() + 5, 0, entry_width, height()), Qt::AlignLeft | Qt::AlignVCenter, entry.text);
    left += entry_width;
  }
}

}  // namespace trainyard::ui
