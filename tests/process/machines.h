// SPDX-License-Identifier: GPL-3.0-or-later
// Several machines on this one: network namespaces with real sshds (machines/machines.sh).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli_program.h"
#include "core/base/descriptor.h"
#include "core/session/system/process.h"

namespace trainyard::process {

class Machines {
 public:
  // Why this process cannot have machines; empty if it can.
  static std::string missing();

  // Machines m1 to m`count`, none of which has Trainyard's programs, beside m0, which has.
  explicit Machines(int count);

  // Runs a program on m0, as root, whose known hosts are m1, m2, ...
  Ran on_coordinator(const std::vector<std::string>& command) const;
  // Runs trainyard-cli on m0.
  Ran cli(const std::vector<std::string>& arguments) const;
  // Runs a shell script on machine `number`, as root.
  Ran on(int number, const std::string& script) const;

  // The directory that is /mnt on machine `number`; its user's home is /mnt/home.
  std::filesystem::path files(int number) const;

 private:
  Scratch scratch_;
  base::Descriptor input_;  // The machines end when this closes.
  std::unique_ptr<session::Process> process_;
  std::string pid_;  // of the first process of m0
};

}  // namespace trainyard::process
