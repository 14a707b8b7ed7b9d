// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_legend.h"

#include <QPainter>

#include "ui/theme/theme.h"
#include "ui/timeline/pipeline_painter.h"
#include "ui/timeline/pipeline_text.h"

namespace trainyard::ui {
namespace {

int height_of_row(const QFontMetrics& metrics) { return metrics.height() + 2; }

}  // namespace

// Returns the legend's entries for kinds of ops, the most important ones first.
std::vector<TimelineLegend::Entry> TimelineLegend::of_ops() const {
  const TimelineColors colors = timeline_colors();
  std::vector<Entry> all;
  for (const SpanKind kind :
       {SpanKind::forward, SpanKind::loss, SpanKind::backward, SpanKind::update, SpanKind::send,
        SpanKind::receive, SpanKind::collective})
    all.push_back({span_kind_text(kind), colors.of(kind)});
  all.push_back({waiting_text(), colors.waiting, Qt::BDiagPattern});
  if (held_back_)
    all.push_back({held_text(), mixed(colors.held, colors.ground, 0.35), Qt::FDiagPattern});
  for (const SpanKind kind : {SpanKind::input, SpanKind::offload, SpanKind::other})
    all.push_back({span_kind_text(kind), colors.of(kind)});
  return all;
}

std::vector<TimelineLegend::Entry> TimelineLegend::of_passes() const {
  using experiment::Pass;
  const TimelineColors colors = timeline_colors();
  std::vector<Entry> all;
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_weight}) {
    if (pass == Pass::backward_weight && !passes_->has_weight_pass) continue;
    for (int chunk = 0; chunk < passes_->chunks; ++chunk) {
      const QString stage = passes_->chunks > 1
                                ? tr(", stage %1 of the rank").arg(QChar(u'a' + chunk % 26))
                                : QString();
      all.push_back({pass_text(pass) + stage, pass_color(colors, pass, chunk, passes_->chunks)});
    }
  }
  all.push_back({tr("idle"), idle_colors(colors).line, Qt::BDiagPattern});
  return all;
}

std::vector<TimelineLegend::Entry> TimelineLegend::entries() const {
  return passes_ ? of_passes() : of_ops();
}

int TimelineLegend::width_of(const Entry& entry, const QFontMetrics& metrics) {
  return metrics.height() + metrics.horizontalAdvance(entry.text) + 2 * kGrid;
}

// Returns the rectangles of the legend's entries, which wrap into rows.
std::vector<QRect> TimelineLegend::boxes(const std::vector<Entry>& all, const QFontMetrics& metrics,
                                         int width) {
  std::vector<QRect> boxes;
  QPoint at;
  for (const Entry& entry : all) {
    const QSize size(width_of(entry, metrics), height_of_row(metrics));
    if (at.x() > 0 && at.x() + size.width() > width) at = {0, at.y() + size.height()};
    boxes.emplace_back(at, size);
    at.rx() += size.width();
  }
  return boxes;
}

TimelineLegend::TimelineLegend(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Color legend"));
  show_held_back(false);
  connect(&Theme::instance(), &Theme::changed, this, [this] { updateGeometry(), update(); });
}

void TimelineLegend::show_held_back(bool shown) {
  held_back_ = shown;
  tell();
}

void TimelineLegend::show_passes(const std::optional<Passes>& passes) {
  if (passes == passes_) return;
  passes_ = passes;
  tell();
}

void TimelineLegend::tell() {
  QStringList words;
  for (const Entry& entry : entries()) words << entry.text;
  setAccessibleDescription(words.join(", "));
  updateGeometry();
  update();
}

QSize TimelineLegend::sizeHint() const {
  int width = 0;
  for (const Entry& entry : entries()) width += width_of(entry, fontMetrics());
  return {width, height_of_row(fontMetrics())};
}

int TimelineLegend::heightForWidth(int width) const {
  return boxes(entries(), fontMetrics(), width).back().bottom() + 1;
}

void TimelineLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics = fontMetrics();
  const int mark = metrics.ascent() * 3 / 4;
  const std::vector<Entry> all = entries();
  const std::vector<QRect> places = boxes(all, metrics, width());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Entry& entry = all[i];
    const QRect& place = places[i];
    const QRect box(place.left(), place.top() + (place.height() - mark) / 2, mark * 4 / 3, mark);
    const bool hatched = entry.hatching != Qt::SolidPattern;
    if (hatched) painter.fillRect(box, mixed(entry.color, Theme::instance().colors().canvas, 0.8));
    painter.fillRect(box, QBrush(entry.color, entry.hatching));
    painter.setPen(Theme::instance().colors().text);
    painter.drawText(place.adjusted(box.width() + 5, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     entry.text);
  }
}

}  // namespace trainyard::ui
