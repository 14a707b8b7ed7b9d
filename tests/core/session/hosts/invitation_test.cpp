// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/invitation.h"

#include <gtest/gtest.h>

#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using base::IsProblem;

Invitation sample() {
  Invitation invitation{"192.0.2.7", 29'700};
  for (std::size_t i = 0; i < 10; ++i)
    invitation.code.fingerprint[i] = static_cast<std::uint8_t>(17 * i + 3);
  invitation.code.token = {0xff, 0x00, 0x80, 0x01, 0x7e};
  return invitation;
}

TEST(Invitations, have_24_characters_in_groups_of_four) {
  // 15 bytes in base32, computed with Python: base64.b32encode, translated to Crockford's alphabet.
  EXPECT_EQ(to_text(sample().code), "0CA2-ADJ7-B1MQ-N2WW-ZW08-00BY");
  EXPECT_EQ(to_text(sample()), "192.0.2.7:29700/0CA2-ADJ7-B1MQ-N2WW-ZW08-00BY");
}

TEST(Invitations, are_read_as_they_were_printed) {
  EXPECT_EQ(invitation_from(to_text(sample())), sample());
  Invitation ipv6 = sample();
  ipv6.host = "fd91::1";
  EXPECT_EQ(to_text(ipv6).substr(0, 16), "[fd91::1]:29700/");
  EXPECT_EQ(invitation_from(to_text(ipv6)), ipv6);
}

TEST(Invitations, accept_lower_case_letters_like_digits_and_no_hyphens) {
  const InvitationCode code = sample().code;
  std::string text = to_text(code);
  std::erase(text, '-');
  EXPECT_EQ(invitation_code_from(text), code);
  for (char& character : text) {
    if (character == '0') character = 'o';
    if (character == '1') character = 'l';
    character = static_cast<char>(std::tolower(character));
  }
  EXPECT_EQ(invitation_code_from(text), code);
}

TEST(Invitations, refuse_other_texts) {
  const std::string code = to_text(sample().code);
  const std::string texts[] = {"",
                               "192.0.2.7",
                               "192.0.2.7:29700",
                               "192.0.2.7/" + code,
                               ":29700/" + code,
                               "h:0/" + code,
                               "h:65536/" + code,
                               "h:2x/" + code,
                               "h:29700/" + code + "0",
                               "h:29700/" + code.substr(1),
                               "h:29700/U" + code.substr(1)};
  for (const std::string& text : texts) {
    const auto read = invitation_from(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error(), IsProblem("bad_invitation", "invitation")) << text;
  }
}

}  // namespace
}  // namespace trainyard::session
