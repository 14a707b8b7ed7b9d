// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of telemetry: writing an event into the ring while another thread drains it, with and
// without the clock reading of an op; a training step with and without telemetry; recording chunk
// values in a step; and the speed of writing and reading a recording.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "backends/cpu/cpu.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/compute/reference/reference.h"
#include "core/experiment/document.h"
#include "core/run/meters/chunk_sampler.h"
#include "core/telemetry/event_ring.h"
#include "core/telemetry/recording.h"
#include "tests/conformance/training.h"
#include "tests/drawings.h"

namespace {

using namespace trainyard;
using telemetry::Event;

constexpr int kBursts = 2'000;
constexpr std::chrono::microseconds kDrainPeriod{200};
constexpr int kPairs = 30, kStepsOfTry = 8;
constexpr int kEventsPerBurst = 4'096;  // a few steps' worth; the ring holds eight of them

double nanoseconds_each(std::int64_t begin, int count) {
  return static_cast<double>(base::now_nanoseconds() - begin) / count;
}

// Drains the ring as the shipping thread of a rank does, which sleeps in between, until told to
// stop.
class Drain {
 public:
  explicit Drain(telemetry::EventRing& ring) : thread_([this, &ring] { run(ring); }) {}
  ~Drain() {
    stop_.store(true);
    thread_.join();
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  std::int64_t events() const { return events_.load(); }

 private:
  void run(telemetry::EventRing& ring) {
    std::vector<Event> batch;
    while (!stop_.load()) {
      batch.clear();
      events_ += static_cast<std::int64_t>(ring.read(batch));
      if (batch.empty()) std::this_thread::sleep_for(kDrainPeriod);
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> events_{0};
  std::thread thread_;
};

// The time of an event in each burst, sorted. Bursts start on a ring that is empty, so that none is
// dropped: a dropped event would be a cheaper one.
template <class Write>
std::vector<double> measure(Write write) {
  telemetry::EventRing ring;
  std::vector<double> times;
  const Drain drain(ring);
  for (int burst = 0; burst < kBursts; ++burst) {
    const std::int64_t begin = base::now_nanoseconds();
    for (int i = 0; i < kEventsPerBurst; ++i) write(ring, i);
    times.push_back(nanoseconds_each(begin, kEventsPerBurst));
    while (drain.events() + static_cast<std::int64_t>(ring.dropped()) <
           std::int64_t{burst + 1} * kEventsPerBurst)
      std::this_thread::yield();
  }
  if (ring.dropped() > 0)
    std::printf("dropped %llu events\n", static_cast<unsigned long long>(ring.dropped()));
  std::sort(times.begin(), times.end());
  return times;
}

void print(const char* what, const std::vector<double>& times, const char* wanted) {
  double total = 0;
  for (const double time : times) total += time;
  std::printf("%-44s median %6.1f  p95 %6.1f  mean %6.1f ns%s\n", what, times[times.size() / 2],
              times[times.size() * 95 / 100], total / static_cast<double>(times.size()), wanted);
}

void bench_ring() {
  Event event;
  print("write an event", measure([&](telemetry::EventRing& ring, int i) {
          event.step = i;
          ring.write(event);
        }),
        "");
  print("read the clock and write an event", measure([&](telemetry::EventRing& ring, int i) {
          event.step = i;
          event.begin_ns = event.ready_ns = event.end_ns;
          event.end_ns = base::now_nanoseconds();
          ring.write(event);
        }),
        " (to reach: <= 50 ns)");
}

// One device, the MLP 784-512-512-10 on drawn digits, batches of 128.
experiment::Experiment one_device() {
  experiment::Experiment made;
  made.topology.hosts = {tests::drawn_host("host0", 1)};
  made.data.train_samples = 2'000;
  made.data.held_out_samples = 0;
  made.model.layers = {{model::LayerKind::linear, 512},
                       {model::LayerKind::relu, 0},
                       {model::LayerKind::linear, 512},
                       {model::LayerKind::relu, 0},
                       {model::LayerKind::linear, 0}};
  made.strategy.kind = experiment::StrategyKind::one_device;
  made.training.batch_per_rank = 128;
  made.training.steps = kStepsOfTry;
  return made;
}

double run_seconds(const experiment::Resolved& resolved, const plan::Plan& plan,
                   compute::Compute& compute, tests::Telemetry telemetry) {
  const tests::RankOutcome outcome =
      tests::train_rank(resolved, plan, 0, compute, nullptr, telemetry);
  if (!outcome.problem.id.empty()) std::printf("%s\n", base::to_string(outcome.problem).c_str());
  return outcome.seconds;
}

// Relative time of steps with telemetry: the median of short adjacent tries in alternating order,
// so that a temporarily slow machine affects both.
double measure_percent(const experiment::Resolved& resolved, const plan::Plan& plan,
                       compute::Compute& compute, int tries) {
  const auto seconds = [&](tests::Telemetry telemetry) {
    return run_seconds(resolved, plan, compute, telemetry);
  };
  std::vector<double> percents;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const bool on_first = attempt % 2 == 0;
    const double first = seconds(on_first ? tests::Telemetry::on : tests::Telemetry::off);
    const double second = seconds(on_first ? tests::Telemetry::off : tests::Telemetry::on);
    percents.push_back(100 * ((on_first ? first / second : second / first) - 1));
  }
  std::ranges::nth_element(percents, percents.begin() + tries / 2);
  return percents[static_cast<std::size_t>(tries / 2)];
}

// The CNN of the example, on one device, batches of 64.
experiment::Experiment one_device_of_images() {
  experiment::Experiment made = one_device();
  made.model = experiment::load(TRAINYARD_SOURCE_DIR
                                "/resources/experiments/four_devices_mirrored_cnn_digits.json")
                   .value()
                   .model;
  made.training.batch_per_rank = 64;
  return made;
}

// 95 % interval of the mean of the pairs by Student's t.
void bench_step(const char* what, const experiment::Experiment& experiment, int tries) {
  constexpr double kStudent29 = 2.045;
  const auto resolved = experiment::resolve(experiment, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  const auto compute = cpu::make().value();
  double sum = 0, squares = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    const double percent = measure_percent(resolved, plan, *compute, tries);
    sum += percent;
    squares += percent * percent;
  }
  const double mean = sum / kPairs,
               deviation = std::sqrt((squares - kPairs * mean * mean) / (kPairs - 1));
  std::printf("%-44s mean %+6.2f %%, 95 %% interval +-%.2f %%, %d pairs (to reach: <= 1 %%)\n",
              what, mean, kStudent29 * deviation / std::sqrt(double{kPairs}), kPairs);
}

// All that a step asks of the sampler of chunks, of rank 0 of four, in a ring: of a step that puts
// values aside, and of one that does not.
void bench_values() {
  experiment::Experiment four = one_device();
  four.topology.hosts = {tests::drawn_host("host0", 4)};
  four.strategy.kind = experiment::StrategyKind::mirrored;
  const auto resolved = experiment::resolve(four, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  const plan::RankPlan rank = plan.rank_plan(0);
  const run::Layout layout = run::layout(rank);
  std::vector<std::byte> own(static_cast<std::size_t>(layout.private_bytes)),
      shared(static_cast<std::size_t>(layout.shared_bytes));
  const auto compute = compute::reference::make();
  const auto bound = run::bind(rank, plan.groups, resolved.model, session::recipe(resolved),
                               *compute, std::span(own), std::span(shared))
                         .value();
  const int program = rank.program("train");
  const auto& ops = rank.programs[static_cast<std::size_t>(program)].ops;
  std::int64_t instance = 0;
  const auto step = [&](run::ChunkSampler& sampler, std::int64_t number) {
    ++instance;
    for (std::size_t op = 0; op < ops.size(); ++op)
      if (plan::communicates(ops[op].kind))
        sampler.begins({program, static_cast<int>(op), number, instance, 0}),
            sampler.ends({program, static_cast<int>(op), number, instance, 0});
  };
  std::vector<double> sampled, others;
  for (int attempt = 0; attempt < kBursts; ++attempt) {
    const run::Gate gate;
    telemetry::ChunkValueQueue box;
    run::ChunkSampler sampler(rank, plan.groups, bound, strategy::method(resolved), gate, box);
    for (const bool samples : {true, false}) {
      const std::int64_t begin = base::now_nanoseconds();
      step(sampler, samples ? 1 : 3);
      (samples ? sampled : others).push_back(nanoseconds_each(begin, 1));
    }
  }
  for (auto* times : {&sampled, &others}) std::ranges::sort(*times);
  print("a step that samples values of chunks", sampled, "");
  print("a step that does not", others, "");
}

base::Result<void> write_recording(const std::filesystem::path& path, int frames,
                                   const std::vector<Event>& batch) {
  auto writer = telemetry::RecordingWriter::create(path, {{"ranks", 1}});
  if (!writer) return base::fail(writer.error());
  for (int i = 0; i < frames; ++i)
    if (auto appended = writer->append_events(0, batch); !appended) return appended;
  return writer->flush();
}

base::Result<std::size_t> count_events(const std::filesystem::path& path) {
  auto reader = telemetry::RecordingReader::open(path);
  if (!reader) return base::fail(reader.error());
  std::size_t events = 0;
  for (;;) {
    const auto frame = reader->next();
    if (!frame) return base::fail(frame.error());
    if (!*frame) return events;
    if ((*frame)->type == telemetry::FrameType::events)
      events += telemetry::events_of(**frame)->size();
  }
}

bool bench_recording() {
  constexpr int kFrames = 2'000, kEventsPerFrame = 1'000;
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("trainyard-bench-" + std::to_string(::getpid()) + ".try");
  const std::int64_t begin = base::now_nanoseconds();
  const auto written = write_recording(path, kFrames, std::vector<Event>(kEventsPerFrame));
  const double write_ns = nanoseconds_each(begin, kFrames * kEventsPerFrame);
  const std::int64_t read_begin = base::now_nanoseconds();
  const auto read = count_events(path);
  const double read_ns = nanoseconds_each(read_begin, kFrames * kEventsPerFrame);
  std::filesystem::remove(path);
  if (!written || !read || *read != std::size_t{kFrames} * kEventsPerFrame) return false;
  std::printf("%-44s %6.1f million events a second\n%-44s %6.1f million events a second\n",
              "write a recording", 1e3 / write_ns, "read a recording", 1e3 / read_ns);
  return true;
}

}  // namespace

int main() {
  bench_ring();
  bench_step("an MLP step with telemetry on against off", one_device(), 25);
  bench_step("a CNN step with telemetry on against off", one_device_of_images(), 9);
  bench_values();
  return bench_recording() ? 0 : 1;
}
