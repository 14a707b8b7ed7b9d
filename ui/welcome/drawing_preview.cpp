// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/welcome/drawing_preview.h"

#include <QPainter>
#include <cmath>
#include <map>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// Sizes of the thumbnail's cards and tiles in scene coordinates. The scene is scaled to fit the
// widget.
constexpr double kTile = 40, kGap = 8;
constexpr double kSwitch = 56;

struct Sketch {
  std::map<std::string, QRectF> boxes;  // boxes of hosts and switches
  QRectF bounds;
};

QSizeF host_size(std::size_t devices) {
  const auto columns = static_cast<double>(std::max<std::size_t>(
      1, static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(devices))))));
  const double rows = std::max(1.0, std::ceil(static_cast<double>(devices) / columns));
  return {columns * (kTile + kGap) + kGap, rows * (kTile + kGap) + kGap};
}

// Returns the boxes of hosts and switches. They are closer together than on the drawing, because a
// thumbnail has no text between them.
Sketch sketch_of(const topology::Topology& topology) {
  constexpr double kPull = 0.45;
  Sketch sketch;
  const auto put = [&](const std::string& name, double x, double y, QSizeF size) {
    sketch.bounds |= sketch.boxes[name] = QRectF(QPointF(x * kPull, y * kPull), size);
  };
  for (const topology::Host& host : topology.hosts)
    put(host.name, host.x, host.y, host_size(host.devices.size()));
  for (const topology::Switch& s : topology.switches) put(s.name, s.x, s.y, {kSwitch, kSwitch / 2});
  return sketch;
}

void paint_host(QPainter& painter, const topology::Host& host, const QRectF& box, const Colors& c,
                int& rank) {
  painter.setPen(QPen(c.border, 1.5));
  painter.setBrush(c.card);
  painter.drawRoundedRect(box, kGap, kGap);
  const int columns = std::max(1, static_cast<int>((box.width() - kGap) / (kTile + kGap)));
  for (std::size_t d = 0; d < host.devices.size(); ++d) {
    const bool works = topology::runs(host.devices[d]);
    const int place = static_cast<int>(d);
    const QRectF tile(box.left() + kGap + (place % columns) * (kTile + kGap),
                      box.top() + kGap + (place / columns) * (kTile + kGap), kTile, kTile);
    painter.setPen(QPen(works ? Theme::instance().series_color(rank) : c.border, 2));
    painter.setBrush(c.tile);
    painter.drawRoundedRect(tile, kGap / 2, kGap / 2);
    paint_icon(painter, QString::fromStdString(std::string(base::name_of(host.devices[d].kind))),
               tile.adjusted(8, 8, -8, -8), c.text);
    rank += works ? 1 : 0;
  }
}

}  // namespace

DrawingPreview::DrawingPreview(topology::Topology topology, QWidget* parent)
    : QWidget(parent), topology_(std::move(topology)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&Theme::instance(), &Theme::changed, this, [this] { updateGeometry(), update(); });
}

QSize DrawingPreview::sizeHint() const {
  return {Theme::instance().pixels(200), Theme::instance().pixels(112)};
}

void DrawingPreview::paintEvent(QPaintEvent*) {
  const Colors& c = Theme::instance().colors();
  const Sketch sketch = sketch_of(topology_);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(c.canvas);
  painter.drawRoundedRect(rect(), kGrid / 2, kGrid / 2);
  if (sketch.bounds.isEmpty()) return;
  const QRectF room = QRectF(rect()).adjusted(kGrid, kGrid, -kGrid, -kGrid);
  const double scale =
      std::min({room.width() / sketch.bounds.width(), room.height() / sketch.bounds.height(),
                1.2 * Theme::instance().scale()});
  painter.translate(room.center());
  painter.scale(scale, scale);
  painter.translate(-sketch.bounds.center());
  painter.setPen(QPen(c.link, 2));
  for (const topology::Link& link : topology_.links)
    if (sketch.boxes.contains(link.from) && sketch.boxes.contains(link.to))
      painter.drawLine(sketch.boxes.at(link.from).center(), sketch.boxes.at(link.to).center());
  int rank = 0;
  for (const topology::Host& host : topology_.hosts)
    paint_host(painter, host, sketch.boxes.at(host.name), c, rank);
  painter.setPen(QPen(c.border, 1.5));
  painter.setBrush(c.tile);
  for (const topology::Switch& s : topology_.switches)
    painter.drawRoundedRect(sketch.boxes.at(s.name), kGap / 2, kGap / 2);
}

}  // namespace trainyard::ui
