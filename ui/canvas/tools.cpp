// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/tools.h"

#include <QGuiApplication>
#include <QLineF>
#include <QStyleHints>
#include <algorithm>

#include "ui/canvas/arrange.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kPortRadius = 5;

bool far_enough(QPointF from, QPointF to) {
  return QLineF(from, to).length() >= QGuiApplication::styleHints()->startDragDistance() / 2.0;
}

// Returns a unique key for each gesture, so that two drags of the same object are two undo steps.
QString unique_merge_key(const char* what) {
  static int count = 0;
  return QString("%1#%2").arg(what).arg(++count);
}

class MoveNodes : public Gesture {
 public:
  MoveNodes(GestureContext& context, QPointF from)
      : context_(context),
        from_(from),
        start_(context.document.experiment().topology),
        key_(unique_merge_key("move")) {}

  void move(QPointF at, Qt::KeyboardModifiers modifiers) override {
    moving_ = moving_ || far_enough(from_, at);
    if (moving_) place(at - from_, modifiers & Qt::AltModifier ? 1 : kGrid);
  }
  void release(QPointF) override {}
  void cancel() override { place({}, 1); }

 private:
  // Moves the objects from their start positions, so that rounding does not accumulate. With Alt,
  // the grid is ignored.
  void place(QPointF by, double grid) {
    const auto put = [&](auto& now, const auto& before) {
      for (auto& one : now) {
        const auto at =
            std::ranges::find(before, one.name, &std::remove_reference_t<decltype(one)>::name);
        if (at == before.end() || !context_.selection.contains(one.name)) continue;
        const Position to =
            by.isNull() ? Position{at->x, at->y} : snapped({at->x + by.x(), at->y + by.y()}, grid);
        one.x = to.x, one.y = to.y;
      }
    };
    context_.document.edit(
        QObject::tr("Move"),
        [&](experiment::Experiment& e) {
          put(e.topology.hosts, start_.hosts), put(e.topology.switches, start_.switches);
        },
        key_);
  }

  GestureContext& context_;
  QPointF from_;
  topology::Topology start_;
  QString key_;
  bool moving_ = false;
};

class CarryDevice : public Gesture {
 public:
  CarryDevice(GestureContext& context, std::string device, QPointF from)
      : context_(context), device_(std::move(device)), from_(from), at_(from) {}

  void move(QPointF at, Qt::KeyboardModifiers) override {
    carrying_ = carrying_ || far_enough(from_, at);
    at_ = at;
  }
  void release(QPointF at) override {
    const topology::Topology& topology = context_.document.experiment().topology;
    if (!carrying_ || !find_device(topology, device_)) return;
    const std::string target = host_at(at);
    if (target == host_of(topology, device_)->name) return;
    const bool is_only_device = target.empty() && host_of(topology, device_)->devices.size() == 1;
    if (is_only_device || under(at).kind == TopologyObject::Kind::network_switch) return;
    context_.document.edit(
        QObject::tr("Move %1").arg(as_text(device_)), [&](experiment::Experiment& e) {
          const QPointF corner =
              at - QPointF(tile_size().width() / 2 + 16, tile_size().height() / 2 + 40);
          make_room(e.topology, target, 1);
          move_to_host(
              e.topology, device_,
              target.empty() ? add_host(e.topology, snapped({corner.x(), corner.y()})) : target);
        });
  }
  void paint(QPainter& painter) const override {
    const topology::Device* device = find_device(context_.document.experiment().topology, device_);
    if (!carrying_ || !device) return;  // the device may be deleted during the drag
    const QRectF ghost(at_ - QPointF(tile_size().width() / 2, tile_size().height() / 2),
                       tile_size());
    painter.setOpacity(0.75);
    paint_tile(
        painter, ghost,
        {.device = *device, .rank = {}, .live = {}, .marks = {.selected = true, .hovered = false}});
    painter.setOpacity(1);
    painter.setPen(QPen(colors().accent, 2, Qt::DashLine));
    painter.setBrush(Qt::NoBrush);
    if (const std::string host = host_at(at_); !host.empty())
      painter.drawRoundedRect(context_.scene.layout().rect_of(host).adjusted(-3, -3, 3, 3), 10, 10);
  }

 private:
  TopologyObject under(QPointF at) const { return object_at(context_.scene.layout(), at, 0); }
  std::string host_at(QPointF at) const {
    const TopologyObject part = under(at);
    if (part.kind == TopologyObject::Kind::host) return part.name;
    return part.kind == TopologyObject::Kind::device
               ? host_of(context_.document.experiment().topology, part.name)->name
               : std::string();
  }

  GestureContext& context_;
  std::string device_;
  QPointF from_, at_;
  bool carrying_ = false;
};

class RubberBand : public Gesture {
 public:
  RubberBand(GestureContext& context, QPointF from, bool adding)
      : context_(context),
        area_(from, from),
        before_(context.selection.picked()),
        adding_(adding) {}

  void move(QPointF at, Qt::KeyboardModifiers) override {
    area_.setBottomRight(at);
    SelectedObjects picked = within(context_.scene.layout(), area_.normalized());
    if (adding_)
      picked.names.insert(before_.names.begin(), before_.names.end()),
          picked.links.insert(before_.links.begin(), before_.links.end());
    context_.selection.set(std::move(picked));
  }
  void release(QPointF) override {}
  void cancel() override { context_.selection.set(before_); }
  void paint(QPainter& painter) const override {
    QColor wash = colors().accent;
    wash.setAlpha(28);
    QPen pen(colors().accent, 1);
    pen.setCosmetic(true);
    painter.setPen(pen);
    painter.setBrush(wash);
    painter.drawRect(area_.normalized());
  }

 private:
  GestureContext& context_;
  QRectF area_;
  SelectedObjects before_;
  bool adding_;
};

class PullLink : public Gesture {
 public:
  PullLink(GestureContext& context, TopologyObject from, QPointF at)
      : context_(context), from_(std::move(from)), at_(at) {}

  void move(QPointF at, Qt::KeyboardModifiers) override {
    at_ = at;
    context_.scene.set_hovered(target(at));
  }
  void release(QPointF at) override {
    const TopologyObject to = target(at);
    if (!to || to == from_) return;
    base::Result<LinkName> made = LinkName{};
    context_.document.edit(
        QObject::tr("Connect %1 and %2").arg(as_text(from_.name), as_text(to.name)),
        [&](experiment::Experiment& e) { made = connect(e.topology, from_.name, to.name); });
    if (made) context_.selection.set({.names = {}, .links = {*made}});
    else
      context_.say(as_text(made.error().what +
                           (made.error().advice.empty() ? "" : ". " + made.error().advice)));
  }
  void paint(QPainter& painter) const override {
    const QRectF start = context_.scene.layout().rect_of(from_);
    painter.setPen(QPen(colors().accent, 2, Qt::DashLine, Qt::RoundCap));
    painter.setBrush(colors().accent);
    painter.drawLine(start.center(), at_);
    painter.setPen(Qt::NoPen);
    painter.drawEllipse(at_, kPortRadius, kPortRadius);
    painter.drawEllipse(start.center(), kPortRadius, kPortRadius);
  }

 private:
  TopologyObject target(QPointF at) const {
    const TopologyObject part = object_at(context_.scene.layout(), at, 0);
    return part.kind == TopologyObject::Kind::link ? TopologyObject{} : part;
  }

  GestureContext& context_;
  TopologyObject from_;
  QPointF at_;
};

}  // namespace

std::vector<QPointF> ports_of(const Layout& layout, const TopologyObject& part) {
  const QRectF r = layout.rect_of(part);
  if (r.isNull() || part.kind == TopologyObject::Kind::link) return {};
  if (part.kind == TopologyObject::Kind::device) return {{r.center().x(), r.bottom()}};
  return {{r.center().x(), r.top()},
          {r.right(), r.center().y()},
          {r.center().x(), r.bottom()},
          {r.left(), r.center().y()}};
}

bool on_port(const Layout& layout, const TopologyObject& part, QPointF at) {
  return std::ranges::any_of(ports_of(layout, part), [&](QPointF port) {
    return QLineF(port, at).length() <= kPortRadius + 3;
  });
}

void paint_ports(QPainter& painter, const Layout& layout, const TopologyObject& part) {
  painter.setPen(QPen(colors().accent, 1.5));
  painter.setBrush(colors().card);
  for (const QPointF& port : ports_of(layout, part))
    painter.drawEllipse(port, kPortRadius, kPortRadius);
}

std::unique_ptr<Gesture> move_nodes(GestureContext& context, QPointF from) {
  return std::make_unique<MoveNodes>(context, from);
}
std::unique_ptr<Gesture> carry_device(GestureContext& context, const std::string& device,
                                      QPointF from) {
  return std::make_unique<CarryDevice>(context, device, from);
}
std::unique_ptr<Gesture> rubber_band(GestureContext& context, QPointF from, bool adding) {
  return std::make_unique<RubberBand>(context, from, adding);
}
std::unique_ptr<Gesture> pull_link(GestureContext& context, const TopologyObject& from,
                                   QPointF at) {
  return std::make_unique<PullLink>(context, from, at);
}

}  // namespace trainyard::ui
