// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/explain.h"

#include <fmt/core.h>

#include <sstream>

namespace trainyard::ssh {
namespace {

struct Known {
  const char* text;  // in the output of ssh
  const char* id;
  const char* what;
  const char* advice;  // {} is the destination
};

// In the order in which they are searched. Texts: OpenSSH's ssh.c, sshconnect.c and sshconnect2.c.
constexpr Known kKnown[]{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", "host_key_changed",
     "the host key differs from the known one: another machine, or one that was installed again",
     "If the machine was installed again, run ssh-keygen -R HOST, then trainyard-cli hosts add {}. "
     "Otherwise ask its administrator."},
    {"Host key verification failed", "host_key_unknown", "the host key is not known yet",
     "Run trainyard-cli hosts add {}, which shows the key's fingerprint."},
    {"Could not resolve hostname", "host_name_unknown", "no host has this name",
     "Check the spelling, or use the numeric address."},
    {"Permission denied (", "login_refused", "the host does not accept a key of this user",
     "If you have no key yet, run ssh-keygen -t ed25519. Then run ssh-copy-id {}."},
    {"Too many authentication failures", "login_refused",
     "the host accepts none of the first keys of this user",
     "Name the right key in ~/.ssh/config, with IdentitiesOnly yes."},
    {"is not installed on this host", "agent_missing",
     "this version of trainyard-agent is not on the host",
     "Run trainyard-cli hosts add {}, which copies it."},
    {"Connection refused", "host_unreachable", "nothing listens on the host's ssh port",
     "Install and start its ssh server (package openssh-server), or correct the port in "
     "~/.ssh/config."},
    {"timed out", "host_unreachable", "the host does not answer",
     "Check that it runs, and that no firewall blocks ssh."},
    {"No route to host", "host_unreachable", "there is no route to the host",
     "Check the network and the address."},
    {"Network is unreachable", "host_unreachable", "there is no route to the host",
     "Check the network and the address."},
};

}  // namespace

std::string last_line(const std::string& printed) {
  std::istringstream lines(printed);
  std::string line, last;
  while (std::getline(lines, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '.')) line.pop_back();
    if (!line.empty()) last = line;
  }
  return last;
}

std::optional<base::Problem> explain(const std::string& destination, const std::string& printed) {
  for (const Known& known : kKnown)
    if (printed.find(known.text) != std::string::npos)
      return base::Problem{
          known.id,    base::ProblemCode::unavailable,
          destination, fmt::format("{}; ssh printed: {}", known.what, last_line(printed)),
          "",          fmt::format(fmt::runtime(known.advice), destination)};
  return std::nullopt;
}

}  // namespace trainyard::ssh
