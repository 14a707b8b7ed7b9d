// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/machine_gpus.h"

#include <QProcess>

#include "core/base/stored_document.h"
#include "ui/model/runs/run.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

// Line of `trainyard-cli list gpus --json`.
struct GpuLine {
  std::string type, name, links;
  std::int64_t number = -1;
  std::int64_t memory_bytes = 0;
  double peak_flops = 0, memory_bandwidth_bytes_per_second = 0;
};

}  // namespace
}  // namespace trainyard::ui

template <>
struct trainyard::base::Fields<trainyard::ui::GpuLine> {
  using G = trainyard::ui::GpuLine;
  static constexpr std::string_view title = "GPU of this machine";
  static auto table() {
    return std::tuple{
        field("type", &G::type, "", {}, "Type of the line"),
        field("name", &G::name, "", {}, "Name of the GPU"),
        field("links", &G::links, "", {}, "Links of the GPU"),
        field("number", &G::number, "", {0, 1e6}, "Number of the GPU"),
        field("memory_bytes", &G::memory_bytes, "B", {1, 1e18}, "Memory"),
        field("peak_flops", &G::peak_flops, "flop/s", {0, 1e18}, "Peak rate"),
        field("memory_bandwidth_bytes_per_second", &G::memory_bandwidth_bytes_per_second, "B/s",
              {0, 1e18}, "Memory bandwidth")};
  }
};

namespace trainyard::ui {
namespace {

std::optional<MachineGpu> read_gpu(const QByteArray& line) {
  const auto json = base::parse_json(line.toStdString(), "list gpus");
  if (!json) return std::nullopt;
  MachineGpu gpu{{}, default_device(topology::DeviceKind::gpu), {}};
  topology::Device& device = gpu.device;
  GpuLine read;
  read.memory_bytes = device.memory_bytes;
  read.peak_flops = device.peak_flops;
  read.memory_bandwidth_bytes_per_second = device.memory_bandwidth_bytes_per_second;
  base::Problems ignored;
  base::read_present(*json, read, "", ignored);
  if (read.type != "item" || read.number < 0) return std::nullopt;
  gpu.name = QString::fromStdString(read.name);
  gpu.links = QString::fromStdString(read.links);
  device.gpu = read.number;
  device.memory_bytes = read.memory_bytes;
  device.peak_flops = read.peak_flops;
  device.memory_bandwidth_bytes_per_second = read.memory_bandwidth_bytes_per_second;
  return gpu;
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
