// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/machine_gpus.h"

#include <QProcess>

#include "core/base/json.h"
#include "ui/model/runs/run.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

std::optional<MachineGpu> read_gpu(const QByteArray& line) {
  const base::Json json = base::Json::parse(line.toStdString(), nullptr, false);
  if (!json.is_object() || json.value("type", "") != "item") return std::nullopt;
  MachineGpu gpu{QString::fromStdString(json.value("name", "")),
                 default_device(topology::DeviceKind::gpu),
                 QString::fromStdString(json.value("links", ""))};
  gpu.device.gpu = json.value("number", std::int64_t{-1});
  gpu.device.memory_bytes = json.value("memory_bytes", gpu.device.memory_bytes);
  gpu.device.peak_flops = json.value("peak_flops", gpu.device.peak_flops);
  gpu.device.memory_bandwidth_bytes_per_second =
      json.value("memory_bandwidth_bytes_per_second", gpu.device.memory_bandwidth_bytes_per_second);
  return gpu.device.gpu >= 0 ? std::optional(std::move(gpu)) : std::nullopt;
}

}  // namespace

// Ends the process that queries the GPUs, which may still be running.
MachineGpus::~MachineGpus() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
}

void MachineGpus::look(const Services& services) {
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, &MachineGpus::read_reply);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      emit found({},
                 tr("%1 cannot be started: %2").arg(process_->program(), process_->errorString()));
  });
  process_->start(services.command_line_program, {"list", "gpus", "--json"}, QIODevice::ReadOnly);
}

void MachineGpus::read_reply() {
  std::vector<MachineGpu> gpus;
  for (const QByteArray& line : process_->readAllStandardOutput().split('\n'))
    if (auto gpu = read_gpu(line)) gpus.push_back(std::move(*gpu));
  QString note = QString::fromUtf8(process_->readAllStandardError()).trimmed();
  emit found(gpus, note.remove("note: "));
}

}  // namespace trainyard::ui
