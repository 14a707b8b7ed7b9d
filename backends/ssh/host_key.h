// SPDX-License-Identifier: GPL-3.0-or-later
// Keys by which hosts prove their identity, for users who connect to a host for the first time.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::ssh {

struct HostKey {
  std::string fingerprint;  // "SHA256:..."
  std::string kind;         // "ED25519"
  std::string lines;        // for the file of known hosts
};

// Connects and returns the key of the host, without trusting it and without authentication.
// Problems: those of `explain`.
base::Result<HostKey> fetch_host_key(const std::string& destination);

// Appends the key to the user's file of known hosts, as configured in ssh, so that ssh trusts it.
base::Result<void> trust(const std::string& destination, const HostKey& key);

}  // namespace trainyard::ssh
