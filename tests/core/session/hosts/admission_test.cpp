// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/admission.h"

#include <gmock/gmock.h>

#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using base::IsProblem;

constexpr std::int64_t kSecond = 1'000'000'000;

class Admissions : public testing::Test {
 protected:
  Admissions() { admission_.issue({"CODE", "invited", 2, 100 * kSecond}); }

  base::Result<JoinedMachine> join(const std::string& machine_key, std::int64_t now,
                                   double seconds = 1000) {
    JoinRequest request;
    request.name = "node";
    request.seconds = seconds;
    return admission_.join("invited", machine_key, "192.0.2.1", request, now);
  }

  Admission admission_;
};

TEST_F(Admissions, admit_as_many_machines_as_the_invitation_says) {
  EXPECT_TRUE(admission_.admits("invited", "192.0.2.1", 0));
  EXPECT_FALSE(admission_.admits("first", "192.0.2.1", 0));
  EXPECT_EQ(join("first", 0)->request.name, "node");
  EXPECT_EQ(join("second", 0)->request.name, "node-2") << "names are unique";
  const auto third = join("third", 0);
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error(), IsProblem("invitation_used", "node"));
  EXPECT_FALSE(admission_.admits("invited", "192.0.2.1", 0));
  EXPECT_TRUE(admission_.admits("first", "192.0.2.1", 0)) << "its own key";
  EXPECT_TRUE(admission_.is_machine("second"));
}

TEST_F(Admissions, end_when_invitations_expire_or_are_withdrawn) {
  EXPECT_TRUE(admission_.admits("invited", "192.0.2.1", 100 * kSecond - 1));
  EXPECT_FALSE(admission_.admits("invited", "192.0.2.1", 100 * kSecond));
  EXPECT_FALSE(join("late", 100 * kSecond));
  admission_.issue({"OTHER", "invited", 1, 1000 * kSecond});
  EXPECT_EQ(admission_.invitations(0).size(), 1U);
  EXPECT_TRUE(admission_.withdraw("OTHER"));
  EXPECT_FALSE(admission_.withdraw("OTHER"));
  EXPECT_FALSE(admission_.admits("invited", "192.0.2.2", 0));
}

TEST_F(Admissions, end_with_the_consent_of_the_machine) {
  ASSERT_TRUE(join("first", 0, 50));
  EXPECT_TRUE(admission_.admits("first", "192.0.2.1", 49 * kSecond));
  EXPECT_EQ(admission_.machines(49 * kSecond).size(), 1U);
  EXPECT_FALSE(admission_.admits("first", "192.0.2.1", 50 * kSecond));
  EXPECT_TRUE(admission_.machines(50 * kSecond).empty());
}

TEST_F(Admissions, refuse_an_address_for_a_minute_after_five_wrong_keys) {
  ASSERT_TRUE(join("first", 0));
  for (int i = 0; i < Admission::kWrongKeys; ++i) {
    EXPECT_TRUE(admission_.admits("invited", "192.0.2.9", i * kSecond)) << i;
    EXPECT_FALSE(admission_.admits("wrong" + std::to_string(i), "192.0.2.9", i * kSecond));
  }
  EXPECT_FALSE(admission_.admits("invited", "192.0.2.9", 10 * kSecond)) << "now the right one";
  EXPECT_TRUE(admission_.admits("invited", "192.0.2.1", 10 * kSecond)) << "another address";
  EXPECT_TRUE(admission_.admits("first", "192.0.2.9", 10 * kSecond)) << "a machine that joined";
  EXPECT_TRUE(admission_.admits("invited", "192.0.2.9", 61 * kSecond)) << "four are left";
}

TEST_F(Admissions, refuse_names_that_are_no_part_of_an_address) {
  JoinRequest request;
  request.seconds = 10;
  for (const char* name : {"", "a,b", "a b", "a\x1b[31m", "joined:a", "\u00e4"}) {
    request.name = name;
    const auto joined = admission_.join("invited", "first", "192.0.2.1", request, 0);
    ASSERT_FALSE(joined) << name;
    EXPECT_EQ(joined.error().id, "bad_machine_name");
  }
  request.name = "node-1.lab_2";
  EXPECT_TRUE(admission_.join("invited", "first", "192.0.2.1", request, 0));
}

TEST_F(Admissions, remember_a_bounded_number_of_addresses) {
  for (std::size_t i = 0; i < Admission::kMaxAddresses + 10; ++i)
    EXPECT_FALSE(admission_.admits("wrong", "address " + std::to_string(i), 0));
  EXPECT_TRUE(admission_.admits("invited", "192.0.2.1", 0));
}

}  // namespace
}  // namespace trainyard::session
