// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/canvas_text.h"

#include <QCache>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QStaticText>
#include <algorithm>
#include <cmath>

#include "core/compute/ops.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kSmallest = 4;           // pixels on the screen
constexpr double kSmallestReadable = 5;   // pixels on the screen
constexpr qsizetype kMaxWritings = 4096;  // maximum number of cached texts
constexpr int kAnyWidth = 0xffff;

struct Writing {
  QFont font;
  QStaticText text;
};

// The fonts must be destroyed before the QGuiApplication.
QCache<QString, Writing>& writings() {
  static QCache<QString, Writing> kept(kMaxWritings);
  static const bool cleared = (qAddPostRoutine([] { writings().clear(); }), true);
  Q_UNUSED(cleared)
  return kept;
}

QFont font(int pixels, bool strong) {
  QFont f = Theme::instance().font();
  f.setPixelSize(pixels);
  f.setWeight(strong ? QFont::DemiBold : QFont::Normal);
  f.setHintingPreference(QFont::PreferNoHinting);  // keeps widths constant at every zoom
  return f;
}

Writing* lay_out(const QString& text, int pixels, bool strong, int room) {
  auto* made = new Writing{font(pixels, strong), {}};
  const QString line = QString(text).replace('\n', ' ');
  made->text.setTextFormat(Qt::PlainText);
  // Names are elided in the middle, because they differ at both ends. Sentences are elided at the
  // end.
  const Qt::TextElideMode cut = line.contains(' ') ? Qt::ElideRight : Qt::ElideMiddle;
  made->text.setText(room == kAnyWidth ? line
                                       : QFontMetricsF(made->font).elidedText(line, cut, room));
  made->text.prepare({}, made->font);
  return made;
}

const Writing& writing(const QString& text, double size, bool strong, int room) {
  const int pixels = std::max(1, static_cast<int>(size));
  const QString key = text + QChar(strong ? u'b' : u'n') + QChar(pixels) + QChar(room);
  if (const Writing* known = writings().object(key)) return *known;
  Writing* made = lay_out(text, pixels, strong, room);
  writings().insert(key, made);
  return *made;
}

}  // namespace

bool is_far(double scale) {
  return kSmallSize * scale < std::min(kSmallestReadable * Theme::instance().scale(), kSmallSize);
}
bool is_tiny(double scale) { return kSmallSize * scale < kSmallestReadable; }

double scale_of(const QPainter& painter) {
  return std::sqrt(std::fabs(painter.worldTransform().determinant()));
}

double width_of(const QString& text, double size, bool strong) {
  return writing(text, size, strong, kAnyWidth).text.size().width();
}

void write(QPainter& painter, const QRectF& where, Qt::Alignment align, const QString& text,
           double size, const QColor& color, bool strong) {
  if (size * scale_of(painter) < kSmallest || where.width() < 1 || text.isEmpty()) return;
  const Writing& known = writing(
      text, size, strong, static_cast<int>(std::ceil(std::min(where.width(), kAnyWidth - 1.0))));
  const QSizeF needed = known.text.size();
  const double room = where.width() - needed.width();
  const double indent = align & Qt::AlignHCenter ? room / 2 : align & Qt::AlignRight ? room : 0;
  painter.setFont(known.font);
  painter.setPen(color);
  painter.drawStaticText(QPointF(where.left() + indent, where.center().y() - needed.height() / 2),
                         known.text);
}

}  // namespace trainyard::ui
