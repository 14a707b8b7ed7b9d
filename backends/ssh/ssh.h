// SPDX-License-Identifier: GPL-3.0-or-later
// Starts an agent on another host with the system's ssh, which handles host keys, configuration and
// jump hosts, or with srun on a node of this job's Slurm allocation. Messages travel over its
// standard input and output.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/hosts/frame_stream.h"
#include "core/session/system/process.h"

namespace trainyard::ssh {

struct Connection {
  session::Process process;  // the local ssh or srun
  std::unique_ptr<session::FrameStream> stream;
};

struct Options {
  // As ssh accepts it: [USER@]HOST or a name of its configuration. Or "slurm:NODE".
  std::string destination;
  std::vector<std::string> agent;  // command on that host, in words
  std::string log_file;            // receives what ssh and the agent print
};

// Prefix of the address of a host that is a node of this job's Slurm allocation.
inline constexpr std::string_view kSlurmPrefix = "slurm:";

// Returns the arguments of srun, for a destination that begins with `kSlurmPrefix`. A step that
// overlaps others needs no resources of its own. Without --unbuffered, because a pseudo terminal
// would change the bytes. Source: srun(1).
std::vector<std::string> srun_arguments_of(const Options& options);

// Returns the arguments of ssh. Asks for no password (BatchMode), and keeps the checks of host
// keys. Forwards nothing, whatever the configuration of ssh says.
std::vector<std::string> arguments_of(const Options& options);

// Returns the architecture of this machine, as `uname -m`.
std::string architecture();

// Refuses a destination that begins with "-", which ssh would read as an option.
base::Result<Connection> connect(const Options& options);

}  // namespace trainyard::ssh
