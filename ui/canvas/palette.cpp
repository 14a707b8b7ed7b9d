// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/palette.h"

#include <QMimeData>
#include <array>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr const char* kPartMime = "application/x-trainyard-part";

struct Entry {
  PartKind kind;
  const char* icon;
  const char* label;
  const char* help;
};
constexpr std::array<Entry, 5> kEntries{{
    {PartKind::cpu, "cpu", QT_TR_NOOP("CPU"), QT_TR_NOOP("A device that trains on processor cores")},
    {PartKind::gpu, "gpu", QT_TR_NOOP("GPU"), QT_TR_NOOP("A graphics device; one that this machine lacks runs emulated on its CPU")},
    {PartKind::tpu, "tpu", QT_TR_NOOP("TPU"), QT_TR_NOOP("A tensor device; runs emulated on the CPU")},
    {PartKind::host, "host", QT_TR_NOOP("Host"), QT_TR_NOOP("A machine that holds devices")},
    {PartKind::network_switch, "switch", QT_TR_NOOP("Switch"), QT_TR_NOOP("Joins the links of hosts")},
}};

}  // namespace

std::unique_ptr<QMimeData> to_mime(PartKind kind) {
  auto data = std::make_unique<QMimeData>();
  data->setData(kPartMime, QByteArray::number(static_cast<int>(kind)));
  return data;
}

std::optional<PartKind> part_of_mime(const QMimeData* data) {
  if (!data || !data->hasFormat(kPartMime)) return std::nullopt;
  bool number = false;
  const int kind = data->data(kPartMime).toInt(&number);
  return number && kind >= 0 && kind < static_cast<int>(kEntries.size()) ? std::optional(static_cast<PartKind>(kind)) : std::nullopt;
}

Palette::Palette(QWidget* parent) : QListWidget(parent) {
  setObjectName("palette");
  setAccessibleName(tr("Palette"));
  setAccessibleDescription(tr("Devices, hosts and switches. Enter places one on the canvas."));
  setDragEnabled(true);
  setDragDropMode(DragOnly);
  setFrameShape(NoFrame);
  setUniformItemSizes(true);
  for (const Entry& entry : kEntries) {
    auto* item = new QListWidgetItem(icon(entry.icon), tr(entry.label), this);
    item->setToolTip(tr(entry.help) + "\n" + tr("Drag it onto the canvas, or press Enter."));
    item->setData(Qt::UserRole, static_cast<int>(entry.kind));
  }
  const auto fit = [this] {
    const int size = Theme::instance().pixels(20);
    setIconSize({size, size});
    setSpacing(Theme::instance().pixels(2));
    setMinimumWidth(Theme::instance().pixels(96));
  };
  fit();
  connect(&Theme::instance(), &Theme::changed, this, fit);
  connect(this, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { emit chosen(static_cast<PartKind>(item->data(Qt::UserRole).toInt())); });
}

QStringList Palette::mimeTypes() const { return {kPartMime}; }

QMimeData* Palette::mimeData(const QList<QListWidgetItem*>& items) const {
  return items.isEmpty() ? nullptr : to_mime(static_cast<PartKind>(items.front()->data(Qt::UserRole).toInt())).release();
}

}  // namespace trainyard::ui
