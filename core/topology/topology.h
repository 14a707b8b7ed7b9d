// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing: hosts with their devices, switches, and links. Names are unique over hosts, devices
// and switches; links refer to names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/id.h"
#include "core/base/result.h"

namespace trainyard::topology {

enum class DeviceKind { cpu, gpu, tpu };
enum class Role {
  worker,
  // the worker that writes shared outputs such as checkpoints; at most one; default: the first
  // worker
  chief,
  parameter_server,  // keeps variables for the workers; only for strategies with servers
  // does not train, but evaluates checkpoints on held-out samples; only for strategies with
  // servers; at most one device
  evaluator,
  idle,  // drawn, but not a rank
};

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::cpu;
  Role role = Role::worker;
  std::int64_t cores = 1;  // maximum number of a rank's threads
  std::int64_t memory_bytes = 4'000'000'000;
  double peak_flops = 50e9;  // fp32 flop/s
  double memory_bandwidth_bytes_per_second = 20e9;
  double slow_down = 1;  // factor by which compute is slowed, to emulate a straggler
  double jitter = 0;     // maximum fraction by which each step is slowed further, at random
  // For a drawn gpu: CUDA index of the GPU of this machine on which its rank runs. -1: the gpu is
  // emulated on the CPU.
  std::int64_t gpu = -1;

  bool operator==(const Device&) const = default;
};

inline bool works(const Device& device) {
  return device.role == Role::worker || device.role == Role::chief;
}
inline bool is_on_gpu(const Device& device) {
  return device.kind == DeviceKind::gpu && device.gpu >= 0;
}
inline bool runs(const Device& device) { return device.role != Role::idle; }

// Number of classes of roles. Ranks are numbered class by class: workers (with the chief) first,
// then servers, then evaluators; within a class, in drawing order.
inline constexpr int kRankClasses = 3;
constexpr int rank_class(Role role) {  // returns kRankClasses for roles without a rank
  switch (role) {
    case Role::worker:
    case Role::chief: return 0;
    case Role::parameter_server: return 1;
    case Role::evaluator: return 2;
    case Role::idle: break;
  }
  return kRankClasses;
}

struct Host {
  std::string name;
  std::string address;  // destination of ssh; empty: this machine
  std::vector<Device> devices;
  double bus_bandwidth_bits_per_second = 80e9;  // bandwidth between the devices of the host
  double bus_latency_seconds = 1e-6;
  double x = 0, y = 0;  // position on the canvas

  bool operator==(const Host&) const = default;
};

struct Switch {
  std::string name;
  double x = 0, y = 0;

  bool operator==(const Switch&) const = default;
};

// A bidirectional link; each direction has the full bandwidth.
struct Link {
  std::string from, to;  // names of hosts or switches, or of two devices of one host
  double bandwidth_bits_per_second = 10e9;
  double latency_seconds = 50e-6;

  bool operator==(const Link&) const = default;
};

struct Topology {
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  std::vector<Link> links;

  bool operator==(const Topology&) const = default;
};

// Returns the problems of the drawing itself: empty or duplicate names, dangling links, self-links.
// Paths start at `path`.
base::Problems validate(const Topology& topology, const std::string& path);

}  // namespace trainyard::topology

template <>
struct trainyard::base::Names<trainyard::topology::DeviceKind> {
  using K = trainyard::topology::DeviceKind;
  static constexpr std::pair<K, std::string_view> table[] = {
      {K::cpu, "cpu"}, {K::gpu, "gpu"}, {K::tpu, "tpu"}};
};
template <>
struct trainyard::base::Names<trainyard::topology::Role> {
  using R = trainyard::topology::Role;
  static constexpr std::pair<R, std::string_view> table[] = {
      {R::worker, "worker"},
      {R::chief, "chief"},
      {R::parameter_server, "parameter_server"},
      {R::evaluator, "evaluator"},
      {R::idle, "idle"}};
};
template <>
struct trainyard::base::Fields<trainyard::topology::Device> {
  using D = trainyard::topology::Device;
  static constexpr std::string_view title = "Device";
  static constexpr std::string_view shorthands[] = {"count"};  // core/experiment/device_groups.h
  static auto table() {
    return std::tuple{
        field("name", &D::name, "", {1, 64}, "Name, unique in the topology"),
        field("kind", &D::kind, "", {},
              "Device kind; cpu: CPU cores; gpu: a GPU of this machine, or if its field gpu is -1 "
              "emulated on the CPU; tpu: emulated on the CPU"),
        field("role", &D::role, "", {},
              "Role of the rank; worker: trains; chief: the worker that writes checkpoints; "
              "parameter_server: keeps variables; evaluator: evaluates checkpoints; idle: no rank"),
        field("cores", &D::cores, "cores", {1, 4096},
              "Maximum number of CPU cores that the rank uses"),
        field("memory_bytes", &D::memory_bytes, "B", {1e6, 1e15}, "Memory of the device"),
        field("peak_flops", &D::peak_flops, "flop/s", {1e3, 1e18},
              "Peak fp32 compute speed, used for predictions"),
        field("memory_bandwidth_bytes_per_second", &D::memory_bandwidth_bytes_per_second, "B/s",
              {1e3, 1e16}, "Memory bandwidth, used for predictions"),
        field("slow_down", &D::slow_down, "", {1, 1000},
              "Straggler factor: compute takes this many times longer; 1: not slowed"),
        field("jitter", &D::jitter, "", {0, 10},
              "Maximum fraction by which the compute time of each step is extended at random; 0: "
              "none"),
        field("gpu", &D::gpu, "", {-1, 1023},
              "CUDA index of the GPU of this machine (see doctor); -1: none, the device is "
              "emulated on the CPU",
              [](const D& device) { return device.kind == topology::DeviceKind::gpu; })};
  }
};
template <>
struct trainyard::base::Fields<trainyard::topology::Host> {
  using H = trainyard::topology::Host;
  static constexpr std::string_view title = "Host";
  static auto table() {
    return std::tuple{field("name", &H::name, "", {1, 64}, "Name, unique in the topology"),
                      field("address", &H::address, "", {0, 255},
                            "Machine on which the host's ranks run, as ssh accepts it "
                            "([USER@]HOST), or joined:NAME; empty: this machine"),
                      field("devices", &H::devices, "", {0, 4096}, "Devices of this host"),
                      field("bus_bandwidth_bits_per_second", &H::bus_bandwidth_bits_per_second,
                            "bit/s", {1e3, 1e16}, "Bandwidth between devices of this host"),
                      field("bus_latency_seconds", &H::bus_latency_seconds, "s", {0, 10},
                            "Latency between devices of this host"),
                      field("x", &H::x, "", {-1e6, 1e6}, "Horizontal position on the canvas"),
                      field("y", &H::y, "", {-1e6, 1e6}, "Vertical position on the canvas")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::topology::Switch> {
  using S = trainyard::topology::Switch;
  static constexpr std::string_view title = "Switch";
  static auto table() {
    return std::tuple{field("name", &S::name, "", {1, 64}, "Name, unique in the topology"),
                      field("x", &S::x, "", {-1e6, 1e6}, "Horizontal position on the canvas"),
                      field("y", &S::y, "", {-1e6, 1e6}, "Vertical position on the canvas")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::topology::Link> {
  using L = trainyard::topology::Link;
  static constexpr std::string_view title = "Link";
  static auto table() {
    return std::tuple{
        field("from", &L::from, "", {1, 64}, "First end: name of a host, a switch, or a device"),
        field("to", &L::to, "", {1, 64}, "Second end: name of a host, a switch, or a device"),
        field("bandwidth_bits_per_second", &L::bandwidth_bits_per_second, "bit/s", {1e3, 1e16},
              "Bandwidth of each direction"),
        field("latency_seconds", &L::latency_seconds, "s", {0, 10}, "Latency of each direction")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::topology::Topology> {
  using T = trainyard::topology::Topology;
  static constexpr std::string_view title = "Topology";
  static auto table() {
    return std::tuple{
        field("hosts", &T::hosts, "", {0, 4096}, "Machines and their devices"),
        field("switches", &T::switches, "", {0, 4096}, "Network switches"),
        field("links", &T::links, "", {0, 65536}, "Links between hosts, switches and devices")};
  }
};
