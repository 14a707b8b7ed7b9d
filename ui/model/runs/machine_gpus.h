// SPDX-License-Identifier: GPL-3.0-or-later
// GPUs of this machine, which can be placed on the drawing. They are queried through trainyard-cli,
// because CUDA's libraries load slowly and the workbench must not wait for them.
#pragma once

#include <QObject>
#include <vector>

#include "core/topology/topology.h"

class QProcess;

namespace trainyard::ui {

struct Services;

struct MachineGpu {
  QString name;             // "NVIDIA H200"
  topology::Device device;  // device to place on the drawing, without a name
  QString links;            // "PCIe 5.0 x16, 18 NVLinks"; empty: unknown
};

class MachineGpus : public QObject {
  Q_OBJECT
 public:
  explicit MachineGpus(QObject* parent = nullptr) : QObject(parent) {}
  ~MachineGpus() override;

  void look(const Services& services);  // starts the query, which later emits `found` once

 signals:
  void found(const std::vector<MachineGpu>& gpus,
             const QString& note);  // note: why there are no GPUs, or why some are missing

 private:
  void read_reply();
  QProcess* process_ = nullptr;
};

}  // namespace trainyard::ui
