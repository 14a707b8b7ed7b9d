// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/add_machine.h"

#include "app/agent_connection.h"
#include "app/paths.h"
#include "backends/ssh/command.h"

namespace trainyard::app {
namespace {

using base::Result;

base::Problem canceled(const std::string& destination) {
  return {"canceled", base::ProblemCode::canceled, destination, "canceled by the user", "", ""};
}

Result<session::AgentHello> hello_of(const std::string& destination) {
  const auto directory = ssh::PrivateDirectory::make();
  if (!directory) return base::fail(directory.error());
  const auto connected = connect_agent(
      {.destination = destination, .name = destination, .log_file = *directory / "ssh.log"});
  if (!connected) return base::fail(connected.error());
  return connected->host->hello();
}

Result<void> trust_key(const std::string& destination, const AddQuestions& questions) {
  const auto key = ssh::fetch_host_key(destination);
  if (!key) return base::fail(key.error());
  if (!questions.trusts_key(*key)) return base::fail(canceled(destination));
  return ssh::trust(destination, *key);
}

Result<void> copy_agent(const std::string& destination, const AddQuestions& questions) {
  const auto bundle = ssh::find_bundle(program_directory());
  if (!bundle) return base::fail(bundle.error());
  if (!questions.copies_agent(*bundle)) return base::fail(canceled(destination));
  return ssh::copy_agent(destination, *bundle, questions.progress);
}

}  // namespace

Result<session::Machine> add_machine(const std::string& destination,
                                     const AddQuestions& questions) {
  auto hello = hello_of(destination);
  // Each remedy is tried once.
  if (!hello && hello.error().id == "host_key_unknown") {
    if (auto trusted = trust_key(destination, questions); !trusted)
      return base::fail(trusted.error());
    hello = hello_of(destination);
  }
  if (!hello && (hello.error().id == "agent_missing" || hello.error().id == "other_agent")) {
    if (auto copied = copy_agent(destination, questions); !copied)
      return base::fail(copied.error());
    hello = hello_of(destination);
  }
  if (!hello) return base::fail(hello.error());
  const session::Machine machine = session::machine_of(destination, *hello);
  if (auto listed = session::add_to_list(machine); !listed) return base::fail(listed.error());
  return machine;
}

}  // namespace trainyard::app
