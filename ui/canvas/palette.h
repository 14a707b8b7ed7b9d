// SPDX-License-Identifier: GPL-3.0-or-later
// Palette of objects to place (with the GPUs of this machine), of machines, and of roles. Drag an
// object or a machine onto the canvas, or press Enter (or double-click) to place it in the
// center. Drag a role onto a device, or press Enter to give it to the selected devices.
#pragma once

#include <QListWidget>
#include <map>
#include <memory>
#include <optional>

#include "core/topology/topology.h"
#include "ui/model/runs/machine_gpus.h"

namespace trainyard::ui {

enum class PaletteKind { cpu, gpu, tpu, host, network_switch };

std::unique_ptr<QMimeData> to_mime(PaletteKind kind);
std::optional<PaletteKind> part_of_mime(const QMimeData* data);
std::unique_ptr<QMimeData> to_mime(topology::Role role);
std::optional<topology::Role> role_of_mime(const QMimeData* data);

class Palette : public QListWidget {
  Q_OBJECT
 public:
  explicit Palette(QWidget* parent = nullptr);
  void offer(
      const std::vector<MachineGpu>& gpus,
      const QString& note = {});  // replaces this machine's GPUs; the note says why there are none
  // Replaces the machines. Each is a host to place, with its devices; its address is empty if it is
  // this machine. `states`: texts beside the machines with these addresses, such as "no contact for
  // 12 s". Rows of machines that stay keep selection and focus.
  void offer_machines(const std::vector<topology::Host>& machines,
                      const std::map<std::string, QString>& states = {});

 signals:
  void gpu_chosen(const topology::Device& gpu);
  void chosen(PaletteKind kind);
  void machine_chosen(const topology::Host& machine);
  void removal_requested(const QString& address);  // of a machine that is not this one
  void role_chosen(topology::Role role);

 protected:
  QStringList mimeTypes() const override;
  QMimeData* mimeData(const QList<QListWidgetItem*>& items) const override;
  Qt::DropActions supportedDropActions() const override { return Qt::CopyAction; }
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void choose(const QListWidgetItem* item);
  static QString help_of(int entry, const QString& note = {});
  const topology::Device* gpu_of(
      const QListWidgetItem& item) const;  // null if the item is no GPU of this machine
  const topology::Host* machine_of(const QListWidgetItem& item) const;  // null if it is no machine
  const topology::Host* removable_machine(const QListWidgetItem* item) const;
  int row_of_roles() const;
  void insert_machines();
  void describe_machine(QListWidgetItem& item, const QString& state) const;
  std::vector<MachineGpu> gpus_;
  std::vector<topology::Host> machines_;
};

}  // namespace trainyard::ui
