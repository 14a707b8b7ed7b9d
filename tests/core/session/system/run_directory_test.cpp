// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using testing::MatchesRegex;

class NewRunDirectory : public testing::Test {
 protected:
  ~NewRunDirectory() override {
    std::error_code ignored;
    fs::remove_all(runs_, ignored);
  }
  std::string made(const std::string& experiment) const {
    return make_new_run_directory(runs_, experiment).value().filename();
  }

  fs::path runs_ = fs::temp_directory_path() / ("trainyard-runs-" + std::to_string(::getpid()));
};

constexpr const char* kTime = "[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}_";

TEST_F(NewRunDirectory, is_named_by_time_and_experiment) {
  EXPECT_THAT(made("Four devices, mirrored!"),
              MatchesRegex(std::string(kTime) + "four-devices-mirrored"));
}

TEST_F(NewRunDirectory, keeps_letters_of_every_script) {
  EXPECT_THAT(made("Übung für Anfänger"), testing::EndsWith("_übung-für-anfänger"));
  EXPECT_THAT(made("训练 一"), testing::EndsWith("_训练-一"));
  EXPECT_THAT(made("Запуск №2"), testing::EndsWith("_запуск-2"));
  EXPECT_THAT(made("a/../b\n\xff c"), testing::EndsWith("_a-b-c"));
  EXPECT_THAT(made("a\u202Eb"), testing::EndsWith("_a-b")) << "no control of the writing direction";
}

TEST_F(NewRunDirectory, keeps_combining_marks_of_letters) {
  EXPECT_THAT(made("हिन्दी"), testing::EndsWith("_हिन्दी"));
  EXPECT_THAT(made("กิ่งไม้ 2"), testing::EndsWith("_กิ่งไม้-2"));
  EXPECT_THAT(made("Cafe\u0301 A\u0308"), testing::EndsWith("_cafe\u0301-a\u0308"));
  EXPECT_THAT(made("\u0301a \u0301b"), testing::EndsWith("_a-b")) << "marks without a letter";
  EXPECT_THAT(made("a\u200Bb\u202Ec"), testing::EndsWith("_a-b-c")) << "controls are no marks";
}

TEST_F(NewRunDirectory, of_an_unnamed_experiment_is_untitled) {
  for (const char* none : {"", "  ", "—"})
    EXPECT_THAT(made(none), MatchesRegex(std::string(kTime) + "untitled(-[2-9])?"));
}

TEST_F(NewRunDirectory, is_always_a_new_one) {
  EXPECT_NE(made("same"), made("same"));
  EXPECT_EQ(std::distance(fs::directory_iterator(runs_), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace trainyard::session
