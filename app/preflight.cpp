// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/preflight.h"

#include <fmt/core.h>

#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "app/agent_connection.h"
#include "backends/ssh/command.h"
#include "core/base/units.h"
#include "core/experiment/placement.h"

namespace trainyard::app {
namespace {

using session::AgentHello;
using topology::Host;

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
  const std::string found = fmt::format("{:+.3f} s from this clock, round trip {}", offset->seconds,
                                        base::format_seconds(2 * offset->uncertainty_seconds));
  if (std::abs(offset->seconds) <= kClockOffsetSeconds) return rows.good("clock", found);
  rows.failed("clock", {"clock_differs", base::ProblemCode::unavailable, "",
                        fmt::format("the clock is {}", found),
                        fmt::format("at most {:.0f} s", kClockOffsetSeconds),
                        "Synchronize it, for example with systemd-timesyncd."});
}

std::vector<CheckRow> check_machine(const Host& host) {
  Rows rows(host);
  const auto directory = ssh::PrivateDirectory::make();
  if (!directory) {
    rows.failed("connection", directory.error());
    return rows.take();
  }
  const auto connected = connect_agent({.destination = host.address,
                                        .name = fmt::format("{} ({})", host.name, host.address),
                                        .log_file = *directory / "ssh.log"});
  if (!connected) {
    rows.failed("connection", connected.error());
    return rows.take();
  }
  const AgentHello& hello = connected->host->hello();
  rows.good("connection",
            fmt::format("{} as {}, version {}", host.address, hello.user, hello.software));
  rows.compare("cores", drawn_cores(host) <= hello.cores, "too_few_cores",
               fmt::format("{} cores", hello.cores), fmt::format("{}", drawn_cores(host)));
  rows.compare("memory", drawn_memory(host) <= static_cast<double>(hello.memory_bytes),
               "too_little_memory", base::format_bytes(static_cast<double>(hello.memory_bytes)),
               base::format_bytes(drawn_memory(host)));
  check_clock(*connected->host, rows);
  return rows.take();
}

// A machine that two drawn hosts name would run the ranks of both.
void check_names(const std::vector<const Host*>& hosts, std::vector<CheckRow>& rows) {
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (hosts[a]->address == hosts[b]->address) {
        Rows row(*hosts[a]);
        row.failed("machine",
                   {"machine_named_twice", base::ProblemCode::bad_input, hosts[a]->name,
                    fmt::format("{} is also the machine of {}", hosts[a]->address, hosts[b]->name),
                    "", "Set the address of another machine."});
        rows.push_back(row.take().front());
        break;
      }
}

}  // namespace

std::vector<CheckRow> check_machines(const experiment::Experiment& experiment) {
  std::vector<const Host*> hosts;
  for (const Host& host : experiment.topology.hosts)
    if (experiment::is_other_machine(host)) hosts.push_back(&host);
  std::vector<std::future<std::vector<CheckRow>>> checks;
  checks.reserve(hosts.size());
  for (const Host* host : hosts)
    checks.push_back(std::async(std::launch::async, [host] { return check_machine(*host); }));
  std::vector<CheckRow> rows;
  for (auto& check : checks)
    for (CheckRow& row : check.get()) rows.push_back(std::move(row));
  check_names(hosts, rows);
  return rows;
}

}  // namespace trainyard::app
