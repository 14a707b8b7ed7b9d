// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/units.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/placement.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/plan/text.h"
#include "core/run/control/order_log.h"
#include "core/session/checkpoint/model_weights.h"
#include "core/session/coordinator/journal.h"
#include "core/session/replay/order_file.h"
#include "core/session/system/run_documents.h"
#include "core/session/verify/figure_checks.h"
#include "core/session/verify/recorded_totals.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/compare.h"
#include "core/telemetry/summary.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Result;

Json whole(double count) { return static_cast<std::int64_t>(std::llround(count)); }

// Returns the result of the run: result.json, or, if that file is missing, the last frame of the
// recording. A damaged file is a problem.
Result<Json> result_of(const fs::path& run_directory, const RecordedTotals& totals) {
  std::error_code error;
  if (fs::exists(run_directory / kResultFile, error)) {
    auto result = base::read_json(run_directory / kResultFile);
    if (!result)
      result.error().advice =
          "The file is damaged: remove it, and verify uses the copy of the result in the "
          "recording.";
    if (!result || result->is_object()) return result;
  } else if (totals.result.is_object()) {
    return totals.result;
  }
  return base::fail({"run_without_result", ProblemCode::bad_input, run_directory.string(),
                     "the run has no result, because it was killed, could not write it, or still "
                     "runs",
                     "the directory of a run that has ended",
                     "Wait until the run ends. The replay of a killed run shows what it did."});
}

class Verifier {
 public:
  Verifier(fs::path run_directory, const experiment::Resolved& e, const plan::Plan& plan,
           const RecordedTotals& totals, const Json& result)
      : directory_(std::move(run_directory)),
        e_(e),
        plan_(plan),
        totals_(totals),
        checks_(result),
        has_faults_(!checks_.stated("faults").is_null()) {}

  Verification verify(const MakeCompute& make_compute) {
    check_recording();
    check_documents();
    check_plan();
    check_status();
    check_settings();
    check_steps();
    check_samples();
    check_losses();
    check_bytes();
    check_ops();
    check_order();
    check_checkpoint(make_compute);
    return {checks_.take(), totals_.damage};
  }

 private:
  // Recording

  void check_recording() {
    std::string found = "complete", note = totals_.damage;
    if (!totals_.damage.empty()) found = "damaged";
    else if (!totals_.result.is_object())
      found = "incomplete", note = "the recording ends before the result of the run";
    else if (!totals_.invalid_values.empty())
      found = "damaged", note = base::to_string(totals_.invalid_values.front());
    checks_.compare_values("recording", "complete", found, 0, note);
    if (found != "complete") unreadable_ = "the recording is " + found;
    double dropped = totals_.sum(&RankTotals::dropped_events);
    if (unreadable_.empty() && dropped > 0)
      lacks_events_ = fmt::format("the recording lacks {} that ranks could not send",
                                  base::counted(std::llround(dropped), "event"));
  }

  // A run writes its result and its resolved experiment both to files and to the recording.
  void check_documents() {
    if (!unreadable_.empty()) return;
    check_document(kResultFile, totals_.result);
    check_document(kResolvedFile, totals_.header.value("experiment", Json()));
  }

  void check_document(const char* name, const Json& recorded) {
    std::error_code error;
    if (!fs::exists(directory_ / name, error))
      return checks_.add({name,
                          {},
                          {},
                          CheckStatus::not_checked,
                          "the file is missing; the recording has a copy"});
    std::string found = "as recorded", note;
    const auto file = base::read_json(directory_ / name);
    if (!file) {
      found = "unreadable", note = base::to_string(file.error());
    } else if (const auto all = telemetry::differences(std::vector<Json>{*file, recorded});
               !all.empty()) {
      found = "altered";
      note = fmt::format("differs from the recording in {}", all.front().path);
      if (all.size() > 1) note += fmt::format(" and {} more", all.size() - 1);
    }
    checks_.compare_values(name, "as recorded", found, 0, note);
  }

  // Returns the reason why figures that are sums over all events cannot be recomputed; empty if
  // they can.
  std::string lacks() const { return unreadable_.empty() ? lacks_events_ : unreadable_; }

  bool completed() const { return checks_.stated("status") == "completed"; }

  // True if the plan of this program is the plan of the run.
  void check_plan() {
    const Json software = totals_.header.value("software", Json()),
               recorded = totals_.header.value("plan_hash", Json());
    const std::string hash = plan::hash(plan_);
    same_plan_ = recorded == hash;
    if (!same_plan_ && software != TRAINYARD_VERSION)
      return checks_.add({"plan_hash", recorded, hash, CheckStatus::not_checked,
                          fmt::format("the run was recorded by version {}", software.dump())});
    checks_.compare_values("plan_hash", recorded, hash);
  }

  // A run that completed has done all steps of its experiment; one that did so and did not fail has
  // completed.
  void check_status() {
    const std::int64_t all = e_.steps - e_.first_step;
    if (checks_.stated("steps") == all && checks_.stated("problem").is_null())
      checks_.compare("status", "completed");
    else if (completed())
      checks_.compare_values("steps of the experiment", checks_.stated("steps"), all);
    else checks_.skip("status", "the recording does not contain why the run ended");
  }

  // Values of the result that follow from the resolved experiment.
  void check_settings() {
    const experiment::RunSpec& run = e_.document.run;
    checks_.compare("clock", base::name_of(run.clock));
    checks_.compare("links", base::name_of(run.links));
    if (run.links == experiment::LinkSpeed::imposed) checks_.compare("link_scale", run.link_scale);
    checks_.compare("devices", base::name_of(run.devices));
    checks_.compare("multiplies", base::name_of(e_.document.training.multiplies));
    checks_.compare("engine", base::name_of(experiment::engine_of(e_)));
    checks_.compare("sharding", base::name_of(e_.document.data.sharding.kind));
    const topology::Network network(e_.document.topology);
    for (int rank = 0; rank < e_.world(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::string path = fmt::format("ranks.{}.", rank);
      compare_if_stated(path + "role", experiment::duty_of(e_.document, rank));
      compare_if_stated(path + "emulated", experiment::is_emulated(network.device(e_.ranks[r])));
      if (r < e_.shards.size()) compare_if_stated(path + "samples_by_class", e_.shards[r]);
    }
  }

  void compare_if_stated(const std::string& path, const Json& recomputed) {
    if (!checks_.stated(path).is_null()) checks_.compare(path, recomputed);
  }

  void check_steps() {
    if (const std::string why = lacks(); !why.empty()) {
      for (const char* path : {"steps", "step_seconds.median", "step_seconds.p95"})
        checks_.skip(path, why);
      return;
    }
    if (has_faults_ && !agree(checks_.stated("steps"), totals_.steps, 0))
      checks_.skip("steps", "a rank failed, so its last step may not be recorded");
    else checks_.compare("steps", totals_.steps);
    if (totals_.step_seconds.empty()) return;
    if (totals_.is_thinned) {
      const std::string why = fmt::format("the recording is thinned: it has the times of {} of {}",
                                          base::format_count(std::ssize(totals_.step_seconds)),
                                          base::counted(totals_.steps, "step"));
      return checks_.skip("step_seconds.median", why), checks_.skip("step_seconds.p95", why);
    }
    const auto [median, p95] = telemetry::quantiles(totals_.step_seconds);
    checks_.compare("step_seconds.median", median, kSumTolerance);
    checks_.compare("step_seconds.p95", p95, kSumTolerance);
  }

  void check_samples() {
    if (const std::string why = lacks(); !why.empty())
      return checks_.skip("samples", why), checks_.skip("dropped_samples", why);
    const double dropped = totals_.sum(&RankTotals::dropped_samples),
                 unapplied = totals_.sum(&RankTotals::unapplied_samples),
                 used = totals_.sum(&RankTotals::samples) - dropped - unapplied;
    checks_.compare("samples", whole(used));
    if (dropped > 0 || !checks_.stated("dropped_samples").is_null())
      checks_.compare("dropped_samples", whole(dropped));
    check_assigned_samples();
  }

  // Samples that were used, dropped or unused are the samples that the sampler assigned to the
  // steps of the run. With servers, a resumed run may use a batch twice.
  void check_assigned_samples() {
    if (!completed() || has_faults_ || (e_.servers > 0 && e_.first_step > 0)) return;
    std::int64_t stated = 0;
    for (const char* path : {"samples", "dropped_samples", "unused_samples"})
      if (const Json value = checks_.stated(path); value.is_number_integer())
        stated += value.get<std::int64_t>();
    checks_.compare_values("assigned_samples", stated,
                           e_.shares().samples_between(e_.first_step, e_.steps), 0,
                           "samples, dropped_samples and unused_samples together");
  }

  void check_losses() {
    if (const std::string why = lacks(); !why.empty()) {
      for (const char* path : {"train_loss", "consensus_distance", "staleness"})
        checks_.skip(path, why);
      for (const char* path : {"held_out_loss", "held_out_accuracy"})
        checks_.add({std::string("recorded_") + path,
                     checks_.stated(path),
                     {},
                     CheckStatus::not_checked,
                     why});
      return;
    }
    compare_recorded("train_loss", checks_.stated("train_loss"), totals_.train.loss);
    for (const auto& [path, value] : {std::pair("held_out_loss", totals_.held_out.loss),
                                      std::pair("held_out_accuracy", totals_.held_out.accuracy)})
      compare_recorded(std::string("recorded_") + path, checks_.stated(path), value);
    checks_.compare("consensus_distance", finite(totals_.consensus_distance), kSumTolerance);
    check_staleness();
  }

  // Compares a loss or an accuracy. A result states null for a loss that is not finite.
  void compare_recorded(const std::string& name, const Json& stated,
                        const std::optional<double>& value) {
    if (stated.is_null() && value && !std::isfinite(*value))
      checks_.compare_values(name, "nan", "nan");
    else checks_.compare_values(name, stated, finite(value), kSumTolerance);
  }

  void check_staleness() {
    const std::vector<double>& values = totals_.staleness;
    if (checks_.stated("staleness").is_null()) return;
    const bool any = !values.empty();
    const double mean = any ? std::accumulate(values.begin(), values.end(), 0.0) /
                                  static_cast<double>(values.size())
                            : 0,
                 most = any ? *std::max_element(values.begin(), values.end()) : 0;
    checks_.compare("staleness.mean", mean, kSumTolerance);
    checks_.compare("staleness.max", most);
    checks_.compare("staleness.p95", p95_of(values));
    if (const Json stated = checks_.stated("dropped_gradients"); !stated.is_null())
      checks_.compare("dropped_gradients", whole(totals_.dropped_gradients));
  }

  // Returns the smallest staleness that 95 % of the gradients do not exceed.
  static double p95_of(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto rank =
        static_cast<std::ptrdiff_t>(std::ceil(0.95 * static_cast<double>(values.size()))) - 1;
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return values[static_cast<std::size_t>(rank)];
  }

  // Bytes

  void check_bytes() {
    if (checks_.stated("wire_bytes").is_null())
      return checks_.add({"wire_bytes",
                          {},
                          {},
                          CheckStatus::not_checked,
                          fmt::format("the engine {} reports no bytes",
                                      checks_.stated("engine").is_string()
                                          ? checks_.stated("engine").get<std::string>()
                                          : "of the run")});
    if (!unreadable_.empty()) return checks_.skip("wire_bytes", unreadable_);
    checks_.compare("wire_bytes.payload", whole(totals_.sum(&RankTotals::sent_payload_bytes)));
    checks_.compare("wire_bytes.header", whole(totals_.sum(&RankTotals::sent_header_bytes)));
    for (std::size_t rank = 0; rank < totals_.ranks.size(); ++rank) {
      const std::string path = fmt::format("ranks.{}.", rank);
      const RankTotals& recorded = totals_.ranks[rank];
      // The result of a rank that did not finish has no bytes if none were recorded.
      const auto compare = [&](const std::string& key, double bytes) {
        if (bytes > 0 || !checks_.stated(path + key).is_null())
          checks_.compare(path + key, whole(bytes));
      };
      compare("sent_bytes", recorded.sent_payload_bytes);
      compare("received_bytes", recorded.received_payload_bytes);
    }
    if (completed() && !has_faults_) check_both_ends();
  }

  // Bytes are counted at both ends of a link.
  void check_both_ends() {
    checks_.compare_values("received_payload_bytes", checks_.stated("wire_bytes.payload"),
                           whole(totals_.sum(&RankTotals::received_payload_bytes)), 0,
                           "bytes that ranks received");
    checks_.compare_values("received_header_bytes", checks_.stated("wire_bytes.header"),
                           whole(totals_.sum(&RankTotals::received_header_bytes)), 0,
                           "bytes that ranks received");
  }

  // Returns the reason why the bytes of recorded ops do not add up to the bytes on the wire; empty
  // if they must.
  std::string ops_reason() const {
    if (!e_.document.run.record_ops) return "ops were not recorded (run.record_ops is false)";
    if (std::string why = lacks(); !why.empty()) return why;
    if (totals_.is_thinned) return "the recording is thinned: it has the ops of some steps only";
    if (!same_plan_) return "the plan differs, so the recorded ops cannot be named";
    if (e_.servers > 0) return "ops of parameter servers and their workers are not one per message";
    if (e_.world() > 1 && experiment::is_asynchronous_gossip(e_.document.strategy))
      return "one op of asynchronous gossip may send and receive";
    if (!completed() || has_faults_) return "the run did not complete without faults";
    return "";
  }

  void check_ops() {
    const Json stated = checks_.stated("wire_bytes.payload");
    if (stated.is_null()) return;
    if (const std::string why = ops_reason(); !why.empty())
      return checks_.add({"op_bytes", stated, {}, CheckStatus::not_checked, why});
    checks_.compare_values("op_bytes", stated, whole(totals_.sent_op_bytes), 0,
                           fmt::format("payload of the ops that send, of {} recorded",
                                       base::format_count(totals_.ops)));
  }

  // The order of arrivals determines the weights of an asynchronous run. Checks that the file can
  // be read. `replay --recompute` computes the run again in this order.
  void check_order() {
    std::error_code error;
    const bool exists = fs::exists(directory_ / kOrderFile, error);
    if (!exists && (!keeps_order() || totals_.steps == 0)) return;
    if (!same_plan_)
      return checks_.add({"order", {}, {}, CheckStatus::not_checked, "the plan differs"});
    std::string found = "complete",
                note = "trainyard-cli replay RUN --recompute computes the run again in this order";
    if (!exists) {
      found = "missing", note = fmt::format("there is no file {}", kOrderFile);
    } else if (const auto order = read_order(directory_ / kOrderFile, plan_); !order) {
      found = "damaged", note = base::to_string(order.error());
    } else if (order->torn && completed()) {
      found = "incomplete", note = "the file ends within a frame";
    }
    checks_.compare_values("order", "complete", found, 0, note);
  }

  bool keeps_order() const {
    for (std::int32_t rank = 0; rank < plan_.ranks; ++rank)
      if (run::keeps_order(plan_.rank_plan(rank))) return true;
    return false;
  }

  // Checkpoint

  void check_checkpoint(const MakeCompute& make_compute) {
    ModelWeights weights(e_);
    const auto read =
        read_checkpoint(directory_ / kCheckpointsDirectory, e_.model, weights.tensors());
    if (!read) return check_missing_checkpoint(read.error());
    checks_.add({"checkpoint", read->info.step, read->info.step, CheckStatus::ok,
                 "step of the newest complete checkpoint"});
    for (const Problem& skipped : read->skipped)
      checks_.add(
          {"checkpoint", "complete", "damaged", CheckStatus::mismatch, base::to_string(skipped)});
    if (!checks_.stated("committed_step").is_null())
      checks_.compare("committed_step", read->info.step);
    check_weights(weights, read->info.step);
    evaluate(read->info.step, make_compute);
  }

  void check_missing_checkpoint(const Problem& problem) {
    const bool missing = problem.id == "no_checkpoint";
    checks_.add({"checkpoint", missing ? Json() : Json("complete"),
                 missing ? Json() : Json("damaged"),
                 missing ? CheckStatus::not_checked : CheckStatus::mismatch,
                 missing ? "the run directory has no checkpoint" : base::to_string(problem)});
    const std::string why = missing ? "the run has no checkpoint" : "the checkpoint is damaged";
    for (const char* path : {"held_out_loss", "held_out_accuracy"}) checks_.skip(path, why);
  }

  // The chief has the weights that it saved, unless every rank has only a part of them.
  void check_weights(const ModelWeights& weights, std::int64_t step) {
    const std::string path = fmt::format("ranks.{}.parameters_xxh64", e_.chief);
    if (checks_.stated(path).is_null()) return;
    if (experiment::has_partial_parameters(e_))
      return checks_.skip(path, "the rank has only a part of the parameters");
    const Json steps = checks_.stated("steps");
    if (!steps.is_number_integer() || e_.first_step + steps.get<std::int64_t>() != step)
      return checks_.skip(path, fmt::format("the checkpoint is of step {}", step));
    checks_.compare(path, weights.parameters_xxh64());
  }

  // Returns the reason why the held-out figures are not those of the checkpoint; empty if they are.
  std::string evaluation_reason(std::int64_t step) const {
    if (!unreadable_.empty()) return "";
    if (totals_.held_out.step + 1 == step) return "";
    return fmt::format("the last evaluation was after {}, and the checkpoint is of step {}",
                       base::counted(totals_.held_out.step + 1, "step"), base::format_count(step));
  }

  double tolerance() const {
    const experiment::TrainingSpec& training = e_.document.training;
    return experiment::is_mixed(training.precision) ||
                   training.multiplies != experiment::Multiplies::full
               ? kRoundedTolerance
               : kEvaluationTolerance;
  }

  void evaluate(std::int64_t step, const MakeCompute& make_compute) {
    const std::vector<std::string> paths{"held_out_loss", "held_out_accuracy"};
    if (checks_.stated(paths[0]).is_null() && checks_.stated(paths[1]).is_null())
      return checks_.add({"held_out_loss",
                          {},
                          {},
                          CheckStatus::not_checked,
                          "the result states no evaluation on held-out samples"});
    const auto skip = [&](const std::string& why) {
      for (const std::string& path : paths) checks_.skip(path, why);
    };
    if (e_.data.held_out_samples == 0) return skip("the data set has no held-out samples");
    if (const std::string why = evaluation_reason(step); !why.empty()) return skip(why);
    const auto evaluated =
        evaluate_newest_checkpoint(e_, directory_ / kCheckpointsDirectory, make_compute);
    if (!evaluated) return skip(base::to_string(evaluated.error()));
    if (checks_.stated(paths[0]).is_null() && !std::isfinite(evaluated->loss()))
      checks_.add({paths[0], "nan", "nan", CheckStatus::ok, "evaluation of the checkpoint"});
    else compare_evaluation(paths[0], finite(evaluated->loss()), true);
    compare_evaluation(paths[1], finite(evaluated->accuracy()), false);
  }

  // The tolerance of the loss is relative, that of the accuracy is absolute.
  void compare_evaluation(const std::string& path, const Json& recomputed, bool relative) {
    const Json stated = checks_.stated(path);
    if (stated.is_null() && recomputed.is_null()) return;
    const bool equal = stated == recomputed;
    const bool near = stated.is_number() && recomputed.is_number() &&
                      std::abs(stated.get<double>() - recomputed.get<double>()) <=
                          tolerance() * (relative ? std::abs(stated.get<double>()) : 1);
    checks_.add({path, stated, recomputed, equal || near ? CheckStatus::ok : CheckStatus::mismatch,
                 equal ? "evaluation of the checkpoint, bit-equal"
                       : fmt::format("evaluation of the checkpoint, tolerance {:g} {}", tolerance(),
                                     relative ? "relative" : "absolute")});
  }

  fs::path directory_;
  const experiment::Resolved& e_;
  const plan::Plan& plan_;
  const RecordedTotals& totals_;
  FigureChecks checks_;
  bool has_faults_, same_plan_ = false;
  std::string unreadable_, lacks_events_;
};

}  // namespace

std::int64_t Verification::count(CheckStatus status) const {
  return std::ranges::count_if(
      checks, [status](const FigureCheck& check) { return check.status == status; });
}

Result<Verification> verify_run(const fs::path& run_directory, const MakeCompute& make_compute) {
  const auto resolved = read_resolved(run_directory);
  if (!resolved) return base::fail(resolved.error());
  const auto plan = strategy::make_plan(*resolved);
  if (!plan) return base::fail(plan.error());
  const auto totals = add_up_recording(run_directory, &*plan);
  if (!totals) return base::fail(totals.error());
  const auto result = result_of(run_directory, *totals);
  if (!result) return base::fail(result.error());
  return Verifier(run_directory, *resolved, *plan, *totals, *result).verify(make_compute);
}

}  // namespace trainyard::session
