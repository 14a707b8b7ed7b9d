// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of network addresses in CIDR notation (RFC 4632), such as 10.0.0.0/8 or fd91::/64.
#pragma once

#include <string>

namespace trainyard::base {

// True if the text is an IPv4 or IPv6 address, "/", and the length of its prefix.
bool is_network_range(const std::string& text);

// False if the address is not numeric, or the text is not a range.
bool is_in_network_range(const std::string& address, const std::string& range);

}  // namespace trainyard::base
