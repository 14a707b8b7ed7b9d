// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/network_address.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "core/base/descriptor.h"
#include "core/base/network_range.h"

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

std::vector<InterfaceAddress> own_interfaces() {
  std::vector<InterfaceAddress> found;
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return found;
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0 ||
        (at->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    const std::string address = text_of(*at->ifa_addr);
    if (!address.empty() && address.find('%') == std::string::npos)
      found.push_back({at->ifa_name, address});
  }
  ::freeifaddrs(interfaces);
  return found;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  for (InterfaceAddress& one : own_interfaces()) addresses.push_back(std::move(one.address));
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

namespace {

// Returns the first address in the interface or network that the user chose.
base::Result<std::string> chosen_address(const std::vector<InterfaceAddress>& interfaces,
                                         const std::string& chosen, const std::string& host) {
  std::string list;
  for (const InterfaceAddress& one : interfaces) {
    if (one.interface == chosen || base::is_in_network_range(one.address, chosen))
      return one.address;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", one.interface, one.address);
  }
  return base::fail({"no_such_interface", base::ProblemCode::unavailable, host,
                     fmt::format("the machine has no interface or network {}", chosen), list,
                     "Correct network.interface, or clear it."});
}

std::vector<InterfaceAddress> interfaces_of(const session::AgentHello& hello) {
  std::vector<InterfaceAddress> interfaces;
  for (std::size_t i = 0; i < std::min(hello.interfaces.size(), hello.addresses.size()); ++i)
    interfaces.push_back({hello.interfaces[i], hello.addresses[i]});
  return interfaces;
}

}  // namespace

base::Result<std::string> agent_address(const session::AgentHello& hello,
                                        const experiment::NetworkSpec& network,
                                        const std::string& host) {
  if (!network.interface.empty())
    return chosen_address(interfaces_of(hello), network.interface, host);
  return hello.reached_at.empty() && !hello.addresses.empty() ? hello.addresses.front()
                                                              : hello.reached_at;
}

base::Result<std::string> own_address_toward_agent(const session::AgentHello& hello,
                                                   const experiment::NetworkSpec& network) {
  if (!network.interface.empty())
    return chosen_address(own_interfaces(), network.interface, "this machine");
  // Through a jump host or NAT, the address that ssh states is not one of this machine.
  const std::vector<std::string> own = own_addresses();
  if (std::ranges::find(own, hello.reached_from) != own.end()) return hello.reached_from;
  return agent_address(hello, network, "").map(own_address_toward);
}

base::Result<void> check_trust(const std::string& address, const experiment::NetworkSpec& network,
                               const std::string& host) {
  const bool is_trusted = std::ranges::any_of(network.trusted, [&](const std::string& range) {
    return base::is_in_network_range(address, range);
  });
  if (network.encryption != experiment::Encryption::none || is_trusted) return {};
  std::string trusted;
  for (const std::string& range : network.trusted) trusted += (trusted.empty() ? "" : ", ") + range;
  return base::fail({"network_not_trusted", base::ProblemCode::refused, host,
                     fmt::format("messages to {} would not be encrypted, and no trusted network "
                                 "contains this address",
                                 address),
                     trusted,
                     "Set network.encryption to curve, or add the network to network.trusted."});
}

}  // namespace trainyard::app
