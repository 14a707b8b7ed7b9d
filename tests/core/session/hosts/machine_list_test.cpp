// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/machine_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace trainyard::session {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

class MachineListTest : public testing::Test {
 protected:
  MachineListTest() {
    std::string pattern = "/tmp/trainyard-machines-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    if (const char* old = std::getenv("XDG_DATA_HOME")) old_ = old;
    ::setenv("XDG_DATA_HOME", directory_.c_str(), 1);
  }
  ~MachineListTest() override {
    old_ ? ::setenv("XDG_DATA_HOME", old_->c_str(), 1) : ::unsetenv("XDG_DATA_HOME");
    std::filesystem::remove_all(directory_);
  }

  static Machine machine(const std::string& destination, std::int64_t cores) {
    return {destination, "node", "x86_64", cores, 8'000'000'000, {"10.0.0.1", "fd00::1"}};
  }

 private:
  std::filesystem::path directory_;
  std::optional<std::string> old_;
};

TEST_F(MachineListTest, is_empty_without_a_file) { EXPECT_THAT(*read_machine_list(), IsEmpty()); }

TEST_F(MachineListTest, keeps_one_entry_per_destination) {
  ASSERT_TRUE(add_to_list(machine("a", 2)));
  ASSERT_TRUE(add_to_list(machine("me@b", 4)));
  ASSERT_TRUE(add_to_list(machine("a", 8)));
  const auto list = read_machine_list();
  ASSERT_TRUE(list);
  EXPECT_THAT(*list, ElementsAre(Field(&Machine::cores, 8), Field(&Machine::cores, 4)));
  EXPECT_THAT(list->front().addresses, ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_TRUE(*remove_from_list("a"));
  EXPECT_FALSE(*remove_from_list("a"));
  EXPECT_THAT(*read_machine_list(), ElementsAre(Field(&Machine::destination, "me@b")));
}

TEST_F(MachineListTest, damaged_file_is_reported_and_kept) {
  ASSERT_TRUE(add_to_list(machine("a", 2)));
  for (const char* text :
       {"{", "[]", R"({"machines": [{"cores": "many"}]})", R"({"version": 2, "machines": []})"}) {
    std::ofstream(machine_list_file()) << text;
    EXPECT_FALSE(read_machine_list()) << text;
    EXPECT_FALSE(add_to_list(machine("b", 2)));
    std::ifstream file(machine_list_file());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  }
}

}  // namespace
}  // namespace trainyard::session
