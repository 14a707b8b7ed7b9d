// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/swap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/experiment/resolve.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

Experiment with(OffloadTarget activations, OffloadTarget optimizer,
                const std::string& directory = "") {
  Experiment e = strategy::small(2);
  e.training.optimizer.kind = OptimizerKind::adam;
  e.training.swap = {activations, optimizer, directory};
  return e;
}

TEST(Offload, is_supported_by_every_strategy_with_activations_and_moments) {
  using enum StrategyKind;
  for (const StrategyKind kind : {mirrored, ddp, fsdp, tensor_parallel, data_parallel, gossip,
                                  local_sgd, pipeline, model_parallel}) {
    Experiment e = with(OffloadTarget::host, OffloadTarget::disk);
    e.strategy.kind = kind;
    EXPECT_THAT(problems_of(e), IsEmpty()) << static_cast<int>(kind);
  }
}

TEST(Offload, refuses_moments_of_servers) {
  Experiment e = with(OffloadTarget::host, OffloadTarget::host);
  e.topology.hosts = {tests::drawn_host("host", 3)};
  e.topology.hosts[0].devices[2].role = topology::Role::parameter_server;
  e.strategy.kind = StrategyKind::parameter_server;
  EXPECT_THAT(problems_of(e),
              ElementsAre(AllOf(IsProblem("offload_not_supported", "training.swap.optimizer"),
                                Mentions("servers"))));
  e.training.swap.optimizer = OffloadTarget::nowhere;
  EXPECT_THAT(problems_of(e), IsEmpty()) << "workers may offload activations";
}

TEST(Offload, refuses_moments_of_an_optimizer_without_moments) {
  Experiment e = with(OffloadTarget::nowhere, OffloadTarget::host);
  e.training.optimizer.kind = OptimizerKind::sgd;
  e.training.optimizer.momentum = 0;
  EXPECT_THAT(problems_of(e),
              ElementsAre(AllOf(IsProblem("offload_not_supported", "training.swap.optimizer"),
                                Mentions("momentum"))));
  e.training.optimizer.momentum = 0.9;
  EXPECT_THAT(problems_of(e), IsEmpty());
}

TEST(Offload, requires_a_writable_absolute_directory) {
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, "here")),
              ElementsAre(IsProblem("relative_directory", "training.swap.directory")));
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, "/no/such/directory")),
              ElementsAre(AllOf(IsProblem("directory_not_writable", "training.swap.directory"),
                                Mentions("/no/such/directory"))));
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere,
                               std::filesystem::temp_directory_path())),
              IsEmpty());
  EXPECT_THAT(problems_of(with(OffloadTarget::host, OffloadTarget::nowhere, "/no/such/directory")),
              IsEmpty())
      << "the directory is unused";
  Experiment far = with(OffloadTarget::disk, OffloadTarget::nowhere, "/no/such/directory");
  far.topology.hosts[0].address = "elsewhere";
  EXPECT_THAT(problems_of(far), Not(Contains(IsProblem("directory_not_writable"))))
      << "the remote host checks its directory";
}

// Root passes permission checks in /proc and /sys but cannot create files there.
TEST(Offload, refuses_a_directory_without_write_access_even_for_root) {
  const std::string here = std::filesystem::temp_directory_path() /
                           ("trainyard-no-directory-" + std::to_string(::getpid()));
  std::ofstream(here) << "a file";
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)),
              ElementsAre(AllOf(IsProblem("directory_not_writable", "training.swap.directory"),
                                Mentions(here), Mentions("not a directory"))));
  std::filesystem::remove(here);
  for (const char* directory : {"/proc", "/proc/self", "/sys"}) {
    if (!std::filesystem::is_directory(directory)) continue;
    EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, directory)),
                ElementsAre(AllOf(IsProblem("directory_not_writable", "training.swap.directory"),
                                  Mentions(directory))));
  }
}

TEST(Offload, removes_its_probe_file) {
  const auto here =
      std::filesystem::temp_directory_path() / ("trainyard-swap-" + std::to_string(::getpid()));
  std::filesystem::create_directory(here);
  EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(here));
  std::filesystem::permissions(
      here, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  if (::geteuid() != 0) {
    EXPECT_THAT(problems_of(with(OffloadTarget::disk, OffloadTarget::nowhere, here)),
                ElementsAre(AllOf(IsProblem("directory_not_writable", "training.swap.directory"),
                                  Mentions(std::strerror(EACCES)))));
  }
  std::filesystem::remove(here);
}

}  // namespace
}  // namespace trainyard::experiment
