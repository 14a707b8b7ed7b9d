// SPDX-License-Identifier: GPL-3.0-or-later
// Order files, manifests of checkpoints, and sweep files that were changed at random, with
// checksums that match: no reader may crash or hang, or read files outside of the directory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/plan/server_events.h"
#include "core/plan/text.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/session/replay/order_file.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/sweep/sweep_measure.h"
#include "core/strategy/strategy.h"
#include "tests/core/experiment/golden.h"
#include "tests/core/session/sweep/sweeps.h"
#include "tests/frames.h"
#include "tests/fuzzing.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;

class Fuzz : public testing::Test {
 protected:
  Fuzz() { fs::create_directories(directory_); }
  ~Fuzz() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  static void put(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  // Returns the text of the document, with the checksum of the text in which `xxh64` is `blank`.
  static std::string with_checksum(base::Json document, const std::string& blank) {
    const auto text = [&] { return base::to_text(document, 2) + "\n"; };
    if (!document.is_object()) return text();
    document["xxh64"] = blank;
    document["xxh64"] = base::hex(base::xxh64(text()));
    return text();
  }

  fs::path directory_ =
      fs::temp_directory_path() / ("trainyard-fuzz-" + std::to_string(::getpid()));
};

TEST_F(Fuzz, of_an_order_file_never_crashes_the_reader) {
  const auto examples = in_tree("resources/experiments");
  const auto resolved = experiment::resolve(
      *experiment::load(examples / "four_workers_parameter_server_digits.json"), examples);
  ASSERT_TRUE(resolved) << base::to_string(resolved.error());
  const auto plan = strategy::make_plan(*resolved);
  ASSERT_TRUE(plan) << base::to_string(plan.error());
  const int server = resolved->workers();
  const base::Json header{{"schema", 1}, {"run", "r1"}, {"plan_hash", plan::hash(*plan)}};
  std::string events;
  for (int i = 0; i < 6; ++i) {
    plan::ServerEvent event;
    event.kind = static_cast<plan::ServerEvent::Kind>(i % 3);
    event.worker = i % 2;
    event.step = event.version = i;
    plan::append(event, events);
  }
  const fs::path path = directory_ / "order.try";
  fuzzing::fuzz(120, [&](fuzzing::Mutator& mutator) {
    const base::Json changed = mutator.below(2) == 0 ? mutator.mutate(header) : header;
    std::string bytes = telemetry::frame_bytes(1, -1, base::to_text(changed));
    for (std::size_t frames = mutator.below(4); frames > 0; --frames)
      bytes += telemetry::frame_bytes(
          9, mutator.below(5) == 0 ? static_cast<int>(mutator.below(9)) - 2 : server,
          mutator.below(2) == 0 ? mutator.mutate(events) : events);
    put(path, mutator.below(4) == 0 ? mutator.mutate(bytes) : bytes);
    const auto order = read_order(path, *plan);
    if (!order) {
      ASSERT_FALSE(order.error().what.empty());
      return;
    }
    auto served =
        plan::served_of(std::as_bytes(std::span(order->ranks[static_cast<std::size_t>(server)])));
    if (!served) return;
    auto source = plan::RecordedOrder::make({std::move(*served)}, server);
    if (!source) return;
    for (auto event = source->next(); event && *event; event = source->next()) continue;
  });
}

TEST_F(Fuzz, of_a_manifest_never_crashes_the_reader_of_checkpoints) {
  const auto model = *model::build({{{model::LayerKind::linear, 3}}}, 4, 3);
  std::vector<float> parameters(static_cast<std::size_t>(model.elements), 0.5F);
  const compute::Tensor tensor{
      base::DType::fp32, {model.elements}, reinterpret_cast<std::byte*>(parameters.data())};
  ASSERT_TRUE(write_checkpoint(directory_, {3, "0123456789abcdef"}, model, tensor));
  const fs::path path = directory_ / "step-3" / "manifest.json";
  const base::Json sound = *base::read_json(path);
  ASSERT_EQ(with_checksum(sound, ""), *base::read_file(path, 1 << 20));
  fuzzing::fuzz(400, [&](fuzzing::Mutator& mutator) {
    const std::string text = with_checksum(mutator.mutate(sound), "");
    put(path, mutator.below(4) == 0 ? mutator.mutate(text) : text);
    static_cast<void>(newest_checkpoint(directory_));
    static_cast<void>(committed_step(directory_));
    const auto loaded = read_checkpoint(directory_, model, tensor);
    ASSERT_TRUE(loaded || !loaded.error().what.empty());
    if (loaded) {
      ASSERT_EQ(loaded->info.step, 3);
    }
  });
}

TEST_F(Fuzz, of_a_sweep_file_never_crashes_the_reader) {
  ASSERT_TRUE(write_sweep(measured_sweep(), directory_));
  const fs::path path = directory_ / kSweepFile;
  const std::string zeros(16, '0');
  const base::Json sound = *base::read_json(path);
  ASSERT_EQ(with_checksum(sound, zeros), *base::read_file(path, 1 << 20));
  fuzzing::fuzz(400, [&](fuzzing::Mutator& mutator) {
    put(path, with_checksum(mutator.mutate(sound), zeros));
    const auto sweep = read_sweep(directory_);
    if (!sweep) {
      ASSERT_FALSE(sweep.error().what.empty());
      return;
    }
    ASSERT_FALSE(sweep->variants.empty());
    static_cast<void>(scaled(*sweep));
    static_cast<void>(progress(*sweep, 2000));
  });
}

// A run of a sweep ends with any result.
TEST_F(Fuzz, of_the_result_of_a_run_never_crashes_a_sweep) {
  const base::Json sound{{"status", "completed"},
                         {"steps", 50},
                         {"problem", {{"where", "rank 1"}, {"what", "died"}}},
                         {"problems", base::Json::array({base::Json{{"what", "no memory"}}})},
                         {"ranks", base::Json::array({base::Json{{"sent_bytes", 8}}})}};
  fuzzing::fuzz(400, [&](fuzzing::Mutator& mutator) {
    const std::string text = base::to_text(mutator.mutate(sound));
    put(directory_ / "result.json", text);
    put(directory_ / "console.log", "starting\n" + text + "\n");
    SweepVariant variant;
    ASSERT_FALSE(measure(variant, measured_sweep(), directory_)) << "there is no resolved.json";
    static_cast<void>(failure_reason(directory_, "exit code 3"));
  });
}

}  // namespace
}  // namespace trainyard::session
