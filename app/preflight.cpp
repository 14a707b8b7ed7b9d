// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/preflight.h"

#include <fmt/core.h>

#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <thread>

#include "app/agent_connection.h"
#include "app/network_address.h"
#include "backends/ssh/command.h"
#include "core/base/units.h"
#include "core/experiment/placement.h"
#include "core/session/hosts/file_cache.h"
#include "core/topology/network.h"

namespace trainyard::app {
namespace {

using session::AgentHello;
using topology::Host;
using Report = std::function<void(CheckRow)>;

// Time for the first requests for the host's clock, and the largest offset from this clock with
// which times of both machines can be compared.
constexpr std::chrono::milliseconds kClockTime{2500};
constexpr double kClockOffsetSeconds = 60;

// Rows of one host.
class Rows {
 public:
  explicit Rows(const Host& host) : host_(&host) {}

  void good(const char* check, std::string text) {
    rows_.push_back({host_->name, check, std::move(text)});
  }
  void failed(const char* check, base::Problem problem) {
    rows_.push_back({host_->name, check, problem.what, std::move(problem)});
  }
  // Adds a row that fails unless `fits`.
  void compare(const char* check, bool fits, const char* id, std::string found,
               const std::string& drawn) {
    if (fits) return good(check, fmt::format("{} (drawn: {})", found, drawn));
    failed(check, {id, base::ProblemCode::unavailable, host_->name,
                   fmt::format("the machine has {}", found), fmt::format("drawn: {}", drawn),
                   "Draw what the machine has, or choose another machine."});
  }
  const std::string& host() const { return host_->name; }
  std::vector<CheckRow> take() { return std::move(rows_); }

 private:
  const Host* host_;
  std::vector<CheckRow> rows_;
};

// Returns the cores of the devices that ranks run on, emulated ones included.
std::int64_t drawn_cores(const Host& host) {
  std::int64_t cores = 0;
  for (const topology::Device& device : host.devices)
    if (device.role != topology::Role::idle) cores += device.cores;
  return cores;
}

// Returns the memory of the drawn CPUs that ranks run on. Drawn GPUs and TPUs are emulated, so
// their memory is not the machine's.
double drawn_memory(const Host& host) {
  double bytes = 0;
  for (const topology::Device& device : host.devices)
    if (device.role != topology::Role::idle && device.kind == topology::DeviceKind::cpu)
      bytes += static_cast<double>(device.memory_bytes);
  return bytes;
}

void check_clock(const session::RemoteHost& machine, Rows& rows) {
  const auto until = std::chrono::steady_clock::now() + kClockTime;
  std::optional<session::ClockOffset> offset;
  while (!(offset = machine.clock_offset()) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!offset)
    return rows.failed("clock", {"host_silent", base::ProblemCode::unavailable, "",
                                 "the agent did not answer", "", "Check the network."});
  const std::string found =
      fmt::format("{:+.3f} s from this clock, round trip {}",
                  std::abs(offset->wall_seconds) < 0.0005 ? 0.0 : offset->wall_seconds,
                  base::format_seconds(2 * offset->uncertainty_seconds));
  if (std::abs(offset->wall_seconds) <= kClockOffsetSeconds) return rows.good("clock", found);
  rows.failed("clock", {"clock_differs", base::ProblemCode::unavailable, "",
                        fmt::format("the clock is {}", found),
                        fmt::format("at most {:.0f} s", kClockOffsetSeconds),
                        "Synchronize it, for example with systemd-timesyncd."});
}

// GPUs of other machines need the module in the copied agent, which the normal build lacks.
void check_gpus(const Host& host, const AgentHello& hello, Rows& rows) {
  std::int64_t drawn = 0;
  for (const topology::Device& device : host.devices)
    if (device.role != topology::Role::idle && topology::is_on_gpu(device)) ++drawn;
  if (drawn == 0 && hello.gpus == 0) return;
  const std::string found = fmt::format("{}", base::counted(hello.gpus, "GPU"));
  rows.compare("gpus", drawn <= hello.gpus, "too_few_gpus", found, fmt::format("{}", drawn));
  if (drawn > 0 && drawn <= hello.gpus)
    rows.failed("gpus", {"no_gpu_module", base::ProblemCode::unavailable, host.name,
                         "the copied agent has no module for GPUs", "",
                         "Clear the field gpu of the devices, so that they are emulated, or build "
                         "Trainyard there with packaging/run --cuda."});
}

// The disk of the file cache must hold the files of the run.
void check_disk(const AgentHello& hello, std::int64_t bytes, Rows& rows) {
  if (hello.free_disk_bytes < 0) return;
  const std::string found =
      fmt::format("{} free, {} needed for data files",
                  base::format_bytes(static_cast<double>(hello.free_disk_bytes)),
                  base::format_bytes(static_cast<double>(bytes)));
  if (bytes + session::FileCache::kSpareBytes <= hello.free_disk_bytes)
    return rows.good("disk", found);
  rows.failed("disk", {"disk_full", base::ProblemCode::unavailable, rows.host(), found,
                       "enough free space on the disk of the file cache",
                       "Free space on this disk, or use a smaller data set."});
}

struct CheckedMachine {
  const Host* host;
  std::shared_ptr<ssh::PrivateDirectory> directory;
  std::optional<AgentConnection> connection;
  std::vector<CheckRow> rows;
};

CheckedMachine check_machine(const Host& host, std::int64_t file_bytes) {
  CheckedMachine machine{&host, {}, {}, {}};
  Rows rows(host);
  auto directory = ssh::PrivateDirectory::make();
  if (!directory) {
    rows.failed("connection", directory.error());
    machine.rows = rows.take();
    return machine;
  }
  machine.directory = std::make_shared<ssh::PrivateDirectory>(std::move(*directory));
  auto connected = connect_agent({.destination = host.address,
                                  .name = fmt::format("{} ({})", host.name, host.address),
                                  .log_file = *machine.directory / "ssh.log"});
  if (!connected) {
    rows.failed("connection", connected.error());
    machine.rows = rows.take();
    return machine;
  }
  machine.connection = std::move(*connected);
  const AgentHello& hello = machine.connection->host->hello();
  rows.good("connection",
            fmt::format("{} as {}, version {}", host.address, hello.user, hello.software));
  rows.compare("cores", drawn_cores(host) <= hello.cores, "too_few_cores",
               fmt::format("{} cores", hello.cores), fmt::format("{}", drawn_cores(host)));
  rows.compare("memory", drawn_memory(host) <= static_cast<double>(hello.memory_bytes),
               "too_little_memory", base::format_bytes(static_cast<double>(hello.memory_bytes)),
               base::format_bytes(drawn_memory(host)));
  check_disk(hello, file_bytes, rows);
  check_gpus(host, hello, rows);
  check_clock(*machine.connection->host, rows);
  machine.rows = rows.take();
  return machine;
}

// One end of the network checks: another machine, or this one if `machine` is null.
struct NetworkEnd {
  std::string name;  // of the drawn host
  std::string address;
  session::RemoteHost* machine;
  std::optional<topology::DeviceId> device;  // a device of the host, for the drawn route
};

// A listener for one probe, on the machine of an end.
struct Listening {
  int port;
  std::future<void> answer;  // if it is on this machine
};

base::Result<Listening> listen_at(const NetworkEnd& end, const std::string& token) {
  if (end.machine != nullptr)
    return end.machine->listen_for_probe(end.address, token).map([](int port) {
      return Listening{port, {}};
    });
  auto listener = session::ProbeListener::listen(end.address, token);
  if (!listener) return base::fail(listener.error());
  const int port = listener->port();
  return Listening{port, std::async(std::launch::async, [one = std::move(*listener)] {
                     static_cast<void>(one.answer(session::kProbeLimit));
                   })};
}

std::string random_token() {
  std::random_device entropy;
  std::string token(session::kProbeTokenBytes, '\0');
  for (char& c : token) c = "0123456789abcdef"[entropy() & 15];
  return token;
}

CheckRow check_pair(const NetworkEnd& from, const NetworkEnd& to,
                    const topology::Network& network) {
  CheckRow row{fmt::format("{} -> {}", from.name, to.name), "network", ""};
  const std::string token = random_token();
  const auto listening = listen_at(to, token);
  const auto measured =
      !listening ? base::fail(listening.error())
      : from.machine != nullptr
          ? from.machine->probe_peer(to.address, listening->port, token)
          : session::probe(to.address, listening->port, token, session::kProbeLimit);
  if (!measured) {
    row.problem = measured.error();
    row.problem->what = fmt::format("{} cannot send to {} ({}): {}", from.name, to.name, to.address,
                                    measured.error().what);
    row.problem->where = row.host;
    row.text = row.problem->what;
    return row;
  }
  row.measured = *measured;
  row.text = fmt::format("{} to {}: {}, {}", from.address, to.address,
                         base::format_seconds(measured->latency_seconds),
                         base::with_unit(measured->bandwidth_bits_per_second, "bit/s"));
  if (from.device && to.device)
    if (const auto route = network.route(*from.device, *to.device))
      row.text += fmt::format(" (drawn: {}, {})", base::format_seconds(route->latency_seconds),
                              base::with_unit(route->bandwidth_bits_per_second, "bit/s"));
  return row;
}

// Returns a device of the host that runs, if there is one.
std::optional<topology::DeviceId> device_of(const topology::Network& network, const Host& host) {
  for (const topology::DeviceId device : network.ranks())
    if (network.host(device).name == host.name) return device;
  return std::nullopt;
}

// All machines of the experiment, this one last, if ranks run here. Adds rows for those without a
// usable address.
std::vector<NetworkEnd> network_ends(const experiment::Experiment& experiment,
                                     const topology::Network& network,
                                     const std::vector<CheckedMachine>& machines,
                                     const Report& report) {
  std::vector<NetworkEnd> ends;
  std::string own_address;
  for (const CheckedMachine& one : machines) {
    if (!one.connection) continue;
    const AgentHello& hello = one.connection->host->hello();
    const auto address = agent_address(hello, experiment.network, one.host->name);
    const auto own = own_address_toward_agent(hello, experiment.network);
    auto usable = !address ? base::fail(address.error())
                  : !own   ? base::fail(own.error())
                           : check_trust(*address, experiment.network, one.host->name);
    if (!usable) {
      report({one.host->name, "network", usable.error().what, usable.error()});
      continue;
    }
    own_address = *own;
    ends.push_back(
        {one.host->name, *address, one.connection->host.get(), device_of(network, *one.host)});
  }
  for (const Host& host : experiment.topology.hosts)
    if (!experiment::is_other_machine(host) && device_of(network, host) && !ends.empty()) {
      ends.push_back({host.name, own_address, nullptr, device_of(network, host)});
      break;
    }
  return ends;
}

// A machine that two drawn hosts name would run the ranks of both.
void check_names(const std::vector<const Host*>& hosts, const Report& report) {
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (hosts[a]->address == hosts[b]->address) {
        Rows row(*hosts[a]);
        row.failed("machine",
                   {"machine_named_twice", base::ProblemCode::bad_input, hosts[a]->name,
                    fmt::format("{} is also the machine of {}", hosts[a]->address, hosts[b]->name),
                    "", "Set the address of another machine."});
        report(row.take().front());
        break;
      }
}

// A machine that two drawn hosts reach by different names.
void check_identities(const std::vector<CheckedMachine>& machines, const Report& report) {
  const auto is_same = [](const CheckedMachine& a, const CheckedMachine& b) {
    const AgentHello &one = a.connection->host->hello(), &other = b.connection->host->hello();
    return one.host == other.host && one.addresses == other.addresses;
  };
  for (std::size_t a = 0; a < machines.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const Host &one = *machines[a].host, &other = *machines[b].host;
      if (!machines[a].connection || !machines[b].connection || one.address == other.address ||
          !is_same(machines[a], machines[b]))
        continue;
      Rows row(one);
      row.failed("machine", {"machine_named_twice", base::ProblemCode::bad_input, one.name,
                             fmt::format("{} and {} are one machine, which is also that of {}",
                                         one.address, other.address, other.name),
                             "", "Set the address of another machine."});
      report(row.take().front());
      break;
    }
}

}  // namespace

void check_machines(const experiment::Experiment& experiment, std::int64_t file_bytes,
                    const std::function<void(CheckRow)>& report) {
  std::vector<const Host*> hosts;
  for (const Host& host : experiment.topology.hosts)
    if (experiment::is_other_machine(host)) hosts.push_back(&host);
  std::vector<std::future<CheckedMachine>> checks;
  checks.reserve(hosts.size());
  for (const Host* host : hosts)
    checks.push_back(std::async(std::launch::async,
                                [host, file_bytes] { return check_machine(*host, file_bytes); }));
  std::vector<CheckedMachine> machines;
  machines.reserve(checks.size());
  for (auto& check : checks) {
    machines.push_back(check.get());
    for (CheckRow& row : machines.back().rows) report(std::move(row));
  }
  check_names(hosts, report);
  check_identities(machines, report);
  if (!topology::validate(experiment.topology, "topology").empty()) return;
  const topology::Network network(experiment.topology);
  const std::vector<NetworkEnd> ends = network_ends(experiment, network, machines, report);
  for (const NetworkEnd& from : ends)
    for (const NetworkEnd& to : ends)
      if (&from != &to) report(check_pair(from, to, network));
}

}  // namespace trainyard::app
