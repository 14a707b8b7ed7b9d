// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_on_this_machine.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "ui/model/machines/known_machines.h"

namespace trainyard::ui {
namespace {

constexpr std::array kMachineProblems{
    "host_key_unknown",  "host_key_changed",     "host_name_unknown",
    "host_unreachable",  "login_refused",        "agent_missing",
    "other_agent",       "agent_not_copied",     "bad_address",
    "command_timed_out", "machine_named_twice",  "not_on_other_machines",
    "disk_full",         "file_damaged",         "host_silent",
    "no_listener",       "machine_unresponsive", "machine_not_joined"};

}  // namespace

bool is_machine_problem(const base::Problem& problem) {
  return std::ranges::find(kMachineProblems, problem.id) != kMachineProblems.end();
}

void clear_addresses(Document& document) {
  document.edit(QCoreApplication::translate("machines", "Run on this machine"),
                [](experiment::Experiment& e) { run_on_this_machine(e.topology); });
}

}  // namespace trainyard::ui
