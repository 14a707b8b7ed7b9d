// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/icons.h"

#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>
#include <algorithm>

#include "ui/theme/theme.h"

// Registers the icons, because resources of a static library are not registered automatically. The
// macro must be used outside of namespaces.
static void register_icons() { Q_INIT_RESOURCE(icons); }

namespace trainyard::ui {
namespace {

QByteArray source_of(const QString& name) {
  static const bool registered = (register_icons(), true);
  Q_UNUSED(registered)
  QFile file(":/icons/" + name + ".svg");
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QPixmap render(const QString& name, const QSize& size, const QColor& color) {
  const QString key =
      QString("icon/%1/%2x%3/%4").arg(name).arg(size.width()).arg(size.height()).arg(color.rgba());
  QPixmap pixmap;
  if (QPixmapCache::find(key, &pixmap)) return pixmap;
  pixmap = QPixmap(size);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setOpacity(color.alphaF());
  QSvgRenderer(source_of(name).replace("currentColor", color.name().toLatin1())).render(&painter);
  painter.end();
  QPixmapCache::insert(key, pixmap);
  return pixmap;
}

QColor tint(QIcon::Mode mode, QIcon::State state) {
  const Colors& c = Theme::instance().colors();
  if (mode == QIcon::Selected) return c.on_accent;
  QColor color = state == QIcon::On ? c.accent : c.text;
  if (mode == QIcon::Disabled) color = c.dim, color.setAlphaF(0.45f);
  return color;
}

class TintedIcon : public QIconEngine {
 public:
  explicit TintedIcon(QString name) : name_(std::move(name)) {}
  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    paint_icon(*painter, name_, rect, tint(mode, state));
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    return render(name_, size, tint(mode, state));
  }
  QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal) override {
    return pixmap(size, mode, state);
  }
  QIconEngine* clone() const override { return new TintedIcon(name_); }
  QString iconName() override { return name_; }
  bool isNull() override { return false; }

 private:
  QString name_;
};

}  // namespace

QIcon icon(const QString& name) { return QIcon(new TintedIcon(name)); }

void paint_icon(QPainter& painter, const QString& name, const QRectF& where, const QColor& color) {
  const QSizeF on_device = painter.deviceTransform().mapRect(where).size();
  const QSize size = QSizeF(std::clamp(on_device.width(), 1.0, 1024.0),
                            std::clamp(on_device.height(), 1.0, 1024.0))
                         .toSize();
  painter.save();
  painter.setRenderHint(QPainter::SmoothPixmapTransform);
  painter.drawPixmap(where, render(name, size, color), QRectF(QPointF(), size));
  painter.restore();
}

}  // namespace trainyard::ui
