// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/run_result.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/whole_number.h"
#include "core/experiment/fields.h"
#include "core/run/bind/memory_use.h"
#include "core/telemetry/staleness_counts.h"
#include "core/telemetry/summary.h"

namespace trainyard::session {
namespace {

using base::Json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

std::string status_text(RunState state) {
  return state == RunState::finished ? "completed" : std::string(base::name_of(state));
}

// Returns the seconds until the last rank completed its first step.
Json first_step_seconds(const RunFacts& facts) {
  std::int64_t latest = 0;
  for (std::size_t r = 0; r < facts.finished.size(); ++r) {
    // Skips evaluators, which make no steps.
    if (r < facts.duties.size() && facts.duties[r] == "evaluator") continue;
    const auto& rank = facts.finished[r];
    if (!rank || rank->first_step_done_ns == 0) return {};
    latest = std::max(latest, rank->first_step_done_ns);
  }
  return base::seconds(latest - facts.started_ns);
}

RankTraffic totals(const Finished& finished) {
  RankTraffic sum;
  for (const RankTraffic& peer : finished.peers) {
    sum.sent_payload_bytes += peer.sent_payload_bytes;
    sum.sent_header_bytes += peer.sent_header_bytes;
    sum.received_payload_bytes += peer.received_payload_bytes;
    sum.received_header_bytes += peer.received_header_bytes;
  }
  return sum;
}

// Returns null for 0 bytes, which means unknown, for example for a rank that is only a thread of a
// process.
Json known_bytes(double bytes) {
  return bytes > 0 ? Json(static_cast<std::int64_t>(bytes)) : Json();
}

// Returns the result of one rank. If the rank finished, its bytes are exact, and include the bytes
// of earlier processes that this process replaced. Otherwise, the bytes are the last values in the
// telemetry; null if the telemetry has none.
Json rank_json(const telemetry::RankSummary& heard, const std::string& duty,
               const std::optional<Finished>& finished) {
  Json json{{"rank", heard.rank}, {"role", duty}};
  if (!finished) {
    json["sent_bytes"] = known_bytes(heard.sent_payload_bytes);
    json["received_bytes"] = known_bytes(heard.received_payload_bytes);
    json["parameters_xxh64"] = nullptr;
    json["peak_memory_bytes"] = known_bytes(heard.peak_memory_bytes);
    return json;
  }
  const RankTraffic sum = totals(*finished);
  json["sent_bytes"] =
      sum.sent_payload_bytes + static_cast<std::uint64_t>(heard.sent_payload_before);
  json["received_bytes"] =
      sum.received_payload_bytes + static_cast<std::uint64_t>(heard.received_payload_before);
  json["parameters_xxh64"] =
      finished->parameters_xxh64.empty() ? Json() : Json(finished->parameters_xxh64);
  json["peak_memory_bytes"] = known_bytes(static_cast<double>(finished->peak_memory_bytes));
  return json;
}

Json wire_bytes(const RunFacts& facts, const telemetry::Summary& summary) {
  std::int64_t payload = 0, header = 0;
  for (std::size_t r = 0; r < summary.ranks.size(); ++r) {
    const auto& finished = facts.finished[r];
    const telemetry::RankSummary& heard = summary.ranks[r];
    const auto sum = finished ? std::optional(totals(*finished)) : std::nullopt;
    payload += static_cast<std::int64_t>(sum ? static_cast<double>(sum->sent_payload_bytes) +
                                                   heard.sent_payload_before
                                             : heard.sent_payload_bytes);
    header += static_cast<std::int64_t>(sum ? static_cast<double>(sum->sent_header_bytes) +
                                                  heard.sent_header_before
                                            : heard.sent_header_bytes);
  }
  return {{"payload", payload}, {"header", header}};
}

// Returns for a paced run by how many seconds ops took longer than predicted for the drawn device;
// the largest value of any rank.
double slower_than_drawn_seconds(const telemetry::History& history) {
  double most = 0;
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const auto* late = history.find({telemetry::Metric::slower_than_drawn_seconds, rank, 0});
        late && !late->values.empty())
      most = std::max(most, late->values.back());
  return most;
}

template <class Visit>
void for_each_series(const telemetry::History& history, telemetry::Metric metric, Visit visit) {
  for (auto at = history.series().lower_bound({metric, 0, 0});
       at != history.series().end() && at->first.metric == metric; ++at)
    visit(at->second);
}

// Returns statistics of the staleness of all applied gradients, as reported by the first server or
// by each stage. Without reported values, the staleness is 0. Null for asynchronous gossip, which
// has no versions.
Json staleness(const telemetry::History& history) {
  telemetry::StalenessCounts counts;
  counts.read(history);
  const telemetry::WorkerStaleness all = counts.all();
  if (all.applied == 0 && (history.steps_apart() || telemetry::is_asynchronous_gossip(history)))
    return {};
  if (all.applied == 0) return {{"mean", 0}, {"p95", 0}, {"max", 0}};
  return {{"mean", all.mean()},
          {"p95", static_cast<double>(all.quantile(0.95))},
          {"max", static_cast<double>(all.most())}};
}

// Returns how much pulling only table rows saves: (bytes of full tables) / (transferred bytes),
// over all rounds. All rounds have the same full size, so this is the harmonic mean of the rounds'
// ratios. Returns nothing if full tables are pulled or there are no tables.
std::optional<double> table_ratio(const telemetry::History& history) {
  double inverse = 0, rounds = 0;
  for_each_series(history, telemetry::Metric::table_ratio, [&](const telemetry::Series& series) {
    inverse += series.totals.sum_of_inverses;
    rounds += static_cast<double>(series.totals.count);
  });
  return rounds > 0 ? std::optional(rounds / inverse) : std::nullopt;
}

double dropped_gradients(const telemetry::History& history) {
  double sum = 0;
  for_each_series(history, telemetry::Metric::dropped_gradients,
                  [&](const telemetry::Series& series) { sum += series.totals.last; });
  return sum;
}

// Returns the last slowdown factor of the rank's computation; nothing if it was not slowed down.
std::optional<double> slow_down(const telemetry::History& history, int rank) {
  const auto* factors = history.find({telemetry::Metric::slow_down, rank, 0});
  return factors && !factors->values.empty() ? std::optional(factors->values.back()) : std::nullopt;
}

// Adds the largest measured memory of a rank's buffers by purpose, under the names that `check`
// uses; adds nothing if it was not measured. Also adds the total that the plan predicts for the
// rank.
void add_memory(Json& json, const telemetry::History& history, int rank) {
  run::MemoryUse seen;
  Json parts;
  for (const auto& [part, name] : base::Names<run::MemoryPurpose>::table) {
    const auto* looked =
        history.find({telemetry::Metric::buffer_bytes, rank, static_cast<int>(part)});
    if (looked == nullptr) continue;
    parts[std::string(name)] = seen.bytes[static_cast<std::size_t>(part)] =
        base::whole_number(looked->totals.greatest);
  }
  json["memory_bytes"] = parts.is_null() ? Json() : Json(seen.total());
  json["memory_parts"] = std::move(parts);
  const telemetry::RecordedHeader& header = history.recorded_header();
  const auto index = static_cast<std::size_t>(rank);
  if (index >= header.buffer_bytes.size()) return;
  const std::vector<double>& of_rank = header.buffer_bytes[index];
  run::MemoryUse plan;
  for (std::size_t part = 0; part < plan.bytes.size() && part < of_rank.size(); ++part)
    plan.bytes[part] = base::whole_number(of_rank[part]);
  if (index < header.padding_bytes.size())
    plan.padding = base::whole_number(header.padding_bytes[index]);
  json["plan_memory_bytes"] = plan.total();
}

Json ranks_json(const RunFacts& facts, const telemetry::Summary& summary,
                const telemetry::History& history) {
  Json ranks = Json::array();
  for (std::size_t r = 0; r < summary.ranks.size(); ++r) {
    Json rank = rank_json(summary.ranks[r], r < facts.duties.size() ? facts.duties[r] : "worker",
                          facts.finished[r]);
    if (facts.engine != experiment::Engine::own)
      rank["sent_bytes"] = rank["received_bytes"] = nullptr;
    add_memory(rank, history, static_cast<int>(r));
    rank["emulated"] = static_cast<bool>(facts.emulated[r]);
    if (const auto factor = slow_down(history, static_cast<int>(r)); factor && *factor > 1)
      rank["slowed_down"] = *factor;
    if (r < facts.columns.size())
      rank["columns"] = {{"first", facts.columns[r].first}, {"count", facts.columns[r].second}};
    if (r < facts.shards.size()) rank["samples_by_class"] = facts.shards[r];
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// Returns the samples that were assigned to workers, but whose gradient was neither applied nor
// dropped. With backup workers, a worker that is late skips its batches of the steps that the
// others completed meanwhile.
std::int64_t unused_samples(const RunFacts& facts, const telemetry::Summary& summary) {
  if (!facts.assigned_samples) return 0;
  return *facts.assigned_samples - static_cast<std::int64_t>(summary.samples) -
         static_cast<std::int64_t>(summary.dropped_samples);
}

}  // namespace

Json to_json(const base::Problem& problem) {
  return {{"id", problem.id},     {"code", base::name(problem.code)}, {"where", problem.where},
          {"what", problem.what}, {"accepted", problem.accepted},     {"advice", problem.advice}};
}

namespace {

// Adds losses, accuracy and bad gradients.
void add_training(Json& json, const telemetry::Summary& summary,
                  const telemetry::History& history) {
  json["train_loss"] = or_null(summary.train_loss);
  if (summary.diverged_step) json["diverged_step"] = *summary.diverged_step;
  if (const auto& bad = summary.bad_gradients)
    json["bad_gradients"] = {{"step", bad->step},
                             {"rank", bad->rank},
                             {"segment", bad->segment},
                             {"skipped_updates", bad->skipped_updates}};
  if (const auto scale = telemetry::loss_scale(history))
    json["loss_scale"] = {{"last", scale->last},
                          {"steps_without_update", scale->steps_without_update}};
  json["held_out_loss"] = or_null(summary.held_out_loss);
  json["held_out_accuracy"] = or_null(summary.held_out_accuracy);
}

// Adds where the run started, its checkpoints and its faults.
void add_recovery(Json& json, const RunFacts& facts, const telemetry::History& history) {
  if (facts.first_step > 0) json["first_step"] = facts.first_step;
  for (const base::Problem& skipped : facts.skipped_checkpoints)
    json["skipped_checkpoints"].push_back(to_json(skipped));
  if (facts.committed_step) json["committed_step"] = *facts.committed_step;
  for (const telemetry::Fault& fault : history.faults())
    json["faults"].push_back(
        {{"kind", fault.kind},
         {fault.link < 0 ? "rank" : "link", fault.link < 0 ? fault.rank : fault.link},
         {"step", fault.step},
         {"seconds", fault.seconds},
         {"text", fault.text}});
}

}  // namespace

Json run_result(const RunFacts& facts, const telemetry::History& history) {
  const telemetry::Summary summary = telemetry::summarize(history);
  Json json{{"type", "result"},
            {"status", status_text(facts.state)},
            // `summary.steps` may miss the last step of a failed worker, which another worker
            // completed.
            {"steps", facts.last_step ? *facts.last_step - facts.first_step : summary.steps},
            {"samples", static_cast<std::int64_t>(summary.samples)},
            {"wall_seconds", facts.wall_seconds}};
  json["first_step_seconds"] = first_step_seconds(facts);
  json["samples_per_second"] = summary.samples_per_second;
  json["step_seconds"] = summary.step_seconds ? Json{{"median", summary.step_seconds->median},
                                                     {"p95", summary.step_seconds->p95}}
                                              : Json();
  json["simulated_step_seconds"] = or_null(facts.simulated_step_seconds);
  json["clock"] = base::name_of(facts.run.clock);
  json["links"] = base::name_of(facts.run.links);
  if (facts.run.links == experiment::LinkSpeed::imposed) json["link_scale"] = facts.run.link_scale;
  json["devices"] = base::name_of(facts.run.devices);
  if (facts.run.devices == experiment::DeviceSpeed::paced)
    json["slower_than_drawn_seconds"] = slower_than_drawn_seconds(history);
  add_training(json, summary, history);
  json["multiplies"] = base::name_of(facts.multiplies);
  json["engine"] = base::name_of(facts.engine);
  if (facts.cpu_level > 0) json["cpu_level"] = facts.cpu_level;
  if (facts.encryption) json["encryption"] = base::name_of(*facts.encryption);
  for (std::size_t r = 0; r < facts.clocks.size(); ++r)
    if (const auto& clock = facts.clocks[r])
      json["clocks"].push_back({{"rank", r},
                                {"offset_seconds", clock->seconds},
                                {"uncertainty_seconds", clock->uncertainty_seconds}});
  json["wire_bytes"] =
      facts.engine == experiment::Engine::own ? wire_bytes(facts, summary) : Json();
  json["staleness"] = staleness(history);
  if (const double dropped = dropped_gradients(history); dropped > 0)
    json["dropped_gradients"] = static_cast<std::int64_t>(dropped);
  if (summary.dropped_samples > 0)
    json["dropped_samples"] = static_cast<std::int64_t>(summary.dropped_samples);
  if (const auto unused = unused_samples(facts, summary); unused > 0)
    json["unused_samples"] = unused;
  const auto& distances = history.consensus_distance();
  if (facts.lambda_2 || !distances.empty())
    json["consensus_distance"] = distances.empty() ? Json() : Json(distances.back().value);
  if (facts.lambda_2) json["lambda_2"] = *facts.lambda_2;
  json["sharding"] = base::name_of(facts.sharding);
  if (const auto* ratio = history.find({telemetry::Metric::compression_ratio, 0, 0});
      ratio && !ratio->values.empty())
    json["compression"] = {{"kind", base::name_of(facts.compression.kind)},
                           {"ratio", ratio->values.back()},
                           {"sent_ratio", or_null(facts.sent_ratio)}};
  if (const auto ratio = table_ratio(history)) json["tables"] = {{"ratio", *ratio}};
  if (const auto note = std::find_if(history.log().rbegin(), history.log().rend(),
                                     [](const auto& line) { return line.level == "text"; });
      note != history.log().rend())
    json["sampled_text"] = note->text;
  json["ranks"] = ranks_json(facts, summary, history);
  add_recovery(json, facts, history);
  if (facts.thinning.from_step >= 0) json["recording"] = telemetry::to_json(facts.thinning);
  json["run_directory"] = facts.run_directory.string();
  if (facts.problem) json["problem"] = to_json(*facts.problem);
  return json;
}

}  // namespace trainyard::session
