// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/network_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "core/base/descriptor.h"

namespace trainyard::app {
namespace {

// Returns an IPv4 or IPv6 address as text; empty for addresses of other families.
std::string text_of(const sockaddr& address) {
  const int family = address.sa_family;
  if (family != AF_INET && family != AF_INET6) return "";
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int failed =
      ::getnameinfo(&address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? "" : text.data();
}

}  // namespace

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return addresses;
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0 ||
        (at->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    const std::string address = text_of(*at->ifa_addr);
    if (!address.empty() && address.find('%') == std::string::npos) addresses.push_back(address);
  }
  ::freeifaddrs(interfaces);
  return addresses;
}

// A datagram socket selects its route when it connects, and sends nothing.
std::string own_address_toward(const std::string& peer) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  constexpr const char* kAnyPort = "9";
  if (::getaddrinfo(peer.c_str(), kAnyPort, &hints, &found) != 0) return "";
  const base::Descriptor socket(
      ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
  std::string address;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (socket.is_open() && ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0)
    address = text_of(reinterpret_cast<const sockaddr&>(own));
  ::freeaddrinfo(found);
  return address;
}

std::string agent_address(const session::AgentHello& hello) {
  return hello.reached_at.empty() && !hello.addresses.empty() ? hello.addresses.front()
                                                              : hello.reached_at;
}

std::string own_address_toward_agent(const session::AgentHello& hello) {
  // Through a jump host or NAT, the address that ssh states is not one of this machine.
  const std::vector<std::string> own = own_addresses();
  return std::ranges::find(own, hello.reached_from) != own.end()
             ? hello.reached_from
             : own_address_toward(agent_address(hello));
}

}  // namespace trainyard::app
