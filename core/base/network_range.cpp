// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/network_range.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <optional>

namespace trainyard::base {
namespace {

struct NumericAddress {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  int bits = 0;  // 32 or 128
};

std::optional<NumericAddress> numeric_address(const std::string& text) {
  NumericAddress address;
  if (::inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) address.bits = 32;
  else if (::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) address.bits = 128;
  else return {};
  return address;
}

struct NetworkRange {
  NumericAddress address{};
  int prefix = 0;  // bits
};

std::optional<NetworkRange> network_range(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {};
  const auto address = numeric_address(text.substr(0, slash));
  int prefix = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, prefix);
  if (!address || read.ptr != end || read.ec != std::errc() || prefix < 0 || prefix > address->bits)
    return {};
  return NetworkRange{*address, prefix};
}

}  // namespace

bool is_network_range(const std::string& text) { return network_range(text).has_value(); }

bool is_in_network_range(const std::string& address, const std::string& range) {
  const auto found = numeric_address(address);
  const auto in = network_range(range);
  if (!found || !in || found->bits != in->address.bits) return false;
  for (int bit = 0; bit < in->prefix; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((found->bytes[byte] ^ in->address.bytes[byte]) & (128 >> bit % 8)) != 0) return false;
  }
  return true;
}

}  // namespace trainyard::base
