// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/machine_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/session/system/run_directory.h"

namespace trainyard::session {

struct MachineList {
  std::int32_t version = 1;
  std::vector<Machine> machines{};
};

}  // namespace trainyard::session

namespace trainyard::base {

template <>
struct Fields<session::Machine> {
  using M = session::Machine;
  static constexpr std::string_view title = "machine";
  static auto table() {
    return std::tuple{
        field("destination", &M::destination, "", {1, 255}, "Destination for ssh"),
        field("host", &M::host, "", {0, 1000}, "Name of the host"),
        field("architecture", &M::architecture, "", {0, 1000}, "Architecture"),
        field("cores", &M::cores, "cores", {1, 1e6}, "Usable cores"),
        field("memory_bytes", &M::memory_bytes, "bytes", {0, 9e18}, "Memory"),
        field("addresses", &M::addresses, "", {0, 1000}, "Addresses of the network interfaces")};
  }
};

template <>
struct Fields<session::MachineList> {
  using L = session::MachineList;
  static constexpr std::string_view title = "machines";
  static auto table() {
    return std::tuple{field("version", &L::version, "", {1, 1}, "Version of this file"),
                      field("machines", &L::machines, "", {0, 1000}, "Machines")};
  }
};

}  // namespace trainyard::base

namespace trainyard::session {
namespace {

using base::Result;

constexpr std::size_t kListBytes = std::size_t{4} << 20;

Result<void> write_list(const std::vector<Machine>& machines) {
  const std::filesystem::path file = machine_list_file();
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  return base::write_file_atomically(file,
                                     base::write_document(MachineList{1, machines}).dump(2) + "\n");
}

}  // namespace

Machine machine_of(const std::string& destination, const AgentHello& hello) {
  return {destination, hello.host,         hello.architecture,
          hello.cores, hello.memory_bytes, hello.addresses};
}

std::filesystem::path machine_list_file() {
  return default_runs_directory().parent_path() / "machines.json";
}

Result<std::vector<Machine>> read_machine_list() {
  const std::filesystem::path file = machine_list_file();
  const auto text = base::read_file(file, kListBytes);
  if (!text && text.error().id == "missing_file") return std::vector<Machine>{};
  if (!text) return base::fail(text.error());
  const auto json = base::parse_json(*text, file.string());
  if (!json) return base::fail(json.error());
  MachineList list;
  base::Problems problems;
  base::read_document(*json, list, "", problems);
  if (problems.empty()) return list.machines;
  problems.front().where = fmt::format("{}: {}", file.string(), problems.front().where);
  return base::fail(problems.front());
}

Result<void> add_to_list(const Machine& machine) {
  auto machines = read_machine_list();
  if (!machines) return base::fail(machines.error());
  const auto same = std::ranges::find(*machines, machine.destination, &Machine::destination);
  if (same != machines->end()) *same = machine;
  else machines->push_back(machine);
  return write_list(*machines);
}

Result<bool> remove_from_list(const std::string& destination) {
  auto machines = read_machine_list();
  if (!machines) return base::fail(machines.error());
  if (std::erase_if(*machines, [&](const Machine& m) { return m.destination == destination; }) == 0)
    return false;
  return write_list(*machines).map([] { return true; });
}

}  // namespace trainyard::session
