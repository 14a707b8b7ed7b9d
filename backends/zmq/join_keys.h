// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of invitations (core/session/hosts/invitation.h). Hashes are BLAKE2b with 256 bits
// (RFC 7693), by libsodium.
#pragma once

#include "backends/zmq/curve_keys.h"
#include "core/session/hosts/invitation.h"

namespace trainyard::zmq {

// Returns a code with the fingerprint of the listener's public key (Z85) and a random token.
base::Result<session::InvitationCode> make_invitation_code(const std::string& public_key);

// True if the code has the fingerprint of this key (Z85).
bool is_key_of(const session::InvitationCode& code, const std::string& public_key);

// Returns the keys of clients that have the invitation. They are derived from the code, so they are
// as secret as its token.
base::Result<CurveKeys> client_keys_of(const session::InvitationCode& code);

}  // namespace trainyard::zmq
