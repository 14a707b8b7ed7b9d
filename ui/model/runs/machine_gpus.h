// SPDX-License-Identifier: GPL-3.0-or-later
// GPUs of this machine, for drawing. Queried through trainyard-cli, because CUDA's libraries load
// slowly and the workbench must not wait for them.
#pragma once

#include <QObject>
#include <vector>

#include "core/topology/topology.h"

class QProcess;

namespace trainyard::ui {

struct Services;

struct MachineGpu {
  QString name;             // "NVIDIA H200"
  topology::Device device;  // as drawn, except for its name
  QString links;            // "PCIe 5.0 x16, 18 NVLinks"; empty: unknown
};

class MachineGpus : public QObject {
  Q_OBJECT
 public:
  explicit MachineGpus(QObject* parent = nullptr) : QObject(parent) {}
  ~MachineGpus() override;

  void look(const Services& services);  // emits `found` once, later

 signals:
  void found(const std::vector<MachineGpu>& gpus,
             const QString& note);  // reason why there are none or some are omitted

 private:
  void read_reply();
  QProcess* process_ = nullptr;
};

}  // namespace trainyard::ui
