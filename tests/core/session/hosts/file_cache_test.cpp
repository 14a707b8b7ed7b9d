// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/file_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "core/base/file.h"
#include "core/base/hash.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;

class FileCaches : public testing::Test {
 protected:
  FileCaches() {
    std::string pattern = "/tmp/trainyard-cache-test-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~FileCaches() override { fs::remove_all(directory_); }

  static SharedFile described(const std::string& content) {
    base::ContentHasher hasher;
    hasher.add(content);
    return {"data/x", hasher.hash(), std::ssize(content)};
  }
  static void receive(FileCache& cache, const std::string& content) {
    ASSERT_EQ(cache.begin(described(content)), 0);
    ASSERT_EQ(cache.append(content), true);
  }
  // Sets the time of the last use to some hours ago.
  void used_before(const std::string& content, int hours) const {
    fs::last_write_time(directory_ / described(content).hash,
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  bool has(const std::string& content) const {
    return fs::exists(directory_ / described(content).hash);
  }

  fs::path directory_;
};

TEST_F(FileCaches, keep_files_by_content) {
  FileCache cache(directory_, 1000);
  EXPECT_FALSE(cache.find(described("abc")));
  receive(cache, "abc");
  const auto path = FileCache(directory_, 1000).find(described("abc"));
  ASSERT_TRUE(path);
  EXPECT_EQ(base::read_file(*path, 100), "abc");
}

TEST_F(FileCaches, remove_files_that_do_not_match_their_hash) {
  FileCache cache(directory_, 1000);
  receive(cache, "abc");
  std::ofstream(directory_ / described("abc").hash) << "abd";
  EXPECT_FALSE(cache.find(described("abc")));
  EXPECT_FALSE(has("abc"));
}

TEST_F(FileCaches, continue_a_transfer) {
  {
    FileCache cache(directory_, 1000);
    ASSERT_EQ(cache.begin(described("abcdef")), 0);
    ASSERT_EQ(cache.append("abcd"), false);
  }
  FileCache cache(directory_, 1000);
  ASSERT_EQ(cache.begin(described("abcdef")), 4);
  EXPECT_EQ(cache.append("ef"), true);
  EXPECT_TRUE(cache.find(described("abcdef")));
}

TEST_F(FileCaches, two_processes_do_not_write_one_file) {
  FileCache first(directory_, 1000), second(directory_, 1000);
  ASSERT_EQ(first.begin(described("abcdef")), 0);
  ASSERT_EQ(first.append("abc"), false);
  ASSERT_EQ(second.begin(described("abcdef")), 0);
  EXPECT_EQ(second.append("abcdef"), true);
  EXPECT_EQ(first.append("def"), true);
  EXPECT_TRUE(first.find(described("abcdef")));
}

TEST_F(FileCaches, refuse_other_contents_and_forget_them) {
  FileCache cache(directory_, 1000);
  ASSERT_EQ(cache.begin(described("abc")), 0);
  EXPECT_EQ(cache.append("abd").error().id, "file_damaged");
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(FileCaches, remove_what_was_not_used_for_the_longest_time) {
  FileCache cache(directory_, 10);
  for (const std::string name : {"aaaa", "bbbb"}) receive(cache, name);
  used_before("aaaa", 1);
  used_before("bbbb", 2);
  receive(cache, "cccc");
  EXPECT_TRUE(has("aaaa"));
  EXPECT_FALSE(has("bbbb"));
  ASSERT_TRUE(cache.find(described("aaaa")));
  used_before("aaaa", 9);
  receive(cache, "dddd");
  EXPECT_TRUE(has("aaaa")) << "this cache's user needs it";
  EXPECT_FALSE(has("cccc"));
}

TEST_F(FileCaches, name_the_disk_that_is_full) {
  SharedFile huge = described("abc");
  huge.bytes = std::int64_t{1} << 60;
  const auto begun = FileCache(directory_, 1000).begin(huge);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().id, "disk_full");
  EXPECT_EQ(begun.error().where, directory_);
}

}  // namespace
}  // namespace trainyard::session
