// SPDX-License-Identifier: GPL-3.0-or-later
// An installation on a machine that seems to have GPUs, for tests of processes.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/json.h"
#include "core/experiment/engine.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {

using Overrides = std::vector<std::string>;

// Machine with the programs of this build, the stand-in of the CUDA module, and NCCL or its
// stand-in (tests/backends/nccl/library).
class Machine {
 public:
  explicit Machine(const Home& home) : directory_(home / "bin") {
    std::filesystem::create_directories(directory_);
    for (const char* program : {"trainyard-cli", "trainyard-rank"})
      std::filesystem::copy_file(std::filesystem::path(TRAINYARD_BIN_DIR) / program,
                                 directory_ / program);
    std::filesystem::copy_file(TRAINYARD_STAND_IN, directory_ / "trainyard-cuda.so");
  }

  // `set`: variables of the environment besides, as a shell takes them.
  Ran operator()(const std::vector<std::string>& arguments, const std::string& set = "") const {
    std::string line =
        "LD_LIBRARY_PATH=" + std::filesystem::path(TRAINYARD_STAND_IN).parent_path().string() +
        " " + set + " exec " + (directory_ / "trainyard-cli").string();
    for (const std::string& argument : arguments) line += " '" + argument + "'";
    return shell(line);
  }

  base::Json completed(const std::vector<std::string>& arguments,
                       const std::string& set = "") const {
    const Ran ran = (*this)(arguments, set);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const base::Json result = ran.result();
    EXPECT_EQ(result.value("status", ""), "completed") << result;
    return result;
  }

 private:
  std::filesystem::path directory_;
};

inline bool has_nccl() { return experiment::absent_engine(experiment::Engine::nccl).empty(); }
inline constexpr const char* kNoNccl = "NCCL's header was not there when this was built";

inline Overrides on_gpu(int device, int gpu, int host = 0) {
  const std::string at =
      "topology.hosts[" + std::to_string(host) + "].devices[" + std::to_string(device) + "].";
  return {at + "kind=gpu", at + "gpu=" + std::to_string(gpu)};
}

inline std::vector<std::string> few_samples(const std::string& experiment,
                                            const Overrides& overrides) {
  return short_run(experiment, 6,
                   with({"training.batch_per_rank=8", "data.held_out_samples=16"}, overrides));
}

}  // namespace trainyard::process
