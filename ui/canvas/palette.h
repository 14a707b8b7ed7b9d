// SPDX-License-Identifier: GPL-3.0-or-later
// What can be placed: drag it onto the canvas, or press Enter (or click twice) to place it in the middle.
#pragma once

#include <QListWidget>
#include <memory>
#include <optional>

namespace trainyard::ui {

enum class PartKind { cpu, gpu, tpu, host, network_switch };

std::unique_ptr<QMimeData> to_mime(PartKind kind);
std::optional<PartKind> part_of_mime(const QMimeData* data);

class Palette : public QListWidget {
  Q_OBJECT
 public:
  explicit Palette(QWidget* parent = nullptr);

 signals:
  void chosen(PartKind kind);

 protected:
  QStringList mimeTypes() const override;
  QMimeData* mimeData(const QList<QListWidgetItem*>& items) const override;
  Qt::DropActions supportedDropActions() const override { return Qt::CopyAction; }
};

}  // namespace trainyard::ui
