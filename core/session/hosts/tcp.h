// SPDX-License-Identifier: GPL-3.0-or-later
// Sockets: TCP between machines (nonblocking and close-on-exec), and local ones.
#pragma once

#include <netdb.h>
#include <sys/un.h>

#include <memory>
#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace trainyard::session {

struct FreeAddress {
  void operator()(addrinfo* found) const { ::freeaddrinfo(found); }
};
using SocketAddress = std::unique_ptr<addrinfo, FreeAddress>;

// Accepts an IPv4 or IPv6 address, but no name. Problem: bad_address.
base::Result<SocketAddress> numeric_address(const std::string& address, int port);

// Returns "HOST:PORT" or "[ADDRESS]:PORT".
std::string place_of(const std::string& host, int port);

// Returns the address of a local socket; nothing if the path is too long (108 bytes).
std::optional<sockaddr_un> local_address(const std::string& path);

base::Descriptor open_tcp_socket(const addrinfo& address);
void disable_delay(int socket);  // sends small messages immediately
int port_of(int socket);         // of a bound socket

// Waits until the socket is ready for the events of poll(2). False after the time
// (CLOCK_MONOTONIC).
bool wait_for_socket(int socket, short events, std::int64_t end_ns);
// Connects, and waits for the end of that. Returns 0 or the error.
int connect_until(const base::Descriptor& socket, const addrinfo& address, std::int64_t end_ns);

}  // namespace trainyard::session
