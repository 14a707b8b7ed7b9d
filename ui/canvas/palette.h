// SPDX-License-Identifier: GPL-3.0-or-later
// What can be placed: drag it onto the canvas, or press Enter (or click twice) to place it in the middle. And roles: drag one onto a device, or press Enter
// to give it to those that are selected.
#pragma once

#include <QListWidget>
#include <memory>
#include <optional>

#include "core/topology/topology.h"

namespace trainyard::ui {

enum class PartKind { cpu, gpu, tpu, host, network_switch };

std::unique_ptr<QMimeData> to_mime(PartKind kind);
std::optional<PartKind> part_of_mime(const QMimeData* data);
std::unique_ptr<QMimeData> to_mime(topology::Role role);
std::optional<topology::Role> role_of_mime(const QMimeData* data);

class Palette : public QListWidget {
  Q_OBJECT
 public:
  explicit Palette(QWidget* parent = nullptr);

 signals:
  void chosen(PartKind kind);
  void role_chosen(topology::Role role);

 protected:
  QStringList mimeTypes() const override;
  QMimeData* mimeData(const QList<QListWidgetItem*>& items) const override;
  Qt::DropActions supportedDropActions() const override { return Qt::CopyAction; }

 private:
  void choose(const QListWidgetItem* item);
};

}  // namespace trainyard::ui
