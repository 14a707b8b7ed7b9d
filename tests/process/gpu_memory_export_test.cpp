// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are all on GPUs of one host share GPU memory (app/memory_export.h). In the substitute,
// an access from outside of a device ends the process by a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "gpu_machine.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kExportsNothing = "TRAINYARD_STAND_INS_EXPORT_NOTHING=1";
// Text in the log of a run whose ranks share GPU memory.
constexpr const char* kExported = "exported to peers";

std::string log_of(const Json& result) {
  return read(std::filesystem::path(result["run_directory"].get<std::string>()) / "run.log");
}

Overrides all_on_gpus(int ranks, Overrides overrides = {}) {
  for (int rank = 0; rank < ranks; ++rank) overrides = with(overrides, on_gpu(rank, rank % 2));
  return overrides;
}

struct Case {
  std::string name, experiment;
  int ranks = 4;
  Overrides overrides = {};
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class MemoryExport : public testing::TestWithParam<Case> {};

TEST_P(MemoryExport, trains_bit_identically_to_shared_memory) {
  const Case& one = GetParam();
  const Home home;
  const Machine machine(home);
  const std::vector<std::string> run =
      few_samples(example(one.experiment), all_on_gpus(one.ranks, one.overrides));
  const Json exported = machine.completed(run), shared = machine.completed(run, kExportsNothing);
  EXPECT_THAT(log_of(exported), HasSubstr(kExported));
  EXPECT_THAT(log_of(shared), AllOf(Not(HasSubstr(kExported)), HasSubstr("in host memory")));
  EXPECT_EQ(exported["wire_bytes"], shared["wire_bytes"]);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(one.ranks); ++rank)
    EXPECT_EQ(exported["ranks"][rank]["parameters_xxh64"],
              shared["ranks"][rank]["parameters_xxh64"])
        << rank;
}

const std::vector<Case> kCases{
    {"mirrored", "four_devices_mirrored_digits"},
    {"ring", "four_devices_mirrored_digits", 4, {"strategy.algorithm=ring"}},
    {"compressed", "four_devices_mirrored_digits", 4, {"strategy.compression.kind=int8"}},
    {"drawn_links", "four_devices_mirrored_digits", 4, {"run.links=imposed"}},
    {"data_parallel", "four_devices_data_parallel_digits"},
    {"fsdp", "four_devices_fsdp_gpt_grammar", 4, {"training.batch_per_rank=2"}},
    {"pipeline", "four_devices_pipeline_gpt_grammar"},
    {"tensor_parallel",
     "four_devices_tensor_parallel_gpt_grammar",
     4,
     {"training.batch_per_rank=2"}},
    {"sharded_hybrid",
     "four_devices_sharded_hybrid_bf16_gpt_grammar",
     4,
     {"training.batch_per_rank=2", "data.context=16"}},
    {"local_sgd", "four_devices_local_sgd_digits"},
    {"rpc", "two_trainers_rpc_clicks", 3},
};
INSTANTIATE_TEST_SUITE_P(Run, MemoryExport, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(HostMemory, is_used_if_one_rank_is_on_a_cpu) {
  const Home home;
  const Json result = Machine(home).completed(few_samples(kMirrored, all_on_gpus(3)));
  EXPECT_THAT(log_of(result), Not(HasSubstr(kExported)));
}

}  // namespace
}  // namespace trainyard::process
