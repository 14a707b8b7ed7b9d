// SPDX-License-Identifier: GPL-3.0-or-later
// The GPUs of this machine, to be drawn: asked of trainyard-cli, since CUDA's libraries take long
// to load and the window need not wait for them.
#pragma once

#include <QObject>
#include <vector>

#include "core/topology/topology.h"

class QProcess;

namespace trainyard::ui {

struct Services;

struct MachineGpu {
  QString name;             // "NVIDIA H200"
  topology::Device device;  // as it is drawn, but for its name
  QString links;            // "PCIe 5.0 x16, 18 NVLinks"; empty: not known
};

class MachineGpus : public QObject {
  Q_OBJECT
 public:
  explicit MachineGpus(QObject* parent = nullptr) : QObject(parent) {}
  ~MachineGpus() override;

  void look(const Services& services);  // then `found`, once

 signals:
  void found(const std::vector<MachineGpu>& gpus,
             const QString& note);  // why there are none, or why some are left out

 private:
  void take_answer();
  QProcess* process_ = nullptr;
};

}  // namespace trainyard::ui
