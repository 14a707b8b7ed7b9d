// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/count_allocations.h"

namespace trainyard::shm {
namespace {

TEST(ShmProcess, is_running_and_another_with_the_same_pid_is_not) {
  const ProcessIdentity here = this_process();
  EXPECT_EQ(here.id, ::getpid());
  EXPECT_GT(here.start, 0);
  EXPECT_TRUE(runs(here));
  EXPECT_FALSE(runs({here.id, here.start + 1})) << "started at another time";
}

TEST(ShmProcess, name_may_contain_spaces_and_brackets) {
  char name[16] = "";
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  const ProcessIdentity before = this_process();
  ASSERT_EQ(::prctl(PR_SET_NAME, "a ) Z 1 (b"), 0);
  EXPECT_EQ(this_process().start, before.start);
  EXPECT_TRUE(runs(before));
  ASSERT_EQ(::prctl(PR_SET_NAME, name), 0);
}

TEST(ShmProcess, that_ended_is_not_running_even_before_it_is_reaped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t id = ::fork();
  if (id == 0) {
    const ProcessIdentity own = this_process();
    ::_exit(::write(ends[1], &own, sizeof own) == static_cast<ssize_t>(sizeof own) ? 0 : 1);
  }
  ProcessIdentity child;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(id), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(child.id, id);
  EXPECT_FALSE(runs(child));
  ASSERT_EQ(::waitpid(id, nullptr, 0), id);
  EXPECT_FALSE(runs(child));
  for (const int end : ends) ::close(end);
}

// Ranks look while they wait for each other.
TEST(ShmProcess, check_allocates_nothing) {
  const ProcessIdentity here = this_process();
  const long before = conformance::allocations;
  bool all = true;
  for (int look = 0; look < 10; ++look) all = runs(here) && all;
  EXPECT_EQ(conformance::allocations - before, 0);
  EXPECT_TRUE(all);
}

}  // namespace
}  // namespace trainyard::shm
