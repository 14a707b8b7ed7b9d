// SPDX-License-Identifier: GPL-3.0-or-later
// Measures the network between two machines before a run: one listens at an address, the other
// connects to it. Ranks connect in the same way. Both exchange nothing but the bytes of the probe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace trainyard::session {

struct ProbeFigures {
  double latency_seconds = 0;            // half of the shortest round trip
  double bandwidth_bits_per_second = 0;  // of one TCP connection
};

// Listens for one probe, at a port that the system chooses.
class ProbeListener {
 public:
  // `address`: numeric address of this machine. The probe must begin with `token`.
  static base::Result<ProbeListener> listen(const std::string& address, std::string token);
  int port() const { return port_; }
  // Accepts connections until one has the token, and answers its probe. Fails after the limit.
  base::Result<void> answer(std::chrono::milliseconds limit) const;

 private:
  ProbeListener(base::Descriptor socket, int port, std::string token)
      : socket_(std::move(socket)), port_(port), token_(std::move(token)) {}
  base::Descriptor socket_;
  int port_;
  std::string token_;
};

inline constexpr std::size_t kProbeTokenBytes = 16;
// Limit of a probe, from both sides.
inline constexpr std::chrono::milliseconds kProbeLimit{4000};

// Connects to a listener and measures the connection, for about half a second. Problems, with the
// address and port as `where`: port_unreachable (refused, filtered, or no route), and
// large_packets_lost (the connection is made, but no bulk of data arrives, as if packets of full
// size were dropped).
base::Result<ProbeFigures> probe(const std::string& address, int port, const std::string& token,
                                 std::chrono::milliseconds limit);

}  // namespace trainyard::session
