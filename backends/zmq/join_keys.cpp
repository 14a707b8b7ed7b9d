// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/join_keys.h"

#include <sodium.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <span>

namespace trainyard::zmq {
namespace {

using session::InvitationCode;
using Hash = std::array<unsigned char, crypto_generichash_BYTES>;

// Hashes a label, which separates the purposes, and the bytes.
Hash hash_of(std::string_view label, std::span<const unsigned char> bytes) {
  crypto_generichash_state state;
  Hash hash{};
  crypto_generichash_init(&state, nullptr, 0, hash.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()),
                            label.size());
  crypto_generichash_update(&state, bytes.data(), bytes.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  return hash;
}

std::array<std::uint8_t, 10> fingerprint_of(const std::string& public_key) {
  const Hash hash =
      hash_of("trainyard listener",
              {reinterpret_cast<const unsigned char*>(public_key.data()), public_key.size()});
  std::array<std::uint8_t, 10> fingerprint{};
  std::copy_n(hash.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

}  // namespace

base::Result<InvitationCode> make_invitation_code(const std::string& public_key) {
  if (sodium_init() < 0)
    return base::fail({"no_encryption", base::ProblemCode::unavailable, "libsodium",
                       "the library cannot produce random numbers", "", ""});
  InvitationCode code;
  code.fingerprint = fingerprint_of(public_key);
  randombytes_buf(code.token.data(), code.token.size());
  return code;
}

bool is_key_of(const InvitationCode& code, const std::string& public_key) {
  return code.fingerprint == fingerprint_of(public_key);
}

base::Result<CurveKeys> client_keys_of(const InvitationCode& code) {
  std::array<unsigned char, 15> bytes{};
  std::ranges::copy(code.token, std::ranges::copy(code.fingerprint, bytes.begin()).out);
  const Hash secret = hash_of("trainyard invitation", bytes);
  constexpr std::size_t kCharacters = 41;  // of a key in Z85, and the end of the text
  std::array<char, kCharacters> secret_text{}, public_text{};
  zmq_z85_encode(secret_text.data(), secret.data(), secret.size());
  if (zmq_curve_public(public_text.data(), secret_text.data()) != 0)
    return base::fail({"no_encryption", base::ProblemCode::unavailable, "ZeroMQ",
                       "the library was built without encryption (libsodium)", "",
                       "Install a ZeroMQ with CURVE."});
  return CurveKeys{public_text.data(), secret_text.data()};
}

}  // namespace trainyard::zmq
