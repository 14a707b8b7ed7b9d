// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/invitation.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "core/session/hosts/tcp.h"

namespace trainyard::session {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kCharacters = 24, kGroup = 4, kBitsPerCharacter = 5;

base::Problem bad_invitation(const std::string& what) {
  return {"bad_invitation",
          base::ProblemCode::bad_input,
          "invitation",
          what,
          "HOST:PORT/CODE, with 24 letters and digits as code",
          "Copy the invitation as trainyard-cli hosts listen printed it."};
}

// Returns the value of a character; 32 or more if it is none.
std::size_t value_of(char character) {
  if (character >= 'a' && character <= 'z') character = static_cast<char>(character - 'a' + 'A');
  if (character == 'O') character = '0';
  if (character == 'I' || character == 'L') character = '1';
  return std::min(kDigits.find(character), kDigits.size());
}

std::array<std::uint8_t, 15> bytes_of(const InvitationCode& code) {
  std::array<std::uint8_t, 15> bytes{};
  std::ranges::copy(code.fingerprint, bytes.begin());
  std::ranges::copy(code.token, bytes.begin() + std::ssize(code.fingerprint));
  return bytes;
}

}  // namespace

std::string to_text(const InvitationCode& code) {
  const auto bytes = bytes_of(code);
  std::string text;
  for (std::size_t at = 0; at < kCharacters; ++at) {
    std::size_t value = 0;
    for (std::size_t bit = at * kBitsPerCharacter; bit < (at + 1) * kBitsPerCharacter; ++bit)
      value = value << 1 | ((bytes[bit / 8] >> (7 - bit % 8)) & 1U);
    if (at > 0 && at % kGroup == 0) text += '-';
    text += kDigits[value];
  }
  return text;
}

std::string to_text(const Invitation& invitation) {
  return fmt::format("{}/{}", place_of(invitation.host, invitation.port), to_text(invitation.code));
}

base::Result<InvitationCode> invitation_code_from(std::string_view text) {
  std::array<std::uint8_t, 15> bytes{};
  std::size_t characters = 0;
  for (const char character : text) {
    if (character == '-') continue;
    const std::size_t value = value_of(character);
    if (value >= kDigits.size() || characters == kCharacters)
      return base::fail(
          bad_invitation(fmt::format("\"{}\" is not the code of an invitation", text)));
    for (std::size_t i = 0; i < kBitsPerCharacter; ++i) {
      const std::size_t bit = characters * kBitsPerCharacter + i;
      if ((value >> (kBitsPerCharacter - 1 - i) & 1) != 0)
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | 128U >> bit % 8);
    }
    ++characters;
  }
  if (characters != kCharacters)
    return base::fail(
        bad_invitation(fmt::format("the code has {} of {} characters", characters, kCharacters)));
  InvitationCode code;
  std::copy_n(bytes.begin(), code.fingerprint.size(), code.fingerprint.begin());
  std::copy_n(bytes.begin() + std::ssize(code.fingerprint), code.token.size(), code.token.begin());
  return code;
}

base::Result<Invitation> invitation_from(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = slash == std::string_view::npos ? slash : text.rfind(':', slash);
  if (colon == std::string_view::npos)
    return base::fail(bad_invitation(fmt::format("\"{}\" is not an invitation", text)));
  Invitation invitation;
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  invitation.host = host;
  const std::string_view port = text.substr(colon + 1, slash - colon - 1);
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), invitation.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size() ||
      invitation.port < 1 || invitation.port > 65'535)
    return base::fail(bad_invitation(fmt::format("\"{}\" has no host and port", text)));
  auto code = invitation_code_from(text.substr(slash + 1));
  if (!code) return base::fail(code.error());
  invitation.code = *code;
  return invitation;
}

}  // namespace trainyard::session
