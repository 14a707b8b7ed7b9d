// SPDX-License-Identifier: GPL-3.0-or-later
// Inputs and events that once gave wrong or silent results: the programs report them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "core/base/json.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"
#include "tests/core/data/files.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(RealInputs, validate_refuses_a_name_that_is_not_utf_8) {
  const Ran ran = cli({"validate", kOne, "--set", "name=M\xfcller", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("not_utf8", HasSubstr("name"))));
}

TEST(RealInputs, validate_names_the_encoding_of_an_experiment) {
  const Scratch scratch;
  const std::string utf16 = scratch.write("utf16.json", std::string("\xff\xfe{\0}\0", 6)),
                    latin1 = scratch.write("latin1.json", "{\"name\": \"M\xfcller\"}");
  EXPECT_THAT(cli({"validate", utf16}).err, HasSubstr("UTF-16"));
  EXPECT_THAT(cli({"validate", latin1}).err, HasSubstr("byte 11"));
}

TEST(RealInputs, control_characters_in_names_do_not_reach_the_terminal) {
  const std::string escape = "\x1b]0;title\x07";
  for (const char* field :
       {"name", "topology.hosts[0].name", "topology.hosts[0].devices[0].name"}) {
    const Ran ran = cli({"validate", kOne, "--set", std::string(field) + "=a" + escape});
    EXPECT_EQ(ran.exit_code, 2) << field;
    EXPECT_EQ(ran.out.find('\x1b'), std::string::npos) << field;
    EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << field;
  }
}

TEST(RealInputs, line_feeds_in_names_forge_no_messages) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "labels.csv", "x,kind\n0.5,\"a\nerror: forged\"\n1.5,b\n2.5,b\n3.5,\"a\nerror: forged\"\n");
  const Json document = expanded_document(kOne);
  Json named = document, unknown = document;
  named["topology"]["hosts"][0]["name"] = "h\nerror: forged";
  unknown["x\nerror: forged"] = 1;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"validate", kOne, "--set", "data.kind=csv", "--set", "data.file=" + file, "--set",
            "data.train_samples=0", "--set", "data.held_out_samples=1", "--set",
            "training.batch_per_rank=1"},
           {"validate", kOne, "--set", "data.kind=csv", "--set", "data.file=/no\nerror: forged"},
           {"validate", scratch.write("named.json", named.dump())},
           {"validate", scratch.write("unknown.json", unknown.dump())}}) {
    const Ran ran = cli(arguments);
    EXPECT_EQ((ran.out + ran.err).find("\nerror: forged"), std::string::npos) << ran.out << ran.err;
    EXPECT_NE((ran.out + ran.err).find("forged"), std::string::npos) << ran.out << ran.err;
  }
}

TEST(RealInputs, run_prints_the_notes_on_settings) {
  const Home home;
  const Ran ran = cli({"run", kOne, "--steps", "2", "--set", "training.schedule.warmup_steps=100"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: training.schedule.warmup_steps"));
}

// With averages in every step, ranks have trained on the same samples as with `mirrored` and
// averaged weights, whose weighted average is the same arithmetic.
TEST(RealInputs, local_sgd_weights_its_averages_by_samples) {
  const Home home;
  const auto trained = [&](const std::vector<std::string>& settings) {
    return completed(short_run(kMirrored, 60,
                               with({"data.sharding.kind=size_skew", "data.sharding.size_ratio=30",
                                     "data.train_samples=600", "data.held_out_samples=100",
                                     "training.batch_per_rank=8", "training.optimizer.momentum=0"},
                                    settings)));
  };
  const Json local =
                 trained({"strategy.kind=local_sgd", "strategy.local_sgd.average_every_steps=1"}),
             weights = trained({"strategy.average=weights"});
  EXPECT_EQ(weights_of(local), weights_of(weights));
  EXPECT_EQ(local["train_loss"], weights["train_loss"]);
}

// A late worker skips the batches of the steps that the others completed meanwhile.
TEST(RealInputs, samples_of_backup_workers_add_up) {
  const Home home;
  for (const char* clock : {"virtual", "machine"}) {
    const Ran ran = cli(
        with_set({"run", kServed, "--json"},
                 {"strategy.servers.mode=backup_workers", "data.train_samples=1003",
                  "training.batch_per_rank=7", "training.epochs=2",
                  std::string("run.clock=") + clock, "topology.hosts[0].devices[1].slow_down=10"}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const Json result = ran.result();
    EXPECT_EQ(result["samples"].get<std::int64_t>() +
                  result.value("dropped_samples", std::int64_t{0}) +
                  result.value("unused_samples", std::int64_t{0}),
              2006)
        << clock;
    EXPECT_GT(result.value("unused_samples", std::int64_t{0}), 0) << clock;
  }
}

// Ten gradients of four workers, four in an update: the last two are never applied.
TEST(RealInputs, incomplete_group_of_softsync_is_unused) {
  const Home home;
  for (const char* clock : {"virtual", "machine"}) {
    const Ran ran = cli(with_set({"run", kServed, "--json", "--steps", "10"},
                                 {"strategy.servers.mode=softsync", "strategy.servers.softsync=1",
                                  "training.batch_per_rank=8", std::string("run.clock=") + clock}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.result()["samples"], 64) << clock;
    EXPECT_EQ(ran.result().value("unused_samples", 0), 16) << clock;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A library that cannot start its threads would end the program, or wait forever.
TEST(RealInputs, too_small_an_address_space_is_refused) {
  const Home home;
  // the smallest one, in kB, with which the system can load the program and its libraries
  int least = 90'000;
  while (shell("ulimit -v " + std::to_string(least) + "; \"$CLI\" --version").exit_code == 127 &&
         least < 150'000)
    least += 500;
  for (const int limit : {least, 150'000, 300'000}) {
    const Ran ran = shell("ulimit -v " + std::to_string(limit) +
                          "; timeout -s KILL 20 \"$CLI\" run " + kMirrored + " --steps 2");
    EXPECT_EQ(ran.exit_code, 3) << limit << ": " << ran.err;
    EXPECT_THAT(ran.err, testing::HasSubstr("ulimit -v")) << limit;
  }
}

// Attention multiplies with OpenBLAS, which needs another buffer.
TEST(RealInputs, small_address_space_ends_a_language_model_with_a_message) {
  const Home home;
  for (const char* limit : {"500000", "560000", "620000", "680000", "740000"}) {
    const Ran ran = shell(std::string("ulimit -v ") + limit + "; timeout -s KILL 60 \"$CLI\" run " +
                          example("four_devices_fsdp_gpt_grammar") + " --steps 2");
    EXPECT_THAT(ran.exit_code, testing::AnyOf(0, 3)) << limit << ": " << ran.err;
    EXPECT_THAT(ran.err, testing::Not(HasSubstr("hangs"))) << limit;
  }
}
#endif

TEST(RealInputs, export_does_not_replace_files_of_the_run) {
  const Home home;
  const std::string run = completed(short_run(kOne, 4, {}))["run_directory"];
  const std::string recording = read(run + "/recording.try");
  for (const char* name : {"recording.try", "result.json", "checkpoints/x", "logs/../run.log"})
    EXPECT_EQ(cli({"export", run, "--format", "csv", "--out", run + "/" + name}).exit_code, 2)
        << name;
  EXPECT_EQ(read(run + "/recording.try"), recording);
  EXPECT_EQ(cli({"export", run, "--format", "csv", "--out", run + "/table.csv"}).exit_code, 0);
}

TEST(RealInputs, replay_and_csv_spell_nan_and_infinity_in_one_way) {
  const Home home;
  const auto arguments =
      with_set({"run", kMirrored, "--json", "--steps", "8"},
               {"training.optimizer.learning_rate=1e6", "data.held_out_samples=100"});
  const Json result = cli(arguments).result();
  ASSERT_TRUE(result.contains("diverged_step"));
  const std::string directory = result["run_directory"];
  const Ran replayed = cli({"replay", directory, "--every", "1"});
  EXPECT_THAT(replayed.out, HasSubstr("loss nan"));
  EXPECT_THAT(replayed.out, testing::Not(HasSubstr("-nan")));
  EXPECT_THAT(replayed.out, HasSubstr("steps: loss nan,"));
  EXPECT_THAT(replayed.err, HasSubstr("diverged: from step " + result["diverged_step"].dump()));
  const Ran exported = cli({"export", directory, "--format", "csv", "--out", "/dev/stdout"});
  EXPECT_THAT(exported.out, HasSubstr(",nan,"));
  EXPECT_THAT(exported.out, testing::Not(HasSubstr("-nan")));
}

// Link order in the drawing changes nothing, and parallel links add up.
TEST(RealInputs, order_of_links_in_the_drawing_changes_no_simulated_time) {
  const Scratch scratch;
  const auto simulated = [&](const Json& links) {
    Json document = Json::parse(read(example("four_hosts_ring_digits")));
    document["topology"]["links"] = links;
    const Ran ran = cli({"simulate", scratch.write("links.json", document.dump()), "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.result()["step_seconds"].get<double>();
  };
  Json links = Json::parse(read(example("four_hosts_ring_digits")))["topology"]["links"];
  const double once = simulated(links);
  Json fast = links[0];
  fast["bandwidth_bits_per_second"] = 100e9;
  Json last = links, first = Json::array({fast});
  last.push_back(fast);
  for (const Json& link : links) first.push_back(link);
  EXPECT_EQ(simulated(first), simulated(last));
  Json doubled = links;
  for (const Json& link : links) doubled.push_back(link);
  EXPECT_LT(simulated(doubled), 0.6 * once) << "the links of all hosts have twice the bandwidth";
}

TEST(RealInputs, order_of_links_in_the_drawing_does_not_change_the_verdict) {
  const Scratch scratch;
  Json document = Json::parse(read(example("four_hosts_ring_digits")));
  document["topology"].erase("switches");
  Json links = Json::array();
  for (int host = 0; host < 4; ++host)  // two parallel links between neighbors, equally busy
    for (const double bandwidth : {1e9, 3e9})
      links.push_back({{"from", "host" + std::to_string(host)},
                       {"to", "host" + std::to_string((host + 1) % 4)},
                       {"bandwidth_bits_per_second", bandwidth}});
  const auto simulated = [&](const char* algorithm) {
    document["topology"]["links"] = links;
    document["strategy"]["algorithm"] = algorithm;
    const Ran ran = cli({"simulate", scratch.write("links.json", document.dump()), "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return std::pair(ran.result()["verdict"], ran.result()["step_seconds"].get<double>());
  };
  std::mt19937 random(7);
  for (const char* algorithm : {"ring", "direct", "star", "all_to_all"}) {
    const auto drawn = simulated(algorithm);
    for (int order = 0; order < 3; ++order) {
      std::shuffle(links.begin(), links.end(), random);
      const auto shuffled = simulated(algorithm);
      EXPECT_EQ(shuffled.first, drawn.first) << algorithm;
      EXPECT_NEAR(shuffled.second, drawn.second, 1e-9 * drawn.second) << algorithm;
    }
  }
}

TEST(RealInputs, removed_run_directory_is_restored_and_reported) {
  const Home home;
  RunProgram run(home, endless_run(kOne, {}));
  ASSERT_TRUE(run.wait_for_step(20));
  const std::filesystem::path directory = run.run_directory(), removed = home.scratch() / "removed";
  // The run may create files meanwhile, so the directory cannot be removed in its place.
  std::filesystem::rename(directory, removed);
  std::filesystem::remove_all(removed);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("recording_removed", testing::_)));
  const auto history = telemetry::History::load(directory);
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_GT(history->train_loss().size(), 10u);
  EXPECT_EQ(history->result().value("status", ""), "failed");
  for (const char* file :
       {"experiment.json", "resolved.json", "plan.txt", "run.log", "result.json"})
    EXPECT_TRUE(std::filesystem::exists(directory / file)) << file;
  EXPECT_EQ(cli({"verify", directory}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::is_empty(directory / "checkpoints"));
}

// Another program makes a directory of the same name, with files of the same names.
TEST(RealInputs, replaced_run_directory_keeps_the_files_of_the_other_program) {
  const Home home;
  const std::filesystem::path other = home / "other";
  std::filesystem::create_directories(other);
  for (const char* name : {"recording.try", "result.json"}) std::ofstream(other / name) << "x";
  RunProgram run(home, endless_run(kMirrored, {}));
  ASSERT_TRUE(run.wait_for_step(3));
  const std::filesystem::path directory = run.run_directory();
  std::filesystem::rename(directory, home / "moved");
  std::filesystem::rename(other, directory);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the recording is lost"));
  for (const char* name : {"recording.try", "result.json"})
    EXPECT_EQ(read(directory / name), "x") << name;
}

// Reading 120 MB takes seconds.
TEST(RealInputs, ctrl_c_while_a_file_is_read_ends_at_once) {
  const Home home;
  std::string text = "a,b,kind\n";
  for (const std::string line = "0.5,1.5,x\n0.25,2.5,y\n"; text.size() < 120'000'000;) text += line;
  const std::string file = home.scratch().write("long.csv", text);
  RunProgram run(home, {"run", kOne, "--json", "--set", "data.kind=csv", "--set",
                        "data.file=" + file, "--set", "data.train_samples=0"});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::int64_t start = now_ns();
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_LT(static_cast<double>(now_ns() - start) / 1e9, promised / 5);
  EXPECT_EQ(ran.exit_code, 130) << ran.out;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("canceled", "")));
}

TEST(RealInputs, removed_log_is_written_again) {
  const Home home;
  RunProgram run(home, endless_run(kOne, {}));
  ASSERT_TRUE(run.wait_for_step(20));
  const std::filesystem::path log = std::filesystem::path(run.run_directory()) / "run.log";
  std::filesystem::remove(log);
  ASSERT_TRUE(wait_until(30, [&] { return std::filesystem::exists(log); }));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
  const std::string text = read(log);
  EXPECT_THAT(text, AllOf(HasSubstr("started 1 rank"), HasSubstr("run.log was removed")));
}

TEST(RealInputs, shortened_recording_is_reported) {
  const Home home;
  RunProgram run(home, endless_run(kOne, {}));
  ASSERT_TRUE(run.wait_for_step(20));
  const std::filesystem::path directory = run.run_directory();
  std::filesystem::resize_file(directory / "recording.try", 0);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("recording_truncated", testing::_)));
  EXPECT_TRUE(std::filesystem::exists(directory / "result.json"));
  EXPECT_FALSE(std::filesystem::is_empty(directory / "checkpoints"));
}

// Text generation combines the parts of all ranks, also of those without parameters.
TEST(RealInputs, ranks_without_parameters_generate_text) {
  const Home home;
  const std::string gpt = example("two_devices_gpt_grammar");
  const auto text = [&](const std::vector<std::string>& settings) {
    const Json result = completed(short_run(
        gpt, 4,
        with({"data.train_samples=64", "data.held_out_samples=8", "run.evaluate_every_steps=2"},
             settings)));
    return result.value("sampled_text", "");
  };
  EXPECT_NE(text({"strategy.kind=rpc", "topology.hosts[0].devices[1].role=parameter_server"}), "");
  // the third of four stages has only attention
  EXPECT_NE(
      text({"strategy.kind=pipeline", R"(topology.hosts[0].devices=[{"name": "cpu", "count": 4}])",
            R"(model.layers=[{"kind": "embedding", "width": 16},
                     {"kind": "linear", "units": 48}, {"kind": "attention", "heads": 2},
                     {"kind": "linear"}])"}),
      "");
}

// After a crash of the machine, neither the coordinator nor its cleanup process removed the
// sockets.
TEST(RealInputs, run_resumes_although_sockets_of_a_crashed_run_exist) {
  const Home home;
  auto arguments = short_run(kServed, 20, {"run.checkpoint_every_steps=10"});
  const Json result = completed(arguments);
  const std::filesystem::path directory = result["run_directory"].get<std::string>(),
                              sockets = home.sockets() / "run-999999999-abcdef";
  std::filesystem::create_directories(sockets);
  std::ofstream(sockets / "control") << "x";
  std::ofstream(directory / "control") << "ipc://" + (sockets / "control").string() + "\n";
  std::ofstream(directory / "checkpoints" / "manifest.json.new-999999999-0") << "x";
  const Ran resumed = cli(with(short_run(kServed, 30), {"--resume", directory.string()}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_FALSE(std::filesystem::exists(sockets));
  EXPECT_FALSE(
      std::filesystem::exists(directory / "checkpoints" / "manifest.json.new-999999999-0"));
}

// 64 MB of one line in 64 kB of gzip data.
TEST(RealInputs, csv_that_expands_a_thousandfold_is_refused) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "line.csv.gz", data::gzip("a,b,label\n" + std::string(std::size_t{64} << 20U, '1')));
  const Ran ran =
      cli({"validate", kOne, "--set", "data.kind=csv", "--set", "data.file=" + file, "--json"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.problems(), Contains(Pair("bad_data_file", HasSubstr("data.file"))));
}

TEST(RealInputs, more_cores_than_the_machine_has_do_not_delay_ctrl_c) {
  const Home home;
  RunProgram run(home, endless_run(kOne, {"topology.hosts[0].devices[0].cores=1024"}));
  ASSERT_TRUE(run.wait_for_step(1));
  const std::int64_t start = now_ns();
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
  EXPECT_LT(static_cast<double>(now_ns() - start) / 1e9, promised);
}

TEST(RealInputs, run_without_home_uses_a_private_directory) {
  const Home home;
  const Ran ran =
      shell("unset XDG_DATA_HOME; HOME=/nonexistent \"$CLI\" run " + kOne + " --steps 1 --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::filesystem::path directory = ran.result()["run_directory"].get<std::string>(),
                              base = directory.parent_path().parent_path();
  EXPECT_EQ(base, "/tmp/trainyard-" + std::to_string(::getuid()));
  EXPECT_EQ(std::filesystem::status(base).permissions(), std::filesystem::perms::owner_all);
  std::filesystem::remove_all(directory);
}

TEST(RealInputs, runtime_directory_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory of another user";
  const Home home;
  std::filesystem::create_directories(home.sockets());
  ASSERT_EQ(::chown(home.sockets().c_str(), 65534, 65534), 0);
  const Ran ran = cli({"run", kOne, "--steps", "1", "--json"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("foreign_directory", home.sockets().string())));
  struct stat status {};
  ASSERT_EQ(::stat(home.sockets().c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u) << "unchanged";
}

// 256 ranks take many seconds. `script` gives the program a terminal.
TEST(RealInputs, long_simulation_shows_progress_and_ends_after_ctrl_c) {
  const Scratch scratch;
  Json document = expanded_document(example("four_devices_mirrored_digits"));
  Json& devices = document["topology"]["hosts"][0]["devices"];
  const Json device = devices[0];
  devices.clear();
  for (int rank = 0; rank < 256; ++rank) {
    devices.push_back(device);
    devices.back()["name"] = "cpu" + std::to_string(rank);
  }
  document["training"]["batch_per_rank"] = 1;
  const std::string file = scratch.write("256.json", document.dump());
  const Ran ran = shell("export CLI FILE=" + file +
                        "; script -qec 'timeout --foreground --preserve-status -s INT 3 "
                        "\"$CLI\" simulate \"$FILE\"' /dev/null");
  EXPECT_EQ(ran.exit_code, 130) << ran.out;
  EXPECT_THAT(ran.out, testing::ContainsRegex("simulating: [0-9]+ %"));
}

}  // namespace
}  // namespace trainyard::process
