// SPDX-License-Identifier: GPL-3.0-or-later
// Invitations of other machines to this one: HOST:PORT/CODE. The code has 24 characters of base32
// (Crockford 2019, https://www.crockford.com/base32.html), in groups of four.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace trainyard::session {

struct InvitationCode {
  std::array<std::uint8_t, 10> fingerprint{};  // first 80 bits of the hash of the listener's key
  std::array<std::uint8_t, 5> token{};         // random; proves the invitation to the listener
  bool operator==(const InvitationCode&) const = default;
};

struct Invitation {
  std::string host{};  // name or address of the listener's machine
  int port = 0;
  InvitationCode code{};
  bool operator==(const Invitation&) const = default;
};

// Port of listeners, unless another one is chosen. IANA has not assigned it.
inline constexpr int kListenerPort = 29'700;

std::string to_text(const InvitationCode& code);    // "ABCD-EFGH-..."
std::string to_text(const Invitation& invitation);  // IPv6 addresses are in brackets

// Accepts lower case, no hyphens, and O, I and L for the digits 0 and 1. Problem: bad_invitation.
base::Result<InvitationCode> invitation_code_from(std::string_view text);
base::Result<Invitation> invitation_from(std::string_view text);

}  // namespace trainyard::session
