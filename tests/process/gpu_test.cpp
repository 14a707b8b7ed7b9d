// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks on GPUs, by the programs themselves, on a machine that seems to have some
// (tests/backends/cuda/stand_in): their kernels are those of GPUs, what they reach is theirs alone,
// and everything around them is as it is where there are real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "core/base/json.h"
#include "examples.h"
#include "gpu_machine.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

// Matches the problem of a device of the first host that is mapped to no usable GPU.
auto gpu_unavailable(int device) {
  return Pair("gpu_unavailable", "topology.hosts[0].devices[" + std::to_string(device) + "].gpu");
}

TEST(Gpus, train_one_device_like_a_cpu) {
  const Home home;
  const Machine machine(home);
  const Json cpu = machine.completed(few_samples(kOne, {}));
  const Json gpu = machine.completed(few_samples(kOne, on_gpu(0, 1)));
  EXPECT_EQ(gpu["ranks"][0]["emulated"], false);
  EXPECT_THAT(read(fs::path(gpu["run_directory"].get<std::string>()) / "run.log"),
              HasSubstr("GPU"));
  EXPECT_THAT(read(fs::path(cpu["run_directory"].get<std::string>()) / "run.log"),
              Not(HasSubstr("GPU")));
  EXPECT_LT(distance(trained_weights(gpu), trained_weights(cpu)), 1e-5);
}

TEST(Gpus, are_recorded_with_their_properties) {
  const Home home;
  const Machine machine(home);
  const std::string directory =
      machine.completed(few_samples(kMirrored, on_gpu(1, 0)))["run_directory"];
  const std::string file = (home / "run.csv").string();
  ASSERT_EQ(machine({"export", directory, "--format", "csv", "--out", file}).exit_code, 0);
  const std::string csv = read(file);
  for (const char* text :
       {"device_busy,1,0,0,[0-9.]*,0.75,", "device_memory_bytes,1,0,0,[0-9.]*,1.23e.08,",
        "device_watts,1,0,0,[0-9.]*,42,", "device_received_bytes_per_second,1,0,0,[0-9.]*,5e.06,",
        "device_sent_bytes_per_second,1,0,0,[0-9.]*,4e.06,",
        "device_links_received_bytes_per_second,1,0,0,[0-9.]*,7e.06,",
        "device_links_sent_bytes_per_second,1,0,0,[0-9.]*,6e.06,"})
    EXPECT_TRUE(std::regex_search(csv, std::regex(text))) << text;
  EXPECT_FALSE(std::regex_search(csv, std::regex("device_busy,0"))) << "the CPU says nothing";
}

struct Mixed {
  std::string name, experiment;
  std::vector<int> on_gpus;  // ranks
  Overrides overrides = {};
  bool host_each = false;  // each device has its own host, else all are on one
  double within = 1e-5;    // relative
};

// CPUs and GPUs in one run: every way that ranks meet and share memory.
class CpusAndGpus : public testing::TestWithParam<Mixed> {};

TEST_P(CpusAndGpus, train_like_cpus_only) {
  const Mixed& mixed = GetParam();
  const Home home;
  const Machine machine(home);
  Overrides gpus;
  for (const int rank : mixed.on_gpus)
    gpus = with(gpus, mixed.host_each ? on_gpu(0, rank % 2, rank) : on_gpu(rank, rank % 2));
  const Json cpus = machine.completed(few_samples(example(mixed.experiment), mixed.overrides));
  const Json both =
      machine.completed(few_samples(example(mixed.experiment), with(mixed.overrides, gpus)));
  for (const int rank : mixed.on_gpus)
    EXPECT_EQ(both["ranks"][static_cast<std::size_t>(rank)]["emulated"], false);
  EXPECT_EQ(both["wire_bytes"], cpus["wire_bytes"]);
  EXPECT_EQ(both.contains("sampled_text"), cpus.contains("sampled_text"));
  EXPECT_LT(distance(trained_weights(both), trained_weights(cpus)), mixed.within);
}

const std::vector<Mixed> kMixed{
    {"mirrored_over_shm", "four_devices_mirrored_digits", {0, 1}, {"run.transport=shm"}},
    {"mirrored_over_zmq", "four_devices_mirrored_digits", {0, 1}, {"run.transport=zmq"}},
    {"mirrored_over_inproc", "four_devices_mirrored_digits", {0, 1}, {"run.transport=inproc"}},
    {"ring_of_gpus_alone",
     "four_devices_mirrored_digits",
     {0, 1, 2, 3},
     {"strategy.algorithm=ring"}},
    {"compressed",
     "four_devices_mirrored_digits",
     {1, 2},
     {"strategy.compression.kind=int8"},
     false,
     1e-2},
    {"in_fp64", "four_devices_mirrored_digits", {2, 3}, {"training.precision=fp64"}, false, 1e-12},
    {"in_fp16",
     "four_devices_mirrored_digits",
     {0, 1},
     {"training.precision=fp16", "training.loss_scale.initial=1e9", "training.clip_norm=1"},
     false,
     2e-2},
    {"convolutions", "four_devices_mirrored_cnn_digits", {0, 1}, {"training.batch_per_rank=4"}},
    {"fsdp", "four_devices_fsdp_gpt_grammar", {0, 3}, {"training.batch_per_rank=2"}, false, 1e-3},
    {"pipeline", "four_devices_pipeline_gpt_grammar", {1, 2}, {}, false, 1e-3},
    {"tensor_parallel",
     "four_devices_tensor_parallel_gpt_grammar",
     {0, 1},
     {"training.batch_per_rank=2"},
     false,
     1e-3},
    {"tensor_parallel_in_fp16",
     "four_devices_tensor_parallel_gpt_grammar",
     {0, 1, 2, 3},
     {"training.batch_per_rank=2", "training.precision=fp16"},
     false,
     2e-2},
    {"sampled_text",
     "two_devices_gpt_grammar",
     {0, 1},
     {"training.batch_per_rank=2", "run.sampled_characters=20"},
     false,
     1e-3},
    {"offloaded_to_the_host",
     "four_devices_mirrored_digits",
     {0, 1},
     {"training.swap.optimizer=host", "training.swap.activations=host"}},
    {"offloaded_to_a_disk",
     "four_devices_mirrored_digits",
     {0, 1},
     {"training.swap.optimizer=disk"}},
    {"central_storage", "central_storage_digits", {2, 3}},
    {"local_sgd", "four_devices_local_sgd_digits", {0, 1}},
    {"gossip", "eight_devices_gossip_digits", {0, 3, 4}, {}, true},
};
void PrintTo(const Mixed& mixed, std::ostream* out) { *out << mixed.name; }
INSTANTIATE_TEST_SUITE_P(Run, CpusAndGpus, testing::ValuesIn(kMixed),
                         [](const auto& row) { return row.param.name; });

// The same by NCCL's collectives, of ranks that are all on GPUs, two on each.
struct ByNccl {
  std::string name, experiment;
  int ranks = 4;
  Overrides overrides = {};
  double within = 1e-5;  // relative
};

class Nccl : public testing::TestWithParam<ByNccl> {};

TEST_P(Nccl, trains_like_own_collectives) {
  if (!has_nccl()) GTEST_SKIP() << kNoNccl;
  const ByNccl& one = GetParam();
  const Home home;
  const Machine machine(home);
  Overrides all = one.overrides;
  for (int rank = 0; rank < one.ranks; ++rank) all = with(all, on_gpu(rank, rank % 2));
  const Json own = machine.completed(few_samples(example(one.experiment), all));
  const Json nccl =
      machine.completed(few_samples(example(one.experiment), with(all, {"strategy.engine=nccl"})));
  EXPECT_EQ(nccl["samples"], own["samples"]);
  EXPECT_LT(distance(trained_weights(nccl), trained_weights(own)), one.within);
  EXPECT_EQ(nccl["engine"], "nccl");
}

const std::vector<ByNccl> kByNccl{
    {"mirrored", "four_devices_mirrored_digits"},
    {"ddp", "four_devices_mirrored_digits", 4, {"strategy.kind=ddp"}},
    {"fsdp", "four_devices_fsdp_gpt_grammar", 4, {"training.batch_per_rank=2"}, 1e-3},
    {"model_parallel", "two_devices_model_parallel_digits", 2},
    {"pipeline", "four_devices_pipeline_gpt_grammar", 4, {"data.context=16"}, 1e-3},
    {"pipeline_in_fp16",
     "four_devices_pipeline_gpt_grammar",
     4,
     {"data.context=16", "training.precision=fp16", "training.loss_scale.initial=1e9"},
     2e-2},
    {"tied_pipeline", "four_devices_zero_bubble_gpt_grammar", 4, {"data.context=16"}, 1e-3},
    {"tensor_parallel",
     "four_devices_tensor_parallel_gpt_grammar",
     4,
     {"training.batch_per_rank=2"},
     1e-3},
    {"sharded_hybrid",
     "four_devices_sharded_hybrid_bf16_gpt_grammar",
     4,
     {"training.precision=fp32", "training.batch_per_rank=2", "data.context=16"},
     1e-3},
    {"local_sgd", "four_devices_local_sgd_digits"},
};
void PrintTo(const ByNccl& one, std::ostream* out) { *out << one.name; }
INSTANTIATE_TEST_SUITE_P(Run, Nccl, testing::ValuesIn(kByNccl),
                         [](const auto& row) { return row.param.name; });

// Environment variables take precedence over the program's: with one host id, NCCL refuses ranks
// that share a GPU.
TEST(GpusByNccl, are_refused_if_ranks_share_one) {
  if (!has_nccl()) GTEST_SKIP() << kNoNccl;
  const Home home;
  const Machine machine(home);
  const Overrides nccl{"strategy.engine=nccl"};
  const auto on_gpus = [&](const std::vector<int>& gpus) {
    Overrides all = nccl;
    for (int rank = 0; rank < 4; ++rank)
      all = with(all, on_gpu(rank, gpus[static_cast<std::size_t>(rank)]));
    return few_samples(kMirrored, all);
  };
  const Ran ran = machine(on_gpus({0, 1, 0, 1}), "NCCL_HOSTID=one");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("collective_failed", StartsWith("rank "))));
  for (const std::vector<int>& gpus : {std::vector{0, 0, 0, 0}, {0, 0, 1, 0}})
    machine.completed(on_gpus(gpus));
}

TEST(Gpus, that_fail_beside_nccl_are_reported_and_all_ranks_end) {
  if (!has_nccl()) GTEST_SKIP() << kNoNccl;
  const Home home;
  Overrides all{"strategy.engine=nccl"};
  for (int rank = 0; rank < 4; ++rank) all = with(all, on_gpu(rank, rank == 1 ? 3 : 0));
  const Ran ran = Machine(home)(endless_run(kMirrored, all));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("made_by_test", StartsWith("rank 1, step "))));
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

// The order of arrival is not known; it must train.
TEST(Gpus, run_servers_and_asynchronous_workers) {
  const Home home;
  const Machine machine(home);
  const Overrides gpus = with(with(on_gpu(0, 0), on_gpu(1, 1)), on_gpu(kServer, 0));
  for (const Overrides& more :
       {Overrides{}, Overrides{"strategy.servers.delay_compensation=0.04"}}) {
    const Json result = machine.completed(few_samples(kServed, with(gpus, more)));
    for (const int rank : {0, 1, kServer})
      EXPECT_EQ(result["ranks"][static_cast<std::size_t>(rank)]["emulated"], false);
  }
}

// A server keeps tables of which workers name rows; and devices answer each other while they train.
TEST(Gpus, run_servers_of_rows_and_gossip) {
  const Home home;
  const Machine machine(home);
  const Json rows = machine.completed(
      few_samples(example("wide_and_deep_clicks"), with(on_gpu(0, 0), on_gpu(kServer, 1))));
  for (const int rank : {0, kServer})
    EXPECT_EQ(rows["ranks"][static_cast<std::size_t>(rank)]["emulated"], false);
  const Json gossip = machine.completed(few_samples(
      example("eight_devices_asynchronous_gossip_digits"), with(on_gpu(0, 0, 0), on_gpu(0, 1, 1))));
  for (const std::size_t rank : {0, 1}) EXPECT_EQ(gossip["ranks"][rank]["emulated"], false);
}

TEST(Gpus, that_are_missing_are_reported_before_the_start) {
  const Home home;
  const Machine machine(home);
  for (const std::string verb : {"validate", "run"}) {
    const Ran ran = machine(with_set({verb, kMirrored, "--json"}, on_gpu(2, 4)));
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.problems(), ElementsAre(gpu_unavailable(2)));
    EXPECT_EQ(ran.result()["problems"][0]["accepted"], "-1 to 3");
  }
  EXPECT_FALSE(fs::exists(home.runs()));
  EXPECT_THAT(cli(with_set({"validate", kMirrored, "--json"}, on_gpu(2, 1000))).problems(),
              ElementsAre(gpu_unavailable(2)));
}

TEST(Gpus, that_are_missing_prevent_a_sweep) {
  const Home home;
  const Ran ran = Machine(home)(
      with_set({"sweep", kMirrored, "--json", "--ranks", "1,2", "--steps", "2"}, on_gpu(0, 4)));
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(ran.problems(), ElementsAre(gpu_unavailable(0)));
  EXPECT_FALSE(fs::exists(home.runs()));
}

TEST(Gpus, that_are_too_old_are_refused_and_not_listed) {
  const char* const old = "TRAINYARD_STAND_INS_OLD=1";
  const Home home;
  const Machine machine(home);
  const Ran ran = machine(with_set({"run", kMirrored, "--json"}, on_gpu(2, 0)), old);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(gpu_unavailable(2)));
  EXPECT_THAT(ran.result()["problems"][0]["what"].get<std::string>(),
              AllOf(HasSubstr("Stand-in 0"), HasSubstr("7.5")));
  EXPECT_FALSE(fs::exists(home.runs()));
  EXPECT_EQ(machine(with_set({"validate", kMirrored}, on_gpu(2, 1)), old).exit_code, 0)
      << "the other one is not";
  const Ran list = machine({"list", "gpus"}, old);
  EXPECT_THAT(list.out, AllOf(Not(HasSubstr("Stand-in 0")), HasSubstr("Stand-in 1")));
  EXPECT_THAT(list.err, AllOf(HasSubstr("GPU 0 "), HasSubstr("Stand-in 0"), HasSubstr("7.5")));
  EXPECT_THAT(machine({"doctor"}, std::string(old) + " TRAINYARD_STAND_INS=1").out,
              AllOf(HasSubstr("Stand-in 0"), HasSubstr("7.5")));
}

// GPUs as the palette lists them.
TEST(Gpus, are_listed_with_the_properties_of_a_drawn_device) {
  const Home home;
  const Machine machine(home);
  const Ran list = machine({"list", "gpus", "--json"});
  const Json first = Json::parse(list.out.substr(0, list.out.find('\n')));
  EXPECT_EQ(first["name"], "Stand-in 0");
  EXPECT_EQ(first["number"], 0);
  EXPECT_EQ(first["memory_bytes"], 2'000'000'000);
  EXPECT_EQ(first["peak_flops"], 20e12);
  EXPECT_EQ(first["memory_bandwidth_bytes_per_second"], 1e12);
  EXPECT_EQ(first["links"], "PCIe 4.0 x16");
  EXPECT_THAT(machine({"list", "gpus"}).out,
              AllOf(HasSubstr("2 GB"), HasSubstr("1 TB/s"), HasSubstr("20 TFLOP/s"),
                    HasSubstr("PCIe 4.0 x16"), HasSubstr("0000:00:00.0")));
}

TEST(Gpus, of_a_cpu_device_are_refused) {
  const Home home;
  const Ran ran = Machine(home)(few_samples(kOne, {"topology.hosts[0].devices[0].gpu=0"}));
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("foreign_key", "--set: topology.hosts[0].devices[0].gpu")));
}

// Their products alone: 11 bits are near enough to train by.
TEST(Gpus, use_tf32_on_request) {
  const Home home;
  const Machine machine(home);
  const Overrides gpu = on_gpu(0, 0), tf32{"training.multiplies=tf32"};
  const Json full = machine.completed(few_samples(kOne, gpu)),
             rounded = machine.completed(few_samples(kOne, with(gpu, tf32)));
  const double apart = distance(trained_weights(rounded), trained_weights(full));
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(apart, 1e-2);
  EXPECT_EQ(rounded["multiplies"], "tf32");
  EXPECT_THAT(machine(with_set({"validate", kOne}, tf32)).out,
              HasSubstr("note: training.multiplies "));
}

TEST(Gpus, without_enough_memory_report_device_and_size) {
  const Home home;
  const Ran ran = Machine(home)(few_samples(kMirrored, on_gpu(1, 2)));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("made_by_test", StartsWith("rank 1"))));
  EXPECT_THAT(ran.result()["problem"]["what"].get<std::string>(),
              AllOf(HasSubstr("parameters 941 kB"), HasSubstr("gradients 941 kB")));
  EXPECT_THAT(ran.result()["problem"]["advice"].get<std::string>(), HasSubstr("\"cpu1\""));
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

TEST(Gpus, that_fail_end_the_run_and_the_op_is_reported) {
  const Home home;
  const Ran ran = Machine(home)(endless_run(kMirrored, on_gpu(1, 3)));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("made_by_test", StartsWith("rank 1, step "))));
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

TEST(Gpus, are_listed_by_doctor) {
  const Home home;
  EXPECT_THAT(Machine(home)({"doctor"}).out,
              AllOf(HasSubstr("Stand-in 0 (2 GB)"), HasSubstr("Stand-in 3")));
}

}  // namespace
}  // namespace trainyard::process
