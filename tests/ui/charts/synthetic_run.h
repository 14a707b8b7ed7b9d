// SPDX-License-Identifier: GPL-3.0-or-later
// Synthetic recordings of runs, with predictable values.
#pragma once

#include <QTemporaryDir>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/telemetry/recording.h"

namespace trainyard::ui::test {

struct SyntheticRun {
  int ranks = 4;
  std::vector<std::string> segments{"0 linear 784-512 relu", "1 linear 512-512 relu",
                                    "2 linear 512-10"};
  double seconds_per_step = 0.005;
  double compression_ratio = 0;  // 0: no compression
  double averages = 0;           // with one neighbor, in a step; 0: none
  double table_ratio = 0;        // 0: no rows of tables are named
  double loss_scale = 0;         // in the first step, halved in each; 0: the loss is not scaled
  int held_back = -1;            // a rank that is slowed down
  double jitter = 0.08;          // of the time within steps
  double lambda_2 = 0;  // above 0: ranks have local parameters and report the consensus distance
                        // every 50 steps
  int reports_of_step = 0;  // 0: of all ranks
  base::Json experiment{{"name", "four devices"},
                        {"strategy", {{"kind", "mirrored"}}},
                        {"training", {{"batch_per_rank", 32}}}};  // as the header holds it

  base::Json header() const {
    base::Json segment_names = base::Json::array();
    for (const auto& name : segments) segment_names.push_back(name);
    base::Json json{{"run", "synthetic"},
                    {"ranks", ranks},
                    {"segments", segment_names},
                    {"experiment", experiment}};
    if (lambda_2 > 0) json["lambda_2"] = lambda_2;
    if (reports_of_step > 0) json["reports_of_step"] = reports_of_step;
    return json;
  }

  static double loss(int step) {
    return 0.08 + 2.2 * std::exp(-step / 160.0) +
           0.05 * std::sin(step * 12.9898) * std::exp(-step / 900.0);
  }
  static double residual(int rank, int step) { return 0.1 * (rank + 1) + 0.01 * step; }
  static double distance(int step) { return 3 + std::exp(-step / 100.0); }
  static constexpr double kBytesPerStep = 1.5e6;

  // Returns the events of one step of a rank, in order.
  std::vector<telemetry::Event> step(int rank, int at) const {
    using telemetry::Metric;
    std::vector<telemetry::Event> events;
    const double noise = std::sin(at * 78.233 + rank);
    const auto metric = [&](Metric kind, double value, int index = 0) {
      telemetry::Event event;
      event.begin_ns = event.ready_ns = event.end_ns =
          static_cast<std::int64_t>((at + 1) * seconds_per_step * 1e9) + rank * 1000;
      event.value = value;
      event.step = at;
      event.subject = static_cast<std::uint16_t>(kind);
      event.index = static_cast<std::uint16_t>(index);
      events.push_back(event);
    };
    const double step_seconds = seconds_per_step * (1 + jitter * noise);
    metric(Metric::step_seconds, step_seconds);
    if (ranks > 1) {
      metric(Metric::sent_payload_bytes, kBytesPerStep * (at + 1), (rank + 1) % ranks);
      metric(Metric::received_payload_bytes, kBytesPerStep * (at + 1), (rank + ranks - 1) % ranks);
    }
    metric(Metric::loss_sum, 32 * loss(at));
    metric(Metric::correct, std::floor(32 * (1 - loss(at) / 2.6)));
    metric(Metric::samples, 32);
    metric(Metric::learning_rate, 0.1 * 0.5 * (1 + std::cos(at / 1000.0)));
    for (int segment = 0; segment < static_cast<int>(segments.size()); ++segment) {
      const double norm = (1 + segment) * (0.3 + loss(at));
      metric(Metric::local_gradient_norm, norm * (1.3 + 0.2 * noise), segment);
      metric(Metric::reduced_gradient_norm, norm, segment);
      metric(Metric::update_ratio, 1e-3 * norm, segment);
    }
    if (rank == held_back) metric(Metric::imposed_seconds, 0.4 * step_seconds);
    metric(Metric::compute_seconds, 0.7 * step_seconds);
    metric(Metric::transfer_seconds, 0.18 * step_seconds);
    metric(Metric::wait_seconds, 0.1 * step_seconds);
    metric(Metric::input_seconds, 0.01 * step_seconds);
    metric(Metric::memory_bytes, 9e7 + 1e6 * rank + 1e3 * at);
    if (compression_ratio > 0) {
      metric(Metric::compression_ratio, compression_ratio);
      metric(Metric::residual_norm, residual(rank, at));
    }
    if (averages > 0) metric(Metric::averages, averages * (at + 1) + rank);
    if (loss_scale > 0) metric(Metric::loss_scale, std::ldexp(loss_scale, -static_cast<int>(at)));
    if (table_ratio > 0) metric(Metric::table_ratio, table_ratio + rank);
    if (lambda_2 > 0 && at % 50 == 49)
      metric(Metric::squared_consensus_distance, distance(at) * distance(at));
    if (at % 250 == 249) {
      metric(Metric::held_out_loss_sum, 500 * (loss(at) + 0.05));
      metric(Metric::held_out_correct, std::floor(500 * (0.99 - loss(at) / 2.6)));
      metric(Metric::held_out_samples, 500);
    }
    return events;
  }

  base::Result<void> append(telemetry::RecordingWriter& writer, int begin, int end) const {
    for (int at = begin; at < end; ++at)
      for (int rank = 0; rank < ranks; ++rank)
        if (auto done = writer.append_events(rank, step(rank, at)); !done) return done;
    return writer.flush();
  }

  telemetry::RecordingWriter create(const std::filesystem::path& directory) const {
    std::filesystem::create_directories(directory);
    return std::move(
        *telemetry::RecordingWriter::create(directory / telemetry::kRecordingFile, header()));
  }

  // Records a completed run.
  void record(const std::filesystem::path& directory, int steps, double accuracy = 0.97) const {
    auto writer = create(directory);
    static_cast<void>(append(writer, 0, steps));
    static_cast<void>(writer.append_json(telemetry::FrameType::result, -1,
                                         {{"type", "result"},
                                          {"status", "completed"},
                                          {"steps", steps},
                                          {"held_out_accuracy", accuracy}}));
    static_cast<void>(writer.close());
  }
};

}  // namespace trainyard::ui::test
