// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/swap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/experiment/resolve.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using testing::HasSubstr;

Experiment with(OffloadTarget activations, OffloadTarget optimizer,
                const std::string& directory = "") {
  Experiment e = strategy::small(2);
  e.training.optimizer.kind = OptimizerKind::adam;
  e.training.swap = {activations, optimizer, directory};
  return e;
}

TEST(Swap, goes_with_every_strategy_that_has_what_is_put_aside) {
  using enum StrategyKind;
  for (const StrategyKind kind : {mirrored, ddp, fsdp, tensor_parallel, data_parallel, gossip,
                                  local_sgd, pipeline, model_parallel}) {
    Experiment e = with(OffloadTarget::host, OffloadTarget::disk);
    e.strategy.kind = kind;
    EXPECT_EQ(problems_of(e), "") << static_cast<int>(kind);
  }
}

TEST(Swap, of_moments_that_servers_keep_is_refused) {
  Experiment e = with(OffloadTarget::host, OffloadTarget::host);
  e.topology.hosts = {tests::drawn_host("host", 3)};
  e.topology.hosts[0].devices[2].role = topology::Role::parameter_server;
  e.strategy.kind = StrategyKind::parameter_server;
  EXPECT_THAT(problems_of(e), HasSubstr("training.swap.optimizer: servers keep the moments"));
  e.training.swap.optimizer = OffloadTarget::nowhere;
  EXPECT_EQ(problems_of(e), "") << "outputs of workers may go";
}

TEST(Swap, of_moments_that_there_are_not_is_refused) {
  Experiment e = with(OffloadTarget::nowhere, OffloadTarget::host);
  e.training.optimizer.kind = OptimizerKind::sgd;
  e.training.optimizer.momentum = 0;
  EXPECT_THAT(problems_of(e),
              HasSubstr("training.swap.optimizer: sgd without momentum has no moments"));
  e.training.optimizer.momentum = 0.9;
  EXPECT_EQ(problems_of(e), "");
}

TEST(Swap, names_a_directory_from_the_root_on_that_can_be_written_to) {
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, "here")),
              HasSubstr("training.swap.directory: \"here\" is a relative path"));
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, "/no/such/directory")),
              HasSubstr("training.swap.directory: cannot create a file in /no/such/directory: no "
                        "such directory"));
  EXPECT_EQ(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere,
                             std::filesystem::temp_directory_path())),
            "");
  EXPECT_EQ(problems_of(with(OffloadTarget::host, OffloadTarget::nowhere, "/no/such/directory")),
            "")
      << "nothing goes there";
  Experiment far = with(OffloadTarget::disk, OffloadTarget::nowhere, "/no/such/directory");
  far.topology.hosts[0].address = "elsewhere";
  EXPECT_THAT(problems_of(far), testing::Not(HasSubstr("cannot create a file")))
      << "who is there says so";
}

// Nor may root: there permissions say that it can.
TEST(Swap, to_where_nobody_can_make_a_file_is_refused) {
  const std::string here = std::filesystem::temp_directory_path() /
                           ("trainyard-no-directory-" + std::to_string(::getpid()));
  std::ofstream(here) << "a file";
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)),
              HasSubstr("cannot create a file in " + here + ": it is no directory"));
  std::filesystem::remove(here);
  for (const char* directory : {"/proc", "/proc/self", "/sys"}) {
    if (!std::filesystem::is_directory(directory)) continue;
    EXPECT_THAT(
        problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, directory)),
        testing::AllOf(HasSubstr(std::string("training.swap.directory: cannot create a file in ") +
                                 directory + ": "),
                       HasSubstr("a writable directory"), HasSubstr("or offload to host")));
  }
}

TEST(Swap, leaves_nothing_of_the_file_that_it_tries) {
  const auto here =
      std::filesystem::temp_directory_path() / ("trainyard-swap-" + std::to_string(::getpid()));
  std::filesystem::create_directory(here);
  EXPECT_EQ(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)), "");
  EXPECT_TRUE(std::filesystem::is_empty(here));
  std::filesystem::permissions(
      here, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)),
              HasSubstr(::geteuid() == 0 ? "" : "Permission denied"));
  std::filesystem::remove(here);
}

}  // namespace
}  // namespace trainyard::experiment
