// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace trainyard::ssh {
namespace {

// A file of zero bytes.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = PrivateDirectory::make();
    ASSERT_TRUE(made);
    directory_.emplace(std::move(*made));
    std::ofstream(file()) << std::string(kBytes, '\0');
  }
  std::filesystem::path file() const { return *directory_ / "file"; }

  static constexpr std::size_t kBytes = 3'000'000;
  std::optional<PrivateDirectory> directory_;
};

TEST_F(CommandTest, input_arrives_and_output_is_returned) {
  std::uint64_t last = 0, of = 0;
  const auto result = run({"sh",
                           {"-c", "wc -c; echo warning >&2; exit 7"},
                           file(),
                           [&](std::uint64_t sent, std::uint64_t total) {
                             EXPECT_GE(sent, last);
                             last = sent, of = total;
                             return true;
                           }});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->printed, std::to_string(kBytes) + "\nwarning\n");
  EXPECT_EQ(last, kBytes);
  EXPECT_EQ(of, kBytes);
}

TEST_F(CommandTest, program_that_reads_no_input_is_no_error) {
  const auto result = run({"sh", {"-c", "exit 3"}, file()});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 3);
}

TEST_F(CommandTest, progress_cancels) {
  const auto result =
      run({"sleep", {"100"}, file(), [](std::uint64_t sent, std::uint64_t) { return sent == 0; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().id, "canceled");
}

TEST_F(CommandTest, program_without_progress_is_killed_after_its_limit) {
  const auto result = run({"sleep", {"100"}, "", {}, 0.2});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().id, "command_timed_out");
}

TEST_F(CommandTest, private_directory_is_removed) {
  const std::filesystem::path path = file();
  EXPECT_EQ(std::filesystem::status(path.parent_path()).permissions(),
            std::filesystem::perms::owner_all);
  directory_.reset();
  EXPECT_FALSE(std::filesystem::exists(path.parent_path()));
}

TEST(Command, quoted_words_arrive_unchanged) {
  const std::string word = "it's $HOME `x` \"y\" \\ \n;";
  const auto result = run({"sh", {"-c", "printf %s " + quoted(word)}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->printed, word);
}

}  // namespace
}  // namespace trainyard::ssh
