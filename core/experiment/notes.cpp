// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/notes.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/topology/unused_links.h"

namespace trainyard::experiment {
namespace {

using base::counted;
using base::format_count;

class Notes {
 public:
  explicit Notes(const Resolved& resolved) : r_(resolved), steps_(counted(r_.steps, "step")) {}

  std::vector<Note> take() {
    note_schedule();
    note_intervals();
    note_text();
    note_batch_norm();
    note_links();
    return std::move(notes_);
  }

 private:
  void add(std::string field, std::string text) {
    notes_.push_back({std::move(field), std::move(text)});
  }

  void note_schedule() {
    const TrainingSpec& training = r_.document.training;
    const ScheduleSpec& schedule = training.schedule;
    if (training.optimizer.learning_rate == 0)
      add("training.optimizer.learning_rate", "the learning rate is 0, so no weight changes");
    if (schedule.warmup_steps > r_.steps)
      add("training.schedule.warmup_steps",
          fmt::format("the warm-up takes {}, but the run has {}, so the learning rate reaches only "
                      "{:.3g} of its configured value",
                      counted(schedule.warmup_steps, "step"), steps_,
                      static_cast<double>(r_.steps) / static_cast<double>(schedule.warmup_steps)));
    if (schedule.kind == ScheduleKind::step && schedule.every_steps >= r_.steps)
      add("training.schedule.every_steps",
          fmt::format("the learning rate never decays: its first decay is after {}, but the run "
                      "has {}",
                      counted(schedule.every_steps, "step"), steps_));
    if (schedule.kind == ScheduleKind::step && schedule.factor == 1)
      add("training.schedule.factor", "the factor is 1, so the learning rate never decays");
    if (schedule.kind == ScheduleKind::cosine && schedule.final_fraction == 1)
      add("training.schedule.final_fraction",
          "the final fraction is 1, so the learning rate never decays");
    if (schedule.kind == ScheduleKind::cosine && schedule.warmup_steps == r_.steps)
      add("training.schedule.warmup_steps",
          fmt::format("the warm-up takes all {} of the run, so the learning rate never decays",
                      steps_));
  }

  void note_text() {
    const RunSpec &run = r_.document.run, defaults;
    const bool has_text = r_.data.sequences();
    if (has_text && run.sampled_characters > 0) return;
    const char* why = has_text ? "run.sampled_characters is 0, so no text is generated"
                               : "data.kind is neither grammar nor text, so no text is generated";
    if (!has_text && run.sampled_characters != defaults.sampled_characters)
      add("run.sampled_characters", why);
    if (run.temperature != defaults.temperature) add("run.temperature", why);
  }

  // Notes intervals that are longer than the run.
  void note_intervals() {
    const Experiment& e = r_.document;
    const LocalSgdSpec& local = e.strategy.local_sgd;
    if (e.strategy.kind == StrategyKind::local_sgd && local.average_every_steps > r_.steps)
      add("strategy.local_sgd.average_every_steps",
          fmt::format("the interval is longer than the run ({}), so weights are averaged only at "
                      "its end",
                      steps_));
    if (e.strategy.kind == StrategyKind::gossip &&
        e.strategy.gossip.consensus_every_steps > r_.steps)
      add("strategy.gossip.consensus_every_steps",
          fmt::format("the interval is longer than the run ({}), so the consensus distance is "
                      "measured at evaluations only",
                      steps_));
    // `resolve` replaces 0 by the steps of an epoch
    const bool is_default = e.run.evaluate_every_steps == r_.steps_per_epoch;
    if (!is_default && r_.data.held_out_samples == 0)
      add("run.evaluate_every_steps", "there are no held-out samples to evaluate");
    if (e.run.evaluate_every_steps > r_.steps && r_.data.held_out_samples > 0)
      add("run.evaluate_every_steps",
          fmt::format("the interval is longer than the run ({}), so held-out samples are evaluated "
                      "only at its end",
                      steps_));
    if (e.run.checkpoint_every_steps > r_.steps)
      add("run.checkpoint_every_steps",
          fmt::format("the interval is longer than the run ({}), so a checkpoint is written only "
                      "at its end",
                      steps_));
  }

  // True if `samples` samples of a rank include a micro-batch of one sample.
  bool has_single(std::int64_t samples) const {
    const std::int64_t batch = r_.document.training.batch_per_rank;
    return samples > 0 && (batch == 1 || samples % batch == 1);
  }

  // True if some rank normalizes a micro-batch of one sample in the steps of the range.
  bool has_single(const data::Shares& shares, const data::StepRange& range) const {
    for (std::int64_t rank = 0; rank < shares.ranks(); ++rank)
      if (has_single(shares.samples(range.first_step, rank))) return true;
    return false;
  }

  // In a layer without height and width, a micro-batch of one sample has one value per channel. Its
  // variance is 0, so the normalized value is 0. PyTorch refuses this.
  void note_batch_norm() {
    const data::Shares shares = r_.shares();
    const std::vector<data::StepRange> ranges = shares.stretches();
    const auto single = std::ranges::find_if(
        ranges, [&](const data::StepRange& range) { return has_single(shares, range); });
    if (single == ranges.end() || single->first_step >= r_.steps) return;
    for (const model::Segment& segment : r_.model.segments) {
      const bool one_value =
          segment.kind == model::LayerKind::batch_norm && segment.outputs == segment.channels();
      if (!one_value || (segment.synchronized && r_.world() > 1)) continue;
      add(fmt::format("model.layers[{}]", segment.layer),
          fmt::format("batch normalization over one sample sets every channel to 0, and {} has a "
                      "batch of one sample on a rank; change training.batch_per_rank or "
                      "data.train_samples",
                      single->first_step == 0 ? "every full step"
                                              : fmt::format("step {} of each epoch",
                                                            format_count(single->first_step + 1))));
    }
  }

  void note_links() {
    const topology::Topology& drawing = r_.document.topology;
    for (const int link : topology::unused_links(topology::Network(drawing))) {
      const topology::Link& unused = drawing.links[static_cast<std::size_t>(link)];
      add(fmt::format("topology.links[{}]", link),
          fmt::format("the link between {} and {} carries no traffic, because no route between "
                      "ranks uses it",
                      unused.from, unused.to));
    }
  }

  const Resolved& r_;
  std::string steps_;
  std::vector<Note> notes_;
};

}  // namespace

std::vector<Note> all_notes(const Resolved& resolved) {
  std::vector<Note> notes = resolved.notes;
  for (Note& note : Notes(resolved).take()) notes.push_back(std::move(note));
  return notes;
}

std::string to_string(const Note& note) { return fmt::format("{}: {}", note.field, note.text); }

}  // namespace trainyard::experiment
